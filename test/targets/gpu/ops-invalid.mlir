// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --verify-diagnostics
// Messages of verifiers of `simt`.

func.func @ring() {
  // expected-error @below {{has 0 slots, expected 1 or more}}
  %ring = simt.ring : <0 of tensor<64x64xbf16>>
  return
}

// -----

func.func @coords(%A: memref<?x?xbf16, strided<[?, ?], offset: ?>>, %ring: !simt.ring<4 of tensor<64x64xbf16>>, %i: index, %if: i1) {
  // expected-error @below {{has 1 coords but view has 2 dimensions}}
  simt.copy %A[%i] to %ring[%i] if %if : memref<?x?xbf16, strided<[?, ?], offset: ?>>, <4 of tensor<64x64xbf16>>
  return
}

// -----

func.func @fetched(%A: memref<?x?xbf16, strided<[?, ?], offset: ?>>, %i: index) {
  // expected-error @below {{has 'vector<4xi32>' of 32 bytes of a thread}}
  %w = simt.fetch %A[%i, %i] as tensor<64x32xbf16, #tile.layout<"(2 : 8@reg, 2 : 1@warp, 64 : 1@lane, 8 : 1@reg)">> : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> vector<4xi32>
  return
}

// -----

func.func @placed(%w: vector<8xi32>) {
  // expected-error @below {{puts 'tensor<64x32xbf16}}
  %a = simt.place %w as tensor<64x32xbf16, #tile.layout<"(2 : 8@reg, 2 : 1@warp, 64 : 1@lane, 8 : 1@reg)">> : vector<8xi32> -> tensor<64x64xbf16, #tile.layout<"(4096 : 1@m)">>
  return
}

// -----

func.func @scope() {
  // expected-error @below {{scope is "warp", expected one of cta, gpu, sys}}
  simt.sync "warp"
  return
}

// -----

func.func @each(%n: index, %cell: index) {
  // expected-error @+1 {{'simt.notify_each' op expected a body that takes a number and computes what one relaxed simt.notify takes}}
  simt.notify_each %n to %n scope "sys" {
  ^bb0(%p: index):
    simt.notify %cell "add" %n scope "sys"
  }
  return
}

// -----

func.func @ways(%x: tensor<8x512xf32>) {
  // expected-error @+1 {{reduces 1 tiles in 2 ways along 1 axes to 1 results, expected as many of each}}
  %s = simt.reduce_together %x kinds ["sum", "max"] axes [1] : (tensor<8x512xf32>) -> tensor<8x1xf32>
  return
}

// -----

func.func @kind(%x: tensor<8x512xf32>) {
  // expected-error @+1 {{combines by "mean", expected kinds of tile.reduce}}
  %s = simt.reduce_together %x kinds ["mean"] axes [1] : (tensor<8x512xf32>) -> tensor<8x1xf32>
  return
}

// -----

func.func @axis(%x: tensor<8x512xf32>) {
  // expected-error @+1 {{along axis 2 of 'tensor<8x512xf32>', expected 0 to 1}}
  %s = simt.reduce_together %x kinds ["sum"] axes [2] : (tensor<8x512xf32>) -> tensor<8x1xf32>
  return
}

// -----

func.func @result(%x: tensor<8x512xf32>) {
  // expected-error @+1 {{gives 'tensor<1x512xf32>' of 'tensor<8x512xf32>' along axis 1}}
  %s = simt.reduce_together %x kinds ["sum"] axes [1] : (tensor<8x512xf32>) -> tensor<1x512xf32>
  return
}

// -----

func.func @row(%table: memref<?x?xi32, strided<[?, ?], offset: ?>>, %i: index) {
  // expected-error @+1 {{reads 'memref<?x?xi32, strided<[?, ?], offset: ?>>', expected two dimensions of i64}}
  %words = simt.row %table[%i] below %i : memref<?x?xi32, strided<[?, ?], offset: ?>>
  return
}
