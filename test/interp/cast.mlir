// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ditron-interpret %s | FileCheck %s

// CHECK-LABEL: kernel to_integer
// Half to even by default; always saturated, NaN is 0.
// CHECK: rank 0 E
// CHECK-NEXT: {{^}}  2 -2 4 127 -128 0
// CHECK-NEXT: rank 0 Z
// CHECK-NEXT: {{^}}  2 -2 3 127 -128 0
// CHECK-NEXT: rank 0 D
// CHECK-NEXT: {{^}}  2 -3 3 127 -128 0
// CHECK-NEXT: rank 0 U
// CHECK-NEXT: {{^}}  3 -2 4 127 -128 0
// CHECK-NEXT: rank 0 L
// CHECK-NEXT: {{^}}  2 -2 4 300 -9223372036854775808 0
func.func @to_integer(%A: memref<6xf32> {interp.values = dense<[2.5, -2.5, 3.5, 300.0, -1.0e30, 0x7FC00000]> : tensor<6xf32>, tile.readonly},
    %E: memref<6xi8> {tile.name = "E"}, %Z: memref<6xi8> {tile.name = "Z"},
    %D: memref<6xi8> {tile.name = "D"}, %U: memref<6xi8> {tile.name = "U"},
    %L: memref<6xi64> {tile.name = "L"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %a = tile.load %A[%c0] : memref<6xf32> -> tensor<6xf32>
  %e = tile.cast %a : tensor<6xf32> to tensor<6xi8>
  %z = tile.cast %a rounding toward_zero : tensor<6xf32> to tensor<6xi8>
  %d = tile.cast %a rounding down saturate : tensor<6xf32> to tensor<6xi8>
  %u = tile.cast %a rounding up : tensor<6xf32> to tensor<6xi8>
  %l = tile.cast %a : tensor<6xf32> to tensor<6xi64>
  tile.store %e, %E[%c0] : tensor<6xi8>, memref<6xi8>
  tile.store %z, %Z[%c0] : tensor<6xi8>, memref<6xi8>
  tile.store %d, %D[%c0] : tensor<6xi8>, memref<6xi8>
  tile.store %u, %U[%c0] : tensor<6xi8>, memref<6xi8>
  tile.store %l, %L[%c0] : tensor<6xi64>, memref<6xi64>
  return
}

// CHECK-LABEL: kernel to_f8
// 448 is the largest of f8E4M3FN, 57344 of f8E5M2; 464 is half way to the next and rounds to even.
// CHECK: rank 0 A
// CHECK-NEXT: {{^}}  448 nan nan nan 448 nan
// CHECK-NEXT: rank 0 B
// CHECK-NEXT: {{^}}  448 448 448 -448 448 nan
// CHECK-NEXT: rank 0 C
// CHECK-NEXT: {{^}}  448 448 448 nan 448 nan
// CHECK-NEXT: rank 0 D
// CHECK-NEXT: {{^}}  448 512 57344 -inf 448 nan
// CHECK-NEXT: rank 0 E
// CHECK-NEXT: {{^}}  448 512 57344 -57344 448 nan
func.func @to_f8(%X: memref<6xf32> {interp.values = dense<[448.0, 480.0, 6.0e4, 0xFF800000, 464.0, 0x7FC00000]> : tensor<6xf32>, tile.readonly},
    %A: memref<6xf8E4M3FN> {tile.name = "A"}, %B: memref<6xf8E4M3FN> {tile.name = "B"},
    %C: memref<6xf8E4M3FN> {tile.name = "C"}, %D: memref<6xf8E5M2> {tile.name = "D"},
    %E: memref<6xf8E5M2> {tile.name = "E"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %x = tile.load %X[%c0] : memref<6xf32> -> tensor<6xf32>
  %a = tile.cast %x : tensor<6xf32> to tensor<6xf8E4M3FN>
  %b = tile.cast %x saturate : tensor<6xf32> to tensor<6xf8E4M3FN>
  %c = tile.cast %x rounding toward_zero : tensor<6xf32> to tensor<6xf8E4M3FN>
  %d = tile.cast %x : tensor<6xf32> to tensor<6xf8E5M2>
  %e = tile.cast %x saturate : tensor<6xf32> to tensor<6xf8E5M2>
  tile.store %a, %A[%c0] : tensor<6xf8E4M3FN>, memref<6xf8E4M3FN>
  tile.store %b, %B[%c0] : tensor<6xf8E4M3FN>, memref<6xf8E4M3FN>
  tile.store %c, %C[%c0] : tensor<6xf8E4M3FN>, memref<6xf8E4M3FN>
  tile.store %d, %D[%c0] : tensor<6xf8E5M2>, memref<6xf8E5M2>
  tile.store %e, %E[%c0] : tensor<6xf8E5M2>, memref<6xf8E5M2>
  return
}

// CHECK-LABEL: kernel to_f16
// CHECK: rank 0 A
// CHECK-NEXT: {{^}}  inf 65504 2048 -inf
// CHECK-NEXT: rank 0 B
// CHECK-NEXT: {{^}}  65504 65504 2048 -65504
// CHECK-NEXT: rank 0 C
// CHECK-NEXT: {{^}}  65504 65504 2048 -65504
// CHECK-NEXT: rank 0 D
// CHECK-NEXT: {{^}}  65536 65536 2048 -1.000255551742587{{[0-9]*}}e+30
func.func @to_f16(%X: memref<4xf32> {interp.values = dense<[65520.0, 65519.0, 2049.0, -1.0e30]> : tensor<4xf32>, tile.readonly},
    %A: memref<4xf16> {tile.name = "A"}, %B: memref<4xf16> {tile.name = "B"},
    %C: memref<4xf16> {tile.name = "C"}, %D: memref<4xf32> {tile.name = "D"})
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %x = tile.load %X[%c0] : memref<4xf32> -> tensor<4xf32>
  %a = tile.cast %x : tensor<4xf32> to tensor<4xf16>
  %b = tile.cast %x saturate : tensor<4xf32> to tensor<4xf16>
  %c = tile.cast %x rounding toward_zero saturate : tensor<4xf32> to tensor<4xf16>
  %d = tile.cast %x : tensor<4xf32> to tensor<4xbf16>
  %e = tile.cast %d : tensor<4xbf16> to tensor<4xf32>
  tile.store %a, %A[%c0] : tensor<4xf16>, memref<4xf16>
  tile.store %b, %B[%c0] : tensor<4xf16>, memref<4xf16>
  tile.store %c, %C[%c0] : tensor<4xf16>, memref<4xf16>
  tile.store %e, %D[%c0] : tensor<4xf32>, memref<4xf32>
  return
}

// CHECK-LABEL: kernel integers
// Integers wrap unless they saturate; to a float they round once.
// CHECK: rank 0 W
// CHECK-NEXT: {{^}}  44 -1 -128 1
// CHECK-NEXT: rank 0 S
// CHECK-NEXT: {{^}}  127 -1 127 127
// CHECK-NEXT: rank 0 F
// CHECK-NEXT: {{^}}  300 -1 128 16777216
// CHECK-NEXT: rank 0 H
// CHECK-NEXT: {{^}}  300 -1 128 inf
func.func @integers(%X: memref<4xi64> {interp.values = dense<[300, -1, 128, 16777217]> : tensor<4xi64>, tile.readonly},
    %W: memref<4xi8> {tile.name = "W"}, %S: memref<4xi8> {tile.name = "S"},
    %F: memref<4xf32> {tile.name = "F"}, %H: memref<4xf16> {tile.name = "H"})
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %x = tile.load %X[%c0] : memref<4xi64> -> tensor<4xi64>
  %w = tile.cast %x : tensor<4xi64> to tensor<4xi8>
  %s = tile.cast %x saturate : tensor<4xi64> to tensor<4xi8>
  %f = tile.cast %x : tensor<4xi64> to tensor<4xf32>
  %h = tile.cast %x : tensor<4xi64> to tensor<4xf16>
  tile.store %w, %W[%c0] : tensor<4xi8>, memref<4xi8>
  tile.store %s, %S[%c0] : tensor<4xi8>, memref<4xi8>
  tile.store %f, %F[%c0] : tensor<4xf32>, memref<4xf32>
  tile.store %h, %H[%c0] : tensor<4xf16>, memref<4xf16>
  return
}

