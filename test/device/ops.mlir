// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s | %opt | FileCheck %s
// Every op of `dist` prints as it reads.

!view = memref<?x?xf16, strided<[?, ?], offset: ?>>
!shared = memref<?x?xf16, strided<[?, ?], offset: ?>, #dist.space<symmetric>>

// CHECK-LABEL: @place
func.func @place() -> (index, index, index, index, index, index) {
  // CHECK: dist.rank{{$}}
  %0 = dist.rank
  // CHECK: dist.rank along "node"
  %1 = dist.rank along "node"
  // CHECK: dist.num_ranks{{$}}
  %2 = dist.num_ranks
  // CHECK: dist.num_ranks along "local"
  %3 = dist.num_ranks along "local"
  // CHECK: dist.core
  %4 = dist.core
  // CHECK: dist.num_cores
  %5 = dist.num_cores
  return %0, %1, %2, %3, %4, %5 : index, index, index, index, index, index
}

// CHECK-LABEL: @move
// CHECK-SAME: (%[[MINE:.*]]: memref<?x?xf16, strided<[?, ?], offset: ?>>, %{{.*}}: index, %[[PEER:.*]]: index, %[[ONE:.*]]: index)
func.func @move(%mine: !view, %m: index, %peer: index, %one: index) {
  // CHECK: %[[BUFFER:.*]] = dist.symmetric "full"(%{{.*}}, %{{.*}}) : memref<?x?xf16, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
  %full = dist.symmetric "full"(%m, %m) : !shared
  // CHECK: %[[READY:.*]] = dist.signals "ready"(%{{.*}}, %{{.*}}) : !dist.signals<2>
  %ready = dist.signals "ready"(%m, %m) : !dist.signals<2>
  // CHECK: %[[COUNT:.*]] = dist.signals "count"() : !dist.signals<0>
  %count = dist.signals "count"() : !dist.signals<0>
  // CHECK: dist.put %[[MINE]], %[[BUFFER]] on %[[PEER]] : memref<?x?xf16, strided<[?, ?], offset: ?>>, memref<?x?xf16, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
  dist.put %mine, %full on %peer : !view, !shared
  // CHECK: dist.get %[[BUFFER]] on %[[PEER]], %[[MINE]] : memref<?x?xf16, strided<[?, ?], offset: ?>, #dist.space<symmetric>>, memref<?x?xf16, strided<[?, ?], offset: ?>>
  dist.get %full on %peer, %mine : !shared, !view
  // CHECK: dist.notify %[[READY]][%{{.*}}, %[[PEER]]] on %[[PEER]] add %[[ONE]] : !dist.signals<2>
  dist.notify %ready[%m, %peer] on %peer add %one : !dist.signals<2>
  // CHECK: dist.notify %[[COUNT]][] set %{{.*}} : !dist.signals<0>
  dist.notify %count[] set %one : !dist.signals<0>
  // CHECK: dist.put_notify %[[MINE]], %[[BUFFER]], %[[READY]][%{{.*}}, %[[PEER]]] on %[[PEER]] add %[[ONE]] : memref<?x?xf16, strided<[?, ?], offset: ?>>, memref<?x?xf16, strided<[?, ?], offset: ?>, #dist.space<symmetric>>, !dist.signals<2>
  dist.put_notify %mine, %full, %ready[%m, %peer] on %peer add %one : !view, !shared, !dist.signals<2>
  // CHECK: dist.wait %[[READY]][%{{.*}}, %{{.*}}] >= %{{.*}} : !dist.signals<2>
  dist.wait %ready[%m, %m] >= %one : !dist.signals<2>
  // CHECK: dist.fence
  dist.fence
  // CHECK: dist.quiet
  dist.quiet
  return
}

// CHECK-LABEL: @outside_the_language
func.func @outside_the_language(%s: !dist.signals<1>, %i: index) {
  // CHECK: dist.notify %{{.*}}[%{{.*}}] subtract %{{[^ ]*}} : !dist.signals<1>
  dist.notify %s[%i] subtract %i : !dist.signals<1>
  // CHECK: dist.notify %{{.*}}[%{{.*}}] store %{{[^ ]*}} relaxed : !dist.signals<1>
  dist.notify %s[%i] store %i relaxed : !dist.signals<1>
  // CHECK: dist.notify %{{.*}}[%{{.*}}] add %{{[^ ]*}} relaxed scope system : !dist.signals<1>
  dist.notify %s[%i] add %i relaxed scope system : !dist.signals<1>
  // CHECK: dist.wait %{{.*}}[%{{.*}}] == %{{[^ ]*}} : !dist.signals<1>
  dist.wait %s[%i] == %i : !dist.signals<1>
  // CHECK: dist.wait %{{.*}}[%{{.*}}] >= %{{[^ ]*}} take : !dist.signals<1>
  dist.wait %s[%i] >= %i take : !dist.signals<1>
  // CHECK: dist.wait %{{.*}}[%{{.*}}] == %{{[^ ]*}} take relaxed scope core : !dist.signals<1>
  dist.wait %s[%i] == %i take relaxed scope core : !dist.signals<1>
  // CHECK: dist.fence scope network
  dist.fence scope network
  // CHECK: dist.notify %{{.*}}[%{{.*}}] add %{{[^ ]*}} scope device {note = 1 : i64} : !dist.signals<1>
  dist.notify %s[%i] add %i scope device {note = 1} : !dist.signals<1>
  return
}

