// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-assign-layouts --simt-pipeline-loads=stages=3 | FileCheck %s

// CHECK-LABEL: func.func @gemm
// CHECK: %[[A:.*]] = simt.ring : <3 of tensor<64x32xbf16,
// CHECK: %[[B:.*]] = simt.ring : <3 of tensor<32x64xbf16,
// CHECK: simt.await 0
// CHECK-COUNT-2: simt.copy
// CHECK: simt.commit
// CHECK-COUNT-2: simt.copy
// CHECK: simt.commit
// CHECK: scf.for %[[K:.*]] = %{{.*}} iter_args(%{{.*}} = %{{.*}}, %[[SLOT:.*]] = %{{.*}})
// CHECK-NEXT: simt.await 1
// CHECK: %[[NEXT:.*]] = arith.addi %[[K]], %{{.*}}
// CHECK: %[[FREE:.*]] = arith.select
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[NEXT]]
// CHECK: simt.copy %{{.*}}[%{{.*}}, %[[NEXT]]] to %[[A]][%[[FREE]]] if %[[MORE]]
// CHECK: simt.copy %{{.*}}[%[[NEXT]], %{{.*}}] to %[[B]][%[[FREE]]] if %[[MORE]]
// CHECK: simt.commit
// CHECK: simt.slot %[[A]][%[[SLOT]]]
// CHECK: simt.slot %[[B]][%[[SLOT]]]
// CHECK: tile.dot
// CHECK-NOT: tile.load
func.func @gemm(%A: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %B: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %C: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %i: index, %j: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) {
    %a = tile.load %A[%i, %k] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x32xbf16>
    %b = tile.load %B[%k, %j] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<32x64xbf16>
    %d = tile.dot %a, %b, %sum : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  %c = tile.cast %acc : tensor<64x64xf32> to tensor<64x64xbf16>
  tile.store %c, %C[%i, %j] : tensor<64x64xbf16>, memref<?x?xbf16, strided<[?, ?], offset: ?>>
  return
}

// -----

// A loop that writes memory might write what it is about to read.
// CHECK-LABEL: func.func @writes
// CHECK-NOT: simt.ring
func.func @writes(%A: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %B: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %C: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %i: index, %j: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant dense<0.0> : tensor<64x32xbf16>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) {
    %a = tile.load %A[%i, %k] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x32xbf16>
    %b = tile.load %B[%k, %j] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<32x64xbf16>
    %d = tile.dot %a, %b, %sum : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
    tile.store %z, %A[%i, %k] : tensor<64x32xbf16>, memref<?x?xbf16, strided<[?, ?], offset: ?>>
    scf.yield %d : tensor<64x64xf32>
  }
  %c = tile.cast %acc : tensor<64x64xf32> to tensor<64x64xbf16>
  tile.store %c, %C[%i, %j] : tensor<64x64xbf16>, memref<?x?xbf16, strided<[?, ?], offset: ?>>
  return
}