// CHECK-LABEL: kernel truth
// An i1 counts as 0 or 1; a cast to i1 asks whether the value differs from 0, as NaN does.
// CHECK: rank 0 T
// CHECK-NEXT: {{^}}  0 1 1 1
// CHECK-NEXT: rank 0 N
// CHECK-NEXT: {{^}}  0 1 1 1
// CHECK-NEXT: rank 0 F
// CHECK-NEXT: {{^}}  0 1 1 1
// CHECK-NEXT: rank 0 B
// CHECK-NEXT: {{^}}  1 1 1 1
func.func @truth(%X: memref<4xf32> {interp.values = dense<[0.0, 0.25, -3.0, 0x7FC00000]> : tensor<4xf32>, tile.readonly},
    %T: memref<4xi1> {tile.name = "T"}, %N: memref<4xi32> {tile.name = "N"},
    %F: memref<4xbf16> {tile.name = "F"}, %B: memref<4xi1> {tile.name = "B"})
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %x = tile.load %X[%c0] : memref<4xf32> -> tensor<4xf32>
  %t = tile.cast %x : tensor<4xf32> to tensor<4xi1>
  %n = tile.cast %t : tensor<4xi1> to tensor<4xi32>
  %f = tile.cast %t : tensor<4xi1> to tensor<4xbf16>
  %two = arith.constant dense<2> : tensor<4xi32>
  %b = tile.cast %two : tensor<4xi32> to tensor<4xi1>
  tile.store %t, %T[%c0] : tensor<4xi1>, memref<4xi1>
  tile.store %n, %N[%c0] : tensor<4xi32>, memref<4xi32>
  tile.store %f, %F[%c0] : tensor<4xbf16>, memref<4xbf16>
  tile.store %b, %B[%c0] : tensor<4xi1>, memref<4xi1>
  return
}
