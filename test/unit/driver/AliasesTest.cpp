// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that has several names: the output of a launch in place is its input, a view is chosen among views. All of
// a tile is read before any of it is written, on the backend that DITRON_BACKEND names.
#include "ditron/driver/Context.h"
#include <functional>
#include <gtest/gtest.h>
#include <limits>

namespace ditron {
namespace {

constexpr int kRows = 64, kColumns = 32;

double given(int64_t i, int64_t j) { return double((i * 7 + j * 3) % 11 + 1); }

Tensor matrix(const Context &ctx, int64_t rows = kRows, int64_t columns = kColumns) {
  Tensor host = Tensor::own(DType::f32, {rows, columns});
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      host.set({i, j}, given(i, j));
  return ctx.tensorFrom(host);
}

Tensor vector(const Context &ctx, int64_t count, const std::function<double(int64_t)> &element) {
  Tensor host = Tensor::own(DType::f32, {count});
  for (int64_t n = 0; n < count; ++n)
    host.set({n}, element(n));
  return ctx.tensorFrom(host);
}

using Body = std::function<Tile(In<f32>)>;

/// y = a tile of x, in place of x or beside it.
Kernel tileOf(const Body &body) {
  return Kernel("tile-of(x[M,N]) -> y[M,N]",
                [&](In<f32> x, Out<f32> y) {
                  for ([[maybe_unused]] auto [one] : grid({Index(1)}))
                    y.tiled(kRows, kColumns)(0, 0) = body(x);
                })
      .inPlace("y", "x");
}

/// A launch in place leaves what one with two tensors does.
void expectInPlace(const Body &body) {
  Context ctx = Context::init();
  Program run = ctx.compile(tileOf(body));
  Tensor x = matrix(ctx), y = ctx.tensor<f32>({kRows, kColumns}), both = matrix(ctx);
  run(x, y);
  run(both, both);
  Tensor expected = y.toHost(), found = both.toHost();
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t j = 0; j < kColumns; ++j)
      ASSERT_EQ(found.at({i, j}), expected.at({i, j})) << i << ", " << j;
}

Tile whole(In<f32> x) { return x.tiled(kRows, kColumns)(0, 0); }

TEST(Aliases, InPlaceElementByElement) {
  expectInPlace([](In<f32> x) { return whole(x) * 2.0f + 1.0f; });
}

TEST(Aliases, InPlaceWithTheFirstRow) {
  expectInPlace([](In<f32> x) {
    Tile row = expand(Tile(x.at(0).tiled(kColumns)(0)), 0);
    return whole(x) - row;
  });
}

TEST(Aliases, InPlaceWithTheFirstColumn) {
  expectInPlace([](In<f32> x) { return whole(x) - x.tiled(kRows, 1)(0, 0); });
}

TEST(Aliases, InPlaceWithTheRowBelow) {
  expectInPlace([](In<f32> x) {
    return whole(x) + x.slice(0, 1, x.rows() - 1).tiled(kRows, kColumns)(0, 0);
  });
}

TEST(Aliases, InPlaceOfAnotherPlace) {
  expectInPlace([](In<f32> x) {
    Tile turned = transpose(Tile(x.tiled(kColumns, kColumns)(1, 0)));
    return reshape(broadcast(expand(turned, 0), {2, kColumns, kColumns}), {kRows, kColumns});
  });
}

TEST(Aliases, InPlaceOfAProduct) {
  expectInPlace([](In<f32> x) { return dot(whole(x), x.tiled(kColumns, kColumns)(0, 0)); });
}

TEST(Aliases, InPlaceOfSums) {
  expectInPlace([](In<f32> x) { return whole(x) * sum(whole(x), 1) - max(whole(x), 0); });
}

/// In one kernel that updates two tensors of a graph in place, and a third one from the first.
TEST(Aliases, InPlaceInAGraph) {
  Kernel kernel = tileOf([](In<f32> x) {
    Tile row = expand(Tile(x.at(0).tiled(kColumns)(0)), 0);
    return whole(x) - row + x.slice(0, 1, x.rows() - 1).tiled(kRows, kColumns)(0, 0);
  });
  TaskGraph graph("updates");
  Value a = graph.input("a[M,N]"), b = graph.input("b[M,N]"), c = graph.input("c[M,N]");
  graph.task(kernel, a, inOut(a));
  graph.task(kernel, b, inOut(b));
  graph.task(kernel, a, inOut(c));
  auto resultsOf = [&](Mode mode) {
    Context ctx = Context::init({.cores = 2});
    std::vector<Tensor> tensors{matrix(ctx), matrix(ctx), matrix(ctx)};
    ctx.compile(graph, {.mode = mode}).launch({tensors[0], tensors[1], tensors[2]});
    for (Tensor &tensor : tensors)
      tensor = tensor.toHost();
    return tensors;
  };
  Context ctx = Context::init();
  Tensor x = matrix(ctx), y = ctx.tensor<f32>({kRows, kColumns}),
         z = ctx.tensor<f32>({kRows, kColumns});
  Program run = ctx.compile(kernel);
  run(x, y);
  run(y, z);
  Tensor once = y.toHost(), twice = z.toHost();
  for (Mode mode : {Mode::stream, Mode::megakernel}) {
    std::vector<Tensor> found = resultsOf(mode);
    for (int64_t i = 0; i < kRows; ++i)
      for (int64_t j = 0; j < kColumns; ++j) {
        ASSERT_EQ(found[0].at({i, j}), once.at({i, j})) << i << ", " << j;
        ASSERT_EQ(found[1].at({i, j}), once.at({i, j})) << i << ", " << j;
        ASSERT_EQ(found[2].at({i, j}), twice.at({i, j})) << i << ", " << j;
      }
  }
}

/// Two outputs that may be one input, each of which is computed from all of it.
TEST(Aliases, InPlaceOfEitherOutput) {
  Kernel kernel = Kernel("either(x[M,N]) -> y[M,N], z[M,N]",
                         [](In<f32> x, Out<f32> y, Out<f32> z) {
                           for ([[maybe_unused]] auto [one] : grid({Index(1)})) {
                             Tile all = whole(x), first = x.tiled(1, kColumns)(0, 0);
                             y.tiled(kRows, kColumns)(0, 0) = all + first;
                             z.tiled(kRows, kColumns)(0, 0) = all - first;
                           }
                         })
                      .inPlace("y", "x")
                      .inPlace("z", "x");
  Context ctx = Context::init();
  Program run = ctx.compile(kernel);
  Tensor a = matrix(ctx), b = matrix(ctx), c = ctx.tensor<f32>({kRows, kColumns}),
         d = ctx.tensor<f32>({kRows, kColumns});
  run(a, a, c);
  run(b, d, b);
  Tensor y = a.toHost(), z = c.toHost(), otherY = d.toHost(), otherZ = b.toHost();
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t j = 0; j < kColumns; ++j) {
      double sum = given(i, j) + given(0, j), difference = given(i, j) - given(0, j);
      ASSERT_EQ(y.at({i, j}), sum) << i << ", " << j;
      ASSERT_EQ(z.at({i, j}), difference) << i << ", " << j;
      ASSERT_EQ(otherY.at({i, j}), sum) << i << ", " << j;
      ASSERT_EQ(otherZ.at({i, j}), difference) << i << ", " << j;
    }
}

