// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ditron-interpret %s | FileCheck %s
// Tiles of a view whose extents they do not divide.

// CHECK-LABEL: kernel edges
// Tile (1, 1) of 5 x 7 in tiles of 4 x 4 has 1 x 3 elements; the rest reads as 0, or as the padding.
// CHECK: rank 0 argument 1
// CHECK-NEXT: {{^}}  32 33 34 0
// CHECK-NEXT: {{^}}  0 0 0 0
// CHECK-NEXT: {{^}}  0 0 0 0
// CHECK-NEXT: {{^}}  0 0 0 0
// CHECK-NEXT: rank 0 argument 2
// CHECK-NEXT: {{^}}  32 33 34 -inf
// CHECK-NEXT: {{^}}  -inf -inf -inf -inf
// CHECK-NEXT: {{^}}  -inf -inf -inf -inf
// CHECK-NEXT: {{^}}  -inf -inf -inf -inf
func.func @edges(%A: memref<5x7xf32> {tile.readonly}, %X: memref<4x4xf32>, %Y: memref<4x4xf32>)
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = tile.load %A[%c1, %c1] : memref<5x7xf32> -> tensor<4x4xf32>
  %y = tile.load %A[%c1, %c1] padding 0xFF800000 : f32 : memref<5x7xf32> -> tensor<4x4xf32>
  tile.store %x, %X[%c0, %c0] : tensor<4x4xf32>, memref<4x4xf32>
  tile.store %y, %Y[%c0, %c0] : tensor<4x4xf32>, memref<4x4xf32>
  return
}

// CHECK-LABEL: kernel dropped
// What a store writes beyond the view is dropped; so is all of it before and after the view.
// CHECK-NEXT: rank 0 argument 0
// CHECK-NEXT: {{^}}  0 1 2
// CHECK-NEXT: {{^}}  3 4 9
// CHECK-NEXT: {{^}}  6 7 9
func.func @dropped(%C: memref<3x3xi32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %below = arith.constant -1 : index
  %nine = arith.constant dense<9> : tensor<2x2xi32>
  %row = arith.constant dense<9> : tensor<1x2xi32>
  tile.store %row, %C[%c1, %c1] : tensor<1x2xi32>, memref<3x3xi32>
  tile.store %row, %C[%c2, %c1] : tensor<1x2xi32>, memref<3x3xi32>
  tile.store %nine, %C[%c2, %c0] : tensor<2x2xi32>, memref<3x3xi32>
  tile.store %nine, %C[%below, %c0] : tensor<2x2xi32>, memref<3x3xi32>
  return
}

// CHECK-LABEL: kernel leading
// Leading coordinates count elements; outside of the view there is only padding.
// CHECK-NEXT: rank 0 argument 1
// CHECK-NEXT: {{^}}  10 11 0 7
func.func @leading(%A: memref<2x2x3xi16> {tile.readonly}, %C: memref<4xi16>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %a = memref.subview %A[0, 0, 1] [2, 2, 2] [1, 1, 1]
      : memref<2x2x3xi16> to memref<2x2x2xi16, strided<[6, 3, 1], offset: 1>>
  %x = tile.load %a[%c1, %c1, %c0]
      : memref<2x2x2xi16, strided<[6, 3, 1], offset: 1>> -> tensor<3xi16>
  %y = tile.load %a[%c2, %c1, %c0] padding 7 : i16
      : memref<2x2x2xi16, strided<[6, 3, 1], offset: 1>> -> tensor<1xi16>
  tile.store %x, %C[%c0] : tensor<3xi16>, memref<4xi16>
  tile.store %y, %C[%c3] : tensor<1xi16>, memref<4xi16>
  return
}

// CHECK-LABEL: kernel types
// Every element type is stored as it was read.
// CHECK: argument 0
// CHECK-NEXT: {{^}}  0 1 0 1
// CHECK: argument 1
// CHECK-NEXT: {{^}}  -128 127 -1 0
// CHECK: argument 2
// CHECK-NEXT: {{^}}  -9223372036854775808 9223372036854775807 9007199254740993 0
// CHECK: argument 3
// CHECK-NEXT: {{^}}  448 nan 0.001953125 -0
// CHECK: argument 4
// CHECK-NEXT: {{^}}  57344 inf 1.5 -1
func.func @types(%a: memref<4xi1> {interp.values = dense<[0, 1, 0, 1]> : tensor<4xi1>},
                 %b: memref<4xi8> {interp.values = dense<[-128, 127, -1, 0]> : tensor<4xi8>},
                 %c: memref<4xi64> {interp.values = dense<[-9223372036854775808, 9223372036854775807, 9007199254740993, 0]> : tensor<4xi64>},
                 %d: memref<4xf8E4M3FN> {interp.values = dense<[448.0, 0x7F, 0x01, -0.0]> : tensor<4xf8E4M3FN>},
                 %e: memref<4xf8E5M2> {interp.values = dense<[57344.0, 0x7C, 1.5, -1.0]> : tensor<4xf8E5M2>})
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %0 = tile.load %a[%c0] : memref<4xi1> -> tensor<4xi1>
  tile.store %0, %a[%c0] : tensor<4xi1>, memref<4xi1>
  %1 = tile.load %b[%c0] : memref<4xi8> -> tensor<4xi8>
  tile.store %1, %b[%c0] : tensor<4xi8>, memref<4xi8>
  %2 = tile.load %c[%c0] : memref<4xi64> -> tensor<4xi64>
  tile.store %2, %c[%c0] : tensor<4xi64>, memref<4xi64>
  %3 = tile.load %d[%c0] : memref<4xf8E4M3FN> -> tensor<4xf8E4M3FN>
  tile.store %3, %d[%c0] : tensor<4xf8E4M3FN>, memref<4xf8E4M3FN>
  %4 = tile.load %e[%c0] : memref<4xf8E5M2> -> tensor<4xf8E5M2>
  tile.store %4, %e[%c0] : tensor<4xf8E5M2>, memref<4xf8E5M2>
  return
}

// CHECK-LABEL: kernel strided
// CHECK-NEXT: rank 0 argument 1
// CHECK-NEXT: {{^}}  0 4 8
// CHECK-NEXT: {{^}}  2 6 10
// The same memory seen through a transposed view of every second column.
func.func @strided(%A: memref<3x4xf16> {tile.readonly}, %C: memref<2x3xf16>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %even = memref.subview %A[0, 0] [3, 2] [1, 2] : memref<3x4xf16> to memref<3x2xf16, strided<[4, 2]>>
  %t = memref.transpose %even (i, j) -> (j, i)
      : memref<3x2xf16, strided<[4, 2]>> to memref<2x3xf16, strided<[2, 4]>>
  %x = tile.load %t[%c0, %c0] : memref<2x3xf16, strided<[2, 4]>> -> tensor<2x3xf16>
  tile.store %x, %C[%c0, %c0] : tensor<2x3xf16>, memref<2x3xf16>
  return
}
