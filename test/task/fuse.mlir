// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt --task-fuse %s | FileCheck %s
// RUN: %opt --task-edges --task-fuse --ditron-front %s | FileCheck %s --check-prefix=FRONT
// RUN: %opt --task-fuse --ditron-gpu %s | FileCheck %s --check-prefix=GPU
// A graph becomes one kernel, in which the body of each kernel stands once.

!view = memref<?x?xf32, strided<[?, ?], offset: ?>>
func.func @up(%x: !view {tile.name = "x", tile.readonly}, %w: !view {tile.name = "w", tile.readonly},
              %y: !view {tile.name = "y"})
    attributes {tile.extents = [["M", "K"], ["K", "N"], ["M", "N"]], tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %m = memref.dim %y, %c0 : !view
  %n = memref.dim %y, %c1 : !view
  %rows = arith.ceildivsi %m, %c8 : index
  %cols = arith.ceildivsi %n, %c8 : index
  dist.tiles (%i, %j) of (%rows, %cols) order <"row-major"> {
    %a = tile.load %x[%i, %c0] : !view -> tensor<8x8xf32>
    %b = tile.load %w[%c0, %j] : !view -> tensor<8x8xf32>
    %zero = arith.constant dense<0.0> : tensor<8x8xf32>
    %c = tile.dot %a, %b, %zero : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    tile.store %c, %y[%i, %j] : tensor<8x8xf32>, !view
  }
  return
}
func.func @add(%x: !view {tile.name = "x", tile.readonly}, %y: !view {tile.name = "y"})
    attributes {tile.extents = [["M", "N"], ["M", "N"]], tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %m = memref.dim %y, %c0 : !view
  %n = memref.dim %y, %c1 : !view
  %rows = arith.ceildivsi %m, %c8 : index
  %cols = arith.ceildivsi %n, %c8 : index
  dist.tiles (%i, %j) of (%rows, %cols) order <"row-major"> {
    %a = tile.load %x[%i, %j] : !view -> tensor<8x8xf32>
    %b = tile.load %y[%i, %j] : !view -> tensor<8x8xf32>
    %c = arith.addf %a, %b : tensor<8x8xf32>
    tile.store %c, %y[%i, %j] : tensor<8x8xf32>, !view
  }
  return
}
task.graph @mlp {
  %x = task.input "x[M,8]" : !task.tensor<?x8xf32>
  %w = task.constant "w" : !task.tensor<8x8xf32>
  %a, %h = task.node "layer 0 up" @up(%x, %w) : (!task.tensor<?x8xf32>, !task.tensor<8x8xf32>) -> !task.tensor<?x?xf32>
  %b = task.node "layer 0 add" @add(%h) update(%x) : (!task.tensor<?x?xf32>, !task.tensor<?x8xf32>)
  %c, %y = task.node "layer 1 up" @up(%x, %w) : (!task.tensor<?x8xf32>, !task.tensor<8x8xf32>) -> !task.tensor<?x?xf32>
  task.output %y : !task.tensor<?x?xf32>
}

// CHECK-NOT: task.
// CHECK-NOT: @up
// CHECK-LABEL: func.func @mlp(
// CHECK-SAME: tile.name = "w", tile.readonly
// CHECK-SAME: tile.name = "queue", tile.readonly
// CHECK-SAME: tile.name = "tasks", tile.readonly
// CHECK-SAME: tile.name = "waits", tile.readonly
// CHECK-SAME: tile.name = "x"
// CHECK: dist.signals "done"
// CHECK: scf.for
// CHECK: dist.wait
// CHECK: tile.select_view
// CHECK: dist.tiles {{.*}} from {{.*}} to
// CHECK: tile.dot
// CHECK: dist.tiles {{.*}} from {{.*}} to
// CHECK: arith.addf
// CHECK-NOT: tile.dot
// CHECK: dist.notify

// FRONT-LABEL: func.func @mlp(
// FRONT: scf.for

// A CTA asks for weights before it waits.
// GPU-LABEL: llvm.func internal @mlp(
// GPU: prefetch.global.L2
// GPU: ld.acquire
