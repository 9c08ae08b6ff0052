// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --nvidia-swap-operands | FileCheck %s

// 8 rows are no product of warpgroups, but 8 columns are. What they are multiplied with is read once.
// CHECK-LABEL: func.func @few_rows
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<64x8xf32>
// CHECK: %[[SWAPPED:.*]] = scf.for {{.*}} iter_args(%[[SUM:.*]] = %[[ZERO]]) -> (tensor<64x8xf32>) {
// CHECK: %[[A:.*]] = tile.load %{{.*}}] :
// CHECK: %[[B:.*]] = tile.load %{{.*}}] {nvidia.evict_first} :
// CHECK: %[[X:.*]] = tile.transpose %[[B]] [1, 0] : tensor<128x64xbf16> -> tensor<64x128xbf16>
// CHECK: %[[Y:.*]] = tile.transpose %[[A]] [1, 0] : tensor<8x128xbf16> -> tensor<128x8xbf16>
// CHECK: %[[D:.*]] = tile.dot %[[X]], %[[Y]], %[[SUM]]
// CHECK-NEXT: scf.yield %[[D]]
// CHECK: %[[R:.*]] = tile.transpose %[[SWAPPED]] [1, 0] : tensor<64x8xf32> -> tensor<8x64xf32>
// CHECK: tile.store %[[R]]
func.func @few_rows(%A: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %B: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %C: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.unit_stride}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<8x64xf32>
  %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<8x64xf32>) {
    %a = tile.load %A[%c0, %k] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<8x128xbf16>
    %b = tile.load %B[%k, %c0] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<128x64xbf16>
    %d = tile.dot %a, %b, %sum : tensor<8x128xbf16>, tensor<128x64xbf16> -> tensor<8x64xf32>
    scf.yield %d : tensor<8x64xf32>
  }
  tile.store %acc, %C[%c0, %c0] : tensor<8x64xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}

// Exact products of f32 are none of warpgroups either way.
// CHECK-LABEL: func.func @exact
// CHECK-NOT: tile.transpose
func.func @exact(%A: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.unit_stride}, %B: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.unit_stride}, %C: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.unit_stride}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<8x64xf32>
  %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<8x64xf32>) {
    %a = tile.load %A[%c0, %k] : memref<?x?xf32, strided<[?, ?], offset: ?>> -> tensor<8x32xf32>
    %b = tile.load %B[%k, %c0] : memref<?x?xf32, strided<[?, ?], offset: ?>> -> tensor<32x64xf32>
    %d = tile.dot %a, %b, %sum : tensor<8x32xf32>, tensor<32x64xf32> -> tensor<8x64xf32>
    scf.yield %d : tensor<8x64xf32>
  }
  tile.store %acc, %C[%c0, %c0] : tensor<8x64xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}
