// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes of shape: broadcast, transpose, reshape, iota, alone and between other work.
#include "Differential.h"
#include <gtest/gtest.h>

namespace ditron::differential {
namespace {

template <class T> class Shapes : public testing::Test {};
using AllTypes = testing::Types<f32, f16, f8e4m3, i8, i64, i1>;
TYPED_TEST_SUITE(Shapes, AllTypes);

TYPED_TEST(Shapes, transpose) {
  Kernel kernel("transpose(x[A,B,C]) -> y[C,A,B], z[A,C,B], w[B,A,C], v[B,A]",
                [](In<TypeParam, 3> x, Out<TypeParam, 3> y, Out<TypeParam, 3> z,
                   Out<TypeParam, 3> w, Out<TypeParam, 2> v) {
                  auto xs = x.tiled(2, 3, 19);
                  auto ys = y.tiled(19, 2, 3), zs = z.tiled(2, 19, 3), ws = w.tiled(3, 2, 19);
                  auto vs = v.tiled(3, 2);
                  for (auto [i, j, k] : xs.tiles()) {
                    ys(k, i, j) = transpose(xs(i, j, k), {2, 0, 1});
                    zs(i, k, j) = transpose(xs(i, j, k));
                    Tile t = xs(i, j, k);
                    ws(j, i, k) = transpose(add(t, t), {1, 0, 2});
                    Tile column = reshape(x.tiled(2, 3, 1)(i, j, k), {2, 3});
                    when(k == 0, [&] { vs(j, i) = transpose(column); });
                  }
                });
  for (Shape s : {Shape{1, 1, 1}, {2, 3, 19}, {5, 7, 41}}) {
    constexpr DType type = kDType<TypeParam>;
    expectSame(kernel, {Block(type, s).fillRandom(2), Block(type, {s[2], s[0], s[1]}),
                        Block(type, {s[0], s[2], s[1]}), Block(type, {s[1], s[0], s[2]}),
                        Block(type, {s[1], s[0]})});
  }
}

TYPED_TEST(Shapes, broadcast) {
  Kernel kernel("broadcast(x[A,B], r[1,B], c[A,1], s[1,1]) -> y[A,B], z[P,A,B]",
                [](In<TypeParam> x, In<TypeParam> r, In<TypeParam> c, In<TypeParam> s,
                   Out<TypeParam> y, Out<TypeParam, 3> z) {
                  auto xs = x.tiled(3, 21), rs = r.tiled(1, 21), cs = c.tiled(3, 1),
                       ss = s.tiled(1, 1);
                  auto ys = y.tiled(3, 21);
                  auto zs = z.tiled(2, 3, 21);
                  for (auto [i, j] : ys.tiles()) {
                    ys(i, j) = add(add(add(xs(i, j), rs(0, j)), cs(i, 0)), ss(0, 0));
                    Tile row = add(rs(0, j), ss(0, 0));
                    zs(0, i, j) = broadcast(add(broadcast(row, {3, 21}), cs(i, 0)), {2, 3, 21});
                  }
                });
  constexpr DType type = kDType<TypeParam>;
  for (Shape s : {Shape{1, 1}, {7, 50}, {3, 21}})
    expectSame(kernel, {Block(type, s).fillRandom(3), Block(type, {1, s[1]}).fillRandom(4),
                        Block(type, {s[0], 1}).fillRandom(5), Block(type, {1, 1}).fillRandom(6),
                        Block(type, s), Block(type, {2, s[0], s[1]})});
}

TYPED_TEST(Shapes, reshape) {
  Kernel kernel("reshape(x[A,B]) -> y[P], z[Q,S], w[B,A], u[A,T,B], v[B]",
                [](In<TypeParam> x, Out<TypeParam, 1> y, Out<TypeParam> z, Out<TypeParam> w,
                   Out<TypeParam, 3> u, Out<TypeParam, 1> v) {
                  auto xs = x.tiled(6, 20);
                  auto load = [&] { return Tile(xs(0, 0)); };
                  y.tiled(120)(0) = reshape(load(), {120}); // of a tile just read
                  z.tiled(8, 15)(0, 0) = reshape(add(load(), load()), {8, 15});
                  w.tiled(20, 6)(0, 0) = transpose(reshape(reshape(load(), {2, 60}), {6, 20}));
                  Tile t = add(load(), load());
                  u.tiled(6, 1, 20)(0, 0, 0) = expand(t, 1); // extents of 1 come and go
                  Tile column = reshape(transpose(t), {20, 6, 1});
                  v.tiled(20)(0) = reshape(
                      reshape(transpose(reshape(x.tiled(1, 20)(2, 0), {20, 1})), {1, 1, 20}), {20});
                  w.tiled(20, 6)(0, 1) = reshape(column, {20, 6});
                });
  constexpr DType type = kDType<TypeParam>;
  expectSame(kernel, {Block(type, {6, 20}).fillRandom(3), Block(type, {120}), Block(type, {8, 15}),
                      Block(type, {20, 6}), Block(type, {6, 1, 20}), Block(type, {20})});
}

TEST(Shapes, iota) {
  Kernel kernel("iota() -> x[A,B], y[P,Q], z[R1,S,T], w[U]",
                [](Out<i32> x, Out<i32> y, Out<i32, 3> z, Out<i32, 1> w) {
                  x.tiled(5, 37)(0, 0) = iota({5, 37}, 0) * 100 + iota({5, 37}, 1);
                  y.tiled(3, 4)(0, 0) = reshape(iota(12), {3, 4});
                  z.tiled(2, 3, 4)(0, 0, 0) = iota({2, 3, 4}, 1) + reshape(iota(4), {1, 1, 4}) * 10;
                  w.tiled(9)(0) = reshape(transpose(reshape(full<i32>({9}, 4), {3, 3})), {9}) +
                                  reshape(transpose(reshape(iota(9), {3, 3})), {9});
                });
  expectSame(kernel, {Block(DType::i32, {5, 37}), Block(DType::i32, {3, 4}),
                      Block(DType::i32, {2, 3, 4}), Block(DType::i32, {9})});
}

/// What a loop carries under two shapes: one is the other's memory.
TEST(Shapes, reshapedCarriedTiles) {
  Kernel kernel("carried(a[M,N], b[N,M]) -> x[M,N], y[N,M]",
                [](In<i32> a, In<i32> b, Out<i32> x, Out<i32> y) {
                  Var p = a.tiled(4, 6)(0, 0);
                  Var q = b.tiled(6, 4)(0, 0);
                  for ([[maybe_unused]] auto k : range(5)) {
                    Tile before = p;
                    p = reshape(q, {4, 6});
                    q = reshape(before, {6, 4});
                  }
                  x.tiled(4, 6)(0, 0) = p;
                  y.tiled(6, 4)(0, 0) = q;
                });
  auto block = [](Shape shape) { return Block(DType::i32, std::move(shape)); };
  expectSame(kernel, {block({4, 6}).fillRandom(1), block({6, 4}).fillRandom(2), block({4, 6}),
                      block({6, 4})});
}

} // namespace
} // namespace ditron::differential
