// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --dist-place-exchanges --canonicalize --cse | FileCheck %s

!v1 = memref<?xi32, strided<[?], offset: ?>>
!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

// Counts go to all ranks; rows to the ranks that have their groups, behind those of earlier groups and
// of earlier ranks in the group. The kernel reads what has come, and counts it.
// CHECK-LABEL: func @experts(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<?x?xf32, {{[^{]*}}{tile.name = "A", tile.readonly}
// CHECK-SAME: %[[COUNTS:[a-z0-9]+]]: memref<?xi32, {{[^{]*}}{tile.name = "counts", tile.readonly}
// CHECK-SAME: tile.extents = {{\[\[}}"T", "K"], ["R*G"], ["R*T", "K"]]
func.func @experts(%A: !v2 {tile.name = "A", tile.readonly, dist.placement = #dist.placement<exchanged dim 0 counts "counts">},
                   %counts: !v1 {tile.name = "counts", tile.readonly}, %C: !v2 {tile.name = "C"})
    attributes {tile.kernel, tile.extents = [["T", "K"], ["G"], ["T", "K"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  // CHECK-DAG: %[[R:.*]] = dist.num_ranks
  // CHECK-DAG: %[[ME:.*]] = dist.rank
  // CHECK-DAG: %[[SLOTS:.*]] = memref.dim %[[COUNTS]], %c0
  // CHECK-DAG: %[[GROUPS:.*]] = arith.divsi %[[SLOTS]], %[[R]]
  // CHECK: tile.require %{{.*}}, "'counts' has {} counts, expected as many for each of {} ranks"
  // CHECK: %[[ALL:.*]] = dist.symmetric "counts.of"(%[[R]], %[[SLOTS]])
  // CHECK: %[[COUNTED:.*]] = dist.signals "counts.counted"(%[[R]])
  // CHECK: %[[READY:.*]] = dist.signals "counts.ready"(%[[R]])
  // CHECK: %[[ROWS:.*]] = dist.symmetric "A.exchanged"
  // CHECK: dist.role "exchange"
  // CHECK: dist.put %[[COUNTS]], %{{.*}} on %[[PEER:.*]] :
  // CHECK: dist.notify %[[COUNTED]][%[[ME]]] on %[[PEER]] add %c1
  // CHECK: tile.require %{{.*}}, "'counts' has {} at place {}, expected 0 or more"
  // CHECK: tile.require %{{.*}}, "'counts' counts {} rows, but 'A' has {}"
  // CHECK: dist.wait %[[COUNTED]]
  // CHECK: memref.subview %[[A]]
  // CHECK: memref.subview %[[ROWS]]
  // CHECK: dist.tiles
  // CHECK: dist.put %{{.*}}, %{{.*}} on
  // CHECK: dist.barrier cores
  // CHECK: dist.notify %[[READY]][%[[ME]]] on %{{.*}} add %c1
  // CHECK: dist.role "compute"
  // CHECK: dist.wait %[[COUNTED]]
  // CHECK: dist.wait %[[READY]]
  // CHECK: %[[HERE:.*]] = memref.memory_space_cast %[[ROWS]]
  // CHECK: %[[FIRST:.*]] = arith.muli %[[ME]], %[[GROUPS]]
  // CHECK: scf.for
  // CHECK: memref.load
  // CHECK: tile.load %[[HERE]]
  %groups = memref.dim %counts, %c0 : !v1
  %width = memref.dim %A, %c1 : !v2
  %columns = arith.ceildivsi %width, %c8 : index
  scf.for %g = %c0 to %groups step %c1 {
    %count = memref.load %counts[%g] : !v1
    %rows = arith.index_cast %count : i32 to index
    scf.for %i = %c0 to %rows step %c1 {
      scf.for %j = %c0 to %columns step %c1 {
        %t = tile.load %A[%i, %j] : !v2 -> tensor<8x8xf32>
        tile.store %t, %C[%i, %j] : tensor<8x8xf32>, !v2
      }
    }
  }
  return
}
