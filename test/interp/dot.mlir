// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ditron-interpret %s | FileCheck %s

// CHECK-LABEL: kernel product
// CHECK-NEXT: rank 0 argument 2
// CHECK-NEXT: {{^}}  11 14
// CHECK-NEXT: {{^}}  29 41
func.func @product(%A: memref<2x3xbf16> {tile.readonly}, %B: memref<3x2xbf16> {tile.readonly},
                   %C: memref<2x2xf32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %acc = arith.constant dense<1.0> : tensor<2x2xf32>
  %a = tile.load %A[%c0, %c0] : memref<2x3xbf16> -> tensor<2x3xbf16>
  %b = tile.load %B[%c0, %c0] : memref<3x2xbf16> -> tensor<3x2xbf16>
  %c = tile.dot %a, %b, %acc : tensor<2x3xbf16>, tensor<3x2xbf16> -> tensor<2x2xf32>
  tile.store %c, %C[%c0, %c0] : tensor<2x2xf32>, memref<2x2xf32>
  return
}

// CHECK-LABEL: kernel batches
// Each batch has its own product: [0 1] x [0; 1] and [2 3] x [2; 3].
// CHECK-NEXT: rank 0 argument 2
// CHECK-NEXT: {{^}}  1
// CHECK-NEXT: {{^}}  13
func.func @batches(%A: memref<2x1x2xf8E4M3FN> {tile.readonly},
                   %B: memref<2x2x1xf8E4M3FN> {tile.readonly},
                   %C: memref<2x1x1xf32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %acc = arith.constant dense<0.0> : tensor<2x1x1xf32>
  %a = tile.load %A[%c0, %c0, %c0] : memref<2x1x2xf8E4M3FN> -> tensor<2x1x2xf8E4M3FN>
  %b = tile.load %B[%c0, %c0, %c0] : memref<2x2x1xf8E4M3FN> -> tensor<2x2x1xf8E4M3FN>
  %c = tile.dot %a, %b, %acc
      : tensor<2x1x2xf8E4M3FN>, tensor<2x2x1xf8E4M3FN> -> tensor<2x1x1xf32>
  tile.store %c, %C[%c0, %c0, %c0] : tensor<2x1x1xf32>, memref<2x1x1xf32>
  return
}

// CHECK-LABEL: kernel integers
// i8 accumulates in i32, which wraps: 2147483647 + 2 * 128 * 128.
// CHECK-NEXT: rank 0 argument 0
// CHECK-NEXT: {{^}}  -2147450881
func.func @integers(%C: memref<1x1xi32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<-128> : tensor<1x2xi8>
  %b = arith.constant dense<-128> : tensor<2x1xi8>
  %acc = arith.constant dense<2147483647> : tensor<1x1xi32>
  %c = tile.dot %a, %b, %acc : tensor<1x2xi8>, tensor<2x1xi8> -> tensor<1x1xi32>
  tile.store %c, %C[%c0, %c0] : tensor<1x1xi32>, memref<1x1xi32>
  return
}

// CHECK-LABEL: kernel float_accumulates
// In f32 with k ascending: 2^24 + 1 + 1 stays 2^24. Reduced precision is allowed, not demanded.
// CHECK-NEXT: rank 0 argument 0
// CHECK-NEXT: {{^}}  16777216
func.func @float_accumulates(%C: memref<1x1xf32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<1.0> : tensor<1x2xf32>
  %b = arith.constant dense<1.0> : tensor<2x1xf32>
  %acc = arith.constant dense<16777216.0> : tensor<1x1xf32>
  %c = tile.dot %a, %b, %acc precision tf32 : tensor<1x2xf32>, tensor<2x1xf32> -> tensor<1x1xf32>
  tile.store %c, %C[%c0, %c0] : tensor<1x1xf32>, memref<1x1xf32>
  return
}
