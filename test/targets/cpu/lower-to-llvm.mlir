// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --ditron-cpu | FileCheck %s

!v = memref<?x?xf32, strided<[?, ?], offset: ?>>
!sym = memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>

// What the launcher has to know, as text.
// CHECK: dist.kernel_info = ["{\22version\22:1,\22name\22:\22kernel\22,
// CHECK-SAME: \22symmetric\22:[{\22name\22:\22full\22,\22kind\22:\22buffer\22,\22element_bytes\22:4,\22extents\22:[\22a3\22],\22fixed\22:false}]
// CHECK-SAME: \22scratch_bytes\22:0

// The kernel: an address, two extents and two strides of a view, a scalar's bits, an index; then the
// address, extent and stride of the symmetric memory.
// CHECK-LABEL: llvm.func internal @kernel(
// CHECK-NOT: unrealized_conversion_cast
// CHECK-LABEL: llvm.func @ditron_kernel(
// CHECK-SAME: %[[CONTEXT:[a-z0-9]+]]: !llvm.ptr, %[[WORDS:[a-z0-9]+]]: !llvm.ptr)
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[WORDS]][0]
// CHECK: llvm.load %[[AT]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[WORDS]][32]
// CHECK: llvm.load %[[AT]] : !llvm.ptr -> i64
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[WORDS]][40]
// CHECK: llvm.load %[[AT]] : !llvm.ptr -> i16
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[WORDS]][48]
// CHECK: llvm.load %[[AT]] : !llvm.ptr -> i8
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[WORDS]][56]
// CHECK: llvm.load %[[AT]] : !llvm.ptr -> i64
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[WORDS]][64]
// CHECK: llvm.load %[[AT]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[WORDS]][80]
// CHECK: llvm.call @kernel(
func.func @kernel(%A: !v {tile.name = "A"}, %s: bf16, %t: f8E4M3FN, %n: index) attributes {tile.kernel} {
  %full = dist.symmetric "full"(%n) : !sym
  %a = tensor.splat %s : tensor<1x16xbf16>
  %b = tensor.splat %t : tensor<1x16xf8E4M3FN>
  %c = tile.cast %a : tensor<1x16xbf16> to tensor<1x16xf32>
  %d = tile.cast %b : tensor<1x16xf8E4M3FN> to tensor<1x16xf32>
  %e = arith.addf %c, %d : tensor<1x16xf32>
  tile.store %e, %A[%n, %n] : tensor<1x16xf32>, !v
  return
}

// -----

// Several kernels: an entry point and a description each.
// CHECK: dist.kernel_info = ["{{.*}}\22entry\22:\22ditron_kernel_first\22{{.*}}", "{{.*}}\22entry\22:\22ditron_kernel_second\22
// CHECK-DAG: llvm.func internal @first(
// CHECK-DAG: llvm.func internal @second(
// CHECK-DAG: llvm.func @ditron_kernel_first(
// CHECK-DAG: llvm.func @ditron_kernel_second(
func.func @first(%X: memref<?xf32, strided<[?], offset: ?>>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %x = tile.load %X[%c0] : memref<?xf32, strided<[?], offset: ?>> -> tensor<128xf32>
  tile.store %x, %X[%c0] : tensor<128xf32>, memref<?xf32, strided<[?], offset: ?>>
  return
}
func.func @second(%X: memref<?xf32, strided<[?], offset: ?>>, %s: f32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %y = tensor.splat %s : tensor<256xf32>
  tile.store %y, %X[%c0] : tensor<256xf32>, memref<?xf32, strided<[?], offset: ?>>
  return
}
