// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ditron-trace memory | FileCheck %s
#include "Groups.h"
#include <cmath>

using namespace ditron;

// clang-format off: CHECK lines stay whole
static std::vector<Kernel> kernels() {
  return {
      // Arguments carry their names; inputs are read-only.
      // CHECK-LABEL: func.func @arguments
      // CHECK-SAME: %arg0: memref<?x?xf16, strided<[?, ?], offset: ?>> {tile.name = "a", tile.readonly}
      // CHECK-SAME: %arg1: memref<?xf32, strided<[?], offset: ?>> {tile.name = "b"}
      // CHECK-SAME: attributes {tile.extents = {{\[\["M", "N"\], \["M"\]\]}}, tile.kernel}
      Kernel("arguments(a[M,N]) -> b[M]", [](In<f16>, Out<f32, 1> b) { b.tiled(4)(0) = 0; }),

      // The tiles of a view are dealt to the cores, in an order.
      // CHECK-LABEL: func.func @tiles
      // CHECK: %[[ROWS:.*]] = memref.dim %arg0, %{{.*}}
      // CHECK: arith.ceildivsi %[[ROWS]], %{{.*}}
      // CHECK: dist.tiles (%[[I:.*]], %[[J:.*]]) of (%{{.*}}, %{{.*}}) {{.*}}order <"grouped", 4>
      // CHECK: tile.load %arg0[%[[I]], %[[J]]] padding 0xFF800000 : f32
      // CHECK: tile.store %{{.*}}, %arg1[%[[I]], %[[J]]] : tensor<8x16xf32>
      Kernel("tiles(a[M,N]) -> b[M,N]",
             [](In<f32> a, Out<f32> b) {
               auto as = a.tiled(8, 16);
               auto bs = b.tiled(8, 16);
               for (auto [i, j] : as.tiles(order::grouped(4)))
                 bs(i, j) = as(i, j).padded(-INFINITY);
             }),

      // Parts of a view are views.
      // CHECK-LABEL: func.func @parts
      // CHECK: memref.subview %arg0
      // CHECK: memref.transpose %{{.*}} (d0, d1, d2) -> (d0, d2, d1)
      // CHECK: memref.subview %{{.*}} : memref<?x?x?xf32{{.*}} to memref<?x?xf32
      // CHECK: memref.expand_shape
      Kernel("parts(a[B,M,N]) -> b[M,N]",
             [](In<f32, 3> a, Out<f32> b) {
               auto part = a.slice(1, 2, 4).transposed().at(1).tiled(4, 4);
               auto split = a.split(2).tiled(4, 4);
               b.tiled(4, 4)(0, 0) = part(0, 0) + split(0, 1, 0, 0);
             }),

      // One index of any dimension; a grid of no view; what an argument is taken for.
      // CHECK-LABEL: func.func @heads
      // CHECK-SAME: %arg0: memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>> {tile.name = "x", tile.readonly}
      // CHECK-SAME: %arg1: index {tile.name = "n"}
      // CHECK-SAME: %arg2: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.name = "y"}
      // CHECK: tile.require %{{.*}}, "{} tiles of {}"(%arg1, %{{.*}})
      // CHECK: dist.tiles (%[[N:.*]], %[[H:.*]]) of (%arg1, %{{.*}}) {{.*}}order <"row-major"> elements %arg1
      // CHECK: %[[T:.*]] = memref.transpose %arg0 (d0, d1, d2) -> (d1, d0, d2)
      // CHECK: memref.subview %[[T]][%[[H]], 0, 0] [1, %{{.*}}, %{{.*}}]
      Kernel("heads(x[T,H,D], -, n) -> y[T,D]",
             [](In<f32, 3> x, std::optional<In<f32>> w, Index n, Out<f32> y) {
               Index tiles = ceilDiv(y.rows(), 4);
               require(n <= tiles, "{} tiles of {}", {n, tiles});
               for (auto [i, h] : grid({n, x.dim(1)}))
                 y.tiled(4, 4)(i, 0) = w ? Tile(w->tiled(4, 4)(0, 0)) : Tile(x.at(1, h).tiled(4, 4)(i, 0));
             }),

      // CHECK-LABEL: func.func @rows
      // CHECK: tile.gather %arg0[%[[R:.*]], %{{.*}}] padding {{.*}} -> tensor<4x8xf32>
      // CHECK: tile.scatter %{{.*}}, %arg2[%[[R]], %{{.*}}]
      // CHECK: tile.atomic_add %{{.*}}, %arg2[
      Kernel("rows(a[M,N], r[K]) -> b[M,N]",
             [](In<f32> a, In<i32, 1> r, InOut<f32> b) {
               Tile rows = r.tiled(4)(0);
               b.scatter(rows, 0, a.gather(rows, 0, 8, 1));
               atomicAdd(b.tiled(4, 8)(0, 0), full<f32>({4, 8}, 1));
             }),

      // True is 1, and not the -1 of an integer of one bit.
      // CHECK-LABEL: func.func @truth
      // CHECK: %[[MOST:.*]] = arith.ori
      // CHECK: %[[LEAST:.*]] = arith.andi
      // CHECK: arith.cmpi ugt, %[[MOST]], %[[LEAST]] : tensor<4xi1>
      // CHECK: %[[ONE:.*]] = memref.load %arg0
      // CHECK: %[[WIDE:.*]] = tile.cast %[[ONE]] : i1 to i32
      // CHECK: arith.index_cast %[[WIDE]] : i32 to index
      Kernel("truth(x[N]) -> y[N]",
             [](In<i1, 1> x, Out<i1, 1> y) {
               Tile t = x.tiled(4)(0), u = x.tiled(4)(1);
               y.tiled(4)(toIndex(x.read({0}))) = maximum(t, u) > minimum(t, u);
             }),
  };
}

// clang-format on

static tests::Group group("memory", kernels);
