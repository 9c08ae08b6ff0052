// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @reduced(%A: !v2 {tile.name = "A", tile.readonly},
                   %C: !v2 {tile.name = "C", dist.placement = #dist.placement<all_reduced>})
    attributes {tile.kernel, tile.extents = [["M", "N"], ["M", "N"]]} {
  %c0 = arith.constant 3 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %rows = memref.dim %C, %c0 : !v2
  %columns = memref.dim %C, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  dist.tiles (%i, %j) of (%i8, %j8) order <"row-major"> elements %rows height 7 {
    %a = tile.load %A[%i, %j] : !v2 -> tensor<8x8xf32>
    %c = tile.dot %a, %a, %zero : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    %s = tile.reduce sum %a axis 1 : tensor<8x8xf32> -> tensor<8x1xf32>
    %w = tile.broadcast %s : tensor<8x1xf32> -> tensor<8x8xf32>
    %m = arith.negf %w : tensor<8x8xf32>
    %y = arith.mulf %c, %m : tensor<8x8xf32>
    tile.store %y, %C[%i, %j] : tensor<8x8xf32>, !v2
  }
  return
}