/// A part of x moves by one, and is read as one of two views.
TEST(Aliases, AChoiceIsWhatItChooses) {
  constexpr int64_t kCount = 64;
  Kernel kernel("move(z[N], n) -> x[N]", [](In<f32, 1> z, Index n, InOut<f32, 1> x) {
    for ([[maybe_unused]] auto [one] : grid({Index(1)})) {
      auto first = [](const auto &view) { return view.slice(0, 0, view.size() - 1); };
      x.slice(0, 1, x.size() - 1).tiled(kCount)(0) =
          choose(n > 0, first(x), first(z)).tiled(kCount)(0);
    }
  });
  Context ctx = Context::init();
  Program run = ctx.compile(kernel);
  Tensor z = vector(ctx, kCount + 1, [](int64_t n) { return -double(n); });
  for (int64_t isOwn : {1, 0}) {
    Tensor x = vector(ctx, kCount + 1, [](int64_t n) { return double(n); });
    run(z, isOwn, x);
    Tensor found = x.toHost();
    for (int64_t n = 1; n <= kCount; ++n)
      ASSERT_EQ(found.at({n}), isOwn ? double(n - 1) : double(1 - n)) << n;
  }
}

/// The part of a view that is chosen, also by a choice among choices, has what was stored before.
void expectStored(const std::function<Tile(Index, In<f32, 1>, InOut<f32, 1>)> &load) {
  constexpr int64_t kCount = 1024, kFirst = 256;
  Kernel kernel("store(z[N], n) -> x[N], y[M]",
                [&](In<f32, 1> z, Index n, InOut<f32, 1> x, Out<f32, 1> y) {
                  for ([[maybe_unused]] auto [one] : grid({Index(1)})) {
                    x.tiled(kCount)(0) = Tile(z.tiled(kCount)(0)) * 2.0f;
                    y.tiled(kCount)(0) = load(n, z, x) + 1.0f;
                  }
                });
  Context ctx = Context::init();
  Tensor z = vector(ctx, kCount, [](int64_t n) { return double(n); });
  Tensor x = vector(ctx, kCount, [](int64_t) { return -1.0; });
  Tensor y = ctx.tensor<f32>({kCount - kFirst});
  ctx.compile(kernel)(z, 1, x, y);
  Tensor found = y.toHost();
  for (int64_t n = 0; n < kCount - kFirst; ++n)
    ASSERT_EQ(found.at({n}), 2 * double(n + kFirst) + 1) << n;
}

