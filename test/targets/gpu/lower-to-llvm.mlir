// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --ditron-gpu=target=sm_90a | FileCheck %s

// CHECK: llvm.mlir.global external @ditron_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
// CHECK: llvm.func internal @copy(
// CHECK: llvm.func @ditron_kernel(%{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: f32, %{{.*}}: !llvm.ptr)
// CHECK-SAME: nvvm.kernel
// CHECK-SAME: nvvm.reqntid = array<i32: 128>
func.func @copy(%X: memref<?xf32, strided<[?], offset: ?>> {tile.name = "x"}, %s: f32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %X, %c0 : memref<?xf32, strided<[?], offset: ?>>
  dist.tiles (%i) of (%n) order <"row-major"> {
    %x = tile.load %X[%i] : memref<?xf32, strided<[?], offset: ?>> -> tensor<128xf32>
    %y = tensor.splat %s : tensor<128xf32>
    %z = arith.addf %x, %y : tensor<128xf32>
    tile.store %z, %X[%i] : tensor<128xf32>, memref<?xf32, strided<[?], offset: ?>>
  }
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

// -----

// Words that the compiler knows are constants: both extents, and the distance of rows.
// CHECK: llvm.func @ditron_kernel(
// CHECK-DAG: %[[ROWS:.*]] = llvm.mlir.constant(6 : i64)
// CHECK-DAG: %[[COLS:.*]] = llvm.mlir.constant(24 : i64)
// CHECK-DAG: %[[PITCH:.*]] = llvm.mlir.constant(24 : i64)
// CHECK: llvm.call @known(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[COLS]], %[[PITCH]], %{{.*}}
func.func @known(%X: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.known_extents = array<i64: 6, 24>, tile.dense}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %x = tile.load %X[%c0, %c0] : memref<?x?xf32, strided<[?, ?], offset: ?>> -> tensor<8x32xf32>
  tile.store %x, %X[%c0, %c0] : tensor<8x32xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}
