// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
func.func @k() attributes {tile.kernel} {
  %v = arith.constant dense<1.0> : vector<4xf32>
  %w = arith.addf %v, %v : vector<4xf32>
  return
}
