// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --dist-fuse-put-notify | FileCheck %s

!view = memref<?xf16, strided<[?], offset: ?>>
!shared = memref<?xf16, strided<[?], offset: ?>, #dist.space<symmetric>>

// CHECK-LABEL: @fused
// CHECK-SAME: (%[[MINE:.*]]: memref<?xf16, strided<[?], offset: ?>>, %[[N:.*]]: index, %[[PEER:.*]]: index)
func.func @fused(%mine: !view, %n: index, %peer: index) {
  %buffer = dist.symmetric "b"(%n) : !shared
  // CHECK: %[[READY:.*]] = dist.signals
  %ready = dist.signals "s"(%n) : !dist.signals<1>
  // CHECK: %[[PART:.*]] = tile.chunk
  %part = tile.chunk %buffer[%n] shape [64] : !shared -> !shared
  // CHECK-NOT: dist.put %
  dist.put %mine, %part on %peer : !view, !shared
  // CHECK: %[[ONE:.*]] = arith.constant 1
  %one = arith.constant 1 : index
  // CHECK: dist.put_notify %[[MINE]], %[[PART]], %[[READY]][%[[N]]] on %[[PEER]] add %[[ONE]]
  dist.notify %ready[%n] on %peer add %one : !dist.signals<1>
  // CHECK-NEXT: return
  return
}

// Only the last put of several is joined: the notify orders the earlier ones too.
// CHECK-LABEL: @last
func.func @last(%mine: !view, %n: index) {
  %buffer = dist.symmetric "b"(%n) : !shared
  %ready = dist.signals "s"(%n) : !dist.signals<1>
  %c3 = arith.constant 3 : index
  %again = arith.constant 3 : index
  // CHECK: dist.put %
  // CHECK-NEXT: dist.put_notify
  // CHECK-SAME: set
  // CHECK-NEXT: return
  dist.put %mine, %buffer on %c3 : !view, !shared
  dist.put %mine, %buffer on %c3 : !view, !shared
  dist.notify %ready[%n] on %again set %n : !dist.signals<1>
  return
}

// CHECK-LABEL: @kept
// CHECK-NOT: put_notify
func.func @kept(%mine: !view, %t: tensor<4xf16>, %n: index, %peer: index, %other: index) {
  %buffer = dist.symmetric "b"(%n) : !shared
  %ready = dist.signals "s"(%n) : !dist.signals<1>
  // Another peer.
  dist.put %mine, %buffer on %peer : !view, !shared
  dist.notify %ready[%n] on %other add %n : !dist.signals<1>
  // A store between.
  dist.put %mine, %buffer on %peer : !view, !shared
  tile.store %t, %mine[%n] : tensor<4xf16>, !view
  dist.notify %ready[%n] on %peer add %n : !dist.signals<1>
  // This rank's signal.
  dist.put %mine, %buffer on %peer : !view, !shared
  dist.notify %ready[%n] add %n : !dist.signals<1>
  // Forms that put_notify does not have.
  dist.put %mine, %buffer on %peer : !view, !shared
  dist.notify %ready[%n] on %peer add %n relaxed : !dist.signals<1>
  dist.put %mine, %buffer on %peer : !view, !shared
  dist.notify %ready[%n] on %peer store %n : !dist.signals<1>
  // Not always.
  scf.for %i = %n to %n step %n {
    dist.put %mine, %buffer on %peer : !view, !shared
  }
  dist.notify %ready[%n] on %peer add %n : !dist.signals<1>
  return
}
