// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --dist-expand-inboxes | FileCheck %s

// CHECK-LABEL: func.func @exchange(
// CHECK-SAME: %[[N:[a-z0-9]+]]: index, %[[PEER:[a-z0-9]+]]: index
// CHECK: %[[FULL:.*]] = dist.signals "box"(%[[N]]) : !dist.signals<1>
// CHECK: %[[TILES:.*]] = dist.symmetric "box.tiles"(%[[N]], %c4{{.*}}, %c8{{.*}}) : memref<?x?x?xf32
// CHECK: %[[RANKS:.*]] = dist.num_ranks
// CHECK: %[[SENT:.*]] = dist.symmetric "box.sent"(%[[RANKS]], %[[N]], %c4{{.*}}, %c8{{.*}}) : memref<?x?x?x?xf32
// CHECK-NOT: dist.inbox
// CHECK: tile.store %[[T:.*]], %[[SENT]][%[[PEER]], %[[N]], %[[ZERO:.*]], %{{.*}}] {ditron.waive = ["w"]}
// CHECK: %[[HERE:.*]] = tile.chunk %[[SENT]][%[[PEER]], %[[N]], %{{.*}}, %{{.*}}] shape [4, 8]
// CHECK: %[[THERE:.*]] = tile.chunk %[[TILES]][%[[N]], %{{.*}}, %{{.*}}] shape [4, 8]
// CHECK: dist.put %[[HERE]], %[[THERE]] on %[[PEER]] {ditron.waive = ["w"]}
// CHECK: dist.notify %[[FULL]][%[[N]]] on %[[PEER]] add %{{.*}} {ditron.waive = ["w"]}
// CHECK: dist.wait %[[FULL]][%[[N]]] >= %{{.*}} : !dist.signals<1>
// CHECK: tile.load %[[TILES]][%[[N]], %{{.*}}, %{{.*}}] : {{.*}} -> tensor<4x8xf32>
func.func @exchange(%n: index, %peer: index, %t: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %box = dist.inbox "box"(%n) : !dist.inbox<1 of tensor<4x8xf32>>
  dist.send %t to %box[%n] on %peer {ditron.waive = ["w"]} : tensor<4x8xf32>, !dist.inbox<1 of tensor<4x8xf32>>
  %u = dist.receive %box[%n] : !dist.inbox<1 of tensor<4x8xf32>> -> tensor<4x8xf32>
  return %u : tensor<4x8xf32>
}
