// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --dist-deal-tiles --canonicalize --cse | FileCheck %s
// That the coordinates are those of device/Order.h: test/unit/device/DealTilesTest.cpp.
// CHECK-NOT: dist.tiles

// CHECK-LABEL: @row_major
// CHECK-SAME: (%[[S:.*]]: !dist.signals<2>, %[[ROWS:.*]]: index, %[[COLUMNS:.*]]: index)
func.func @row_major(%s: !dist.signals<2>, %rows: index, %columns: index) {
  // CHECK-DAG: %[[TILES:.*]] = arith.muli %[[ROWS]], %[[COLUMNS]]
  // CHECK-DAG: %[[CORE:.*]] = dist.core
  // CHECK-DAG: %[[CORES:.*]] = dist.num_cores
  // CHECK-NOT: dist.rank
  // CHECK: scf.for %[[T:.*]] = %[[CORE]] to %[[TILES]] step %[[CORES]] {
  // CHECK-DAG: %[[I:.*]] = arith.divui %[[T]], %[[COLUMNS]]
  // CHECK-DAG: %[[J:.*]] = arith.remui %[[T]], %[[COLUMNS]]
  // CHECK:   dist.notify %[[S]][%[[I]], %[[J]]] add %[[I]]
  // CHECK: } {note}
  dist.tiles (%i, %j) of (%rows, %columns) order <"row-major"> {
    dist.notify %s[%i, %j] add %i : !dist.signals<2>
  } {note}
  return
}

// A range is a loop over its numbers, whoever comes here.
// CHECK-LABEL: @range
// CHECK-SAME: %[[N:[^:]*]]: index, %[[FIRST:[^:]*]]: index, %[[END:[^:]*]]: index)
func.func @range(%s: !dist.signals<1>, %n: index, %first: index, %end: index) {
  // CHECK-NOT: dist.core
  // CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : index
  // CHECK: scf.for %[[T:.*]] = %[[FIRST]] to %[[END]] step %[[ONE]] {
  // CHECK: dist.notify %{{.*}}[%[[T]]]
  dist.tiles (%i) of (%n) from %first to %end order <"row-major"> {
    dist.notify %s[%i] add %n : !dist.signals<1>
  }
  return
}

// In a single row the number of a tile is its column.
// CHECK-LABEL: @one_row
func.func @one_row(%s: !dist.signals<2>, %n: index, %first: index, %end: index) {
  %one = arith.constant 1 : index
  // CHECK: %[[ZERO:.*]] = arith.constant 0 : index
  // CHECK: scf.for %[[T:.*]] =
  // CHECK-NOT: arith.remui
  // CHECK: dist.notify %{{.*}}[%[[ZERO]], %[[T]]]
  dist.tiles (%i, %j) of (%one, %n) from %first to %end order <"row-major"> {
    dist.notify %s[%i, %j] add %n : !dist.signals<2>
  }
  return
}

// Where it is known how many tiles there are, it is told that a range's are among them.
// CHECK-LABEL: @known
func.func @known(%s: !dist.signals<2>, %first: index, %end: index) {
  %one = arith.constant 1 : index
  %columns = arith.constant 192 : index
  // CHECK: %[[LAST:.*]] = arith.constant 191 : index
  // CHECK: scf.for %[[T:.*]] =
  // CHECK: %[[J:.*]] = arith.minui %[[T]], %[[LAST]]
  // CHECK: dist.notify %{{.*}}[%{{.*}}, %[[J]]]
  dist.tiles (%i, %j) of (%one, %columns) from %first to %end order <"row-major"> {
    dist.notify %s[%i, %j] add %one : !dist.signals<2>
  }
  return
}

// The number of the core is the role's: it is asked inside.
// CHECK-LABEL: @role
func.func @role(%s: !dist.signals<1>, %n: index) {
  // CHECK: dist.role "r"
  dist.role "r" cores %n for %n {
    // CHECK-DAG: %[[CORE:.*]] = dist.core
    // CHECK-DAG: %[[CORES:.*]] = dist.num_cores
    // CHECK: scf.for %{{.*}} = %[[CORE]] to %{{.*}} step %[[CORES]]
    dist.tiles (%j) of (%n) order <"row-major"> {
      dist.notify %s[%j] add %n : !dist.signals<1>
    }
  }
  return
}

// Leading dimensions are one batch, taken apart again.
// CHECK-LABEL: @batch
// CHECK-SAME: %[[B:[^:]*]]: index, %[[C:[^:]*]]: index, %[[N:[^:]*]]: index)
func.func @batch(%s: !dist.signals<2>, %b: index, %c: index, %n: index) {
  // CHECK-DAG: %[[BATCH:.*]] = arith.muli %[[B]], %[[C]]
  // CHECK-DAG: arith.muli %[[BATCH]], %[[N]]
  // CHECK: scf.for
  // CHECK: %[[Y:.*]] = arith.remui %[[INDEX:.*]], %[[C]]
  // CHECK: %[[X:.*]] = arith.divui %[[INDEX]], %[[C]]
  // CHECK: dist.notify %{{.*}}[%[[X]], %[[Y]]]
  dist.tiles (%x, %y, %i, %j) of (%b, %c, %n, %n) order <"grouped", 8> {
    dist.notify %s[%x, %y] add %i : !dist.signals<2>
  }
  return
}

// Orders that follow the ranks ask which one this is.
// CHECK-LABEL: @ranks
func.func @ranks(%s: !dist.signals<1>, %m: index, %n: index) {
  // CHECK-DAG: dist.rank
  // CHECK-DAG: dist.num_ranks
  // CHECK: scf.for
  dist.tiles (%i, %j) of (%n, %n) order <"own-shard-first"> elements %m height 128 {
    dist.notify %s[%i] add %j : !dist.signals<1>
  }
  return
}

// Two cores with consecutive numbers take each tile.
// CHECK-LABEL: @sharers
func.func @sharers(%s: !dist.signals<1>, %n: index) {
  // CHECK-DAG: %[[CORE:.*]] = dist.core
  // CHECK-DAG: %[[CORES:.*]] = dist.num_cores
  // CHECK-DAG: %[[FIRST:.*]] = arith.divui %[[CORE]], %c2
  // CHECK-DAG: %[[STEP:.*]] = arith.divui %[[CORES]], %c2
  // CHECK: scf.for %{{.*}} = %[[FIRST]] to %{{.*}} step %[[STEP]]
  // CHECK-NOT: dist.sharers
  dist.tiles (%i, %j) of (%n, %n) order <"row-major"> {
    dist.notify %s[%i] add %j : !dist.signals<1>
  } {dist.sharers = 2}
  return
}
