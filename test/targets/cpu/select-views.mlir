// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --split-input-file --verify-diagnostics --cpu-dist-to-runtime --cpu-select-views | FileCheck %s

!v = memref<?x?xf32, strided<[?, ?], offset: ?>>

// Word 0 begins %a (5 words), word 6 %b: behind the index. What is only selected leaves.
// CHECK: llvm.mlir.global internal constant @[[TABLE:.*]](dense<[6, 0]> : tensor<2xi64>)
// CHECK-LABEL: func.func @two(
// CHECK-SAME: %[[N:[^:]*]]: index, %[[CONTEXT:[^:]*]]: !llvm.ptr) attributes {cpu.first_words = array<i64: 5, 11>
func.func @two(%a: !v, %n: index, %b: !v) attributes {tile.kernel} {
  // CHECK: llvm.mlir.addressof @[[TABLE]]
  // CHECK: llvm.getelementptr %[[CONTEXT]][64]
  // CHECK: %[[VIEW:.*]] = builtin.unrealized_conversion_cast %{{.*}} : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)> to memref<?x?xf32, strided<[?, ?], offset: ?>>
  // CHECK: memref.store %{{.*}}, %[[VIEW]]
  %x = tile.select_view %n of (%b, %a) : !v
  %zero = arith.constant 0.0 : f32
  memref.store %zero, %x[%n, %n] : !v
  return
}

// -----

!w = memref<?xf32, strided<[?], offset: ?>>

func.func @parts(%a: !w, %n: index) attributes {tile.kernel} {
  %part = memref.subview %a[%n] [%n] [1] : !w to !w
  // expected-error @+1 {{selects among views that are no arguments of the kernel}}
  %x = tile.select_view %n of (%a, %part) : !w
  %zero = arith.constant 0.0 : f32
  memref.store %zero, %x[%n] : !w
  return
}
