// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --ditron-gpu=target=gfx942 | FileCheck %s
// A step of 32 terms is two instructions of 16: a lane has 16 bytes of a row of each side. The right side comes first, so
// that a lane has four neighbours of a row of sums, which it stores together.

// CHECK-LABEL: llvm.func internal @product(
// CHECK: %[[ROWS:.*]] = llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
// CHECK: %[[COLUMNS:.*]] = llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.amdgcn.mfma.f32.16x16x16bf16.1k"(%{{.*}}) : (vector<4xi16>, vector<4xi16>, vector<4xf32>, i32, i32, i32) -> vector<4xf32>
// CHECK-NOT: llvm.amdgcn.mfma
// CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
func.func @product(%A: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.name = "A", tile.unit_stride},
                   %B: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.name = "B", tile.unit_stride},
                   %C: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.name = "C", tile.unit_stride})
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %a = tile.load %A[%c0, %c0] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<16x32xbf16>
  %b = tile.load %B[%c0, %c0] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<16x32xbf16>
  %t = tile.transpose %b [1, 0] : tensor<16x32xbf16> -> tensor<32x16xbf16>
  %d = tile.dot %a, %t, %zero : tensor<16x32xbf16>, tensor<32x16xbf16> -> tensor<16x16xf32>
  tile.store %d, %C[%c0, %c0] : tensor<16x16xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}
