// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalars, variables, loops and branches.
#include "Differential.h"
#include <array>
#include <gtest/gtest.h>

namespace ditron::differential {
namespace {

//===-- Scalars -------------------------------------------------------------------------------===//

template <class T> class Scalars : public testing::Test {};
using AllTypes = testing::Types<f32, f16, bf16, f8e4m3, f8e5m2, i8, i16, i32, i64, i1>;
TYPED_TEST_SUITE(Scalars, AllTypes);

/// Arguments, elements of views and what is computed of them.
TYPED_TEST(Scalars, argumentsAndElements) {
  Kernel kernel("scalars(x[A,B], s, t) -> y[A,B], z[8]",
                [](In<TypeParam> x, Scalar<TypeParam> s, Scalar<TypeParam> t, Out<TypeParam> y,
                   Out<TypeParam, 1> z) {
                  auto xs = x.tiled(2, 19);
                  auto ys = y.tiled(2, 19);
                  auto zs = z.tiled(1);
                  for (auto [i, j] : ys.tiles())
                    ys(i, j) = add(mul(xs(i, j), s), t);
                  Tile e = x.read({x.rows() - 1, x.cols() - 1}), f = x.read({0, 0});
                  zs(0) = reshape(e, {1});
                  zs(1) = add(e, s);
                  zs(2) = sub(mul(e, f), t);
                  zs(3) = div(e, f);
                  zs(4) = minimum(maximum(e, f), s);
                  zs(5) = select(less(e, f), s, t);
                  zs(6) = cast<TypeParam>(add(cast<f32>(e), cast<f32>(s)));
                  zs(7) = cast<TypeParam>(cast<i32>(f));
                });
  constexpr DType type = kDType<TypeParam>;
  for (double s : {1., type == DType::i1 ? 0. : -2.})
    for (Placement placement : kPlacements)
      expectSame(kernel,
                 {Block(type, {5, 21}, placement).fillRandom(1), s, 1., Block(type, {5, 21}),
                  Block(type, {8})},
                 {.absolute = 1e-300});
}

TEST(Scalars, integersByZero) {
  Kernel kernel("byZero(x[P], n, i) -> y[8], z[8]", [](In<i32, 1> x, Index n, Scalar<i32> i,
                                                       Out<i32, 1> y, Out<i32, 1> z) {
    auto ys = y.tiled(1), zs = z.tiled(1);
    Tile e = x.read({0});
    ys(0) = div(e, i), ys(1) = rem(e, i), ys(2) = shiftLeft(e, i), ys(3) = shiftRight(e, i);
    Index m = toIndex(e);
    ys(4) = toTile(m / n), ys(5) = toTile(m % n), ys(6) = toTile(ceilDiv(max(m, 0), n));
    ys(7) = toTile(min(m, n) * 2 - 1);
    zs(toIndex(i) * 0) = toTile(select(m < n && !(m == n), m + n, m - n));
  });
  for (int64_t e : {0, 7, -7, INT32_MIN, INT32_MAX})
    for (int64_t n : {0, 1, -1, 3, -3, 64})
      expectSame(kernel, {Block(DType::i32, {1}).fillIntegers([=](int64_t) { return e; }), n,
                          double(n), Block(DType::i32, {8}), Block(DType::i32, {8})});
}

/// As the ops that they stand for.
TEST(Scalars, constantsAreDivided) {
  auto ofBoth = [](int64_t a, int64_t b) {
    return std::array{(Index(a) / b).constant(), (Index(a) % b).constant(),
                      ceilDiv(Index(a), b).constant()};
  };
  EXPECT_EQ(ofBoth(7, 2), (std::array<int64_t, 3>{3, 1, 4}));
  EXPECT_EQ(ofBoth(-4, 2), (std::array<int64_t, 3>{-2, 0, -2}));
  EXPECT_EQ(ofBoth(-5, 2), (std::array<int64_t, 3>{-2, -1, -2}));
  EXPECT_EQ(ofBoth(7, -2), (std::array<int64_t, 3>{-3, 1, -3}));
  EXPECT_EQ(ofBoth(-7, -2), (std::array<int64_t, 3>{3, -1, 4}));
  EXPECT_EQ(ofBoth(7, 0), (std::array<int64_t, 3>{0, 0, 0}));
  EXPECT_EQ(ofBoth(INT64_MAX, 2)[2], INT64_MAX / 2 + 1);
  EXPECT_EQ(ofBoth(INT64_MIN, -1)[0], INT64_MIN);
}

/// Branches and bounds that only the run knows.
TEST(Scalars, steer) {
  Kernel kernel("steer(x[A,B], n) -> y[A,B], count[1]",
                [](In<i32> x, Index n, Out<i32> y, Out<i32, 1> count) {
                  auto xs = x.tiled(3, 5);
                  auto ys = y.tiled(3, 5);
                  Var total = Index(0);
                  for (auto i : range(xs.rows()))
                    for (auto j : range(0, xs.cols(), 2)) {
                      Var steps = Index(0);
                      for (auto k : range(i, n, 3))
                        steps += k;
                      when(
                          steps > 4, [&] { ys(i, j) = xs(i, j) * toTile(steps); },
                          [&] {
                            when(
                                j == 0 || i >= n, [&] { ys(i, j) = xs(i, j) - 1; },
                                [&] { ys(i, j) = full<i32>({3, 5}, 9); });
                          });
                      total += steps;
                    }
                  count.tiled(1)(0) = toTile(total);
                });
  for (int64_t n : {-1, 0, 1, 5, 9})
    expectSame(kernel, {Block(DType::i32, {10, 17}).fillRandom(1), n,
                        Block(DType::i32, {10, 17}).fillIntegers([](int64_t) { return 0; }),
                        Block(DType::i32, {1})});
}

//===-- Variables -----------------------------------------------------------------------------===//

template <class T> class Variables : public testing::Test {};
TYPED_TEST_SUITE(Variables, AllTypes);

TYPED_TEST(Variables, swapAndOrder) {
  using T = TypeParam;
  Kernel kernel("swap(a[A,B], b[A,B], n) -> x[A,B], y[A,B], z[A,B]",
                [](In<T> a, In<T> b, Index n, Out<T> x, Out<T> y, Out<T> z) {
                  auto as = a.tiled(3, 20), bs = b.tiled(3, 20);
                  auto xs = x.tiled(3, 20), ys = y.tiled(3, 20), zs = z.tiled(3, 20);
                  for (auto [i, j] : xs.tiles()) {
                    Var p = as(i, j), q = bs(i, j), last = as(i, j), rest = full<T>({3, 20}, 1);
                    for ([[maybe_unused]] auto k : range(n)) {
                      Tile before = p; // as it is now
                      p = q;
                      q = before;
                      p = select(less(p, before), p, add(p, before));
                      last = p; // the new one
                      rest = sub(p, q);
                      q = sub(q, last);
                    }
                    xs(i, j) = p;
                    ys(i, j) = add(q, rest);
                    zs(i, j) = last;
                  }
                });
  constexpr DType type = kDType<T>;
  for (int64_t n : {0, 1, 2, 5})
    expectSame(kernel,
               {Block(type, {7, 43}).fillRandom(1), Block(type, {7, 43}).fillRandom(2), n,
                Block(type, {7, 43}), Block(type, {7, 43}), Block(type, {7, 43})},
               {.absolute = 1e-300});
}

TEST(Variables, resultsOfBranches) {
  Kernel kernel("branches(a[A,B], b[A,B], n) -> x[A,B], y[A,B], s[4]",
                [](In<f32> a, In<f32> b, Index n, Out<f32> x, Out<f32> y, Out<f32, 1> s) {
                  auto as = a.tiled(2, 35), bs = b.tiled(2, 35);
                  auto xs = x.tiled(2, 35), ys = y.tiled(2, 35);
                  Var scalar = a.read({0, 0});
                  Var index = Index(1);
                  for (auto i : range(xs.rows()))
                    for (auto j : range(xs.cols())) {
                      Var t = as(i, j), u = bs(i, j);
                      Tile outside = as(i, j) + bs(i, j);
                      when(
                          i < n,
                          [&] {
                            t = u * 2;
                            scalar += 1;
                          },
                          [&] {
                            Tile keep = t;
                            t = u;
                            u = keep - outside;
                            index += j + 1;
                          });
                      when(j == n, [&] {
                        u = cast<f32>(iota({2, 35}, 1));
                        t = outside;
                      });
                      for (auto k : range(index))
                        when(k < 3, [&] { t += u; });
                      xs(i, j) = t;
                      ys(i, j) = u;
                    }
                  s.tiled(2)(0) = broadcast(scalar, {2});
                  s.tiled(2)(1) = cast<f32>(broadcast(toTile(index), {2}));
                });
  auto small = [](int64_t by) {
    return Block(DType::f32, {5, 80}).fillIntegers([by](int64_t n) { return n * by % 11 - 5; });
  };
  for (int64_t n : {0, 1, 2, 3})
    expectSame(kernel, {small(3), small(7), n, Block(DType::f32, {5, 80}),
                        Block(DType::f32, {5, 80}), Block(DType::f32, {4})});
}

/// The pattern of flash attention: several carried tiles, each updated from the others' old values.
TEST(Variables, onlineSoftmax) {
  Kernel kernel("online(q[M,D], k[N,D], v[N,D]) -> o[M,D], l[M,1]",
                [](In<f32> q, In<f32> k, In<f32> v, Out<f32> o, Out<f32> l) {
                  auto qs = q.tiled(5, 16), ks = k.tiled(7, 16), vs = v.tiled(7, 16);
                  auto os = o.tiled(5, 16), ls = l.tiled(5, 1);
                  for (auto [i, j] : os.tiles()) {
                    Var m = full<f32>({5, 1}, -INFINITY), sumOf = zeros<f32>(5, 1);
                    Var acc = zeros<f32>(5, 16);
                    Tile rows = qs(i, 0);
                    for (auto n : range(ks.rows())) {
                      Tile s = dot(rows, transpose(ks(n, 0)));
                      Tile fresh = maximum(m, max(s, 1));
                      Tile p = exp(s - fresh), fade = exp(m - fresh);
                      sumOf = sumOf * fade + sum(p, 1);
                      acc = acc * fade + dot(p, vs(n, 0));
                      m = fresh;
                    }
                    os(i, j) = acc / sumOf;
                    ls(i, 0) = m + log(sumOf);
                  }
                });
  auto random = [](Shape shape, uint64_t seed) {
    return Block(DType::f32, std::move(shape)).fillRandom(seed);
  };
  expectSame(kernel,
             {random({12, 16}, 1), random({33, 16}, 2), random({33, 16}, 3),
              Block(DType::f32, {12, 16}), Block(DType::f32, {12, 1})},
             {.absolute = 2e-5}, 2);
}

TEST(Variables, nestedLoops) {
  Kernel kernel("nested(a[A,B], b[B,C]) -> c[A,C], d[A,C]",
                [](In<i8> a, In<i8> b, Out<i32> c, Out<i32> d) {
                  auto as = a.tiled(4, 3), bs = b.tiled(3, 18);
                  auto cs = c.tiled(4, 18), ds = d.tiled(4, 18);
                  for (auto [i, j] : cs.tiles()) {
                    Var outer = zeros<i32>(4, 18), seen = zeros<i32>(4, 18);
                    for (auto r : range(3)) {
                      Var inner = outer + 1;
                      for (auto k : range(as.cols())) {
                        inner += dot(as(i, k), bs(k, j));
                        seen = maximum(seen, inner);
                      }
                      outer = inner - outer * 2 + toTile(r);
                    }
                    cs(i, j) = outer;
                    ds(i, j) = seen;
                  }
                });
  expectSame(kernel,
             {Block(DType::i8, {9, 10}).fillRandom(1), Block(DType::i8, {10, 41}).fillRandom(2),
              Block(DType::i32, {9, 41}), Block(DType::i32, {9, 41})});
}

//===-- What is computed again ----------------------------------------------------------------===//

/// What a loop carries is not replaced before all that is made of it has been stored.
TEST(Carried, takenTwiceBeforeItIsReplaced) {
  Kernel kernel("carried() -> x[K*M,N], y[K*M,N], z[M,N]",
                [](InOut<f32> x, Out<f32> y, Out<f32> z) {
                  auto xs = x.tiled(3, 20);
                  auto ys = y.tiled(3, 20);
                  for (auto [i, j] : z.tiled(3, 20).tiles()) {
                    Var carried = zeros<f32>(3, 20);
                    for (auto k : range(xs.rows())) {
                      auto scaled = carried * 0.5, tripled = scaled * 3;
                      auto next = exp(scaled) + xs(k, j);
                      xs(k, j) = next * next; // next is in memory before tripled is computed
                      carried = next;
                      ys(k, j) = tripled;
                    }
                    z.tiled(3, 20)(i, j) = carried;
                  }
                });
  expectSame(kernel,
             {Block(DType::f32, {9, 20}).fillRandom(1), Block(DType::f32, {9, 20}),
              Block(DType::f32, {3, 20})},
             {.ulps = isOnCpu() ? 4.0 : 64.0});
}

/// A row is repeated, and a tile squared, in several expressions and across a store to the very
/// memory that they come from.
TEST(Repeated, acrossAStoreToWhereItComesFrom) {
  Kernel kernel("repeated(x[M,N], -) -> x2[M,N], y[M,N]",
                [](In<f32> x, std::optional<In<f32>> none, InOut<f32> x2, Out<f32> y) {
                  if (none)
                    return;
                  auto rows = x.tiled(4, 40);
                  auto inPlace = x2.tiled(1, 40);
                  auto both = x2.tiled(4, 40);
                  auto ys = y.tiled(4, 40);
                  for (auto [i, j] : ys.tiles()) {
                    auto row = broadcast(inPlace(4 * i, j), {4, 40});
                    auto shifted = rows(i, j) - row, v = Tile(both(i, j));
                    both(i, j) = shifted * shifted + v * v;
                    ys(i, j) = shifted * row + (v + row) * (v + row);
                  }
                });
  for (const Shape &shape : {Shape{8, 40}, {7, 37}})
    expectSame(kernel,
               {Block(DType::f32, shape).fillRandom(1), Block(DType::f32, shape).fillRandom(2),
                Block(DType::f32, shape)},
               {.ulps = 4});
}

} // namespace
} // namespace ditron::differential
