// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

func.func @transposed(%X: memref<?x?xf32, strided<[?, ?], offset: ?>>, %i: index) {
  %x = tile.load %X[%i, %i] : memref<?x?xf32, strided<[?, ?], offset: ?>> -> tensor<4294967296x4294967296xf32>
  %t = tile.transpose %x [1, 0] : tensor<4294967296x4294967296xf32> -> tensor<4294967296x4294967296xf32>
  %s = arith.addf %x, %t : tensor<4294967296x4294967296xf32>
  tile.store %s, %X[%i, %i] : tensor<4294967296x4294967296xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}
