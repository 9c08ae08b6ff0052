// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --lower-define-arithmetic --verify-diagnostics
// Functions that LLVM takes from a library, which kernels have none of.

func.func @logarithm(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{math.log10 has no lowering; expected math.log2, and a product}}
  %y = math.log10 %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @power(%x: f32) -> f32 {
  // expected-error @below {{math.powf has no lowering; expected math.exp2 of a product with math.log2}}
  %y = math.powf %x, %x : f32
  return %y : f32
}

// -----

func.func @tangent(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{math.tan has no lowering; expected math.sin divided by math.cos}}
  %y = math.tan %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @bits(%x: tensor<4xi16>) -> tensor<4xbf16> {
  // expected-error @below {{arith.bitcast has no lowering for tiles of bf16 and fp8, which are computed in f32}}
  %y = arith.bitcast %x : tensor<4xi16> to tensor<4xbf16>
  return %y : tensor<4xbf16>
}

// -----

// Scalars have the bits of their type.
func.func @scalar(%x: i16) -> bf16 {
  %y = arith.bitcast %x : i16 to bf16
  return %y : bf16
}
