// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --dist-place-arguments --canonicalize --cse | FileCheck %s

!v1 = memref<?xf32, strided<[?], offset: ?>>
!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>
!v3 = memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>

// Rows of A come from all ranks: tiles by shard, the own one first, each when its rows are there.
// CHECK-LABEL: func @rows(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<?x?xf32, {{[^{]*}}{tile.name = "A", tile.readonly}
// CHECK-SAME: %[[C:[a-z0-9]+]]: memref<?x?xf32, {{[^{]*}}{tile.name = "C"}
// CHECK-SAME: tile.extents = {{\[\[}}"M", "K"], ["K", "N"], ["N"], ["R*M", "N"]]
func.func @rows(%A: !v2 {tile.name = "A", tile.readonly, dist.placement = #dist.placement<gathered dim 0 cores 2>},
                %B: !v2 {tile.name = "B", tile.readonly}, %bias: !v1 {tile.name = "bias", tile.readonly},
                %C: !v2 {tile.name = "C"})
    attributes {tile.kernel, tile.extents = [["M", "K"], ["K", "N"], ["N"], ["M", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %rows = memref.dim %C, %c0 : !v2
  %columns = memref.dim %C, %c1 : !v2
  %depth = memref.dim %A, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  %k4 = arith.ceildivsi %depth, %c4 : index
  // CHECK-DAG: %[[R:.*]] = dist.num_ranks
  // CHECK-DAG: %[[ME:.*]] = dist.rank
  // CHECK-DAG: %[[M:.*]] = memref.dim %[[A]], %c0
  // CHECK-DAG: %[[K:.*]] = memref.dim %[[A]], %c1
  // CHECK-DAG: %[[ROWS:.*]] = arith.ceildivsi %[[M]], %c8
  // CHECK-DAG: %[[PARTS:.*]] = arith.ceildivsi %[[K]], %c4096
  // CHECK: %[[FULL:.*]] = dist.symmetric "A.gathered"(%[[R]], %[[M]], %[[K]])
  // CHECK: %[[READY:.*]] = dist.signals "A.ready"(%[[R]], %[[ROWS]]) : !dist.signals<2>
  // CHECK: %[[CS:.*]] = memref.expand_shape %[[C]] {{\[\[}}0, 1], [2]] output_shape [%[[R]], %[[M]], %{{.*}}]
  // CHECK: dist.role "gather"
  // CHECK: scf.for %[[P:.*]] = %c0 to %[[R]]
  // CHECK: %[[AROUND:.*]] = arith.addi %[[ME]], %[[R]]
  // CHECK: %[[BACK:.*]] = arith.subi %[[AROUND]], %[[P]]
  // CHECK: %[[PEER:.*]] = arith.remsi %[[BACK]], %[[R]]
  // CHECK: dist.tiles (%[[CI:.*]], %[[CP:.*]]) of (%[[ROWS]], %[[PARTS]]) order <"row-major">
  // CHECK: %[[FROM:.*]] = tile.chunk %[[A]][%[[CI]], %[[CP]]] shape [8, 4096]
  // CHECK: %[[TO:.*]] = tile.chunk %[[FULL]][%[[ME]], %[[CI]], %[[CP]]] shape [8, 4096]
  // CHECK: dist.put %[[FROM]], %[[TO]] on %[[PEER]]
  // CHECK: dist.notify %[[READY]][%[[ME]], %[[CI]]] on %[[PEER]] add %c1
  // CHECK: dist.role "compute"
  // CHECK: dist.tiles (%[[S:.*]], %[[I:.*]], %[[J:.*]]) of (%[[R]], %[[ROWS]], %{{.*}}) order <"own-shard-first", 3 over batch> elements %[[M]] height 8
  // CHECK-NEXT: dist.wait %[[READY]][%[[S]], %[[I]]] >= %[[PARTS]]
  // CHECK-DAG: %[[PART:.*]] = memref.subview %[[FULL]][%[[S]], 0, 0]
  // CHECK-DAG: %[[CPART:.*]] = memref.subview %[[CS]][%[[S]], 0, 0]
  // CHECK: scf.for %[[STEP:.*]] = %c0
  // CHECK: tile.load %[[PART]][%[[I]], %[[STEP]]]
  // CHECK: tile.store %{{.*}}, %[[CPART]][%[[I]], %[[J]]]
  dist.tiles (%i, %j) of (%i8, %j8) order <"grouped", 3> elements %rows height 8 {
    %sum = scf.for %k = %c0 to %k4 step %c1 iter_args(%acc = %zero) -> (tensor<8x8xf32>) {
      %a = tile.load %A[%i, %k] : !v2 -> tensor<8x4xf32>
      %b = tile.load %B[%k, %j] : !v2 -> tensor<4x8xf32>
      %c = tile.dot %a, %b, %acc : tensor<8x4xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
      scf.yield %c : tensor<8x8xf32>
    }
    tile.store %sum, %C[%i, %j] : tensor<8x8xf32>, !v2
  }
  return
}

// -----

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

// A dimension that a sum runs over: shard by shard, the own one first. Both operands are gathered.
// CHECK-LABEL: func @sweep(
// CHECK-SAME: tile.extents = {{\[\[}}"M", "K"], ["K", "N"], ["M", "N"]]
func.func @sweep(%A: !v2 {tile.name = "A", tile.readonly, dist.placement = #dist.placement<gathered dim 1>},
                 %B: !v2 {tile.name = "B", tile.readonly, dist.placement = #dist.placement<gathered dim 0>},
                 %C: !v2 {tile.name = "C"})
    attributes {tile.kernel, tile.extents = [["M", "K"], ["K", "N"], ["M", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %rows = memref.dim %C, %c0 : !v2
  %columns = memref.dim %C, %c1 : !v2
  %depth = memref.dim %A, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  %k4 = arith.ceildivsi %depth, %c4 : index
  // CHECK-DAG: %[[AS:.*]] = dist.symmetric "A.gathered"
  // CHECK-DAG: %[[BS:.*]] = dist.symmetric "B.gathered"
  // CHECK-DAG: %[[AREADY:.*]] = dist.signals "A.ready"(%[[R:.*]]) : !dist.signals<1>
  // CHECK-DAG: %[[BREADY:.*]] = dist.signals "B.ready"(%[[R]]) : !dist.signals<1>
  // CHECK: dist.role "gather"
  // CHECK: tile.chunk {{.*}} shape [16, 4]
  // CHECK: dist.notify %[[AREADY]][%{{.*}}] on
  // CHECK: tile.chunk {{.*}} shape [4, 4096]
  // CHECK: dist.notify %[[BREADY]][%{{.*}}] on
  // CHECK: dist.role "compute"
  // CHECK: dist.tiles
  // CHECK: %[[SUM:.*]] = scf.for %[[Q:.*]] = %c0 to %[[R]] step %c1 iter_args(%[[OUTER:.*]] = %cst)
  // CHECK: %[[NEXT:.*]] = arith.addi %{{.*}}, %[[Q]]
  // CHECK: %[[S:.*]] = arith.remsi %[[NEXT]], %[[R]]
  // CHECK: dist.wait %[[AREADY]][%[[S]]] >=
  // CHECK: dist.wait %[[BREADY]][%[[S]]] >=
  // CHECK: %[[INNER:.*]] = scf.for %{{.*}} iter_args(%{{.*}} = %[[OUTER]])
  // CHECK: scf.yield %[[INNER]]
  // CHECK: tile.store %[[SUM]]
  dist.tiles (%i, %j) of (%i8, %j8) order <"grouped", 3> elements %rows height 8 {
    %sum = scf.for %k = %c0 to %k4 step %c1 iter_args(%acc = %zero) -> (tensor<8x8xf32>) {
      %a = tile.load %A[%i, %k] : !v2 -> tensor<8x4xf32>
      %b = tile.load %B[%k, %j] : !v2 -> tensor<4x8xf32>
      %c = tile.dot %a, %b, %acc : tensor<8x4xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
      scf.yield %c : tensor<8x8xf32>
    }
    tile.store %sum, %C[%i, %j] : tensor<8x8xf32>, !v2
  }
  return
}

// -----

!v1 = memref<?xf32, strided<[?], offset: ?>>

// What asks for the extent means that of all ranks. A grid of one dimension has the shards as rows.
// CHECK-LABEL: func @extent(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?xf32
func.func @extent(%x: !v1 {tile.name = "x", tile.readonly, dist.placement = #dist.placement<gathered dim 0 cores 0>},
                  %y: !v1 {tile.name = "y"}, %n: !v1 {tile.name = "n"})
    attributes {tile.kernel, tile.extents = [["N"], ["N"], ["1"]]} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %extent = memref.dim %x, %c0 : !v1
  %tiles = arith.ceildivsi %extent, %c8 : index
  %count = arith.index_cast %extent : index to i32
  %number = arith.sitofp %count : i32 to f32
  memref.store %number, %n[%c0] : !v1
  // CHECK-DAG: %[[N:.*]] = memref.dim %[[X]], %c0
  // CHECK-DAG: %[[R:.*]] = dist.num_ranks
  // CHECK-DAG: %[[TILES:.*]] = arith.ceildivsi %[[N]], %c8
  // CHECK-DAG: %[[ALL:.*]] = dist.num_cores
  // CHECK: dist.role "gather" cores %c0 for %[[ALL]]
  // CHECK: dist.role "compute" cores %c0 for %[[ALL]]
  // CHECK: %[[WHOLE:.*]] = arith.muli %[[R]], %[[N]]
  // CHECK: arith.index_cast %[[WHOLE]]
  // CHECK: dist.tiles (%{{.*}}, %{{.*}}) of (%[[R]], %[[TILES]]) order <"own-shard-first">
  dist.tiles (%i) of (%tiles) order <"row-major"> {
    %t = tile.load %x[%i] : !v1 -> tensor<8xf32>
    tile.store %t, %y[%i] : tensor<8xf32>, !v1
  }
  return
}

// -----

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

// Copy engines send all of the rows at once; the own ones stay where they are.
// CHECK-LABEL: func @by_copy_engine(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<?x?xf32, {{[^{]*}}{tile.name = "A", tile.readonly}
func.func @by_copy_engine(%A: !v2 {tile.name = "A", tile.readonly, dist.placement = #dist.placement<gathered dim 0 on copy>},
                          %C: !v2 {tile.name = "C"})
    attributes {tile.kernel, tile.extents = [["M", "K"], ["M", "K"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %rows = memref.dim %C, %c0 : !v2
  %columns = memref.dim %C, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  // CHECK-DAG: %[[R:.*]] = dist.num_ranks
  // CHECK-DAG: %[[ME:.*]] = dist.rank
  // CHECK: %[[FULL:.*]] = dist.symmetric "A.gathered"
  // CHECK: %[[READY:.*]] = dist.signals "A.ready"(%[[R]]) : !dist.signals<1>
  // CHECK: dist.role "gather" cores %c0 for %c1 on copy {
  // CHECK: scf.for %{{.*}} = %c1 to %[[R]]
  // CHECK: %[[MINE:.*]] = memref.subview %[[FULL]][%[[ME]], 0, 0]
  // CHECK: dist.put %[[A]], %[[MINE]] on %[[PEER:.*]] : 
  // CHECK: dist.notify %[[READY]][%[[ME]]] on %[[PEER]] add %c1
  // CHECK-NOT: dist.role
  // CHECK: dist.tiles (%[[S:.*]], %[[I:.*]], %[[J:.*]]) of
  // CHECK: %[[OWN:.*]] = arith.cmpi eq, %[[S]], %[[ME]]
  // CHECK: %[[COUNT:.*]] = arith.select %[[OWN]], %c0, %c1
  // CHECK: dist.wait %[[READY]][%[[S]]] >= %[[COUNT]]
  // CHECK: %[[PART:.*]] = memref.subview %[[FULL]][%[[S]], 0, 0]
  // CHECK: %[[PLAIN:.*]] = memref.memory_space_cast %[[PART]]
  // CHECK: %[[FROM:.*]] = arith.select %[[OWN]], %[[A]], %[[PLAIN]]
  // CHECK: tile.load %[[FROM]][%[[I]], %[[J]]]
  dist.tiles (%i, %j) of (%i8, %j8) order <"row-major"> {
    %t = tile.load %A[%i, %j] : !v2 -> tensor<8x8xf32>
    tile.store %t, %C[%i, %j] : tensor<8x8xf32>, !v2
  }
  return
}

// -----

!v3 = memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>

// Whoever counts elements of the dimension gets their number in all of it, and views of a part are
// made anew.
// CHECK-LABEL: func @batch(
// CHECK-SAME: tile.extents = {{\[\[}}"B", "M", "N"], ["R*B", "M", "N"]]
func.func @batch(%x: !v3 {tile.name = "x", tile.readonly, dist.placement = #dist.placement<gathered dim 0>},
                 %y: !v3 {tile.name = "y"})
    attributes {tile.kernel, tile.extents = [["B", "M", "N"], ["B", "M", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %batch = memref.dim %y, %c0 : !v3
  %rows = memref.dim %y, %c1 : !v3
  %columns = memref.dim %y, %c2 : !v3
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  // CHECK: %[[B:.*]] = memref.dim %{{.*}}, %c0
  // CHECK: %[[FULL:.*]] = dist.symmetric "x.gathered"
  // CHECK: %[[READY:.*]] = dist.signals "x.ready"(%{{.*}}, %[[B]]) : !dist.signals<2>
  // CHECK: tile.chunk {{.*}} shape [16, 4096]
  // CHECK: dist.tiles (%[[S:.*]], %[[N:.*]], %[[I:.*]], %[[J:.*]]) of
  // CHECK: dist.wait %[[READY]][%[[S]], %[[N]]]
  // CHECK: %[[FIRST:.*]] = arith.muli %[[S]], %[[B]]
  // CHECK: %[[WHOLE:.*]] = arith.addi %[[FIRST]], %[[N]]
  // CHECK-DAG: %[[PART:.*]] = memref.subview %[[FULL]][%[[S]], 0, 0, 0]
  // CHECK-DAG: arith.index_cast %[[WHOLE]]
  // CHECK: %[[MATRIX:.*]] = memref.subview %[[PART]][%[[N]], 0, 0]
  // CHECK: tile.load %[[MATRIX]][%[[I]], %[[J]]]
  // CHECK: tile.store %{{.*}}, %{{.*}}[%[[N]], %[[I]], %[[J]]]
  dist.tiles (%b, %i, %j) of (%batch, %i8, %j8) order <"row-major"> {
    %number = arith.index_cast %b : index to i32
    %scale = arith.sitofp %number : i32 to f32
    %all = tensor.splat %scale : tensor<8x8xf32>
    %matrix = memref.subview %x[%b, 0, 0] [1, %rows, %columns] [1, 1, 1] : !v3 to memref<?x?xf32, strided<[?, ?], offset: ?>>
    %t = tile.load %matrix[%i, %j] : memref<?x?xf32, strided<[?, ?], offset: ?>> -> tensor<8x8xf32>
    %u = arith.mulf %t, %all : tensor<8x8xf32>
    tile.store %u, %y[%b, %i, %j] : tensor<8x8xf32>, !v3
  }
  return
}

// -----

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

// The ranks of a node have the parts. The loop visits their shards from the own one on, and peers are
// named by their numbers in the mesh.
// CHECK-LABEL: func @along_local(
// CHECK-SAME: tile.extents = {{\[\[}}"M", "N"], ["R_local*M", "N"]]
func.func @along_local(%A: !v2 {tile.name = "A", tile.readonly, dist.placement = #dist.placement<gathered dim 0 along "local" on copy>},
                       %C: !v2 {tile.name = "C"})
    attributes {tile.kernel, tile.extents = [["M", "N"], ["M", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %rows = memref.dim %C, %c0 : !v2
  %columns = memref.dim %C, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  // CHECK-DAG: %[[R:.*]] = dist.num_ranks along "local"
  // CHECK-DAG: %[[ME:.*]] = dist.rank along "local"
  // CHECK: dist.role "gather"
  // CHECK: %[[PLACE:.*]] = arith.remsi %{{.*}}, %[[R]]
  // CHECK: %[[PEER:.*]] = dist.rank_at %[[PLACE]] along "local"
  // CHECK: dist.put %{{.*}} on %[[PEER]]
  // CHECK: dist.notify %{{.*}}[%[[ME]]] on %[[PEER]]
  // CHECK: tile.require %{{.*}}, "dimension 0 of argument 'C' has {} elements, expected {} of each of {} ranks along axis local"
  // CHECK: dist.tiles (%[[V:.*]], %[[I:.*]], %[[J:.*]]) of (%[[R]], %{{.*}}, %{{.*}}) order <"grouped", 3 over batch>
  // CHECK: %[[NEXT:.*]] = arith.addi %[[ME]], %[[V]]
  // CHECK: %[[S:.*]] = arith.remsi %[[NEXT]], %[[R]]
  // CHECK: dist.wait %{{.*}}[%[[S]]]
  dist.tiles (%i, %j) of (%i8, %j8) order <"grouped", 3> elements %rows height 8 {
    %a = tile.load %A[%i, %j] : !v2 -> tensor<8x8xf32>
    tile.store %a, %C[%i, %j] : tensor<8x8xf32>, !v2
  }
  return
}
