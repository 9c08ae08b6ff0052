// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
func.func @k(%A: memref<?xf32, strided<[?], offset: ?>>, %B: memref<4x4xf32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %big = arith.constant 4294967296 : index
  %v = memref.expand_shape %A [[0, 1]] output_shape [%big, %big] : memref<?xf32, strided<[?], offset: ?>> into memref<?x?xf32, strided<[?, ?], offset: ?>>
  %x = tile.load %v[%c0, %c0] : memref<?x?xf32, strided<[?, ?], offset: ?>> -> tensor<4x4xf32>
  tile.store %x, %B[%c0, %c0] : tensor<4x4xf32>, memref<4x4xf32>
  return
}
