// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ditron-interpret %s | FileCheck %s
// broadcast, transpose, reshape, iota.

// CHECK-LABEL: kernel shapes
// CHECK-NEXT: rank 0 B
// CHECK-NEXT: {{^}}  0 0 0
// CHECK-NEXT: {{^}}  1 1 1
// CHECK-NEXT: rank 0 T
// CHECK-NEXT: {{^}}  0 3 6 9
// CHECK-NEXT: {{^}}  1 4 7 10
// CHECK-NEXT: {{^}}  2 5 8 11
// CHECK-NEXT: rank 0 R
// CHECK-NEXT: {{^}}  0 1 2 3 4 5
// CHECK-NEXT: {{^}}  6 7 8 9 10 11
// CHECK-NEXT: rank 0 I
// CHECK-NEXT: {{^}}  0 0 0
// CHECK-NEXT: {{^}}  1 1 1
// CHECK-NEXT: {{^}}  0 0 0
// CHECK-NEXT: {{^}}  1 1 1
func.func @shapes(%A: memref<4x3xf32> {tile.readonly}, %S: memref<2x1xi8> {tile.readonly},
    %B: memref<2x3xi8> {tile.name = "B"}, %T: memref<3x4xf32> {tile.name = "T"},
    %R: memref<2x6xf32> {tile.name = "R"}, %I: memref<2x2x3xi32> {tile.name = "I"})
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %a = tile.load %A[%c0, %c0] : memref<4x3xf32> -> tensor<4x3xf32>
  %s = tile.load %S[%c0, %c0] : memref<2x1xi8> -> tensor<2x1xi8>
  %b = tile.broadcast %s : tensor<2x1xi8> -> tensor<2x3xi8>
  %t = tile.transpose %a [1, 0] : tensor<4x3xf32> -> tensor<3x4xf32>
  %r = tile.reshape %a : tensor<4x3xf32> -> tensor<2x6xf32>
  %i = tile.iota axis 1 : tensor<2x2x3xi32>
  tile.store %b, %B[%c0, %c0] : tensor<2x3xi8>, memref<2x3xi8>
  tile.store %t, %T[%c0, %c0] : tensor<3x4xf32>, memref<3x4xf32>
  tile.store %r, %R[%c0, %c0] : tensor<2x6xf32>, memref<2x6xf32>
  tile.store %i, %I[%c0, %c0, %c0] : tensor<2x2x3xi32>, memref<2x2x3xi32>
  return
}

// CHECK-LABEL: kernel rotate
// Dimension d of the result is dimension permutation[d] of the source: (k, i, j) is (i, j, k).
// CHECK-NEXT: rank 0 argument 1
// CHECK-NEXT: {{^}}  0 3
// CHECK-NEXT: {{^}}  1 4
// CHECK-NEXT: {{^}}  2 5
func.func @rotate(%A: memref<1x2x3xi32> {tile.readonly}, %C: memref<3x1x2xi32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %a = tile.load %A[%c0, %c0, %c0] : memref<1x2x3xi32> -> tensor<1x2x3xi32>
  %t = tile.transpose %a [2, 0, 1] : tensor<1x2x3xi32> -> tensor<3x1x2xi32>
  tile.store %t, %C[%c0, %c0, %c0] : tensor<3x1x2xi32>, memref<3x1x2xi32>
  return
}
