// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-assign-layouts --simt-tiles-to-threads=target=sm_89 --verify-diagnostics

func.func @odd(%X: memref<?xf32, strided<[?], offset: ?>>, %i: index) {
  // expected-error @+1 {{a tile of 'tensor<1021xf32>' takes 1021 registers of a thread, expected at most 255: fewer elements, or extents with larger powers of two in them}}
  %x = tile.load %X[%i] : memref<?xf32, strided<[?], offset: ?>> -> tensor<1021xf32>
  tile.store %x, %X[%i] : tensor<1021xf32>, memref<?xf32, strided<[?], offset: ?>>
  return
}

// -----

// expected-error @+1 {{needs 131072 bytes of shared memory, but sm_89 has 101376 for a core}}
func.func @large(%A: memref<?x?xbf16, strided<[?, ?], offset: ?>>, %i: index) {
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %a = tile.load %A[%i, %i] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<128x256xbf16>
  %b = tile.load %A[%i, %i] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<256x128xbf16>
  %d = tile.dot %a, %b, %zero : tensor<128x256xbf16>, tensor<256x128xbf16> -> tensor<128x128xf32>
  return
}

// -----

// A constant that was folded has no line: the line of what uses it.
func.func @folded(%X: memref<?x?xf32, strided<[?, ?], offset: ?>>, %i: index) {
  %zero = arith.constant dense<0.0> : tensor<33x33xf32> loc(unknown)
  // expected-error @+1 {{a tile of 'tensor<33x33xf32>' takes 1089 registers of a thread, expected at most 255}}
  tile.store %zero, %X[%i, %i] : tensor<33x33xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}

// -----

// One error, and none of the conversion.
func.func @before(%X: memref<?xi32, strided<[?], offset: ?>>, %Y: memref<?xi32, strided<[?], offset: ?>>, %i: index) {
  %one = arith.constant dense<1> : tensor<8xi32>
  // expected-error @+1 {{the values before are used of a tile of 8 elements, fewer than the core has threads; expected 128 or more}}
  %old = tile.atomic_add %one, %X[%i] : tensor<8xi32>, memref<?xi32, strided<[?], offset: ?>>
  tile.store %old, %Y[%i] : tensor<8xi32>, memref<?xi32, strided<[?], offset: ?>>
  return
}
