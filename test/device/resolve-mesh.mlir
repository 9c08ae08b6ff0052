// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --dist-resolve-mesh="mesh=row=2,col=3" --canonicalize --cse | FileCheck %s
// RUN: %opt %s --dist-resolve-mesh="mesh=node=2,row=5,col=3" --canonicalize --cse | FileCheck %s --check-prefix=NODES
// RUN: %opt %s --dist-resolve-mesh="mesh=row=2,col=3 ranks=6" | FileCheck %s --check-prefix=RANKS

// CHECK-LABEL: func @places(
// CHECK-SAME: %[[I:.*]]: index)
// CHECK-DAG: %[[RANK:.*]] = dist.rank
// CHECK-DAG: %[[ROW:.*]] = arith.divsi %[[RANK]], %c3
// CHECK-DAG: %[[ROWS:.*]] = arith.remsi %[[ROW]], %c2
// CHECK-DAG: %[[COL:.*]] = arith.remsi %[[RANK]], %c3
// CHECK-DAG: %[[STEPS:.*]] = arith.subi %[[I]], %[[ROWS]]
// CHECK-DAG: %[[DISTANCE:.*]] = arith.muli %[[STEPS]], %c3
// CHECK-DAG: %[[PEER:.*]] = arith.addi %[[RANK]], %[[DISTANCE]]
// CHECK: return %[[ROWS]], %[[COL]], %c2, %[[PEER]], %[[RANK]]
// NODES-LABEL: func @places(
// NODES: arith.divsi %{{.*}}, %c3
// NODES: arith.remsi %{{.*}}, %c5
func.func @places(%i: index) -> (index, index, index, index, index) {
  %row = dist.rank along "row"
  %col = dist.rank along "col"
  %rows = dist.num_ranks along "row"
  %peer = dist.rank_at %i along "row"
  %rank = dist.rank
  return %row, %col, %rows, %peer, %rank : index, index, index, index, index
}

// A mesh without nodes has one; its ranks are those of the node.
// CHECK-LABEL: func @nodes(
// CHECK: %[[RANK:.*]] = dist.rank
// CHECK: return %c0, %c1, %{{.*}}, %c6
// NODES-LABEL: func @nodes(
// NODES: arith.divsi %{{.*}}, %c15
// NODES: arith.remsi %{{.*}}, %c15
// NODES: return %{{.*}}, %c2, %{{.*}}, %c15
func.func @nodes() -> (index, index, index, index) {
  %node = dist.rank along "node"
  %nodes = dist.num_ranks along "node"
  %local = dist.rank along "local"
  %locals = dist.num_ranks along "local"
  return %node, %nodes, %local, %locals : index, index, index, index
}

// How many ranks there are is a constant where it is known.
// CHECK-LABEL: func @ranks(
// CHECK: dist.num_ranks
// RANKS-LABEL: func @ranks(
// RANKS: arith.constant 6
// RANKS-NOT: dist.num_ranks
func.func @ranks() -> index {
  %ranks = dist.num_ranks
  return %ranks : index
}

// Loops to that number stay loops over ranks, along an axis too; no loop that ends elsewhere is one.
// CHECK-LABEL: func @loops(
// CHECK: scf.for
// CHECK: } {dist.over_ranks}
// CHECK: scf.for
// CHECK: } {dist.over_ranks}
// CHECK: scf.for
// CHECK-NOT: dist.over_ranks
// CHECK: return
// RANKS-LABEL: func @loops(
// RANKS-COUNT-2: } {dist.over_ranks}
// RANKS-NOT: dist.over_ranks
// RANKS: return
func.func @loops(%signals: !dist.signals<1>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %all = dist.num_ranks
  %rows = dist.num_ranks along "row"
  %me = dist.rank
  scf.for %p = %c0 to %all step %c1 {
    dist.notify %signals[%me] on %p add %c1 : !dist.signals<1>
  }
  scf.for %p = %c0 to %rows step %c1 {
    dist.notify %signals[%me] on %p add %c1 : !dist.signals<1>
  }
  scf.for %p = %all to %me step %all {
    dist.notify %signals[%me] on %p add %c1 : !dist.signals<1>
  }
  return
}
