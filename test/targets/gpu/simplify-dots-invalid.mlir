// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-simplify-dots --verify-diagnostics

func.func @many_terms(%a: tensor<4x64x64xf16>, %c: tensor<4x64x64xf32>) -> tensor<4x64x64xf32> {
  // expected-error @+1 {{a batch of products has no lowering to NVIDIA GPUs with 1048576 terms, expected at most 65536}}
  %d = tile.dot %a, %a, %c : tensor<4x64x64xf16>, tensor<4x64x64xf16> -> tensor<4x64x64xf32>
  return %d : tensor<4x64x64xf32>
}
