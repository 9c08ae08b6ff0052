// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: env %emulated ditron run %s --ranks 1 --shape M=64,N=64,K=64,S=40
//
// Each core copies its rows again in each step, and multiplies them: the producer loads them behind a gate. Cores that
// have no rows have nothing to load, and pass the gate as fast as they can.

!matrix = memref<?x?xbf16, strided<[?, ?], offset: ?>>
!steps = memref<?x?x?xbf16, strided<[?, ?, ?], offset: ?>>
!copy = memref<?x?xbf16, strided<[?, ?], offset: ?>, #dist.space<symmetric>>

func.func @gates(%A: !matrix {tile.name = "A", tile.readonly, tile.unit_stride}, %B: !matrix {tile.name = "B", tile.readonly, tile.unit_stride}, %C: !steps {tile.name = "C", tile.unit_stride}) attributes {tile.extents = [["M", "K"], ["K", "N"], ["S", "M", "N"]], tile.kernel} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %M = memref.dim %A, %c0 : !matrix
  %K = memref.dim %A, %c1 : !matrix
  %N = memref.dim %B, %c1 : !matrix
  %S = memref.dim %C, %c0 : !steps
  %copy = dist.symmetric "copy"(%M, %K) : !copy
  %core = dist.core
  %rank = dist.rank
  %rows = arith.ceildivsi %M, %c64 : index
  %columns = arith.ceildivsi %N, %c64 : index
  %depth = arith.ceildivsi %K, %c64 : index
  %has = arith.cmpi slt, %core, %rows : index
  %tiles = arith.select %has, %columns, %c0 : index
  scf.for %s = %c0 to %S step %c1 {
    scf.for %k = %c0 to %depth step %c1 {
      %from = tile.chunk %A[%core, %k] shape [64, 64] : !matrix -> !matrix
      %to = tile.chunk %copy[%core, %k] shape [64, 64] : !copy -> !copy
      dist.put %from, %to on %rank : !matrix, !copy
    }
    dist.quiet
    scf.for %j = %c0 to %tiles step %c1 {
      %sum = scf.for %k = %c0 to %depth step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
        %a = tile.load %copy[%core, %k] : !copy -> tensor<64x64xbf16>
        %b = tile.load %B[%k, %j] : !matrix -> tensor<64x64xbf16>
        %d = tile.dot %a, %b, %acc : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        scf.yield %d : tensor<64x64xf32>
      }
      %c = tile.cast %sum : tensor<64x64xf32> to tensor<64x64xbf16>
      %step = memref.subview %C[%s, 0, 0] [1, %M, %N] [1, 1, 1] : !steps to !matrix
      tile.store %c, %step[%core, %j] : tensor<64x64xbf16>, !matrix
    }
  }
  return
}
