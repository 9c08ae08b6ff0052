// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-simplify-dots | FileCheck %s

// CHECK-LABEL: func.func @fp8
// CHECK: %[[A:.*]] = tile.cast %arg0 : tensor<64x64xf8E4M3FN> to tensor<64x64xf16>
// CHECK: %[[B:.*]] = tile.cast %arg1 : tensor<64x64xf8E4M3FN> to tensor<64x64xf16>
// CHECK: tile.dot %[[A]], %[[B]], %arg2
func.func @fp8(%a: tensor<64x64xf8E4M3FN>, %b: tensor<64x64xf8E4M3FN>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %d = tile.dot %a, %b, %c : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN> -> tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}

// -----

// CHECK-LABEL: func.func @one_term
// CHECK: %[[A:.*]] = tile.cast %arg0 : tensor<8x1xbf16> to tensor<8x1xf32>
// CHECK: %[[X:.*]] = tile.broadcast %[[A]] : tensor<8x1xf32> -> tensor<8x16xf32>
// CHECK: %[[B:.*]] = tile.cast %arg1 : tensor<1x16xbf16> to tensor<1x16xf32>
// CHECK: %[[Y:.*]] = tile.broadcast %[[B]] : tensor<1x16xf32> -> tensor<8x16xf32>
// CHECK: math.fma %[[X]], %[[Y]], %arg2 : tensor<8x16xf32>
func.func @one_term(%a: tensor<8x1xbf16>, %b: tensor<1x16xbf16>, %c: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %d = tile.dot %a, %b, %c : tensor<8x1xbf16>, tensor<1x16xbf16> -> tensor<8x16xf32>
  return %d : tensor<8x16xf32>
}

// -----

// A row of the left side for each column of the right one, and terms along the last dimension.
// CHECK-LABEL: func.func @batch
// CHECK: %[[COLUMNS:.*]] = tile.transpose %{{.*}} [0, 2, 1] : tensor<2x4x3xf32> -> tensor<2x3x4xf32>
// CHECK: tile.reshape %{{.*}} : tensor<2x8x4xf32> -> tensor<2x8x1x4xf32>
// CHECK: %[[X:.*]] = tile.broadcast %{{.*}} : tensor<2x8x1x4xf32> -> tensor<2x8x3x4xf32>
// CHECK: tile.reshape %[[COLUMNS]] : tensor<2x3x4xf32> -> tensor<2x1x3x4xf32>
// CHECK: %[[Y:.*]] = tile.broadcast %{{.*}} : tensor<2x1x3x4xf32> -> tensor<2x8x3x4xf32>
// CHECK: %[[P:.*]] = arith.mulf %[[X]], %[[Y]]
// CHECK: %[[S:.*]] = tile.reduce sum %[[P]] axis 3 : tensor<2x8x3x4xf32> -> tensor<2x8x3x1xf32>
// CHECK: %[[R:.*]] = tile.reshape %[[S]] : tensor<2x8x3x1xf32> -> tensor<2x8x3xf32>
// CHECK: arith.addf %[[R]], %arg2 : tensor<2x8x3xf32>
func.func @batch(%a: tensor<2x8x4xbf16>, %b: tensor<2x4x3xbf16>, %c: tensor<2x8x3xf32>) -> tensor<2x8x3xf32> {
  %d = tile.dot %a, %b, %c : tensor<2x8x4xbf16>, tensor<2x4x3xbf16> -> tensor<2x8x3xf32>
  return %d : tensor<2x8x3xf32>
}

// -----

// CHECK-LABEL: func.func @batch_of_integers
// CHECK: arith.muli
// CHECK: tile.reduce sum
// CHECK: arith.addi %{{.*}}, %arg1 : tensor<2x8x8xi32>
func.func @batch_of_integers(%a: tensor<2x8x8xi8>, %c: tensor<2x8x8xi32>) -> tensor<2x8x8xi32> {
  %d = tile.dot %a, %a, %c : tensor<2x8x8xi8>, tensor<2x8x8xi8> -> tensor<2x8x8xi32>
  return %d : tensor<2x8x8xi32>
}
