// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What leaves memory is refused in the same words by the interpreter and by compiled code; what is
// beyond the edge of a view only is padding, or dropped.
#include "Differential.h"
#include <gtest/gtest.h>

namespace ditron::differential {
namespace {

Block dense(DType type, Shape shape) { return Block(type, std::move(shape)).fillRandom(1); }

/// y = 0, tile by tile.
void clear(const auto &y) {
  auto ys = y.tiled(2, 3);
  for (auto [i, j] : ys.tiles())
    ys(i, j) = 0;
}

/// A slice of rows of y, named by run-time numbers.
Kernel sliced() {
  return {"sliced(x[M,N], first, count) -> y[M,N]",
          [](In<f32> x, Index first, Index count, Out<f32> y) { clear(y.slice(0, first, count)); }};
}

std::vector<Argument> slice(int64_t first, int64_t count) {
  return {dense(DType::f32, {5, 7}), first, count, dense(DType::f32, {5, 7})};
}

TEST(Bounds, slice) {
  for (auto [first, count] : {std::pair<int64_t, int64_t>{0, 5}, {5, 0}, {4, 1}, {0, 0}})
    expectSame(sliced(), slice(first, count));
  auto refused = [](int64_t first, int64_t count) {
    expectRefused("takes " + std::to_string(count) + " elements from " + std::to_string(first) +
                      " on, 1 apart, along dimension 0 of a view of [5, 7] of 'y'",
                  sliced(), slice(first, count));
  };
  refused(0, 6);
  refused(3, 3);
  refused(-1, 2);
  refused(6, 0);
  refused(1, -1);
  if (isOnCpu()) // where tiles are not counted before the launch
    refused(1, INT64_MAX);
  refused(INT64_MAX, 1);
  refused(INT64_MIN, 1);
}

TEST(Bounds, sliceThatIsOnlyMeasured) {
  Kernel kernel("measured(x[M,N], count) -> y[M,N]", [](In<f32> x, Index count, Out<f32> y) {
    auto part = x.slice(1, 0, count);
    y.tiled(1, 1)(0, 0) = cast<f32>(toTile(part.cols()));
  });
  expectRefused("takes 8 elements from 0 on, 1 apart, along dimension 1 of a view of [5, 7] of 'x'",
                kernel, {dense(DType::f32, {5, 7}), int64_t(8), dense(DType::f32, {5, 7})});
}

TEST(Bounds, matrixOfABatch) {
  Kernel kernel("batch(b) -> y[B,M,N]", [](Index b, Out<f32, 3> y) { clear(y.at(b)); });
  auto at = [](int64_t b) { return std::vector<Argument>{b, dense(DType::f32, {3, 2, 4})}; };
  expectSame(kernel, at(2));
  expectRefused("takes 1 elements from 3 on", kernel, at(3));
  expectRefused("takes 1 elements from -1 on", kernel, at(-1));
}

TEST(Bounds, indexOfAnyDimension) {
  Kernel kernel("head(x[T,H,D], h) -> y[T,D]", [](In<f32, 3> x, Index h, Out<f32> y) {
    auto xs = x.at(1, h).tiled(2, 3);
    auto ys = y.tiled(2, 3);
    for (auto [i, j] : ys.tiles())
      ys(i, j) = xs(i, j);
  });
  auto at = [](int64_t h) {
    return std::vector<Argument>{dense(DType::f32, {5, 3, 4}), h, dense(DType::f32, {5, 4})};
  };
  expectSame(kernel, at(2));
  expectRefused("takes 1 elements from 3 on", kernel, at(3));
  expectRefused("takes 1 elements from -1 on", kernel, at(-1));
}

TEST(Bounds, requirement) {
  Kernel kernel("requirement(m, n) -> y[M,N]", [](Index m, Index n, Out<f32> y) {
    for (auto [i] : grid({m})) {
      require(i < n, "row {} of {}", {i, n});
      y.tiled(1, 3)(i, 0) = 1;
    }
  });
  auto of = [](int64_t m, int64_t n) {
    return std::vector<Argument>{m, n, dense(DType::f32, {5, 3})};
  };
  expectSame(kernel, of(5, 5));
  expectSame(kernel, of(0, -1));
  expectRefused("row 4 of 4", kernel, of(5, 4)); // one alone: cores of a GPU run at once
}

TEST(Bounds, split) {
  Kernel kernel("split(parts) -> y[M,N]", [](Index parts, Out<f32> y) {
    auto ys = y.split(parts).tiled(2, 3);
    for (auto [p, i, j] : ys.tiles())
      ys(p, i, j) = cast<f32>(toTile(p));
  });
  auto into = [](int64_t parts) { return std::vector<Argument>{parts, dense(DType::f32, {6, 5})}; };
  expectSame(kernel, into(3));
  expectRefused("cuts a view of [6, 5] of 'y' into [4, 1, 5], but dimension 0 has 6 elements and "
                "its parts 4",
                kernel, into(4));
  if (isOnCpu())
    expectRefused("cuts a view of [6, 5] of 'y' into [0, 0, 5], but", kernel, into(0));
  expectRefused("cuts a view of [6, 5] of 'y' into [-2, -3, 5], but", kernel, into(-2));
}

TEST(Bounds, element) {
  Kernel kernel("element(x[M,N], i, j) -> y[K,L]", [](In<f32> x, Index i, Index j, Out<f32> y) {
    y.tiled(1, 1)(0, 0) = x.read({i, j});
  });
  auto at = [](int64_t i, int64_t j) {
    return std::vector<Argument>{dense(DType::f32, {5, 7}), i, j, dense(DType::f32, {1, 1})};
  };
  expectSame(kernel, at(4, 6));
  expectRefused("touches element [5, 0] of a view of [5, 7] of 'x'", kernel, at(5, 0));
  expectRefused("touches element [0, -1] of a view of [5, 7] of 'x'", kernel, at(0, -1));
}

TEST(Bounds, signal) {
  Kernel kernel("signal(i, j, k) -> y[M,N]", [](Index i, Index j, Index k, Out<f32> y) {
    auto ready = signals({3, 2}, "ready");
    notify(ready(i, 1));
    notify(ready.on(rank())(0, j));
    wait(ready(k, 1), 1);
    clear(y);
  });
  auto at = [](int64_t i, int64_t j, int64_t k) {
    return std::vector<Argument>{i, j, k, dense(DType::f32, {2, 2})};
  };
  expectSame(kernel, at(2, 0, 2));
  expectRefused("names signal 'ready'[3, 1]", kernel, at(3, 0, 0));
  expectRefused("names signal 'ready'[0, 2] of rank 0, but 'ready' has extents [3, 2]", kernel,
                at(0, 2, 0));
  expectRefused("names signal 'ready'[-1, 1]", kernel, at(0, 0, -1));
}

TEST(Bounds, peer) {
  Kernel kernel("peer(p) -> y[M,N]", [](Index p, Out<f32> y) {
    auto box = symmetric<f32>({y.rows(), y.cols()}, "box");
    get(box.on(p), y);
  });
  auto of = [](int64_t p) { return std::vector<Argument>{p, dense(DType::f32, {2, 2})}; };
  expectRefused("names rank 1 of 1 ranks", kernel, of(1));
  expectRefused("names rank -1 of 1 ranks", kernel, of(-1));
}

TEST(Bounds, extentsOfAPut) {
  Kernel kernel("moved(x[M,N], rows) -> y[M,N]", [](In<f32> x, Index rows, Out<f32> y) {
    auto box = symmetric<f32>({y.rows(), y.cols()}, "box");
    auto xs = x.tiled(4, 4);
    auto there = box.on(rank()).slice(0, 0, rows).tiled(4, 4);
    for (auto i : range(xs.rows()))
      for (auto j : range(xs.cols()))
        put(xs(i, j), there(i, j));
    quiet();
    get(box.on(rank()), y);
  });
  auto of = [](int64_t rows) {
    return std::vector<Argument>{dense(DType::f32, {6, 5}), rows, dense(DType::f32, {6, 5})};
  };
  expectSame(kernel, of(6)); // edge tiles of equal extents
  expectRefused(
      "moves a chunk of [2, 4] of 'x' into one of [1, 4] of 'box', expected equal extents", kernel,
      of(5));
  expectRefused("moves a chunk of [2, 4] of 'x' into one of [0, 4] of 'box'", kernel, of(4));
}

TEST(Bounds, extentsOfAGet) {
  Kernel kernel("fetched(rows) -> y[M,N]", [](Index rows, Out<f32> y) {
    auto box = symmetric<f32>({rows, y.cols()}, "box");
    get(box.on(rank()), y);
  });
  expectRefused("moves a chunk of [3, 5] of 'box' into one of [6, 5] of 'y'", kernel,
                {int64_t(3), dense(DType::f32, {6, 5})});
}

TEST(Bounds, stepOfALoop) {
  Kernel kernel("steps(step) -> y[M,N]", [](Index step, Out<f32> y) {
    for ([[maybe_unused]] auto i : range(0, 4, step))
      clear(y);
  });
  expectRefused("has step 0, expected 1 or more", kernel, {int64_t(0), dense(DType::f32, {2, 2})});
}

TEST(Bounds, coresOfARole) {
  if (!isOnCpu())
    GTEST_SKIP() << "a GPU has all of its cores";
  Kernel kernel("roles(count) -> y[M,N]",
                [](Index count, Out<f32> y) { Role(0, count).run("all", [&] { clear(y); }); });
  auto of = [](int64_t count) { return std::vector<Argument>{count, dense(DType::f32, {2, 2})}; };
  expectSame(kernel, of(1));
  expectRefused("'all' takes 2 cores from 0 on, but there are 1", kernel, of(2));
}

/// Tiles at any coordinates: read with padding, written, and moved.
TEST(Bounds, tilesAnywhere) {
  Kernel kernel("anywhere(x[B,M,N], b, i, j) -> y[B,M,N], z[M,N]",
                [](In<f32, 3> x, Index b, Index i, Index j, InOut<f32, 3> y, InOut<f32> z) {
                  auto xs = x.tiled(2, 4);
                  auto ys = y.tiled(2, 4);
                  z.tiled(2, 4)(0, 0) = xs(b, i, j).padded(7);
                  Role(0, 1).run("one core", [&] {
                    ys(b, i, j) = 1;
                    ys(0, i, 0) = xs(b, 0, j);
                    atomicAdd(ys(b, i, j), full<f32>({2, 4}, 1));
                  });
                  // A chunk outside of its view moves nothing, of equal extents.
                  auto box = symmetric<f32>({x.dim(0), x.rows(), x.cols()}, "box");
                  put(xs(b, i, j), box.on(rank()).tiled(2, 4)(b, i, j));
                });
  constexpr int64_t kFar[] = {
      0, 1, 2, 3, -1, -2, INT64_MAX, INT64_MIN, 1L << 62, -(1L << 62), (1L << 62) + 1, 1L << 61};
  for (int64_t b : {0L, 2L, 3L, -1L, INT64_MAX, INT64_MIN, 1L << 62})
    for (int64_t i : kFar)
      expectSame(kernel, {dense(DType::f32, {3, 5, 7}), b, i, i, dense(DType::f32, {3, 5, 7}),
                          dense(DType::f32, {5, 7})});
}

TEST(Bounds, columnsOfRows) {
  Kernel kernel("columns(x[M,N], j) -> y[M,N]", [](In<f32> x, Index j, InOut<f32> y) {
    Tile rows = iota(4) - 1;
    y.tiled(4, 8)(0, 0) = x.gather(rows, j, 8, 3);
    y.scatter(rows, j, full<f32>({4, 8}, 5));
  });
  for (int64_t j : {0L, 1L, 2L, -1L, INT64_MAX, INT64_MIN, 1L << 61, 1L << 62})
    expectSame(kernel, {dense(DType::f32, {5, 9}), j, dense(DType::f32, {5, 9})});
}

} // namespace
} // namespace ditron::differential
