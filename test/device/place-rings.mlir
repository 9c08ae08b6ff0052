// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --dist-place-arguments --canonicalize --cse | FileCheck %s

!v1 = memref<?xf32, strided<[?], offset: ?>>
!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

// Own chunks go to this rank and to the one before it; then all shards but the last that come from
// the next rank go on.
// CHECK-LABEL: func @by_cores(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?xf32
func.func @by_cores(%x: !v1 {tile.name = "x", tile.readonly, dist.placement = #dist.placement<gathered dim 0 cores 2 ring true>},
                    %y: !v1 {tile.name = "y"})
    attributes {tile.kernel, tile.extents = [["N"], ["N"]]} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %extent = memref.dim %x, %c0 : !v1
  %tiles = arith.ceildivsi %extent, %c8 : index
  // CHECK-DAG: %[[R:.*]] = dist.num_ranks
  // CHECK-DAG: %[[ME:.*]] = dist.rank
  // CHECK: %[[ALL:.*]] = dist.symmetric "x.gathered"(%[[R]], %{{.*}})
  // CHECK: %[[READY:.*]] = dist.signals "x.ready"(%[[R]], %{{.*}}) : !dist.signals<2>
  // CHECK-NOT: dist.signals
  // CHECK: dist.role "gather"
  // CHECK: %[[BOTH:.*]] = arith.minsi %[[R]], %c2
  // CHECK: scf.for %[[BACK:.*]] = %c0 to %[[BOTH]]
  // CHECK: %[[AROUND:.*]] = arith.addi %[[ME]], %[[R]]
  // CHECK: %[[PLACE:.*]] = arith.subi %[[AROUND]], %[[BACK]]
  // CHECK: %[[PEER:.*]] = arith.remsi %[[PLACE]], %[[R]]
  // CHECK: dist.put %{{.*}}, %{{.*}} on %[[PEER]]
  // CHECK: dist.notify %[[READY]][%[[ME]], %{{.*}}] on %[[PEER]] add %c1
  // CHECK: %[[LAST:.*]] = arith.subi %[[R]], %c1
  // CHECK: scf.for %[[STEP:.*]] = %c1 to %[[LAST]]
  // CHECK: %[[BEHIND:.*]] = arith.addi %[[ME]], %[[STEP]]
  // CHECK: %[[S:.*]] = arith.remsi %[[BEHIND]], %[[R]]
  // CHECK: %[[PREVIOUS:.*]] = arith.remsi %{{.*}}, %[[R]]
  // CHECK: dist.tiles (%[[I:.*]]) of
  // CHECK: dist.wait %[[READY]][%[[S]], %[[I]]] >= %c1
  // CHECK: %[[PART:.*]] = tile.chunk %[[ALL]][%[[S]], %[[I]]]
  // CHECK: dist.put %[[PART]], %[[PART]] on %[[PREVIOUS]]
  // CHECK: dist.notify %[[READY]][%[[S]], %[[I]]] on %[[PREVIOUS]] add %c1
  // CHECK: dist.role "compute"
  // CHECK: dist.wait %[[READY]]
  dist.tiles (%i) of (%tiles) order <"row-major"> {
    %t = tile.load %x[%i] : !v1 -> tensor<8xf32>
    tile.store %t, %y[%i] : tensor<8xf32>, !v1
  }
  return
}

// Copy engines have counters of their own for what they hand on; the last one is not told.
// CHECK-LABEL: func @by_copy_engines(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?xf32
func.func @by_copy_engines(%x: !v1 {tile.name = "x", tile.readonly, dist.placement = #dist.placement<gathered dim 0 on copy ring true>},
                           %y: !v1 {tile.name = "y"})
    attributes {tile.kernel, tile.extents = [["N"], ["N"]]} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %extent = memref.dim %x, %c0 : !v1
  %tiles = arith.ceildivsi %extent, %c8 : index
  // CHECK-DAG: %[[R:.*]] = dist.num_ranks
  // CHECK-DAG: %[[ME:.*]] = dist.rank
  // CHECK-DAG: %[[READY:.*]] = dist.signals "x.ready"(%[[R]]) : !dist.signals<1>
  // CHECK-DAG: %[[PASSING:.*]] = dist.signals "x.passing"(%[[R]]) : !dist.signals<1>
  // CHECK: dist.role "gather" cores %c0 for %c1 on copy
  // CHECK: dist.put %[[X]], %{{.*}} on %[[PEER:.*]] :
  // CHECK: dist.notify %[[READY]][%[[ME]]] on %[[PEER]] add %c1
  // CHECK: scf.for
  // CHECK-NEXT: dist.notify %[[PASSING]][%[[ME]]] on %[[PEER]] add %c1
  // CHECK: scf.for %[[STEP:.*]] = %c1 to
  // CHECK: %[[S:.*]] = arith.remsi %{{.*}}, %[[R]]
  // CHECK: dist.wait %[[PASSING]][%[[S]]] >= %c1
  // CHECK: dist.put %[[SLOT:.*]], %[[SLOT]] on %[[PEER]]
  // CHECK: dist.notify %[[READY]][%[[S]]] on %[[PEER]] add %c1
  // CHECK: scf.for
  // CHECK-NEXT: dist.notify %[[PASSING]][%[[S]]] on %[[PEER]] add %c1
  // CHECK: dist.tiles
  dist.tiles (%i) of (%tiles) order <"row-major"> {
    %t = tile.load %x[%i] : !v1 -> tensor<8xf32>
    tile.store %t, %y[%i] : tensor<8xf32>, !v1
  }
  return
}

