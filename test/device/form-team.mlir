// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --dist-form-team="axis=col" | FileCheck %s
// RUN: %opt %s --dist-form-team="axis=col" --dist-deal-tiles --dist-resolve-mesh="mesh=row=2,col=3" --canonicalize --cse | FileCheck %s --check-prefix=MESH

// A verb goes to the rank at its peer's place, which is computed once, where the place is.
// CHECK-LABEL: func @gather(
// CHECK-SAME: tile.extents = {{\[\[}}"M", "N"], ["R_col*M", "N"], ["B+1"]]
// CHECK: %[[ME:.*]] = dist.rank along "col"
// CHECK: %[[RANKS:.*]] = dist.num_ranks along "col"
// CHECK: %[[PEER:.*]] = arith.remsi
// CHECK: %[[THERE:.*]] = dist.rank_at %[[PEER]] along "col"
// CHECK: dist.put %{{.*}}, %{{.*}} on %[[THERE]]
// CHECK: dist.notify %{{.*}}[%[[PEER]]] on %[[THERE]] add
// CHECK: dist.wait
// CHECK: dist.tiles {{.*}} order <"own-shard-first" along "col">
// CHECK: dist.tiles {{.*}} order <"row-major">
// MESH-LABEL: func @gather(
// MESH-NOT: along
// MESH: return
func.func @gather(%x: memref<?x?xf32, strided<[?, ?], offset: ?>>, %y: memref<?x?xf32, strided<[?, ?], offset: ?>>,
                  %b: memref<?xi32, strided<[?], offset: ?>>)
    attributes {tile.kernel, tile.extents = [["M", "N"], ["R*M", "N"], ["B+1"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, %c0 : memref<?x?xf32, strided<[?, ?], offset: ?>>
  %n = memref.dim %x, %c1 : memref<?x?xf32, strided<[?, ?], offset: ?>>
  %me = dist.rank
  %ranks = dist.num_ranks
  %slots = dist.symmetric "slots"(%m, %n) : memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
  %ready = dist.signals "ready"(%ranks) : !dist.signals<1>
  %next = arith.addi %me, %c1 : index
  %peer = arith.remsi %next, %ranks : index
  dist.put %x, %slots on %peer : memref<?x?xf32, strided<[?, ?], offset: ?>>, memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
  dist.notify %ready[%peer] on %peer add %c1 : !dist.signals<1>
  dist.wait %ready[%me] >= %c1 : !dist.signals<1>
  dist.tiles (%i, %j) of (%m, %n) order <"own-shard-first"> {
    dist.notify %ready[%i] add %c1 : !dist.signals<1>
  }
  dist.tiles (%i, %j) of (%m, %n) order <"row-major"> {
    dist.notify %ready[%j] add %c1 : !dist.signals<1>
  }
  return
}

// Arguments are placed along the axis, and an inbox is a peer's.
// CHECK-LABEL: func @placed(
// CHECK-SAME: #dist.placement<gathered dim 0 along "col" cores 2>
// CHECK: %[[THERE:.*]] = dist.rank_at %{{.*}} along "col"
// CHECK: dist.send %{{.*}} on %[[THERE]]
func.func @placed(%A: memref<?x?xf32, strided<[?, ?], offset: ?>> {dist.placement = #dist.placement<gathered dim 0 cores 2>}, %peer: index)
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %box = dist.inbox "box"(%c1) : !dist.inbox<1 of tensor<4x8xf32>>
  %t = arith.constant dense<0.0> : tensor<4x8xf32>
  dist.send %t to %box[%c0] on %peer : tensor<4x8xf32>, !dist.inbox<1 of tensor<4x8xf32>>
  return
}