template <class V> Tile behindFirst(const V &view) {
  return view.slice(0, 256, view.size() - 256).tiled(1024)(0);
}

TEST(Aliases, APartOfAChoiceIsOrdered) {
  expectStored(
      [](Index n, In<f32, 1> z, InOut<f32, 1> x) { return behindFirst(choose(n > 0, x, z)); });
}

TEST(Aliases, AChoiceAmongChoicesIsOrdered) {
  expectStored([](Index n, In<f32, 1> z, InOut<f32, 1> x) {
    return behindFirst(choose(n > 0, choose(n > 5, z, x), z));
  });
}

/// Rows that no tensor has, up to the last number there is: they read as padding, and nothing is written there.
TEST(Aliases, RowsBeyondAllNumbersAreOutside) {
  constexpr int64_t kCount = 64;
  Kernel kernel("beyond(x[M,N], row) -> y[K,N], z[N]",
                [](In<f32> x, Index row, InOut<f32> y, Out<f32, 1> z) {
                  for (auto [j] : z.tiled(kCount).tiles()) {
                    z.tiled(kCount)(j) = x.tiled(kCount)(row, j).padded(9);
                    y.tiled(kCount)(row, j) = x.tiled(kCount)(0, j);
                  }
                });
  Context ctx = Context::init();
  Program run = ctx.compile(kernel);
  using Limits = std::numeric_limits<int64_t>;
  for (int64_t row :
       {Limits::max(), Limits::min(), Limits::max() / 64 + 1, int64_t(-1), int64_t(3)}) {
    Tensor x = matrix(ctx, 3, kCount), y = matrix(ctx, 2, kCount), z = ctx.tensor<f32>({kCount});
    run(x, row, y, z);
    Tensor kept = y.toHost(), read = z.toHost();
    for (int64_t j = 0; j < kCount; ++j) {
      ASSERT_EQ(read.at({j}), 9) << row;
      for (int64_t i = 0; i < 2; ++i)
        ASSERT_EQ(kept.at({i, j}), given(i, j)) << row;
    }
  }
}

} // namespace
} // namespace ditron
