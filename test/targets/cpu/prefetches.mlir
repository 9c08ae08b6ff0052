// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --cpu-tiles-to-loops --canonicalize --cse | FileCheck %s

!t = memref<?xi32, strided<[?], offset: ?>>
!p = memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>
!v = memref<?x?xf32, strided<[?, ?], offset: ?>>

// Pages that a table names: the loop reads the number of the next one ahead, at a place that is moved
// into the table, and brings its rows nearer while it multiplies those of this one.
// CHECK-LABEL: @pages
// CHECK-SAME: %[[TABLE:[a-z0-9]+]]: memref<?xi32
// CHECK: scf.for %[[J:.*]] = %c0 to
// CHECK: memref.load %[[TABLE]][%[[J]]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[J]], %c1
// CHECK: %[[LAST:.*]] = arith.subi %{{.*}}, %c1
// CHECK: %[[INSIDE:.*]] = arith.minsi %[[NEXT]], %[[LAST]]
// CHECK: %[[PLACE:.*]] = arith.maxsi %[[INSIDE]], %c0
// CHECK: memref.load %[[TABLE]][%[[PLACE]]]
// CHECK: llvm.intr.prefetch
// CHECK: vector.fma
func.func @pages(%table: !t {tile.unit_stride}, %Q: !v {tile.unit_stride}, %pages: !p {tile.unit_stride}, %C: !v {tile.unit_stride}, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %rows = memref.dim %pages, %c1 : !p
  %cols = memref.dim %pages, %c2 : !p
  %z = arith.constant dense<0.0> : tensor<4x64xf32>
  %q = tile.load %Q[%c0, %c0] : !v -> tensor<4x32xf32>
  %s = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %z) -> tensor<4x64xf32> {
    %number = memref.load %table[%j] : !t
    %page = arith.index_cast %number : i32 to index
    %view = memref.subview %pages[%page, 0, 0] [1, %rows, %cols] [1, 1, 1] : !p to !v
    %k = tile.load %view[%c0, %c0] : !v -> tensor<32x64xf32>
    %d = tile.dot %q, %k, %acc : tensor<4x32xf32>, tensor<32x64xf32> -> tensor<4x64xf32>
    scf.yield %d : tensor<4x64xf32>
  }
  tile.store %s, %C[%c0, %c0] : tensor<4x64xf32>, !v
  return
}

// A loop inside another one: its last iteration brings nearer what the first reads in the next iteration
// around it. Numbers are read ahead there too, since nothing in the loops waits.
// CHECK-LABEL: @sequences
// CHECK-SAME: %[[TABLE:[a-z0-9]+]]: memref<?xi32
// CHECK-SAME: %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %[[N:[a-z0-9]+]]: index
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %c2
// CHECK: memref.load %[[TABLE]][%[[I]]]
// CHECK: %[[AFTER:.*]] = arith.addi %[[I]], %c2
// CHECK: scf.for %[[J:.*]] = %c0 to %[[N]] step %c1
// CHECK: %[[NEXT:.*]] = arith.addi %[[J]], %c1
// CHECK: %[[IS_LAST:.*]] = arith.cmpi sge, %[[NEXT]], %[[N]]
// CHECK: %[[PLACE:.*]]:2 = scf.if %[[IS_LAST]]
// CHECK: arith.minsi %[[AFTER]]
// CHECK: memref.load %[[TABLE]]
// CHECK: scf.yield %c0
// CHECK: else
// CHECK: %[[ROW:.*]] = arith.muli %[[NEXT]], %c64
// CHECK: scf.yield %[[ROW]]
// CHECK: llvm.intr.prefetch
// CHECK: vector.fma
// CHECK: dist.notify
func.func @sequences(%table: !t {tile.unit_stride}, %Q: !v {tile.unit_stride}, %caches: !p {tile.unit_stride}, %C: !v {tile.unit_stride}, %done: !dist.signals<1>, %first: index, %end: index, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %rows = memref.dim %caches, %c1 : !p
  %cols = memref.dim %caches, %c2 : !p
  %z = arith.constant dense<0.0> : tensor<4x64xf32>
  scf.for %i = %first to %end step %c2 {
    %number = memref.load %table[%i] : !t
    %sequence = arith.index_cast %number : i32 to index
    %view = memref.subview %caches[%sequence, 0, 0] [1, %rows, %cols] [1, 1, 1] : !p to !v
    %q = tile.load %Q[%i, %c0] : !v -> tensor<4x64xf32>
    %s = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %z) -> tensor<4x64xf32> {
      %k = tile.load %view[%j, %c0] : !v -> tensor<64x64xf32>
      %d = tile.dot %q, %k, %acc : tensor<4x64xf32>, tensor<64x64xf32> -> tensor<4x64xf32>
      scf.yield %d : tensor<4x64xf32>
    }
    tile.store %s, %C[%i, %c0] : tensor<4x64xf32>, !v
    dist.notify %done[%i] add %c1 : !dist.signals<1>
  }
  return
}
