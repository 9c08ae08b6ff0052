// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers that all lanes of a wavefront share: one of f16 that is added, and one that branches carry tiles by.
func.func @shared(%x: memref<?x?xf16, strided<[?, ?], offset: ?>> {tile.name = "x", tile.readonly},
                  %n: index {tile.name = "n"},
                  %y: memref<?x?xf16, strided<[?, ?], offset: ?>> {tile.name = "y"})
    attributes {tile.extents = [["M", "N"], [], ["M", "N"]], tile.kernel} {
  %zero = arith.constant 0 : index
  %tile = tile.load %x[%zero, %zero] : memref<?x?xf16, strided<[?, ?], offset: ?>> -> tensor<64x64xf16>
  %number = arith.index_cast %n : index to i32
  %half = tile.cast %number : i32 to f16
  %splat = tensor.splat %half : tensor<64x64xf16>
  %sum = arith.addf %tile, %splat : tensor<64x64xf16>
  %isMore = arith.cmpi sgt, %n, %zero : index
  %chosen = scf.if %isMore -> tensor<64x64xf16> {
    %product = arith.mulf %sum, %tile : tensor<64x64xf16>
    scf.yield %product : tensor<64x64xf16>
  } else {
    scf.yield %sum : tensor<64x64xf16>
  }
  tile.store %chosen, %y[%zero, %zero] : tensor<64x64xf16>, memref<?x?xf16, strided<[?, ?], offset: ?>>
  return
}
