// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
func.func @k(%n: index) attributes {tile.kernel} {
  %c9 = arith.constant 9 : index
  %s = dist.symmetric "a"(%n) : memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>
  %d = memref.dim %s, %c9 : memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>
  %t = dist.signals "b"(%d) : !dist.signals<1>
  return
}
