// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ditron compile %s --target sm_90a --alignment 16 --emit asm | FileCheck %s

// The assembler does not place what is read late where launches in front of this one may still write it: neither in a
// phase with roles nor in one without.
// CHECK: griddepcontrol.wait
// CHECK-NOT: ld.global.nc
// CHECK: wgmma.mma_async
// CHECK-NOT: ld.global.nc

!factor = memref<?x?xbf16, strided<[?, ?], offset: ?>>
!sum = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @late(%A: !factor {tile.name = "A", tile.readonly, tile.unit_stride}, %B: !factor {tile.name = "B", tile.readonly, tile.unit_stride}, %R: !sum {tile.name = "R", tile.readonly, tile.unit_stride}, %W: !sum {tile.name = "W", tile.readonly, tile.unit_stride}, %C: !sum {tile.name = "C", tile.unit_stride}, %D: !sum {tile.name = "D", tile.unit_stride}) attributes {tile.extents = [["M", "K"], ["K", "N"], ["M", "N"], ["M", "N"], ["M", "N"], ["M", "N"]], tile.kernel} {
  %zero = arith.constant dense<0.000000e+00> : tensor<128x128xf32>
  %c64 = arith.constant 64 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %c0 = arith.constant 0 : index
  %dim = memref.dim %C, %c0 : !sum
  %0 = arith.ceildivsi %dim, %c128 : index
  %columns = memref.dim %C, %c1 : !sum
  %1 = arith.ceildivsi %columns, %c128 : index
  dist.tiles (%i, %j) of (%0, %1) order <"grouped", 8> elements %dim height 128 {
    %depth = memref.dim %A, %c1 : !factor
    %2 = arith.ceildivsi %depth, %c64 : index
    %3 = scf.for %k = %c0 to %2 step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
      %8 = tile.load %A[%i, %k] : !factor -> tensor<128x64xbf16>
      %9 = tile.load %B[%k, %j] : !factor -> tensor<64x128xbf16>
      %10 = tile.dot %8, %9, %acc : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
      scf.yield %10 : tensor<128x128xf32>
    }
    %4 = tile.load %R[%i, %j] : !sum -> tensor<128x128xf32>
    %6 = arith.addf %3, %4 : tensor<128x128xf32>
    %r = tile.reduce sum %6 axis 1 : tensor<128x128xf32> -> tensor<128x1xf32>
    %rb = tile.broadcast %r : tensor<128x1xf32> -> tensor<128x128xf32>
    %w = tile.load %W[%i, %j] : !sum -> tensor<128x128xf32>
    %p = arith.mulf %6, %rb : tensor<128x128xf32>
    %q = arith.addf %p, %w : tensor<128x128xf32>
    tile.store %q, %C[%i, %j] : tensor<128x128xf32>, !sum
  }
  dist.tiles (%t) of (%dim) order <"row-major"> {
    %x = tile.load %R[%t, %c0] : !sum -> tensor<1x16384xf32>
    %m = tile.reduce sum %x axis 1 : tensor<1x16384xf32> -> tensor<1x1xf32>
    %mb = tile.broadcast %m : tensor<1x1xf32> -> tensor<1x16384xf32>
    %v = tile.load %W[%t, %c0] : !sum -> tensor<1x16384xf32>
    %y = arith.mulf %x, %mb : tensor<1x16384xf32>
    %z = arith.addf %y, %v : tensor<1x16384xf32>
    tile.store %z, %D[%t, %c0] : tensor<1x16384xf32>, !sum
  }
  return
}
