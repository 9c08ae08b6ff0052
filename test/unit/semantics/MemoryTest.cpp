// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of views: every placement of the memory, ragged edges, padding, parts of views, gather,
// scatter, atomic addition, and reads before writes.
#include "Differential.h"
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <span>

namespace ditron::differential {
namespace {

template <class T, int rank, class V>
auto tiledBy(const V &view, const std::array<int, rank> &tile) {
  return std::apply([&](auto... extents) { return view.tiled(extents...); }, tile);
}

/// y = x + x, tile by tile.
template <class T, int rank> Kernel twice(std::array<int, rank> tile) {
  constexpr const char *signatures[] = {"twice(x[A]) -> y[A]", "twice(x[A,B]) -> y[A,B]",
                                        "twice(x[A,B,C]) -> y[A,B,C]",
                                        "twice(x[A,B,C,D]) -> y[A,B,C,D]"};
  return {signatures[rank - 1], [=](In<T, rank> x, Out<T, rank> y) {
            auto xs = tiledBy<T, rank>(x, tile);
            auto ys = tiledBy<T, rank>(y, tile);
            for (auto at : ys.tiles())
              std::apply([&](auto... i) { ys(i...) = add(xs(i...), xs(i...)); }, at);
          }};
}

template <class T, int rank>
void checkPlacements(const std::array<int, rank> &tile, const std::vector<Shape> &shapes) {
  Kernel kernel = twice<T, rank>(tile);
  for (const Shape &shape : shapes)
    for (Placement from : kPlacements)
      for (Placement to : {from, Placement::dense}) {
        SCOPED_TRACE(std::string(name(kDType<T>)) + " " + name(from) + " to " + name(to));
        expectSame(kernel,
                   {Block(kDType<T>, shape, from).fillRandom(1), Block(kDType<T>, shape, to)}, {},
                   2);
      }
}

template <class T> void checkRanks() {
  checkPlacements<T, 1>({19}, {{1}, {19}, {53}});
  checkPlacements<T, 2>({3, 37}, {{1, 1}, {7, 41}, {3, 37}, {2, 97}});
  checkPlacements<T, 3>({2, 3, 5}, {{1, 1, 1}, {3, 7, 11}});
  checkPlacements<T, 4>({1, 2, 3, 17}, {{1, 1, 1, 1}, {2, 3, 5, 19}});
}

template <class T> class Placements : public testing::Test {};
using AllTypes = testing::Types<f32, f16, bf16, f8e4m3, f8e5m2, i8, i16, i32, i64, i1>;
TYPED_TEST_SUITE(Placements, AllTypes);
TYPED_TEST(Placements, everyRank) { checkRanks<TypeParam>(); }

Block ramp(DType type, Shape shape, Placement placement = Placement::dense) {
  return Block(type, std::move(shape), placement).fillIntegers([](int64_t n) {
    return n % 97 - 40;
  });
}

/// Every dimension fixed in turn, and a grid that is no view's.
TEST(Memory, indexOfAnyDimension) {
  Kernel kernel("parts(x[A,B,C]) -> u[B,C], v[A,C], w[A,B]",
                [](In<f32, 3> x, Out<f32> u, Out<f32> v, Out<f32> w) {
                  auto copy = [](const auto &from, const auto &to) {
                    auto xs = from.tiled(3, 17);
                    auto ys = to.tiled(3, 17);
                    for (auto [i, j] : grid({ys.rows(), ys.cols()}, order::grouped(2)))
                      ys(i, j) = xs(i, j);
                  };
                  copy(x.at(0, 1), u);
                  copy(x.at(1, 2), v);
                  copy(x.at(2, 0), w);
                });
  for (Placement placement : kPlacements)
    for (const Shape &shape : {Shape{2, 3, 1}, {5, 7, 41}}) {
      SCOPED_TRACE(name(placement));
      expectSame(kernel,
                 {Block(DType::f32, shape, placement).fillRandom(1),
                  Block(DType::f32, {shape[1], shape[2]}), Block(DType::f32, {shape[0], shape[2]}),
                  Block(DType::f32, {shape[0], shape[1]})},
                 {}, 2);
    }
}

TEST(Memory, partsOfViews) {
  Kernel kernel("parts(x[M,N]) -> y[N,M], z[M,N]", [](In<f32> x, Out<f32> y, Out<f32> z) {
    auto xt = x.transposed().tiled(4, 5);
    auto ys = y.tiled(4, 5);
    for (auto [i, j] : ys.tiles())
      ys(i, j) = xt(i, j);
    // Columns from 3 on, rows from 1 on, into the same columns shifted by one.
    auto part = x.slice(1, 3, x.cols() - 4).slice(0, 1, x.rows() - 1).tiled(2, 8);
    auto place = z.slice(1, 4, z.cols() - 4).slice(0, 0, z.rows() - 1).tiled(2, 8);
    for (auto [i, j] : place.tiles())
      place(i, j) = part(i, j) + 1;
  });
  for (Placement placement : kPlacements) {
    SCOPED_TRACE(name(placement));
    expectSame(kernel, {ramp(DType::f32, {7, 13}, placement), Block(DType::f32, {13, 7}, placement),
                        Block(DType::f32, {7, 13}, placement)});
  }
}

TEST(Memory, leadingDimensions) {
  Kernel kernel("lead(x[B,M,N]) -> y[B,M,N], z[M,N]", [](In<i32, 3> x, Out<i32, 3> y, Out<i32> z) {
    auto xs = x.tiled(2, 9);
    auto ys = y.tiled(2, 9);
    for (auto [b, i, j] : ys.tiles())
      ys(b, i, j) = xs(b, i, j) * 2;
    auto last = x.at(x.dim(0) - 1).tiled(3, 3);
    auto zs = z.tiled(3, 3);
    for (auto [i, j] : zs.tiles())
      zs(i, j) = last(i, j) - 1;
    auto split = x.split(x.dim(0)); // [B, 1, M, N]
    auto one = split.at(0).at(0).tiled(1, 1);
    zs(0, 0) = broadcast(one(0, 0) + 100, {3, 3});
  });
  for (Placement placement : kPlacements)
    expectSame(kernel, {ramp(DType::i32, {3, 5, 11}, placement), Block(DType::i32, {3, 5, 11}),
                        Block(DType::i32, {5, 11}, placement)});
}

/// Tiles on, before and far beyond the edges of the view.
template <class T> Kernel beyond(double padding) {
  return {"beyond(x[M,N]) -> y[P,Q], z[M,N]", [=](In<T> x, Out<T> y, Out<T> z) {
            auto xs = x.tiled(3, 7);
            auto ys = y.tiled(3, 7), zs = z.tiled(3, 7);
            for (auto i : range(ys.rows()))
              for (auto j : range(ys.cols())) {
                ys(i, j) = xs(i - 1, j - 1).padded(padding);
                zs(i - 1, j - 1) = xs(i, j - 2);
              }
          }};
}

TEST(Memory, beyondTheEdges) {
  for (Placement placement : kPlacements) {
    SCOPED_TRACE(name(placement));
    auto arguments = [&](DType type) {
      return std::vector<Argument>{ramp(type, {5, 10}, placement), Block(type, {12, 35}, placement),
                                   Block(type, {5, 10}, placement).fillRandom(1)};
    };
    expectSame(beyond<f32>(-INFINITY), arguments(DType::f32));
    expectSame(beyond<bf16>(-INFINITY), arguments(DType::bf16));
    expectSame(beyond<f16>(NAN), arguments(DType::f16));
    expectSame(beyond<f8e4m3>(448), arguments(DType::f8e4m3));
    expectSame(beyond<f8e5m2>(-0.0), arguments(DType::f8e5m2));
    expectSame(beyond<i8>(-128), arguments(DType::i8));
    expectSame(beyond<i64>(1), arguments(DType::i64));
    expectSame(beyond<i1>(1), arguments(DType::i1));
  }
}

template <class T> Kernel gatherScatter() {
  return {"rows(x[M,N], r[P]) -> y[P,N], z[M,N]", [](In<T> x, In<i32, 1> r, Out<T> y, InOut<T> z) {
            auto rs = r.tiled(5);
            auto ys = y.tiled(5, 18);
            for (auto [i, j] : ys.tiles()) {
              Tile rows = rs(i).padded(-1);
              ys(i, j) = x.gather(rows, j, 18, 3);
              z.scatter(rows, j, x.gather(rows + 1, j, 18) + x.gather(rows, j, 18));
            }
            z.scatter(iota(2), 1, full<T>({2, 3}, 1));
          }};
}

TEST(Memory, gatherAndScatterRows) {
  if (!isOnCpu())
    GTEST_SKIP() << "GPUs have no lowering for some of it";
  auto check = [](const Kernel &kernel, DType type, Placement placement) {
    SCOPED_TRACE(name(type));
    SCOPED_TRACE(name(placement));
    // Rows before, beyond, twice in a tile, and as far out as an i32 goes.
    std::vector<int64_t> rows{0, 6, 6, -1, 3, 7, 100, INT32_MIN, INT32_MAX, 2, 2, 5, 0};
    Block r(DType::i32, {13});
    r.fillIntegers([&](int64_t n) { return rows[n]; });
    expectSame(kernel, {ramp(type, {7, 29}, placement), r, Block(type, {13, 29}, placement),
                        ramp(type, {7, 29}, placement)});
  };
  for (Placement placement : kPlacements) {
    check(gatherScatter<f32>(), DType::f32, placement);
    check(gatherScatter<bf16>(), DType::bf16, placement);
    check(gatherScatter<f8e5m2>(), DType::f8e5m2, placement);
    check(gatherScatter<i64>(), DType::i64, placement);
    check(gatherScatter<i8>(), DType::i8, placement);
  }
}

template <class T> void checkAtomics() {
  SCOPED_TRACE(name(kDType<T>));
  Kernel kernel("atomics(x[M,N]) -> total[1,N], old[M,N]",
                [](In<T> x, InOut<T> total, InOut<T> old) {
                  auto xs = x.tiled(2, 20);
                  auto totals = total.tiled(1, 20);
                  auto olds = old.tiled(2, 20);
                  for (auto [i, j] : xs.tiles()) {
                    atomicAdd(totals(0, j), sum(xs(i, j), 0));
                    olds(i, j) = atomicAdd(olds(i, j), xs(i, j) * 2) + 1;
                  }
                });
  for (Placement placement : kPlacements)
    expectSame(kernel,
               {ramp(kDType<T>, {37, 45}, placement), ramp(kDType<T>, {1, 45}, placement),
                ramp(kDType<T>, {37, 45}, placement)},
               {}, 4);
}

TEST(Memory, atomicAddOfSeveralCores) {
  if (!isOnCpu())
    GTEST_SKIP() << "GPUs have no lowering for some of it";
  checkAtomics<f32>(); // integers, so every order gives the same sum
  checkAtomics<i32>();
  checkAtomics<i64>();
}

TEST(Memory, inPlace) {
  if (!isOnCpu())
    GTEST_SKIP() << "the tiles of one core depend on one another";
  Kernel kernel("inPlace() -> x[M,N], y[P,P]", [](InOut<f32> x, InOut<f32> y) {
    auto xs = x.tiled(3, 20);
    for (auto [i, j] : xs.tiles())
      xs(i, j) = xs(i, j) * xs(i, j) - 1;
    // A row from its neighbour, a matrix from its own transpose: all is read before any is written.
    xs(0, 0) = xs(0, 0) + xs(1, 0);
    auto ys = y.tiled(8, 8), yt = y.transposed().tiled(8, 8);
    ys(0, 0) = yt(0, 0) + 1;
    auto left = y.slice(1, 0, y.cols() - 1).tiled(8, 8),
         right = y.slice(1, 1, y.cols() - 1).tiled(8, 8);
    right(0, 0) = left(0, 0) * 2;
    left(0, 0) = right(0, 0) + 1;
    ys(0, 0) = transpose(ys(0, 0));
  });
  for (Placement placement : kPlacements)
    expectSame(kernel,
               {ramp(DType::f32, {7, 43}, placement), ramp(DType::f32, {11, 11}, placement)});
}

constexpr int64_t kRows = 8194, kColumns = 1024; // large enough to be stored past the caches

/// What a core makes of rows and of the rows `distance` below, tile after tile.
void softmaxInPlace(std::span<float> memory, int64_t distance) {
  for (int64_t i = 0; i < kRows; i += 4) {
    int64_t rows = std::min<int64_t>(4, kRows - i);
    std::vector<float> tile(memory.begin() + i * kColumns, memory.begin() + (i + rows) * kColumns);
    for (int64_t r = 0; r < rows; ++r) {
      float *row = tile.data() + r * kColumns, total = 0;
      for (int64_t j = 0; j < kColumns; ++j)
        total += row[j] = std::exp(row[j]);
      for (int64_t j = 0; j < kColumns; ++j)
        memory[size_t((i + r + distance) * kColumns + j)] = row[j] / total + 0.5f;
    }
  }
}

TEST(Memory, aStoreThatTrailsAReduction) {
  if (!isOnCpu())
    GTEST_SKIP() << "the tiles of one core depend on one another";
  Kernel kernel("softmax(x[M,N]) -> y[M,N]", [](In<f32> x, Out<f32> y) {
    auto xs = x.tiled(4, kColumns);
    auto ys = y.tiled(4, kColumns);
    for (auto [i] : ys.bands()) {
      auto e = exp(xs(i, 0));
      ys(i, 0) = e * (1 / sum(e, 1)) + 0.5f;
    }
  });
  kernel = kernel.inPlace("y", "x");
  for (int64_t distance : {0, 9000}) { // rows from x to y, in the same memory
    SCOPED_TRACE(distance);
    auto size = size_t((kRows + distance) * kColumns);
    constexpr size_t kLine = 64;
    std::unique_ptr<float[], decltype(&std::free)> owner(
        static_cast<float *>(std::aligned_alloc(kLine, size * sizeof(float))), &std::free);
    std::span<float> memory(owner.get(), size);
    std::mt19937 random(7);
    for (float &value : memory)
      value = std::uniform_real_distribution<float>(-1, 1)(random);
    std::vector<float> expected(memory.begin(), memory.end());
    softmaxInPlace(expected, distance);
    runRanks({.ranks = 1}, [&](Context &context) {
      Program program = context.compile(kernel);
      program(Tensor::borrow(memory.data(), DType::f32, {kRows, kColumns}),
              Tensor::borrow(memory.data() + distance * kColumns, DType::f32, {kRows, kColumns}));
    });
    size_t wrong = 0;
    for (size_t n = 0; n < memory.size(); ++n)
      wrong += !(std::fabs(memory[n] - expected[n]) <= 1e-6f);
    EXPECT_EQ(wrong, 0u);
  }
}

/// Rows that are stored beside the next tile's computation, in a loop that now and then takes
/// another way: there y is read, also the row before.
Kernel softmaxOrSum(int rows) {
  return Kernel("softmax(x[M,N]) -> y[M,N]", [=](In<f32> x, InOut<f32> y) {
    auto xs = x.tiled(rows, kColumns);
    auto ys = y.tiled(rows, kColumns);
    for (auto [i] : ys.bands())
      when(
          i % 3 == 2, [&] { ys(i, 0) = ys(i - 1, 0) + xs(i, 0); },
          [&] {
            auto e = exp(xs(i, 0));
            ys(i, 0) = e * (1 / sum(e, 1)) + 0.5f;
          });
  });
}

TEST(Memory, aStoreThatTrailsIntoTheNextTile) {
  if (!isOnCpu())
    GTEST_SKIP() << "the tiles of one core depend on one another";
  for (int rows : {1, 2, 5}) {
    SCOPED_TRACE(rows);
    auto size = size_t(kRows * kColumns);
    std::unique_ptr<float[], decltype(&std::free)> x(
        static_cast<float *>(std::aligned_alloc(64, size * sizeof(float))), &std::free);
    std::unique_ptr<float[], decltype(&std::free)> y(
        static_cast<float *>(std::aligned_alloc(64, size * sizeof(float))), &std::free);
    std::mt19937 random(7);
    for (size_t n = 0; n < size; ++n) {
      x[n] = std::uniform_real_distribution<float>(-1, 1)(random);
      y[n] = -7;
    }
    runRanks({.ranks = 1, .cores = 1}, [&](Context &context) {
      Program program = context.compile(softmaxOrSum(rows));
      program(Tensor::borrow(x.get(), DType::f32, {kRows, kColumns}),
              Tensor::borrow(y.get(), DType::f32, {kRows, kColumns}));
    });
    size_t wrong = 0;
    std::vector<float> before(size_t(rows * kColumns)), row(kColumns);
    for (int64_t r = 0; r < kRows; ++r) {
      const float *from = x.get() + r * kColumns;
      float *old = before.data() + r % rows * kColumns, total = 0;
      for (int64_t j = 0; j < kColumns; ++j)
        total += row[size_t(j)] = std::exp(from[j]);
      for (int64_t j = 0; j < kColumns; ++j) {
        old[j] = r / rows % 3 == 2 ? old[j] + from[j] : row[size_t(j)] / total + 0.5f;
        wrong += !(std::fabs(y[size_t(r * kColumns + j)] - old[j]) <= 1e-6f);
      }
    }
    EXPECT_EQ(wrong, 0u);
  }
}

TEST(Memory, aScalarBetweenAReductionAndItsStore) {
  Kernel kernel("weighted(x[M,N]) -> y[M,N]", [](In<f32> x, Out<f32> y) {
    auto xs = x.tiled(4, 32);
    auto ys = y.tiled(4, 32);
    for (auto [i] : ys.bands()) {
      auto e = xs(i, 0) * 2;
      auto s = sum(e, 1);
      ys(i, 0) = e - s * cast<f32>(toTile(i + 3)); // the factor is computed after the sum
    }
  });
  expectSame(kernel, {ramp(DType::f32, {11, 29}, Placement::dense), Block(DType::f32, {11, 29})});
}

TEST(Memory, readsBeforeLaterWrites) {
  Kernel kernel("order(a[M,N]) -> x[M,N], y[M,N]", [](In<i32> a, InOut<i32> x, InOut<i32> y) {
    auto as = a.tiled(4, 24);
    auto xs = x.tiled(4, 24), ys = y.tiled(4, 24);
    for (auto [i, j] : xs.tiles()) {
      Tile before = xs(i, j);
      Tile twice = before * 2, other = ys(i, j) + 0;
      xs(i, j) = as(i, j);
      ys(i, j) = twice + xs(i, j);
      xs(i, j) = other - before;
      Tile early = xs(i, j) + 1;
      when(i == 0, [&] { xs(i, j) = ys(i, j); });
      for (auto k : range(2)) {
        ys(i, j) = early + toTile(k);
        xs(i, j) = ys(i, j) + xs(i, j);
      }
      ys(i, j) = ys(i, j) + early;
    }
  });
  expectSame(kernel,
             {ramp(DType::i32, {9, 50}), ramp(DType::i32, {9, 50}), ramp(DType::i32, {9, 50})});
}

} // namespace
} // namespace ditron::differential
