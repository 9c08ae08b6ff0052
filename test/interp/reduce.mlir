// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ditron-interpret %s | FileCheck %s
// reduce, reduce_index and scan.

// CHECK-LABEL: kernel axes
// Rows 0..3, 4..7, 8..11 along each axis.
// CHECK-NEXT: rank 0 S
// CHECK-NEXT: {{^}}  6
// CHECK-NEXT: {{^}}  22
// CHECK-NEXT: {{^}}  38
// CHECK-NEXT: rank 0 P
// CHECK-NEXT: {{^}}  0 45 120 231
// CHECK-NEXT: rank 0 X
// CHECK-NEXT: {{^}}  8 9 10 11
// CHECK-NEXT: rank 0 N
// CHECK-NEXT: {{^}}  0 1 2 3
func.func @axes(%A: memref<3x4xi32> {tile.readonly}, %S: memref<3x1xi32> {tile.name = "S"},
                %P: memref<1x4xi32> {tile.name = "P"}, %X: memref<1x4xi32> {tile.name = "X"},
                %N: memref<1x4xi32> {tile.name = "N"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %a = tile.load %A[%c0, %c0] : memref<3x4xi32> -> tensor<3x4xi32>
  %s = tile.reduce sum %a axis 1 : tensor<3x4xi32> -> tensor<3x1xi32>
  %p = tile.reduce prod %a axis 0 : tensor<3x4xi32> -> tensor<1x4xi32>
  %x = tile.reduce max %a axis 0 : tensor<3x4xi32> -> tensor<1x4xi32>
  %n = tile.reduce min %a axis 0 : tensor<3x4xi32> -> tensor<1x4xi32>
  tile.store %s, %S[%c0, %c0] : tensor<3x1xi32>, memref<3x1xi32>
  tile.store %p, %P[%c0, %c0] : tensor<1x4xi32>, memref<1x4xi32>
  tile.store %x, %X[%c0, %c0] : tensor<1x4xi32>, memref<1x4xi32>
  tile.store %n, %N[%c0, %c0] : tensor<1x4xi32>, memref<1x4xi32>
  return
}

// CHECK-LABEL: kernel narrow
// f16 combines in f32 and rounds once: 2048 + 1 + 1 is 2050, where f16 would stay at 2048. The scan
// rounds each of its results: 2049 lies between 2048 and 2050.
// CHECK-NEXT: rank 0 argument 1
// CHECK-NEXT: {{^}}  2050
// CHECK-NEXT: rank 0 argument 2
// CHECK-NEXT: {{^}}  2048 2048 2050
func.func @narrow(%A: memref<3xf16> {interp.values = dense<[2048.0, 1.0, 1.0]> : tensor<3xf16>, tile.readonly},
                  %S: memref<1xf16>, %T: memref<3xf16>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %a = tile.load %A[%c0] : memref<3xf16> -> tensor<3xf16>
  %s = tile.reduce sum %a axis 0 : tensor<3xf16> -> tensor<1xf16>
  %t = tile.scan sum %a axis 0 : tensor<3xf16>
  tile.store %s, %S[%c0] : tensor<1xf16>, memref<1xf16>
  tile.store %t, %T[%c0] : tensor<3xf16>, memref<3xf16>
  return
}

// CHECK-LABEL: kernel nan
// NaN propagates, in the scan from where it stands.
// CHECK-NEXT: rank 0 argument 1
// CHECK-NEXT: {{^}}  nan
// CHECK-NEXT: {{^}}  8
// CHECK-NEXT: rank 0 argument 2
// CHECK-NEXT: {{^}}  1 nan nan
// CHECK-NEXT: {{^}}  8 2 2
// CHECK-NEXT: rank 0 argument 3
// CHECK-NEXT: {{^}}  1
// CHECK-NEXT: {{^}}  0
// CHECK-NEXT: rank 0 argument 4
// CHECK-NEXT: {{^}}  1
// CHECK-NEXT: {{^}}  1
func.func @nan(%A: memref<2x3xf32> {interp.values = dense<[[1.0, 0x7FC00000, 3.0], [8.0, 2.0, 2.0]]> : tensor<2x3xf32>, tile.readonly},
               %X: memref<2x1xf32>, %S: memref<2x3xf32>, %I: memref<2x1xi32>, %J: memref<2x1xi32>)
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %a = tile.load %A[%c0, %c0] : memref<2x3xf32> -> tensor<2x3xf32>
  %x = tile.reduce max %a axis 1 : tensor<2x3xf32> -> tensor<2x1xf32>
  %s = tile.scan min %a axis 1 : tensor<2x3xf32>
  %i = tile.reduce_index max %a axis 1 : tensor<2x3xf32> -> tensor<2x1xi32>
  %j = tile.reduce_index min %a axis 1 : tensor<2x3xf32> -> tensor<2x1xi32>
  tile.store %x, %X[%c0, %c0] : tensor<2x1xf32>, memref<2x1xf32>
  tile.store %s, %S[%c0, %c0] : tensor<2x3xf32>, memref<2x3xf32>
  tile.store %i, %I[%c0, %c0] : tensor<2x1xi32>, memref<2x1xi32>
  tile.store %j, %J[%c0, %c0] : tensor<2x1xi32>, memref<2x1xi32>
  return
}

