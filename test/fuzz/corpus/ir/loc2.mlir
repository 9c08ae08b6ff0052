// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
func.func @k(%A: memref<4xf32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %x = arith.constant dense<1.0> : tensor<4xf32>
  tile.store %x, %A[%c0] : tensor<4xf32>, memref<4xf32> loc("/etc/shadow":1:1)
  return
}
