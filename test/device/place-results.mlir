// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --dist-place-results --canonicalize --cse | FileCheck %s

!v1 = memref<?xf32, strided<[?], offset: ?>>
!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

// The sum goes to the rank that has the rows; bias, relu and residual are applied there.
// CHECK-LABEL: func @scattered(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<?x?xf32, {{[^{]*}}{tile.name = "A", tile.readonly}
// CHECK-SAME: %[[B:[a-z0-9]+]]: memref<?x?xf32, {{[^{]*}}{tile.name = "B", tile.readonly}
// CHECK-SAME: %[[BIAS:[a-z0-9]+]]: memref<?xf32, {{[^{]*}}{tile.name = "bias", tile.readonly}
// CHECK-SAME: %[[D:[a-z0-9]+]]: memref<?x?xf32, {{[^{]*}}{tile.name = "D", tile.readonly}
// CHECK-SAME: %[[C:[a-z0-9]+]]: memref<?x?xf32, {{[^{]*}}{tile.name = "C"}
// CHECK-SAME: tile.extents = {{\[\[}}"R*M", "K"], ["K", "N"], ["N"], ["M", "N"], ["M", "N"]]
func.func @scattered(%A: !v2 {tile.name = "A", tile.readonly}, %B: !v2 {tile.name = "B", tile.readonly},
                     %bias: !v1 {tile.name = "bias", tile.readonly}, %D: !v2 {tile.name = "D", tile.readonly},
                     %C: !v2 {tile.name = "C", dist.placement = #dist.placement<reduce_scattered dim 0>})
    attributes {tile.kernel, tile.extents = [["M", "K"], ["K", "N"], ["N"], ["M", "N"], ["M", "N"]]} {
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
  // CHECK-DAG: %[[M:.*]] = memref.dim %[[C]], %c0
  // CHECK-DAG: %[[N:.*]] = memref.dim %[[C]], %c1
  // CHECK-DAG: %[[ROWS:.*]] = arith.ceildivsi %[[M]], %c8
  // CHECK-DAG: %[[COLUMNS:.*]] = arith.ceildivsi %[[N]], %c8
  // CHECK: %[[AS:.*]] = memref.expand_shape %[[A]] {{\[\[}}0, 1], [2]] output_shape [%[[R]], %[[M]], %{{.*}}]
  // CHECK: %[[WM:.*]] = arith.muli %[[ROWS]], %c8
  // CHECK: %[[WN:.*]] = arith.muli %[[COLUMNS]], %c8
  // CHECK: %[[STAGED:.*]] = dist.symmetric "C.staged"(%[[R]], %[[WM]], %[[WN]])
  // CHECK: %[[SUMMANDS:.*]] = dist.symmetric "C.summands"(%[[R]], %[[WM]], %[[WN]])
  // CHECK: %[[DONE:.*]] = dist.signals "C.done"(%[[R]], %[[ROWS]], %[[COLUMNS]]) : !dist.signals<3>
  // CHECK: dist.tiles (%[[S:.*]], %[[I:.*]], %[[J:.*]]) of (%[[R]], %[[ROWS]], %[[COLUMNS]]) order <"next-rank-first", 3 over batch> elements %[[M]] height 8
  // CHECK: %[[PART:.*]] = memref.subview %[[AS]][%[[S]], 0, 0]
  // CHECK: %[[SUM:.*]] = scf.for
  // CHECK: tile.load %[[PART]][%[[I]], %{{.*}}]
  // CHECK: %[[OWN:.*]] = arith.cmpi eq, %[[S]], %[[ME]]
  // CHECK: scf.if %[[OWN]] {
  // CHECK: %[[TOTAL:.*]] = scf.for %[[STEP:.*]] = %c1 to %[[R]] step %c1 iter_args(%[[HERE:.*]] = %[[SUM]])
  // CHECK: arith.subi %{{.*}}, %[[STEP]]
  // CHECK: %[[Q:.*]] = arith.remsi %{{.*}}, %[[R]]
  // CHECK: dist.wait %[[DONE]][%[[Q]], %[[I]], %[[J]]] >= %c1
  // CHECK: %[[SUMMAND:.*]] = tile.load %[[SUMMANDS]][%[[Q]], %[[I]], %[[J]]]
  // CHECK: arith.addf %[[HERE]], %[[SUMMAND]]
  // CHECK: tile.load %[[BIAS]][%[[J]]]
  // CHECK: arith.addf %[[TOTAL]]
  // CHECK: arith.maximumf
  // CHECK: tile.load %[[D]][%[[I]], %[[J]]]
  // CHECK: tile.store %{{.*}}, %[[C]][%[[I]], %[[J]]]
  // CHECK: } else {
  // CHECK: tile.store %[[SUM]], %[[STAGED]][%[[S]], %[[I]], %[[J]]]
  // CHECK: %[[FROM:.*]] = tile.chunk %[[STAGED]][%[[S]], %[[I]], %[[J]]] shape [8, 8]
  // CHECK: %[[TO:.*]] = tile.chunk %[[SUMMANDS]][%[[ME]], %[[I]], %[[J]]] shape [8, 8]
  // CHECK: dist.put %[[FROM]], %[[TO]] on %[[S]]
  // CHECK: dist.notify %[[DONE]][%[[ME]], %[[I]], %[[J]]] on %[[S]] add %c1
  // CHECK-NOT: tile.load
  dist.tiles (%i, %j) of (%i8, %j8) order <"grouped", 3> elements %rows height 8 {
    %sum = scf.for %k = %c0 to %k4 step %c1 iter_args(%acc = %zero) -> (tensor<8x8xf32>) {
      %a = tile.load %A[%i, %k] : !v2 -> tensor<8x4xf32>
      %b = tile.load %B[%k, %j] : !v2 -> tensor<4x8xf32>
      %c = tile.dot %a, %b, %acc : tensor<8x4xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
      scf.yield %c : tensor<8x8xf32>
    }
    %row = tile.load %bias[%j] : !v1 -> tensor<8xf32>
    %wide = tile.reshape %row : tensor<8xf32> -> tensor<1x8xf32>
    %all = tile.broadcast %wide : tensor<1x8xf32> -> tensor<8x8xf32>
    %biased = arith.addf %sum, %all : tensor<8x8xf32>
    %relu = arith.maximumf %biased, %zero : tensor<8x8xf32>
    %d = tile.load %D[%i, %j] : !v2 -> tensor<8x8xf32>
    %y = arith.addf %relu, %d : tensor<8x8xf32>
    tile.store %y, %C[%i, %j] : tensor<8x8xf32>, !v2
  }
  return
}

// -----

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

// Every rank sums a share of the columns of tiles, and puts the sums to the others. Two sums, of
// which one is of a sum along an axis, have buffers each.
// CHECK-LABEL: func @reduced(
// CHECK-SAME: tile.extents = {{\[\[}}"M", "N"], ["M", "N"]]
func.func @reduced(%A: !v2 {tile.name = "A", tile.readonly},
                   %C: !v2 {tile.name = "C", dist.placement = #dist.placement<all_reduced>})
    attributes {tile.kernel, tile.extents = [["M", "N"], ["M", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %rows = memref.dim %C, %c0 : !v2
  %columns = memref.dim %C, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  // CHECK-DAG: %[[R:.*]] = dist.num_ranks
  // CHECK-DAG: %[[ME:.*]] = dist.rank
  // CHECK-DAG: %[[SHARE:.*]] = arith.ceildivsi %{{.*}}, %[[R]]
  // CHECK-DAG: %[[WIDTH:.*]] = arith.muli %[[SHARE]], %c8
  // CHECK: dist.symmetric "C.staged"(%[[R]], %{{.*}}, %[[WIDTH]])
  // CHECK: dist.symmetric "C.staged2"
  // CHECK: %[[ONE:.*]] = dist.symmetric "C.summands"(%[[R]], %{{.*}}, %[[WIDTH]])
  // CHECK: %[[TWO:.*]] = dist.symmetric "C.summands2"
  // CHECK: %[[DONE:.*]] = dist.signals "C.done"(%[[R]], %{{.*}}, %[[SHARE]])
  // CHECK: %[[SUMS:.*]] = dist.symmetric "C.sums"
  // CHECK: %[[READY:.*]] = dist.signals "C.ready"
  // CHECK: dist.tiles (%[[S:.*]], %[[I:.*]], %[[Q:.*]]) of (%[[R]], %{{.*}}, %[[SHARE]]) order <"next-rank-first" over batch>
  // CHECK: %[[FIRST:.*]] = arith.muli %[[S]], %[[SHARE]]
  // CHECK: %[[J:.*]] = arith.addi %[[FIRST]], %[[Q]]
  // CHECK: tile.load %{{.*}}[%[[I]], %[[J]]]
  // CHECK: scf.if
  // CHECK: dist.wait %[[DONE]][%{{.*}}, %[[I]], %[[Q]]]
  // CHECK: tile.load %[[ONE]][%{{.*}}, %[[I]], %[[Q]]]
  // CHECK: tile.load %[[TWO]][%{{.*}}, %[[I]], %[[Q]]]
  // CHECK: %[[Y:.*]] = arith.mulf
  // CHECK: tile.store %[[Y]], %[[SUMS]][%[[I]], %[[J]]]
  // CHECK: scf.for %{{.*}} = %c1 to %[[R]]
  // CHECK: dist.put
  // CHECK: dist.notify %[[READY]][%[[I]], %[[J]]] on
  // CHECK: tile.store %[[Y]], %{{.*}}[%[[I]], %[[J]]]
  // CHECK: } else {
  // CHECK-COUNT-2: dist.put
  // CHECK: dist.notify %[[DONE]][%[[ME]], %[[I]], %[[Q]]] on %[[S]] add %c1
  // CHECK: dist.tiles (%[[S2:.*]], %[[I2:.*]], %{{.*}}) of (%[[R]], %{{.*}}, %[[SHARE]]) order <"own-shard-first" over batch>
  // CHECK: %[[OTHER:.*]] = arith.cmpi ne, %[[S2]], %[[ME]]
  // CHECK: scf.if %[[OTHER]]
  // CHECK: dist.wait %[[READY]]
  // CHECK: %[[SUM:.*]] = tile.load %[[SUMS]]
  // CHECK: tile.store %[[SUM]]
  dist.tiles (%i, %j) of (%i8, %j8) order <"row-major"> elements %rows height 8 {
    %a = tile.load %A[%i, %j] : !v2 -> tensor<8x8xf32>
    %c = tile.dot %a, %a, %zero : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    %s = tile.reduce sum %a axis 1 : tensor<8x8xf32> -> tensor<8x1xf32>
    %w = tile.broadcast %s : tensor<8x1xf32> -> tensor<8x8xf32>
    %m = arith.negf %w : tensor<8x8xf32>
    %y = arith.mulf %c, %m : tensor<8x8xf32>
    tile.store %y, %C[%i, %j] : tensor<8x8xf32>, !v2
  }
  return
}

// -----

!h2 = memref<?x?xf16, strided<[?, ?], offset: ?>>

// Copy engines send chunks of a part once all its tiles are there; the owner waits for a rank's chunk
// and adds a tile of it, the previous rank's first. Summands travel rounded.
// CHECK-LABEL: func @scattered_by_copy_engines(
func.func @scattered_by_copy_engines(%A: !h2 {tile.name = "A", tile.readonly}, %B: !h2 {tile.name = "B", tile.readonly},
    %C: !h2 {tile.name = "C", dist.placement = #dist.placement<reduce_scattered dim 0 on copy chunks 2 rounded true>})
    attributes {tile.kernel, tile.extents = [["M", "K"], ["K", "N"], ["M", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<8x16xf32>
  %c16 = arith.constant 16 : index
  %rows = memref.dim %C, %c0 : !h2
  %columns = memref.dim %C, %c1 : !h2
  %depth = memref.dim %A, %c1 : !h2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j16 = arith.ceildivsi %columns, %c16 : index
  %k8 = arith.ceildivsi %depth, %c8 : index
  // CHECK-DAG: %[[R:.*]] = dist.num_ranks
  // CHECK-DAG: %[[ME:.*]] = dist.rank
  // CHECK-DAG: %[[M:.*]] = memref.dim %[[C:.*]], %c0
  // CHECK-DAG: %[[ROWS:.*]] = arith.ceildivsi %[[M]], %c8
  // CHECK-DAG: %[[COLUMNS:.*]] = arith.ceildivsi %{{.*}}, %c16
  // CHECK: %[[TILES:.*]] = arith.muli %[[ROWS]], %[[COLUMNS]]
  // CHECK: %[[LEFT:.*]] = arith.ceildivsi %[[TILES]], %c2
  // CHECK: %[[OTHERS:.*]] = arith.subi %[[TILES]], %[[LEFT]]
  // CHECK: %[[SIZE:.*]] = arith.maxsi %[[OTHERS]], %[[LEFT]]
  // CHECK: %[[LAST:.*]] = arith.ceildivsi %[[OTHERS]], %[[SIZE]]
  // CHECK: %[[FULL:.*]] = arith.muli %[[LAST]], %[[SIZE]]
  // CHECK: %[[MISSING:.*]] = arith.subi %[[FULL]], %[[OTHERS]]
  // CHECK: %[[WHOLE:.*]] = arith.muli %[[TILES]], %c8
  // CHECK: %[[STAGED:.*]] = dist.symmetric "C.staged"(%[[R]], %[[WHOLE]], %c16) : memref<?x?x?xf16
  // CHECK: %[[SUMMANDS:.*]] = dist.symmetric "C.summands"(%[[R]], %[[WHOLE]], %c16) : memref<?x?x?xf16
  // CHECK: %[[DONE:.*]] = dist.signals "C.done"(%[[R]], %c2)
  // CHECK: %[[ARRIVED:.*]] = dist.signals "C.arrived"(%[[R]], %c2)
  // CHECK: dist.role "exchange" cores %c0 for %c1 on copy {
  // CHECK: %[[NEXT:.*]] = arith.addi %[[ME]], %{{.*}}
  // CHECK: %[[PEER:.*]] = arith.remsi %[[NEXT]], %[[R]]
  // CHECK: %[[COUNT:.*]] = arith.addi %[[LAST]], %c1
  // CHECK: scf.for %[[Q:.*]] = %c0 to %[[COUNT]]
  // CHECK: %[[END:.*]] = arith.minsi %[[TILES]], %{{.*}}
  // CHECK: %[[BEGIN:.*]] = arith.maxsi %{{.*}}, %c0
  // CHECK: %[[MANY:.*]] = arith.subi %[[END]], %[[BEGIN]]
  // CHECK: dist.wait %[[DONE]][%[[PEER]], %[[Q]]] >= %[[MANY]]
  // CHECK: %[[FROM:.*]] = memref.subview %[[STAGED]][%[[PEER]], 0, 0]
  // CHECK: %[[TO:.*]] = memref.subview %[[SUMMANDS]][%[[ME]], 0, 0]
  // CHECK: dist.put %{{.*}}, %{{.*}} on %[[PEER]]
  // CHECK: dist.notify %[[ARRIVED]][%[[ME]], %[[Q]]] on %[[PEER]] add %c1
  // CHECK: dist.tiles (%[[S:.*]], %[[I:.*]], %[[J:.*]]) of (%[[R]], %[[ROWS]], %[[COLUMNS]]) order <"next-rank-first", 3 over batch> elements %[[M]] height 8
  // CHECK: %[[SUM:.*]] = scf.for
  // CHECK: scf.if
  // CHECK: scf.for %{{.*}} = %c1 to %[[R]] step %c1 iter_args(%[[SOFAR:.*]] = %[[SUM]])
  // CHECK: %[[FROM:.*]] = arith.remsi %{{.*}}, %[[R]]
  // CHECK: %[[INGROUP:.*]] = arith.remsi %[[I]], %c3
  // CHECK: %[[TOP:.*]] = arith.subi %[[I]], %[[INGROUP]]
  // CHECK: %[[BELOW:.*]] = arith.subi %[[ROWS]], %[[TOP]]
  // CHECK: %[[HEIGHT:.*]] = arith.minsi %[[BELOW]], %c3
  // CHECK: %[[BEFORE:.*]] = arith.muli %[[J]], %[[HEIGHT]]
  // CHECK: %[[COLUMN:.*]] = arith.addi %[[BEFORE]], %[[INGROUP]]
  // CHECK: %[[ABOVE:.*]] = arith.muli %[[TOP]], %[[COLUMNS]]
  // CHECK: %[[NUMBER:.*]] = arith.addi %[[ABOVE]], %[[COLUMN]]
  // CHECK: %[[SHIFTED:.*]] = arith.addi %[[NUMBER]], %[[MISSING]]
  // CHECK: %[[QUOTIENT:.*]] = arith.divsi %[[SHIFTED]], %[[SIZE]]
  // CHECK: %[[CHUNK:.*]] = arith.minsi %[[QUOTIENT]], %[[LAST]]
  // CHECK: dist.wait %[[ARRIVED]][%[[FROM]], %[[CHUNK]]] >= %c1
  // CHECK: %[[SUMMAND:.*]] = tile.load %[[SUMMANDS]][%[[FROM]], %[[NUMBER]], %c0]
  // CHECK: %[[WIDE:.*]] = tile.cast %[[SUMMAND]] : tensor<8x16xf16> to tensor<8x16xf32>
  // CHECK: arith.addf %[[SOFAR]], %[[WIDE]]
  // CHECK: tile.store %{{.*}}, %[[C]][%[[I]], %[[J]]]
  // CHECK: } else {
  // CHECK: %[[NARROW:.*]] = tile.cast %[[SUM]]
  // CHECK: tile.store %[[NARROW]], %{{.*}}[%{{.*}}, %c0]
  // CHECK: dist.notify %[[DONE]][%[[S]], %{{.*}}] add %c1
  dist.tiles (%i, %j) of (%i8, %j16) order <"grouped", 3> elements %rows height 8 {
    %sum = scf.for %k = %c0 to %k8 step %c1 iter_args(%acc = %zero) -> tensor<8x16xf32> {
      %a = tile.load %A[%i, %k] : !h2 -> tensor<8x8xf16>
      %b = tile.load %B[%k, %j] : !h2 -> tensor<8x16xf16>
      %d = tile.dot %a, %b, %acc : tensor<8x8xf16>, tensor<8x16xf16> -> tensor<8x16xf32>
      scf.yield %d : tensor<8x16xf32>
    }
    %y = tile.cast %sum : tensor<8x16xf32> to tensor<8x16xf16>
    tile.store %y, %C[%i, %j] : tensor<8x16xf16>, !h2
  }
  return
}

// -----

!h2 = memref<?x?xf16, strided<[?, ?], offset: ?>>

// Rows of tiles are dealt to the ranks, and copy engines send the sums on; those of the last wave of 5
// tiles are a chunk. Summands travel as the sum has them.
// CHECK-LABEL: func @reduced_by_copy_engines(
func.func @reduced_by_copy_engines(%A: !h2 {tile.name = "A", tile.readonly}, %B: !h2 {tile.name = "B", tile.readonly},
    %C: !h2 {tile.name = "C", dist.placement = #dist.placement<all_reduced on copy chunks 3 wave 5>})
    attributes {tile.kernel, tile.extents = [["M", "K"], ["K", "N"], ["M", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<8x16xf32>
  %c16 = arith.constant 16 : index
  %rows = memref.dim %C, %c0 : !h2
  %columns = memref.dim %C, %c1 : !h2
  %depth = memref.dim %A, %c1 : !h2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j16 = arith.ceildivsi %columns, %c16 : index
  %k8 = arith.ceildivsi %depth, %c8 : index
  // CHECK-DAG: %[[R:.*]] = dist.num_ranks
  // CHECK-DAG: %[[ME:.*]] = dist.rank
  // CHECK: %[[SHARE:.*]] = arith.ceildivsi %{{.*}}, %[[R]]
  // CHECK: %[[M:.*]] = arith.muli %[[SHARE]], %c8
  // CHECK: %[[TILES:.*]] = arith.muli %[[SHARE]], %{{.*}}
  // CHECK: %[[ALL:.*]] = arith.muli %[[R]], %[[TILES]]
  // CHECK: %[[BEFORE:.*]] = arith.subi %[[ALL]], %c1
  // CHECK: %[[WAVE:.*]] = arith.remsi %[[BEFORE]], %c5
  // CHECK: %[[INWAVE:.*]] = arith.addi %[[WAVE]], %c1
  // CHECK: %[[LEFT:.*]] = arith.minsi %[[INWAVE]], %[[TILES]]
  // CHECK: %[[OTHERS:.*]] = arith.subi %[[TILES]], %[[LEFT]]
  // CHECK: %[[HALF:.*]] = arith.ceildivsi %[[OTHERS]], %c2
  // CHECK: %[[SIZE:.*]] = arith.maxsi %[[HALF]], %[[LEFT]]
  // CHECK: %[[WHOLE:.*]] = arith.muli %[[TILES]], %c8
  // CHECK: dist.symmetric "C.staged"(%[[R]], %[[WHOLE]], %c16) : memref<?x?x?xf32
  // CHECK: %[[SUMS:.*]] = dist.symmetric "C.sums"(%[[R]], %[[WHOLE]], %c16) : memref<?x?x?xf16
  // CHECK: %[[SUMMED:.*]] = dist.signals "C.summed"(%c3)
  // CHECK: %[[KNOWN:.*]] = dist.signals "C.known"(%[[R]], %c3)
  // CHECK: dist.role "exchange"
  // CHECK: dist.notify
  // CHECK: dist.wait %[[SUMMED]][%[[Q:.*]]] >=
  // CHECK: %[[PREVIOUS:.*]] = arith.remsi %{{.*}}, %[[R]]
  // CHECK: %[[SHARD:.*]] = arith.remsi %{{.*}}, %[[R]]
  // CHECK: dist.wait %[[KNOWN]][%[[SHARD]], %[[Q]]] >=
  // CHECK: dist.put %{{.*}} on %[[PREVIOUS]] :
  // CHECK: dist.notify %[[KNOWN]][%[[SHARD]], %[[Q]]] on %[[PREVIOUS]] add %c1
  // CHECK: dist.tiles (%[[S:.*]], %[[I:.*]], %[[J:.*]]) of (%[[R]], %[[SHARE]], %{{.*}}) order <"next-rank-first", 3 over batch> elements %[[M]] height 8
  // CHECK: %[[FIRST:.*]] = arith.muli %[[S]], %[[SHARE]]
  // CHECK: %[[ROW:.*]] = arith.addi %[[FIRST]], %[[I]]
  // CHECK: tile.load %{{.*}}[%[[ROW]], %{{.*}}]
  // CHECK: tile.store %[[Y:.*]], %{{.*}}[%{{.*}}, %c0]
  // CHECK: dist.notify %[[SUMMED]][%{{.*}}] add %c1
  // CHECK: tile.store %[[Y]], %[[C:.*]][%[[ROW]], %[[J]]]
  // CHECK: dist.tiles (%[[S2:.*]], %[[I2:.*]], %[[J2:.*]]) of (%[[R]], %[[SHARE]], %{{.*}}) order <"own-shard-first", 3 over batch>
  // CHECK: dist.wait %[[KNOWN]][%[[S2]], %{{.*}}] >= %c1
  // CHECK: tile.load %[[SUMS]][%[[S2]], %{{.*}}, %c0]
  dist.tiles (%i, %j) of (%i8, %j16) order <"grouped", 3> elements %rows height 8 {
    %sum = scf.for %k = %c0 to %k8 step %c1 iter_args(%acc = %zero) -> tensor<8x16xf32> {
      %a = tile.load %A[%i, %k] : !h2 -> tensor<8x8xf16>
      %b = tile.load %B[%k, %j] : !h2 -> tensor<8x16xf16>
      %d = tile.dot %a, %b, %acc : tensor<8x8xf16>, tensor<8x16xf16> -> tensor<8x16xf32>
      scf.yield %d : tensor<8x16xf32>
    }
    %y = tile.cast %sum : tensor<8x16xf32> to tensor<8x16xf16>
    tile.store %y, %C[%i, %j] : tensor<8x16xf16>, !h2
  }
  return
}

// -----

!h2 = memref<?x?xf16, strided<[?, ?], offset: ?>>

// In two rounds: copy engines send the upper half of all parts, the sums of the own one along the ring, and then the lower halves.
// CHECK-LABEL: func @reduced_in_rounds(
func.func @reduced_in_rounds(%A: !h2 {tile.name = "A", tile.readonly}, %B: !h2 {tile.name = "B", tile.readonly},
    %C: !h2 {tile.name = "C", dist.placement = #dist.placement<all_reduced on copy chunks 2 rounds 2>})
    attributes {tile.kernel, tile.extents = [["M", "K"], ["K", "N"], ["M", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant dense<0.0> : tensor<8x16xf32>
  %rows = memref.dim %C, %c0 : !h2
  %columns = memref.dim %C, %c1 : !h2
  %depth = memref.dim %A, %c1 : !h2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j16 = arith.ceildivsi %columns, %c16 : index
  %k8 = arith.ceildivsi %depth, %c8 : index
  // CHECK: %[[UPPERROWS:.*]] = arith.divsi %[[SHARE:.*]], %c2
  // CHECK: %[[UPPER:.*]] = arith.muli %[[UPPERROWS]], %{{.*}}
  // CHECK: %[[LOWER:.*]] = arith.subi %[[TILES:.*]], %[[UPPER]]
  // CHECK: dist.role "exchange"
  // CHECK: scf.for %[[HALF:.*]] = %c0 to
  // CHECK: scf.for
  // CHECK: dist.wait %[[DONE:.*]][%{{.*}}, %[[HALF]]] >=
  // CHECK: dist.put
  // CHECK: dist.notify
  // CHECK: dist.wait %{{.*}}[%[[HALF]]] >=
  // CHECK: scf.for
  // CHECK: dist.wait %[[KNOWN:.*]][%{{.*}}, %[[HALF]]] >=
  // CHECK: dist.put
  // CHECK: dist.notify %[[KNOWN]]
  // CHECK: dist.tiles (%{{.*}}, %[[I:.*]], %{{.*}}) of (%{{.*}}, %[[SHARE]], %{{.*}}) order <"next-rank-first", 3 over batch rounds 2>
  // CHECK: arith.cmpi slt, %[[I]], %[[UPPERROWS]]
  dist.tiles (%i, %j) of (%i8, %j16) order <"grouped", 3> elements %rows height 8 {
    %sum = scf.for %k = %c0 to %k8 step %c1 iter_args(%acc = %zero) -> tensor<8x16xf32> {
      %a = tile.load %A[%i, %k] : !h2 -> tensor<8x8xf16>
      %b = tile.load %B[%k, %j] : !h2 -> tensor<8x16xf16>
      %d = tile.dot %a, %b, %acc : tensor<8x8xf16>, tensor<8x16xf16> -> tensor<8x16xf32>
      scf.yield %d : tensor<8x16xf32>
    }
    %y = tile.cast %sum : tensor<8x16xf32> to tensor<8x16xf16>
    tile.store %y, %C[%i, %j] : tensor<8x16xf16>, !h2
  }
  return
}

// -----

!h2 = memref<?x?xf16, strided<[?, ?], offset: ?>>

// Cores in four rounds: the parts are rows, and the own tiles of a round come behind the others' of the next one.
// CHECK-LABEL: func @reduced_in_rounds_by_cores(
func.func @reduced_in_rounds_by_cores(%A: !h2 {tile.name = "A", tile.readonly}, %B: !h2 {tile.name = "B", tile.readonly},
    %C: !h2 {tile.name = "C", dist.placement = #dist.placement<all_reduced rounds 4>})
    attributes {tile.kernel, tile.extents = [["M", "K"], ["K", "N"], ["M", "N"]]} {
  // CHECK: %[[R:.*]] = dist.num_ranks
  // CHECK: %[[SHARE:.*]] = arith.ceildivsi %{{.*}}, %[[R]] :
  // CHECK: dist.tiles (%[[S:.*]], %[[I:.*]], %[[J:.*]]) of (%[[R]], %[[SHARE]], %{{.*}}) order <"others-ahead", 3 over batch rounds 4>
  // CHECK: %[[FIRST:.*]] = arith.muli %[[S]], %[[SHARE]]
  // CHECK: arith.addi %[[FIRST]], %[[I]]
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant dense<0.0> : tensor<8x16xf32>
  %rows = memref.dim %C, %c0 : !h2
  %columns = memref.dim %C, %c1 : !h2
  %depth = memref.dim %A, %c1 : !h2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j16 = arith.ceildivsi %columns, %c16 : index
  %k8 = arith.ceildivsi %depth, %c8 : index
  dist.tiles (%i, %j) of (%i8, %j16) order <"grouped", 3> elements %rows height 8 {
    %sum = scf.for %k = %c0 to %k8 step %c1 iter_args(%acc = %zero) -> tensor<8x16xf32> {
      %a = tile.load %A[%i, %k] : !h2 -> tensor<8x8xf16>
      %b = tile.load %B[%k, %j] : !h2 -> tensor<8x16xf16>
      %d = tile.dot %a, %b, %acc : tensor<8x8xf16>, tensor<8x16xf16> -> tensor<8x16xf32>
      scf.yield %d : tensor<8x16xf32>
    }
    %y = tile.cast %sum : tensor<8x16xf32> to tensor<8x16xf16>
    tile.store %y, %C[%i, %j] : tensor<8x16xf16>, !h2
  }
  return
}
