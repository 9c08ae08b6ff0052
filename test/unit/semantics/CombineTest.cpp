// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What combines elements of a tile: reductions, extrema, scans, dot.
#include "Differential.h"
#include <array>
#include <cmath>
#include <gtest/gtest.h>

namespace ditron::differential {
namespace {

//===-- Reductions and scans ------------------------------------------------------------------===//

/// All reductions and scans of tiles of A x B x C along every axis.
template <class T> Kernel combinations(int a, int b, int c) {
  return {"combine(x[A,B,C]) -> r0[4,B,C], r1[A,4,C], r2[A,B,4], s[12,A,B,C]",
          [=](In<T, 3> x, Out<T, 3> r0, Out<T, 3> r1, Out<T, 3> r2, Out<T, 4> s) {
            auto xs = x.tiled(a, b, c);
            auto o0 = r0.tiled(1, b, c), o1 = r1.tiled(a, 1, c), o2 = r2.tiled(a, b, 1);
            auto os = s.tiled(a, b, c);
            auto reduce = [&](int kind, const Tile &t, int axis) {
              return kind == 0   ? sum(t, axis)
                     : kind == 1 ? prod(t, axis)
                     : kind == 2 ? max(t, axis)
                                 : min(t, axis);
            };
            auto scan = [&](int kind, const Tile &t, int axis) {
              return kind == 0   ? cumsum(t, axis)
                     : kind == 1 ? cumprod(t, axis)
                     : kind == 2 ? cummax(t, axis)
                                 : cummin(t, axis);
            };
            for (auto [i, j, k] : xs.tiles())
              for (int kind = 0; kind < 4; ++kind) {
                o0(kind, j, k) = reduce(kind, xs(i, j, k), 0);
                o1(i, kind, k) = reduce(kind, xs(i, j, k), 1);
                o2(i, j, kind) = reduce(kind, xs(i, j, k), 2);
                for (int axis = 0; axis < 3; ++axis)
                  os(4 * axis + kind, i, j, k) = scan(kind, xs(i, j, k), axis);
              }
          }};
}

template <class T> std::vector<Argument> combined(const Block &x) {
  int64_t a = x.shape()[0], b = x.shape()[1], c = x.shape()[2];
  constexpr DType type = kDType<T>;
  return {x, Block(type, {4, b, c}), Block(type, {a, 4, c}), Block(type, {a, b, 4}),
          Block(type, {12, a, b, c})};
}

template <class T> class Reductions : public testing::Test {};
using NumberTypes = testing::Types<f32, f16, bf16, f8e4m3, f8e5m2, i8, i16, i32, i64>;
TYPED_TEST_SUITE(Reductions, NumberTypes);

TYPED_TEST(Reductions, everyAxis) {
  constexpr DType type = kDType<TypeParam>;
  Tolerance tolerance{.ulps = isFloat(type) ? 1.0 : 0, .absolute = type == DType::f32 ? 1e-4 : 0};
  for (Shape shape : {Shape{1, 1, 1}, {3, 5, 7}, {2, 3, 16}, {2, 1, 67}, {1, 4, 200}, {5, 2, 2}}) {
    SCOPED_TRACE(testing::PrintToString(shape));
    Block x = Block(type, shape).fillRandom(1);
    if (isFloat(type)) // products that neither overflow nor cancel
      x.fill([&](int64_t n) { return (n % 3 ? 1 : -1) * std::exp2(double((n * 7) % 3 - 1)); });
    expectSame(combinations<TypeParam>(static_cast<int>(shape[0]), static_cast<int>(shape[1]),
                                       static_cast<int>(shape[2])),
               combined<TypeParam>(x), tolerance);
  }
}

TYPED_TEST(Reductions, specialValues) {
  constexpr DType type = kDType<TypeParam>;
  if (!isFloat(type))
    GTEST_SKIP() << "integers have none";
  for (double special : {double(NAN), double(INFINITY), -double(INFINITY)})
    for (int64_t at : {0, 1, 16, 33, 69}) {
      SCOPED_TRACE(testing::PrintToString(special) + " at " + std::to_string(at));
      Block x(type, {2, 2, 35});
      x.fill([&](int64_t n) { return n % 70 == at ? special : double(n % 3) - 1; });
      expectSame(combinations<TypeParam>(2, 2, 35), combined<TypeParam>(x), {.absolute = 1e-4});
    }
}

template <class T> Kernel extrema(int a, int b) {
  return {"extrema(x[A,B]) -> c[P,B], r[A,P]", [=](In<T> x, Out<i32> c, Out<i32> r) {
            auto xs = x.tiled(a, b);
            auto cs = c.tiled(1, b), rs = r.tiled(a, 1);
            for (auto [i, j] : xs.tiles()) {
              cs(0, j) = argmax(xs(i, j), 0);
              cs(1, j) = argmin(xs(i, j), 0);
              rs(i, 0) = argmax(xs(i, j), 1);
              rs(i, 1) = argmin(xs(i, j), 1);
            }
          }};
}

TYPED_TEST(Reductions, positionsOfExtrema) {
  Fitting fitting;
  constexpr DType type = kDType<TypeParam>;
  for (Shape shape : {Shape{1, 1}, {4, 37}, {16, 16}, {7, 100}})
    for (int variant = 0; variant < 4; ++variant) {
      Block x(type, shape);
      x.fillIntegers([](int64_t n) { return (n * 7919) % 5 - 2; }); // many ties
      if (variant && isFloat(type)) {
        double special = variant == 1 ? NAN : variant == 2 ? INFINITY : -INFINITY;
        for (int64_t n = variant; n < x.elements(); n += 11)
          storeElement(type, x.element(n), special);
      }
      fitting.expectSame(extrema<TypeParam>(static_cast<int>(shape[0]), static_cast<int>(shape[1])),
                         {x, Block(DType::i32, {2, shape[1]}), Block(DType::i32, {shape[0], 2})});
    }
  fitting.expectHalf();
}

//===-- Products ------------------------------------------------------------------------------===//

template <class T, class Acc> Kernel product(int m, int n, int k) {
  return {"product(a[M,K], b[K,N], bias[1,N]) -> c[M,N], d[M,N]",
          [=](In<T> a, In<T> b, In<Acc> bias, Out<Acc> c, Out<Acc> d) {
            auto as = a.tiled(m, k), bs = b.tiled(k, n);
            auto biases = bias.tiled(1, n);
            auto cs = c.tiled(m, n), ds = d.tiled(m, n);
            for (auto [i, j] : cs.tiles()) {
              Var acc = broadcast(biases(0, j), {m, n}); // starts with something
              for (auto kk : range(as.cols()))
                acc += dot(as(i, kk), bs(kk, j));
              Tile once = dot(as(i, 0), bs(0, j));
              cs(i, j) = acc;
              ds(i, j) = once * 2 + once;
            }
          }};
}

/// Small integers: every order gives the same sum.
Block small(DType type, Shape shape, int64_t by, Placement placement = Placement::dense) {
  return Block(type, std::move(shape), placement).fillIntegers([by](int64_t n) {
    return (n * by) % 7 - 3;
  });
}

template <class T> class Products : public testing::Test {};
using FactorTypes = testing::Types<f32, f16, bf16, f8e4m3, f8e5m2, i8>;
TYPED_TEST_SUITE(Products, FactorTypes);

TYPED_TEST(Products, raggedEverything) {
  Fitting fitting;
  using Acc = std::conditional_t<std::is_same_v<TypeParam, i8>, i32, f32>;
  constexpr DType type = kDType<TypeParam>, sum = kDType<Acc>;
  struct Case {
    int m, n, k;
  };
  for (Case tile :
       {Case{1, 1, 1}, {3, 5, 2}, {16, 32, 8}, {13, 37, 19}, {64, 48, 32}, {4, 64, 290}}) {
    Kernel kernel = product<TypeParam, Acc>(tile.m, tile.n, tile.k);
    for (Shape mnk : {Shape{1, 1, 1}, {17, 41, 23}, {64, 48, 96}, {5, 128, 431}})
      for (Placement placement : {Placement::dense, Placement::transposed, Placement::reversed}) {
        int64_t m = mnk[0], n = mnk[1], k = mnk[2];
        if (m * n * k / (tile.m * tile.n * tile.k) > 5000)
          continue;
        SCOPED_TRACE(testing::PrintToString(mnk) + " in tiles of " + std::to_string(tile.m) + " " +
                     std::to_string(tile.n) + " " + std::to_string(tile.k) + name(placement));
        fitting.expectSame(kernel,
                           {small(type, {m, k}, 5, placement), small(type, {k, n}, 3, placement),
                            small(sum, {1, n}, 11), Block(sum, {m, n}), Block(sum, {m, n})});
      }
  }
  fitting.expectHalf();
}

/// On GPUs, whose threads have few elements of odd extents, of powers of two.
TYPED_TEST(Products, batches) {
  using Acc = std::conditional_t<std::is_same_v<TypeParam, i8>, i32, f32>;
  constexpr DType type = kDType<TypeParam>, sum = kDType<Acc>;
  int m = isOnCpu() ? 5 : 4, k = isOnCpu() ? 7 : 8, n = isOnCpu() ? 19 : 16;
  Kernel kernel("batches(a[P,Q,M,K], b[P,Q,K,N], x[B,L,K]) -> c[P,Q,M,N], y[B,L,L]",
                [=](In<TypeParam, 4> a, In<TypeParam, 4> b, In<TypeParam, 3> x, Out<Acc, 4> c,
                    Out<Acc, 3> y) {
                  auto as = a.tiled(2, 2, m, k), bs = b.tiled(2, 2, k, n);
                  auto xs = x.tiled(2, m, k);
                  auto cs = c.tiled(2, 2, m, n);
                  auto ys = y.tiled(2, m, m);
                  for (auto [p, q, i, j] : cs.tiles()) {
                    Var acc = full<Acc>({2, 2, m, n}, 1);
                    for (auto step : range(as.cols()))
                      acc += dot(as(p, q, i, step), bs(p, q, step, j));
                    cs(p, q, i, j) = acc;
                  }
                  for (auto [b, i, j] : ys.tiles()) {
                    Var acc = full<Acc>({2, m, m}, 0);
                    for (auto step : range(xs.cols()))
                      acc += dot(xs(b, i, step), transpose(xs(b, j, step)));
                    ys(b, i, j) = acc;
                  }
                });
  expectSame(kernel,
             {small(type, {3, 2, 11, 16}, 5), small(type, {3, 2, 16, 23}, 3),
              small(type, {3, 7, 16}, 2), Block(sum, {3, 2, 11, 23}), Block(sum, {3, 7, 7})},
             {}, 2);
}

/// Batches of few rows, which the tensor cores of a GPU take where there are eight products or more.
TYPED_TEST(Products, batchesOfFewRows) {
  using Acc = std::conditional_t<std::is_same_v<TypeParam, i8>, i32, f32>;
  constexpr DType type = kDType<TypeParam>, sum = kDType<Acc>;
  for (auto [m, n] : {std::pair(1, 8), {4, 8}, {8, 16}, {2, 32}}) {
    Kernel kernel("batches(a[M,K], b[N,K]) -> c[G,M,N]", [=](In<TypeParam> a, In<TypeParam> b,
                                                             Out<Acc, 3> c) {
      auto byBlock = [](const Tile &rows, int count) {
        return transpose(reshape(rows, {count, 8, 32}), {1, 0, 2});
      };
      for (auto [i, j] : b.tiled(n, 256).tiles()) {
        Var acc = full<Acc>({8, m, n}, 2);
        acc += dot(byBlock(a.tiled(m, 256)(0, j), m), transpose(byBlock(b.tiled(n, 256)(i, j), n)));
        c.tiled(8, m, n)(j, 0, i) = acc;
      }
    });
    SCOPED_TRACE(std::to_string(m) + " by " + std::to_string(n));
    bool isTooMuch = byteSize(type) == 1 && m * n > 64;
    expectSame(kernel,
               {small(type, {m, 500}, 5), small(type, {2 * n - 3, 500}, 3),
                Block(sum, {16, m, 2 * n - 3})},
               {}, 2, isTooMuch ? Room::tooLittleOnGpus : Room::enough);
  }
}

/// On GPUs each has its own fragments, though a transposition and a sum hold them together.
TYPED_TEST(Products, besideATransposedOne) {
  using Acc = std::conditional_t<std::is_same_v<TypeParam, i8>, i32, f32>;
  constexpr DType type = kDType<TypeParam>, sum = kDType<Acc>;
  constexpr int kSide = 64;
  Kernel kernel("symmetric(a[M,M], b[M,M]) -> c[M,M]",
                [](In<TypeParam> a, In<TypeParam> b, Out<Acc> c) {
                  auto as = a.tiled(kSide, kSide), bs = b.tiled(kSide, kSide);
                  auto cs = c.tiled(kSide, kSide);
                  for (auto [i, j] : cs.tiles())
                    cs(i, j) = transpose(dot(as(i, j), bs(i, j))) + dot(bs(i, j), as(i, j));
                });
  for (int64_t m : {64, 23})
    expectSame(kernel, {small(type, {m, m}, 5), small(type, {m, m}, 3), Block(sum, {m, m})});
}

/// Rows of both sides, read where they lie: few and many rows of a tile, whole vectors and parts.
TYPED_TEST(Products, rowsByRows) {
  Fitting fitting;
  using Acc = std::conditional_t<std::is_same_v<TypeParam, i8>, i32, f32>;
  constexpr DType type = kDType<TypeParam>, sum = kDType<Acc>;
  for (auto [m, n, k] : {std::array{1, 16, 64},
                         {1, 3, 70},
                         {2, 5, 16},
                         {5, 8, 100},
                         {9, 7, 33},
                         {4, 10, 96},
                         {9, 24, 32},
                         {2, 3, 1056},
                         {65, 4, 16},
                         {3, 4, 5}}) {
    Kernel kernel("byRows(a[M,K], b[N,K]) -> c[M,N]",
                  [=](In<TypeParam> a, In<TypeParam> b, Out<Acc> c) {
                    auto as = a.tiled(m, k), bs = b.tiled(n, k);
                    auto cs = c.tiled(m, n);
                    for (auto [i, j] : cs.tiles()) {
                      Var acc = full<Acc>({m, n}, 1);
                      for (auto kk : range(as.cols()))
                        acc += dot(as(i, kk), transpose(bs(j, kk)));
                      cs(i, j) = acc;
                    }
                  });
    for (Placement placement : {Placement::dense, Placement::transposed, Placement::reversed})
      for (Shape mnk : {Shape{1, 1, 1}, {7, 19, 131}, {10, 16, 128}, {2, 5, 1100}}) {
        SCOPED_TRACE(testing::PrintToString(mnk) + " in tiles of " + std::to_string(m) + " " +
                     std::to_string(n) + " " + std::to_string(k) + name(placement));
        fitting.expectSame(kernel, {small(type, {mnk[0], mnk[2]}, 5, placement),
                                    small(type, {mnk[1], mnk[2]}, 3, placement),
                                    Block(sum, {mnk[0], mnk[1]})});
      }
  }
  fitting.expectHalf();
}

/// Rows that are computed: of halves of bytes, with a factor for each 16 of them.
TEST(Products, rowsThatAreComputed) {
  for (int m : {1, 3, 30})
    for (int k : {16, 48}) {
      Kernel kernel("computed(a[M,K], q[N,K], s[N,K/16]) -> c[M,N]", [=](In<f32> a, In<i8> q,
                                                                         In<f16> s, Out<f32> c) {
        auto as = a.tiled(m, k);
        auto qs = q.tiled(6, k);
        auto ss = s.tiled(6, k / 16);
        auto cs = c.tiled(m, 6);
        for (auto [i, j] : cs.tiles()) {
          Var acc = zeros<f32>(m, 6);
          for (auto kk : range(as.cols())) {
            auto bytes = cast<i32>(qs(j, kk));
            auto factor =
                reshape(broadcast(expand(cast<f32>(ss(j, kk)), 2), {6, k / 16, 16}), {6, k});
            auto low = cast<f32>(bitAnd(bytes, 15)) * factor;
            auto high = cast<f32>(bitAnd(shiftRight(bytes, 4), 15)) * factor;
            acc += dot(as(i, kk), transpose(low));
            acc += dot(as(i, kk), transpose(high));
          }
          cs(i, j) = acc;
        }
      });
      for (int64_t columns : {16, 96})
        expectSame(kernel, {small(DType::f32, {5, columns}, 5), small(DType::i8, {13, columns}, 3),
                            small(DType::f16, {13, columns / 16}, 2), Block(DType::f32, {5, 13})});
    }
}

/// Factors that are computed, not read: nothing is known of their edges.
TEST(Products, ofExpressions) {
  Kernel kernel("expressions(a[M,K], b[K,N]) -> c[M,N]", [](In<f32> a, In<f16> b, Out<f32> c) {
    auto as = a.tiled(6, 9);
    auto bs = b.tiled(9, 20);
    auto cs = c.tiled(6, 20);
    for (auto [i, j] : cs.tiles()) {
      Tile left = as(i, 0) + 1, right = cast<f32>(bs(0, j)) * 2;
      Tile first = dot(left, right), second = dot(left, right + 1);
      Tile square = dot(transpose(first), second);
      cs(i, j) = dot(dot(first, square), full<f32>({20, 20}, 1)) + first;
    }
  });
  expectSame(kernel, {small(DType::f32, {11, 9}, 5), small(DType::f16, {9, 31}, 3),
                      Block(DType::f32, {11, 31})});
}

TEST(Products, roundNoMoreThanTheirSum) {
  auto random = [](DType type, Shape shape) { return Block(type, std::move(shape)).fillRandom(9); };
  expectSame(product<f32, f32>(32, 32, 64),
             {random(DType::f32, {50, 300}), random(DType::f32, {300, 45}),
              random(DType::f32, {1, 45}), Block(DType::f32, {50, 45}),
              Block(DType::f32, {50, 45})},
             {.absolute = 1e-3});
}

} // namespace
} // namespace ditron::differential
