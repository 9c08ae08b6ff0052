// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --dist-fuse-put-notify | FileCheck %s

!view = memref<?xf16, strided<[?], offset: ?>>
!shared = memref<?xf16, strided<[?], offset: ?>, #dist.space<symmetric>>
!theirs = memref<?xf16, strided<[?], offset: ?>, #dist.space<remote>>
!signal = !dist.signals<1, remote>

// CHECK-LABEL: @fused
// CHECK-SAME: (%[[MINE:.*]]: memref<?xf16, strided<[?], offset: ?>>, %[[N:.*]]: index, %[[PEER:.*]]: index)
func.func @fused(%mine: !view, %n: index, %peer: index) {
  %buffer = dist.symmetric "b"(%n) : !shared
  %ready = dist.signals "s"(%n) : !dist.signals<1>
  // CHECK: %[[THEIRS:.*]] = dist.on
  %theirs = dist.on %buffer, %peer : !shared -> !theirs
  // CHECK: %[[PART:.*]] = tile.chunk %[[THEIRS]]
  %part = tile.chunk %theirs[%n] shape [64] : !theirs -> !theirs
  // CHECK-NOT: dist.put %
  dist.put %mine, %part : !view, !theirs
  // CHECK: %[[ONE:.*]] = arith.constant 1
  %one = arith.constant 1 : index
  // CHECK: %[[SIGNAL:.*]] = dist.on
  %signal = dist.on %ready, %peer : !dist.signals<1> -> !signal
  // CHECK: dist.put_notify %[[MINE]], %[[PART]], %[[SIGNAL]][%[[N]]] add %[[ONE]]
  dist.notify %signal[%n] add %one : !signal
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
  %theirs = dist.on %buffer, %c3 : !shared -> !theirs
  %signal = dist.on %ready, %again : !dist.signals<1> -> !signal
  // CHECK: dist.put %
  // CHECK-NEXT: dist.put_notify
  // CHECK-SAME: set
  // CHECK-NEXT: return
  dist.put %mine, %theirs : !view, !theirs
  dist.put %mine, %theirs : !view, !theirs
  dist.notify %signal[%n] set %n : !signal
  return
}

// CHECK-LABEL: @kept
// CHECK-NOT: put_notify
func.func @kept(%mine: !view, %t: tensor<4xf16>, %n: index, %peer: index, %other: index) {
  %buffer = dist.symmetric "b"(%n) : !shared
  %ready = dist.signals "s"(%n) : !dist.signals<1>
  %theirs = dist.on %buffer, %peer : !shared -> !theirs
  %signal = dist.on %ready, %peer : !dist.signals<1> -> !signal
  %elsewhere = dist.on %ready, %other : !dist.signals<1> -> !signal
  // Another peer.
  dist.put %mine, %theirs : !view, !theirs
  dist.notify %elsewhere[%n] add %n : !signal
  // A store between.
  dist.put %mine, %theirs : !view, !theirs
  tile.store %t, %mine[%n] : tensor<4xf16>, !view
  dist.notify %signal[%n] add %n : !signal
  // This rank's signal.
  dist.put %mine, %theirs : !view, !theirs
  dist.notify %ready[%n] add %n : !dist.signals<1>
  // Forms that put_notify does not have.
  dist.put %mine, %theirs : !view, !theirs
  dist.notify %signal[%n] add %n relaxed : !signal
  dist.put %mine, %theirs : !view, !theirs
  dist.notify %signal[%n] store %n : !signal
  // Not always.
  scf.for %i = %n to %n step %n {
    dist.put %mine, %theirs : !view, !theirs
  }
  dist.notify %signal[%n] add %n : !signal
  return
}
