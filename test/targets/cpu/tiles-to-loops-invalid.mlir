// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --cpu-tiles-to-loops=memory-bytes=65536 --verify-diagnostics

!v = memref<?x?xf32, strided<[?, ?], offset: ?>>

// expected-error @below {{the tiles of this kernel need 264192 bytes of a core's memory, which has 65536: choose smaller tiles}}
func.func @too_large(%A: !v {tile.unit_stride}, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %a = tile.load %A[%c0, %c0] : !v -> tensor<256x256xf32>
  %t = tile.transpose %a [1, 0] : tensor<256x256xf32> -> tensor<256x256xf32>
  tile.store %t, %A[%n, %c0] : tensor<256x256xf32>, !v
  return
}

// -----
!v = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @constant(%A: !v, %n: index) attributes {tile.kernel} {
  // expected-error @below {{a constant tile of different elements has no lowering to this target}}
  %a = arith.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  tile.store %a, %A[%n, %n] : tensor<1x2xf32>, !v
  return
}