// CHECK-LABEL: @work
func.func @work(%n: index, %done: !dist.signals<1>) {
  // CHECK: dist.role "gather" cores %{{.*}} for %{{.*}} {
  dist.role "gather" cores %n for %n {
    // CHECK: dist.barrier cores
    dist.barrier cores
    // CHECK: dist.role "inner" cores %{{.*}} for %{{.*}} on copy {
    dist.role "inner" cores %n for %n on copy {
      // CHECK: dist.barrier ranks
      dist.barrier ranks
    }
  }
  // CHECK: dist.role "idle"
  dist.role "idle" cores %n for %n {
  }
  // CHECK: dist.tiles (%[[I:.*]], %[[J:.*]]) of (%{{.*}}, %{{.*}}) order <"grouped", 8> {
  dist.tiles (%i, %j) of (%n, %n) order <"grouped", 8> {
    // CHECK: dist.notify %{{.*}}[%[[J]]] add %[[I]]
    dist.notify %done[%j] add %i : !dist.signals<1>
  }
  // CHECK: dist.tiles (%{{.*}}, %{{.*}}) of (%{{.*}}, %{{.*}}) from %[[F:.*]] to %{{.*}} order <"grouped", 8> {
  dist.tiles (%i, %j) of (%n, %n) from %n to %n order <"grouped", 8> {
  }
  // CHECK: dist.tiles (%{{.*}}) of (%{{.*}}) order <"row-major"> {
  dist.tiles (%i) of (%n) order <"row-major"> {
  }
  // CHECK: dist.tiles ({{.*}}) of ({{.*}}) order <"own-shard-first"> elements %{{.*}} height 128 {
  dist.tiles (%b, %i, %j) of (%n, %n, %n) order <"own-shard-first"> elements %n height 128 {
  }
  // CHECK: order <"next-rank-first"> height 2 {
  dist.tiles (%b, %i, %j) of (%n, %n, %n) order <"next-rank-first"> height 2 {
  }
  // CHECK: order <"own-shard-first"> elements %{{[^ ]*}} {
  // CHECK: } {note = 1 : i64}
  dist.tiles (%i, %j) of (%n, %n) order <"own-shard-first"> elements %n {
  } {note = 1}
  // CHECK: dist.mark_tile(%{{.*}}, %{{.*}})
  dist.mark_tile(%n, %n)
  // CHECK: dist.mark_tile()
  dist.mark_tile()
  return
}

// CHECK-LABEL: @placements
// CHECK-SAME: #dist.placement<gathered dim 1 cores 2 on copy>
// CHECK-SAME: #dist.placement<reduce_scattered dim 0>
// CHECK-SAME: #dist.placement<all_reduced cores 0>
// CHECK-SAME: #dist.placement<all_reduced along "node" on copy chunks 2 wave 132 rounded true>
func.func private @placements() attributes {
  a = #dist.placement<gathered dim 1 cores 2 on copy>,
  b = #dist.placement<reduce_scattered dim 0 on core>,
  c = #dist.placement<all_reduced cores 0>,
  d = #dist.placement<all_reduced along "node" on copy chunks 2 wave 132 rounded true>}

// -----

// CHECK-LABEL: func.func @inboxes
func.func @inboxes(%t: tensor<4x8xf16>, %n: index) {
  // CHECK: %[[BOX:.*]] = dist.inbox "box"(%{{.*}}, %{{.*}}) : !dist.inbox<2 of tensor<4x8xf16>>
  %box = dist.inbox "box"(%n, %n) : !dist.inbox<2 of tensor<4x8xf16>>
  // CHECK: dist.send %{{.*}} to %[[BOX]][%{{.*}}, %{{.*}}] on %{{.*}} : tensor<4x8xf16>, !dist.inbox<2 of tensor<4x8xf16>>
  dist.send %t to %box[%n, %n] on %n : tensor<4x8xf16>, !dist.inbox<2 of tensor<4x8xf16>>
  // CHECK: dist.receive %[[BOX]][%{{.*}}, %{{.*}}] : !dist.inbox<2 of tensor<4x8xf16>> -> tensor<4x8xf16>
  %u = dist.receive %box[%n, %n] : !dist.inbox<2 of tensor<4x8xf16>> -> tensor<4x8xf16>
  return
}
