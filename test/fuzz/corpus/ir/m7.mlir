// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
func.func @k(%A: memref<4xi8>) attributes {tile.kernel} {
  %a = arith.constant sparse<[[0]],[1.0]> : tensor<4xi8>
  return
}