// CHECK-LABEL: kernel ties
// The first of several, along the first axis too; a NaN before a larger number, and the first NaN.
// CHECK-NEXT: rank 0 argument 1
// CHECK-NEXT: {{^}}  1 0 1
// CHECK-NEXT: rank 0 argument 2
// CHECK-NEXT: {{^}}  0 0 1
func.func @ties(%A: memref<4x3xf16> {interp.values = dense<[[1.0, 5.0, 2.0], [7.0, 5.0, 0x7E00], [7.0, 5.0, 0x7E00], [1.0, 5.0, 9.0]]> : tensor<4x3xf16>, tile.readonly},
                %I: memref<1x3xi32>, %J: memref<1x3xi32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %a = tile.load %A[%c0, %c0] : memref<4x3xf16> -> tensor<4x3xf16>
  %i = tile.reduce_index max %a axis 0 : tensor<4x3xf16> -> tensor<1x3xi32>
  %j = tile.reduce_index min %a axis 0 : tensor<4x3xf16> -> tensor<1x3xi32>
  tile.store %i, %I[%c0, %c0] : tensor<1x3xi32>, memref<1x3xi32>
  tile.store %j, %J[%c0, %c0] : tensor<1x3xi32>, memref<1x3xi32>
  return
}

// CHECK-LABEL: kernel scans
// Along the middle axis of 2 x 3 x 2; i8 wraps.
// CHECK-NEXT: rank 0 argument 0
// CHECK-NEXT: {{^}}  0 1
// CHECK-NEXT: {{^}}  2 4
// CHECK-NEXT: {{^}}  6 9
// CHECK-NEXT: {{^}}  6 7
// CHECK-NEXT: {{^}}  14 16
// CHECK-NEXT: {{^}}  24 27
// CHECK-NEXT: rank 0 argument 1
// CHECK-NEXT: {{^}}  100 -56 44
// CHECK-NEXT: rank 0 argument 2
// CHECK-NEXT: {{^}}  100 16 64
func.func @scans(%A: memref<2x3x2xi32>, %B: memref<3xi8>, %C: memref<3xi8>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %a = tile.load %A[%c0, %c0, %c0] : memref<2x3x2xi32> -> tensor<2x3x2xi32>
  %s = tile.scan sum %a axis 1 : tensor<2x3x2xi32>
  tile.store %s, %A[%c0, %c0, %c0] : tensor<2x3x2xi32>, memref<2x3x2xi32>
  %h = arith.constant dense<100> : tensor<3xi8>
  %t = tile.scan sum %h axis 0 : tensor<3xi8>
  tile.store %t, %B[%c0] : tensor<3xi8>, memref<3xi8>
  %p = tile.scan prod %h axis 0 : tensor<3xi8>
  tile.store %p, %C[%c0] : tensor<3xi8>, memref<3xi8>
  return
}
