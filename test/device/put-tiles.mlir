// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --split-input-file --dist-put-tiles | FileCheck %s

!s2 = memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
!s3 = memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>, #dist.space<symmetric>>

// A tile goes to a peer from where it is computed, behind a put that is joined with its notify, too. The store stays.
// CHECK-LABEL: func @sent(
// CHECK-SAME: %[[T:[a-z0-9]+]]: tensor<8x16xf32>, %[[PEER:[a-z0-9]+]]: index
// CHECK-DAG: %[[ME:.*]] = dist.rank
// CHECK-DAG: %[[STAGED:.*]] = dist.symmetric "staged"
// CHECK-DAG: %[[PARTS:.*]] = dist.symmetric "parts"
// CHECK-DAG: %[[DONE:.*]] = dist.signals
// CHECK: tile.store %[[T]], %[[STAGED]][%[[PEER]], %[[I:.*]], %[[I]]]
// CHECK-NOT: tile.chunk
// CHECK: dist.put_tile %[[T]], %[[PARTS]][%[[ME]], %[[I]], %[[I]]] on %[[PEER]] : tensor<8x16xf32>
// CHECK-NEXT: dist.notify %[[DONE]][%[[ME]]] on %[[PEER]] add
// CHECK-NEXT: return
func.func @sent(%t: tensor<8x16xf32>, %peer: index, %rows: index, %columns: index, %i: index) {
  %one = arith.constant 1 : index
  %me = dist.rank
  %staged = dist.symmetric "staged"(%rows, %rows, %columns) : !s3
  %parts = dist.symmetric "parts"(%rows, %rows, %columns) : !s3
  %done = dist.signals "done"(%rows) : !dist.signals<1>
  tile.store %t, %staged[%peer, %i, %i] : tensor<8x16xf32>, !s3
  %from = tile.chunk %staged[%peer, %i, %i] shape [8, 16] : !s3 -> !s2
  %to = tile.chunk %parts[%me, %i, %i] shape [8, 16] : !s3 -> !s2
  dist.put_notify %from, %to, %done[%me] on %peer add %one : !s2, !s2, !dist.signals<1>
  return
}

// -----

!s2 = memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>

// To each of several peers, where one chunk is both sides of the put.
// CHECK-LABEL: func @published(
// CHECK: tile.store
// CHECK: scf.for %[[P:.*]] =
// CHECK-NEXT: dist.put_tile %{{.*}}, %[[SUMS:.*]][%[[I:.*]], %[[I]]] on %[[P]]
// CHECK-NEXT: }
func.func @published(%t: tensor<8x16xf32>, %rows: index, %columns: index, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sums = dist.symmetric "sums"(%rows, %columns) : !s2
  tile.store %t, %sums[%i, %i] : tensor<8x16xf32>, !s2
  scf.for %p = %c0 to %rows step %c1 {
    %chunk = tile.chunk %sums[%i, %i] shape [8, 16] : !s2 -> !s2
    dist.put %chunk, %chunk on %p : !s2, !s2
  }
  return
}

// -----

!s2 = memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>

// What may be written before the put, another place, and another shape stay.
// CHECK-LABEL: func @kept(
// CHECK-NOT: dist.put_tile
func.func @kept(%t: tensor<8x16xf32>, %rows: index, %columns: index, %i: index) {
  %c1 = arith.constant 1 : index
  %staged = dist.symmetric "staged"(%rows, %columns) : !s2
  %parts = dist.symmetric "parts"(%rows, %columns) : !s2
  %done = dist.signals "done"(%rows) : !dist.signals<1>
  %to = tile.chunk %parts[%i, %i] shape [8, 16] : !s2 -> !s2
  tile.store %t, %staged[%i, %i] : tensor<8x16xf32>, !s2
  %first = tile.chunk %staged[%i, %c1] shape [8, 16] : !s2 -> !s2
  dist.put %first, %to on %c1 : !s2, !s2
  %second = tile.chunk %staged[%i, %i] shape [8, 8] : !s2 -> !s2
  dist.put %second, %to on %c1 : !s2, !s2
  dist.wait %done[%i] >= %c1 : !dist.signals<1>
  %third = tile.chunk %staged[%i, %i] shape [8, 16] : !s2 -> !s2
  dist.put %third, %to on %c1 : !s2, !s2
  return
}

// -----

!s2 = memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>

// Nor does what another put may write: its peer may be this rank.
// CHECK-LABEL: func @overwritten(
// CHECK-NOT: dist.put_tile
func.func @overwritten(%t: tensor<8x16xf32>, %rows: index, %columns: index, %i: index) {
  %me = dist.rank
  %c1 = arith.constant 1 : index
  %staged = dist.symmetric "staged"(%rows, %columns) : !s2
  %parts = dist.symmetric "parts"(%rows, %columns) : !s2
  %given = tile.chunk %parts[%c1, %i] shape [8, 16] : !s2 -> !s2
  %to = tile.chunk %parts[%i, %i] shape [8, 16] : !s2 -> !s2
  tile.store %t, %staged[%i, %i] : tensor<8x16xf32>, !s2
  %from = tile.chunk %staged[%i, %i] shape [8, 16] : !s2 -> !s2
  dist.put %given, %from on %me : !s2, !s2
  dist.quiet
  dist.put %from, %to on %c1 : !s2, !s2
  return
}
