// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ditron-trace tiles | FileCheck %s
#include "Groups.h"

using namespace ditron;

// clang-format off: CHECK lines stay whole
static std::vector<Kernel> kernels() {
  return {
      // Operands are read from left to right, shapes broadcast, numbers take the tile's type; every
      // op has the line it was written in.
      // CHECK-LABEL: func.func @broadcast
      // CHECK: %[[X:.*]] = tile.load %arg0[{{.*}}] : {{.*}} -> tensor<8x16xf32>{{.*}} {{.*}}Tiles.cpp:[[#@LINE+10]]:
      // CHECK: %[[R:.*]] = tile.load %arg1[{{.*}}] : {{.*}} -> tensor<1x16xf32>
      // CHECK: %[[RR:.*]] = tile.broadcast %[[R]] : tensor<1x16xf32> -> tensor<8x16xf32>
      // CHECK: %[[S:.*]] = arith.addf %[[X]], %[[RR]] : tensor<8x16xf32> {{.*}}Tiles.cpp:[[#@LINE+7]]:
      // CHECK: %[[TWO:.*]] = arith.constant dense<2.000000e+00> : tensor<8x16xf32>
      // CHECK: %[[P:.*]] = arith.mulf %[[S]], %[[TWO]]
      // CHECK: tile.store %[[P]], %arg2[{{.*}}]
      Kernel("broadcast(x[M,N], r[1,N]) -> y[M,N]",
             [](In<f32> x, In<f32> r, Out<f32> y) {
               auto xs = x.tiled(8, 16), rs = r.tiled(1, 16);
               auto sum = xs(0, 0) + rs(0, 0);
               y.tiled(8, 16)(0, 0) = sum * 2;
             }),

      // CHECK-LABEL: func.func @integers
      // CHECK-DAG: arith.divsi
      // CHECK-DAG: arith.remsi
      // CHECK-DAG: arith.cmpi slt
      // CHECK: arith.select
      // CHECK: arith.shli
      // CHECK: arith.subi %{{.*}}, %{{.*}} : tensor<4xi16>
      Kernel("integers(x[N]) -> y[N]",
             [](In<i16, 1> x, Out<i16, 1> y) {
               Tile t = x.tiled(4)(0);
               y.tiled(4)(0) = -(select(t < 3, t / 3, t % 3) << 2);
             }),

      // CHECK-LABEL: func.func @combine
      // CHECK: %[[D:.*]] = tile.dot %{{.*}}, %{{.*}}, %{{.*}} : tensor<8x4xf16>, tensor<4x16xf16> -> tensor<8x16xf32>
      // CHECK: tile.dot {{.*}} precision tf32 : tensor<8x16xf32>
      // CHECK: tile.reduce sum %{{.*}} axis 1 : tensor<8x8xf32> -> tensor<8x1xf32>
      // CHECK: tile.reduce_index min %{{.*}} axis 0 : tensor<8x1xf32> -> tensor<1x1xi32>
      // CHECK: tile.scan prod %{{.*}} axis 1
      Kernel("combine(a[M,K], b[K,N]) -> c[M,N], p[1,1]",
             [](In<f16> a, In<f16> b, Out<f32> c, Out<i32> p) {
               Tile d = dot(a.tiled(8, 4)(0, 0), b.tiled(4, 16)(0, 0));
               Tile e = dot(d, transpose(d), Precision::tf32);
               p.tiled(1, 1)(0, 0) = argmin(sum(e, 1), 0);
               c.tiled(8, 16)(0, 0) = cumprod(d, 1);
             }),

      // CHECK-LABEL: func.func @shapes
      // CHECK: tile.transpose %{{.*}} [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
      // CHECK: tile.reshape %{{.*}} : tensor<6x4xf32> -> tensor<1x6x4xf32>
      // CHECK: tile.broadcast %{{.*}} -> tensor<2x6x4xf32>
      // CHECK: tile.iota axis 2 : tensor<2x6x4xi32>
      // CHECK: tile.cast %{{.*}} : tensor<2x6x4xi32> to tensor<2x6x4xf32>
      // CHECK: tile.cast %{{.*}} rounding toward_zero saturate : tensor<2x6x4xf32> to tensor<2x6x4xf8E4M3FN>
      Kernel("shapes(x[M,N]) -> y[A,B,C]",
             [](In<f32> x, Out<f8e4m3, 3> y) {
               Tile t = broadcast(expand(transpose(x.tiled(4, 6)(0, 0)), 0), {2, 6, 4});
               Tile u = t * cast<f32>(iota({2, 6, 4}, 2));
               y.tiled(2, 6, 4)(0, 0, 0) = cast<f8e4m3>(u, Rounding::towardZero, Overflow::saturate);
             }),

      // A run-time scalar is repeated; an Index beside a tile is an i32.
      // CHECK-LABEL: func.func @scalars
      // CHECK-SAME: %arg1: bf16 {tile.name = "s"}
      // CHECK-SAME: %arg2: index {tile.name = "n"}
      // CHECK: tensor.splat %arg1 : tensor<4xbf16>
      // CHECK: memref.load %arg0
      // CHECK: arith.index_cast %arg2 : index to i32
      Kernel("scalars(x[N], s, n) -> y[N], z[N]",
             [](In<bf16, 1> x, Scalar<bf16> s, Index n, Out<bf16, 1> y, Out<i32, 1> z) {
               y.tiled(4)(0) = x.tiled(4)(0) * s + x.read({n});
               z.tiled(4)(0) = iota(4) + n;
             }),
  };
}

// clang-format on

static tests::Group group("tiles", kernels);
