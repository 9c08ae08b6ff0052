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

// A kernel of one loop over tiles that slices rows by counts: tiles of the own rows wait for nobody, those
// of another rank for its rows. What it writes goes where these rows stand among those of all ranks.
// CHECK-LABEL: func @tiles(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<?x?xf32, {{[^{]*}}{tile.name = "A", tile.readonly}
// CHECK-SAME: %[[COUNTS:[a-z0-9]+]]: memref<?xi32,
// CHECK-SAME: %[[C:[a-z0-9]+]]: memref<?x?xf32, {{[^{]*}}{tile.name = "C"}
func.func @tiles(%A: !v2 {tile.name = "A", tile.readonly, dist.placement = #dist.placement<exchanged dim 0 counts "counts">},
                 %counts: !v1 {tile.name = "counts", tile.readonly}, %C: !v2 {tile.name = "C"})
    attributes {tile.kernel, tile.extents = [["T", "K"], ["G"], ["T", "K"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  // CHECK-DAG: %[[R:.*]] = dist.num_ranks
  // CHECK-DAG: %[[ME:.*]] = dist.rank
  // CHECK: %[[ALL:.*]] = dist.symmetric "counts.of"
  // CHECK: %[[READY:.*]] = dist.signals "counts.ready"(%[[R]])
  // CHECK: %[[ROWS:.*]] = dist.symmetric "A.exchanged"(%[[R]],
  // CHECK: dist.role "exchange"
  // CHECK: scf.for %{{.*}} = %c1 to %[[R]] step %c1 {
  // CHECK: dist.put {{.*}} on %[[PEER:.*]] :
  // CHECK: dist.barrier cores
  // CHECK: dist.notify %[[READY]][%[[ME]]] on %[[PEER]] add %c1
  // CHECK: dist.role "compute"
  // CHECK: dist.tiles (%[[S:.*]], %[[G:.*]], %[[I:.*]]) of (%[[R]], {{.*}} order <"own-shard-first"
  // CHECK: %[[OWN:.*]] = arith.cmpi eq, %[[S]], %[[ME]]
  // CHECK: %[[EXPECTED:.*]] = arith.select %[[OWN]], %c0, %c1
  // CHECK: dist.wait %[[READY]][%[[S]]] >= %[[EXPECTED]]
  // CHECK: memref.subview %[[ALL]][%[[S]], 0]
  // CHECK: %[[FROM:.*]] = arith.select %[[OWN]], %{{.*}}, %{{.*}} : memref
  // CHECK: %[[THERE:.*]]:4 = scf.for
  // CHECK: memref.subview %[[C]][%[[THERE]]#2, 0]
  // CHECK: tile.load %[[FROM]]
  %groups = memref.dim %counts, %c0 : !v1
  %rows = memref.dim %A, %c0 : !v2
  %width = memref.dim %A, %c1 : !v2
  %blocks = arith.ceildivsi %rows, %c8 : index
  dist.tiles (%g, %i) of (%groups, %blocks) order <"row-major"> {
    %count = memref.load %counts[%g] : !v1
    %size = arith.index_cast %count : i32 to index
    %first = scf.for %before = %c0 to %g step %c1 iter_args(%sum = %c0) -> (index) {
      %other = memref.load %counts[%before] : !v1
      %more = arith.index_cast %other : i32 to index
      %next = arith.addi %sum, %more : index
      scf.yield %next : index
    }
    %a = memref.subview %A[%first, 0] [%size, %width] [1, 1] : !v2 to !v2
    %c = memref.subview %C[%first, 0] [%size, %width] [1, 1] : !v2 to !v2
    %t = tile.load %a[%i, %c0] : !v2 -> tensor<8x8xf32>
    tile.store %t, %c[%i, %c0] : tensor<8x8xf32>, !v2
  }
  return
}
