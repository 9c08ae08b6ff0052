// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
func.func @k(%A: memref<4x4xf32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %x = tile.load %A[%c0, %c0] : memref<4x4xf32> -> tensor<4294967296x4294967296xf32>
  tile.store %x, %A[%c0, %c0] : tensor<4294967296x4294967296xf32>, memref<4x4xf32>
  return
}
