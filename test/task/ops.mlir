// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s | %opt | FileCheck %s
// Every op of `task` prints as it reads.

!view = memref<?x?xf32, strided<[?, ?], offset: ?>>
!open = !task.tensor<?x?xf32>

func.func @scale(%x: !view {tile.name = "x", tile.readonly}, %by: f32 {tile.name = "by"},
                 %y: !view {tile.name = "y"})
    attributes {tile.extents = [["M", "N"], [], ["M", "N"]], tile.kernel} {
  return
}

func.func @"add-to"(%x: !view {tile.name = "x", tile.readonly}, %y: !view {tile.name = "y"})
    attributes {tile.extents = [["M", "N"], ["M", "N"]], tile.kernel} {
  return
}

// CHECK-LABEL: task.graph @mlp {
task.graph @mlp {
  // CHECK: %[[X:.*]] = task.input "x[M,8]" : <?x8xf32>
  %x = task.input "x[M,8]" : !task.tensor<?x8xf32>
  // CHECK: %[[W:.*]] = task.constant "w \22quoted\22" : <4x8xf32>
  %w = task.constant "w \22quoted\22" : !task.tensor<4x8xf32>
  // CHECK: %[[A:.*]], %[[H:.*]] = task.node "layer 0 scale" @scale(%[[X]], 5.000000e-01 : f64) : (!task.tensor<?x8xf32>) -> !task.tensor<?x?xf32>
  %a, %h = task.node "layer 0 scale" @scale(%x, 5.000000e-01 : f64) : (!task.tensor<?x8xf32>) -> !open
  // CHECK: %[[B:.*]] = task.node "layer 0 add" @"add-to"(%[[W]]) update(%[[H]]) : (!task.tensor<4x8xf32>, !task.tensor<?x?xf32>)
  %b = task.node "layer 0 add" @"add-to"(%w) update(%h) : (!task.tensor<4x8xf32>, !open)
  // CHECK: task.node "one" @scale(%[[H]], 1 : i64) update(%[[X]]) {note = "kept"}
  %c = task.node "one" @scale(%h, 1 : i64) update(%x) {note = "kept"} : (!open, !task.tensor<?x8xf32>)
  // CHECK: task.output %[[H]] : <?x?xf32>
  task.output %h : !open
  // CHECK: task.edge %[[A]] to %[[B]] of %[[H]] write_after_write ["v0 4 mul : 4", "*"] to ["*", "*"] : <?x?xf32>
  task.edge %a to %b of %h write_after_write ["v0 4 mul : 4", "*"] to ["*", "*"] : !open
}

// CHECK-LABEL: task.graph @empty {
task.graph @empty {}
