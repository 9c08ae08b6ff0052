// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --nvidia-load-first | FileCheck %s

!matrix = memref<?x?xbf16, strided<[?, ?], offset: ?>>
!row = tensor<1x1024xbf16, #tile.layout<"(8 : 1@warp, 4 : 8@reg, 4 : 1@lane, 8 : 1@reg | replicate 8 : 4@lane)">>
!weights = tensor<16x1024xbf16, #tile.layout<"(2 : 32@reg, 8 : 4@lane, 8 : 1@warp, 4 : 8@reg, 4 : 1@lane, 8 : 1@reg)">>
!sums = tensor<8x16x1xf32, #tile.layout<"(8 : 1@warp, 2 : 1@reg, 8 : 4@lane | replicate 4 : 1@lane)">>

// What is multiplied by streamed rows is loaded for all steps before the first of them; rows come in their order.
// CHECK-LABEL: func.func @few(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x?xbf16, {{.*}}>, %[[W:[a-z0-9]+]]: memref<?x?xbf16, {{.*}}>, %[[I:[a-z0-9]+]]: index
// CHECK: nvidia.pipe
// CHECK-NEXT: %[[N0:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[K0:.*]] = arith.addi %[[N0]], %[[I]]
// CHECK-NEXT: %[[X0:.*]] = tile.load %[[X]][%{{.*}}, %[[K0]]] {simt.site = 3 : i64}
// CHECK-NEXT: %[[N1:.*]] = arith.constant 1 : index
// CHECK-NEXT: %[[K1:.*]] = arith.addi %[[N1]], %[[I]]
// CHECK-NEXT: %[[X1:.*]] = tile.load %[[X]][%{{.*}}, %[[K1]]] {simt.site = 3 : i64}
// CHECK-NEXT: %[[W0:.*]] = nvidia.receive_rows %[[W]][%[[I]], %[[N0]]]
// CHECK-NEXT: %[[S0:.*]] = nvidia.sliced_dot %[[W0]], %[[X0]], %{{.*}} :
// CHECK-NEXT: %[[W1:.*]] = nvidia.receive_rows %[[W]][%[[I]], %[[N1]]]
// CHECK-NEXT: %[[S1:.*]] = nvidia.sliced_dot %[[W1]], %[[X1]], %[[S0]] :
// CHECK-NEXT: return %[[S1]]
func.func @few(%x: !matrix, %W: !matrix, %i: index) -> !sums {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant dense<0.0> : !sums
  %ring = nvidia.pipe leaving : <6 of tensor<32768xi8>>
  %sum = scf.for %k = %c0 to %c2 step %c1 iter_args(%sums = %zero) -> (!sums) {
    %w = nvidia.receive_rows %W[%i, %k] from %ring : !matrix, <6 of tensor<32768xi8>> -> !weights
    %at = arith.addi %k, %i : index
    %row = tile.load %x[%c0, %at] {simt.site = 3 : i64} : !matrix -> !row
    %next = nvidia.sliced_dot %w, %row, %sums : !weights, !row -> !sums
    scf.yield %next : !sums
  }
  return %sum : !sums
}

// Not so of more bytes than are worth it, of a number of steps that is not known, and where a step waits for others.
// CHECK-LABEL: func.func @stays(
// CHECK-COUNT-3: scf.for
// CHECK-NOT: scf.for
func.func @stays(%x: !matrix, %W: !matrix, %i: index, %n: index) -> (!sums, !sums, !sums) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant dense<0.0> : !sums
  %ring = nvidia.pipe leaving : <6 of tensor<32768xi8>>
  %many = scf.for %k = %c0 to %c9 step %c1 iter_args(%sums = %zero) -> (!sums) {
    %row = tile.load %x[%c0, %k] : !matrix -> !row
    %w = nvidia.receive_rows %W[%i, %k] from %ring : !matrix, <6 of tensor<32768xi8>> -> !weights
    %next = nvidia.sliced_dot %w, %row, %sums : !weights, !row -> !sums
    scf.yield %next : !sums
  }
  %open = scf.for %k = %c0 to %n step %c1 iter_args(%sums = %zero) -> (!sums) {
    %row = tile.load %x[%c0, %k] : !matrix -> !row
    %w = nvidia.receive_rows %W[%i, %k] from %ring : !matrix, <6 of tensor<32768xi8>> -> !weights
    %next = nvidia.sliced_dot %w, %row, %sums : !weights, !row -> !sums
    scf.yield %next : !sums
  }
  %waits = scf.for %k = %c0 to %c2 step %c1 iter_args(%sums = %zero) -> (!sums) {
    simt.sync "cta"
    %row = tile.load %x[%c0, %k] : !matrix -> !row
    %w = nvidia.receive_rows %W[%i, %k] from %ring : !matrix, <6 of tensor<32768xi8>> -> !weights
    %next = nvidia.sliced_dot %w, %row, %sums : !weights, !row -> !sums
    scf.yield %next : !sums
  }
  return %many, %open, %waits : !sums, !sums, !sums
}
