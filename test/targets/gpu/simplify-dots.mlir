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
