// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt --task-edges %s | FileCheck %s
// RUN: %opt --task-edges --task-edges %s | FileCheck %s
// Which tiles of a node follow which of others: what they read and write, and a kernel that is taken as a
// whole.

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
func.func @whole(%x: !view {tile.name = "x", tile.readonly}, %y: !view {tile.name = "y"})
    attributes {tile.extents = [["M", "N"], ["M", "N"]], tile.kernel} {
  %core = dist.core
  %a = tile.load %x[%core, %core] : !view -> tensor<8x8xf32>
  tile.store %a, %y[%core, %core] : tensor<8x8xf32>, !view
  return
}

// CHECK: task.graph @mlp
// CHECK: %[[X:.*]] = task.input
// CHECK: %[[A:.*]], %[[H:.*]] = task.node "layer 0 up"
// CHECK: %[[B:.*]] = task.node "layer 0 add"
// CHECK: %[[C:.*]], %[[Y:.*]] = task.node "layer 1 up"
// CHECK: %[[D:.*]], %{{.*}} = task.node "last"
// CHECK-DAG: task.edge %[[A]] to %[[B]] of %[[H]] read_after_write ["v0 8 mul : 8", "v1 8 mul : 8"] to ["v0 8 mul : 8", "v1 8 mul : 8"] : <?x?xf32>
// CHECK-DAG: task.edge %[[A]] to %[[B]] of %[[X]] write_after_read ["v0 8 mul : 8", "0 : 8"] to ["v0 8 mul : 8", "v1 8 mul : 8"] : <?x8xf32>
// CHECK-DAG: task.edge %[[B]] to %[[C]] of %[[X]] read_after_write ["v0 8 mul : 8", "v1 8 mul : 8"] to ["v0 8 mul : 8", "0 : 8"] : <?x8xf32>
// CHECK-DAG: task.edge %[[C]] to %[[D]] of %[[Y]] read_after_write ["v0 8 mul : 8", "v1 8 mul : 8"] to ["*", "*"] : <?x?xf32>
// CHECK-NOT: task.edge
task.graph @mlp {
  %x = task.input "x[M,8]" : !task.tensor<?x8xf32>
  %w = task.constant "w" : !task.tensor<8x8xf32>
  %a, %h = task.node "layer 0 up" @up(%x, %w) : (!task.tensor<?x8xf32>, !task.tensor<8x8xf32>) -> !task.tensor<?x?xf32>
  %b = task.node "layer 0 add" @add(%h) update(%x) : (!task.tensor<?x?xf32>, !task.tensor<?x8xf32>)
  %c, %y = task.node "layer 1 up" @up(%x, %w) : (!task.tensor<?x8xf32>, !task.tensor<8x8xf32>) -> !task.tensor<?x?xf32>
  %d, %z = task.node "last" @whole(%y) : (!task.tensor<?x?xf32>) -> !task.tensor<?x?xf32>
  task.output %y : !task.tensor<?x?xf32>
}
