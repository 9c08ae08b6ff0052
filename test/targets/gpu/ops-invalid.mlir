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
