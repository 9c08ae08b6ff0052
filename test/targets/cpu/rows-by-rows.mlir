// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --split-input-file --cpu-tiles-to-loops --canonicalize --cse | FileCheck %s

!v = memref<?x?xf32, strided<[?, ?], offset: ?>>

// Registers hold the rows of the left side: they are loaded once, and each row of the right side is read
// on end. Rows that lie in the view are read without masks, whether or not all of the tile do.
// CHECK-LABEL: @held
// CHECK: %[[LEFT:.*]] = memref.view {{.*}} to memref<4x64xf32>
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c4 {
// CHECK-COUNT-16: vector.load %[[LEFT]]{{.*}} : memref<4x64xf32>, vector<16xf32>
// CHECK: %[[ROWS:.*]] = arith.subi %{{.*}}#0, %{{.*}} : index
// CHECK: %[[INSIDE:.*]] = arith.andi
// CHECK: %[[UNITS:.*]] = arith.divui %{{.*}}, %c4 : index
// CHECK: %[[END:.*]] = arith.muli %[[UNITS]], %c4 : index
// CHECK: %[[WHOLE:.*]] = arith.select %[[INSIDE]], %[[END]], %c0 : index
// CHECK: scf.for %{{.*}} = %c0 to %[[WHOLE]] step %c4 {
// CHECK-NOT: vector.load %[[LEFT]]
// CHECK-NOT: masked
// CHECK: vector.fma
// CHECK: scf.for %{{.*}} = %[[WHOLE]] to %{{.*}} step %c4 {
// CHECK-NOT: vector.load %[[LEFT]]
// CHECK: vector.maskedload
// CHECK: vector.fma
// CHECK: return
func.func @held(%Q: !v {tile.unit_stride}, %K: !v {tile.unit_stride}, %C: !v {tile.unit_stride}, %i: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<4x32xf32>
  %q = tile.load %Q[%c0, %c0] : !v -> tensor<4x64xf32>
  %k = tile.load %K[%i, %c0] : !v -> tensor<32x64xf32>
  %t = tile.transpose %k [1, 0] : tensor<32x64xf32> -> tensor<64x32xf32>
  %d = tile.dot %q, %t, %z : tensor<4x64xf32>, tensor<64x32xf32> -> tensor<4x32xf32>
  tile.store %d, %C[%c0, %i] : tensor<4x32xf32>, !v
  return
}

// -----
!v = memref<?x?xf32, strided<[?, ?], offset: ?>>

// Twice as long rows do not fit: a vector of each side at a time, four of them a step, and one sum a pair.
// CHECK-LABEL: @long
// CHECK: %[[LEFT:.*]] = memref.view {{.*}} to memref<4x128xf32>
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c4 {
// CHECK: scf.for %[[K:.*]] = %c0 to %c128 step %c64 iter_args
// CHECK-COUNT-4: vector.load %[[LEFT]][%{{.*}}, %[[K]]] : memref<4x128xf32>, vector<16xf32>
// CHECK: %[[SUM:.*]] = vector.fma
// CHECK: vector.fma %{{.*}}, %{{.*}}, %[[SUM]]
// CHECK: return
func.func @long(%Q: !v {tile.unit_stride}, %K: !v {tile.unit_stride}, %C: !v {tile.unit_stride}, %i: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<4x32xf32>
  %q = tile.load %Q[%c0, %c0] : !v -> tensor<4x128xf32>
  %k = tile.load %K[%i, %c0] : !v -> tensor<32x128xf32>
  %t = tile.transpose %k [1, 0] : tensor<32x128xf32> -> tensor<128x32xf32>
  %d = tile.dot %q, %t, %z : tensor<4x128xf32>, tensor<128x32xf32> -> tensor<4x32xf32>
  tile.store %d, %C[%c0, %i] : tensor<4x32xf32>, !v
  return
}

// -----
!v = memref<?x?xf32, strided<[?, ?], offset: ?>>

// Where the rows of the left side are several blocks, a piece of four rows of the right side is multiplied by all of
// them: 13 x 4 sums are in memory meanwhile. The first block asks for the next rows, the other ones for none.
// CHECK-LABEL: @pieces
// CHECK-DAG: %[[LEFT:.*]] = memref.view {{.*}} to memref<13x1056xf32>
// CHECK-DAG: %[[SUMS:.*]] = memref.view {{.*}} to memref<52x16xf32>
// CHECK: scf.for %[[FIRST:.*]] = %c0 to %c1024 step %c512
// CHECK: vector.load %[[SUMS]]
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[END:.*]] step %c64 iter_args
// CHECK: llvm.intr.prefetch
// CHECK: vector.store %{{.*}}, %[[SUMS]]
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[END]] step %c64 iter_args
// CHECK-NOT: prefetch
// CHECK: vector.store %{{.*}}, %[[SUMS]]
// CHECK: return
func.func @pieces(%Q: !v {tile.unit_stride}, %K: !v {tile.unit_stride}, %C: !v {tile.unit_stride}, %i: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<13x32xf32>
  %q = tile.load %Q[%c0, %c0] : !v -> tensor<13x1024xf32>
  %k = tile.load %K[%i, %c0] : !v -> tensor<32x1024xf32>
  %t = tile.transpose %k [1, 0] : tensor<32x1024xf32> -> tensor<1024x32xf32>
  %d = tile.dot %q, %t, %z : tensor<13x1024xf32>, tensor<1024x32xf32> -> tensor<13x32xf32>
  tile.store %d, %C[%c0, %i] : tensor<13x32xf32>, !v
  return
}

// -----
!h = memref<?x?xf32, strided<[?, ?], offset: ?>>

// Rows by columns: the rows that both sides have, up to the last of the view, without masks.
// CHECK-LABEL: @columns
// CHECK: scf.for %{{.*}} = %c0 to %[[WHOLE:.*]] step %c64
// CHECK-NOT: masked
// CHECK: vector.fma
// CHECK: scf.for %{{.*}} = %[[WHOLE]] to %{{.*}} step %c64
// CHECK: vector.maskedload
// CHECK: return
func.func @columns(%P: !h {tile.unit_stride}, %V: !h {tile.unit_stride}, %C: !h {tile.unit_stride}, %i: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<4x32xf32>
  %p = tile.load %P[%c0, %i] : !h -> tensor<4x64xf32>
  %v = tile.load %V[%i, %c0] : !h -> tensor<64x32xf32>
  %d = tile.dot %p, %v, %z : tensor<4x64xf32>, tensor<64x32xf32> -> tensor<4x32xf32>
  tile.store %d, %C[%c0, %i] : tensor<4x32xf32>, !h
  return
}
