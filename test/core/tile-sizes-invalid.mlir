// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ditron-opt %s -split-input-file -verify-diagnostics
// A tile has at most 2^20 elements, whatever op makes it.

func.func @loaded(%A: memref<4x4xf32>, %i: index) {
  // expected-error @+1 {{result #0 must be tile (1 to 4 static dimensions of extent 1 or more, at most 1048576 elements,}}
  %x = tile.load %A[%i, %i] : memref<4x4xf32> -> tensor<1024x1025xf32>
  return
}

// -----

func.func @constant() attributes {tile.kernel} {
  // expected-error @+1 {{'tensor<4294967296x4294967296xf32>' is larger than a tile: expected at most 1048576 elements}}
  %x = arith.constant dense<1.0> : tensor<4294967296x4294967296xf32>
  return
}

// -----

// expected-error @+1 {{'tensor<2x1048576xf32>' is larger than a tile: expected at most 1048576 elements}}
func.func @argument(%x: tensor<2x1048576xf32>) attributes {tile.kernel} {
  return
}

// -----

func.func @dynamic(%n: index) attributes {tile.kernel} {
  // expected-error @+1 {{'tensor<?xf32>' is no tile: expected 1 to 4 dimensions of extents that are known}}
  %x = tensor.empty(%n) : tensor<?xf32>
  return
}

// -----

func.func @five() attributes {tile.kernel} {
  // expected-error @+1 {{'tensor<1x1x1x1x2xf32>' is no tile: expected 1 to 4 dimensions}}
  %x = arith.constant dense<1.0> : tensor<1x1x1x1x2xf32>
  return
}

// -----

// expected-error @+1 {{kernel 'declared' has no body}}
func.func private @declared(%n: index) attributes {tile.kernel}

// -----

// The largest one.
func.func @largest(%A: memref<4x4xf32>, %i: index) attributes {tile.kernel} {
  %x = tile.load %A[%i, %i] : memref<4x4xf32> -> tensor<1024x1024xf32>
  return
}

// -----

func.func @chunk(%A: memref<?x?xf32, strided<[?, ?], offset: ?>>, %i: index) {
  // expected-error @+1 {{shape is [4294967296, 4294967296], expected a product below 2^63}}
  %x = tile.chunk %A[%i, %i] shape [4294967296, 4294967296] : memref<?x?xf32, strided<[?, ?], offset: ?>> -> memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}