// A window that is known at run time: of each shard the part in it, and positions that count in the
// window. What a ragged tile lacks is numbered behind the window's end.
// CHECK-LABEL: func @window(
// CHECK-SAME: %[[BEGIN:[a-z0-9]+]]: index {{[^%]*}}, %[[SIZE:[a-z0-9]+]]: index
func.func @window(%x: !v2 {tile.name = "x", tile.readonly, dist.placement = #dist.placement<gathered dim 0 ring true>},
                  %y: !v2 {tile.name = "y"}, %begin: index {tile.name = "begin"}, %size: index {tile.name = "size"})
    attributes {tile.kernel, tile.extents = [["S", "H"], ["E", "H"], [], []]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %none = arith.constant dense<0.0> : tensor<8x8xf32>
  %width = memref.dim %x, %c1 : !v2
  %rows = tile.iota axis 0 : tensor<8x1xi32>
  %end = arith.index_cast %size : index to i32
  %ends = tensor.splat %end : tensor<8x8xi32>
  %steps = arith.ceildivsi %size, %c8 : index
  %whole = arith.divsi %size, %c8 : index
  // CHECK-DAG: %[[R:.*]] = dist.num_ranks
  // CHECK-DAG: %[[PART:.*]] = memref.dim %{{.*}}, %c0
  // CHECK: dist.tiles (%[[I:.*]]) of (%c1)
  // CHECK: scf.for %{{.*}} = %c0 to %[[R]]
  // CHECK: %[[S:.*]] = arith.remsi %{{.*}}, %[[R]]
  // CHECK: %[[BEFORE:.*]] = arith.muli %[[S]], %[[PART]]
  // CHECK: %[[FROM:.*]] = arith.subi %[[BEFORE]], %[[BEGIN]]
  // CHECK: %[[FIRST:.*]] = arith.maxsi %[[FROM]], %c0
  // CHECK: arith.minsi %{{.*}}, %[[PART]]
  // CHECK: %[[COUNT:.*]] = arith.maxsi %{{.*}}, %c0
  // CHECK: %[[TILES:.*]] = arith.ceildivsi %[[COUNT]], %c8
  // CHECK: %[[VISITED:.*]] = arith.cmpi sgt, %[[COUNT]], %c0
  // CHECK: %[[SHARD:.*]] = memref.subview %{{.*}}[%[[S]], 0, 0]
  // CHECK: %[[INSIDE:.*]] = memref.subview %[[SHARD]][%{{.*}}, 0] [%[[COUNT]], %{{.*}}]
  // CHECK: scf.if %[[VISITED]] {
  // CHECK-NEXT: dist.wait %{{.*}}[%[[S]]] >=
  // CHECK: scf.for %[[J:.*]] = %c0 to %[[TILES]]
  // CHECK-DAG: %[[AT:.*]] = arith.muli %[[J]], %c8
  // CHECK-DAG: %[[POSITION:.*]] = arith.addi %[[FIRST]], %[[AT]]
  // CHECK: %[[GAP:.*]] = arith.select
  // CHECK: %[[BEHIND:.*]] = arith.addi %{{.*}}, %[[GAP]]
  // CHECK: tile.load %{{.*}}[%[[J]], %c0]
  // CHECK: arith.cmpi sgt, %[[BEHIND]], %[[SIZE]]
  // CHECK: arith.index_cast %[[POSITION]] : index to i32
  // CHECK: %[[SKIPPED:.*]] = arith.select %{{.*}} : tensor<8x1xi1>, tensor<8x1xi32>
  // CHECK: arith.addi %{{.*}}, %[[SKIPPED]] : tensor<8x1xi32>
  // CHECK: tile.store
  // CHECK: scf.for %[[REST:.*]] = %c0 to %[[R]]
  // CHECK-NEXT: dist.wait %{{.*}}[%[[REST]]] >=
  dist.tiles (%i) of (%c1) order <"row-major"> {
    %inside = memref.subview %x[%begin, 0] [%size, %width] [1, 1] : !v2 to !v2
    %sum = scf.for %j = %c0 to %steps step %c1 iter_args(%acc = %zero) -> (tensor<8x8xf32>) {
      %t = tile.load %inside[%j, %c0] : !v2 -> tensor<8x8xf32>
      %isLast = arith.cmpi sge, %j, %whole : index
      %masked = scf.if %isLast -> (tensor<8x8xf32>) {
        %first = arith.muli %j, %c8 : index
        %number = arith.index_cast %first : index to i32
        %numbers = tensor.splat %number : tensor<8x1xi32>
        %position = arith.addi %rows, %numbers : tensor<8x1xi32>
        %positions = tile.broadcast %position : tensor<8x1xi32> -> tensor<8x8xi32>
        %isInside = arith.cmpi slt, %positions, %ends : tensor<8x8xi32>
        %some = arith.select %isInside, %t, %none : tensor<8x8xi1>, tensor<8x8xf32>
        scf.yield %some : tensor<8x8xf32>
      } else {
        scf.yield %t : tensor<8x8xf32>
      }
      %next = arith.addf %acc, %masked : tensor<8x8xf32>
      scf.yield %next : tensor<8x8xf32>
    }
    tile.store %sum, %y[%i, %c0] : tensor<8x8xf32>, !v2
  }
  return
}
