// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
func.func @k() attributes {tile.kernel} {
  %c4 = arith.constant 4 : index
  %b = dist.symmetric "in"(%c4, %c4) {dist.pages = 0 : i64} : memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
  return
}
