// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-check-supported=target=gfx942 --verify-diagnostics
// What code for these chips has no lowering for is refused by what they say of themselves.

func.func @products(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>, %c: tensor<64x64xf32>) {
  // expected-error @below {{tile.dot has no lowering to AMD GPUs: code for gfx942 multiplies no tiles yet}}
  %d = tile.dot %a, %b, %c : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
  return
}

// -----

func.func @ranks() {
  // expected-error @below {{dist.rank has no lowering to AMD GPUs: code for gfx942 is of one rank, whose cores work apart}}
  %r = dist.rank
  return
}

// -----

func.func @cores(%n: index) {
  dist.tiles (%i) of (%n) order <"row-major"> {
    %c = dist.core
  }
  return
}
