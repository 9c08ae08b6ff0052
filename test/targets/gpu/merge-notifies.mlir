// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-merge-notifies | FileCheck %s
// RUN: %opt %s --simt-merge-notifies --simt-assign-layouts --simt-tiles-to-threads | FileCheck %s --check-prefix=THREADS

!v = memref<?xf32, strided<[?], offset: ?>>

// The moves to all ranks, then one release to all of them. What only the notify needs goes with it.
// CHECK-LABEL: func.func @puts
// CHECK-SAME: !llvm.ptr, %{{[a-z0-9]+}}: index, %[[RANKS:[a-z0-9]+]]: index, %[[STRIDE:[a-z0-9]+]]: index
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[RANKS]]
// CHECK: simt.move
// CHECK-NOT: simt.notify {{.*}}scope
// CHECK: }
// CHECK-NEXT: simt.notify_each %{{.*}} to %[[RANKS]] scope "sys" {
// CHECK-NEXT: ^bb0(%[[P:.*]]: index):
// CHECK-NEXT: %[[BYTES:.*]] = arith.muli %[[P]], %[[STRIDE]]
// CHECK-NEXT: %[[CELL:.*]] = arith.addi %{{.*}}, %[[BYTES]]
// CHECK-NEXT: simt.notify %[[CELL]] "add" %{{.*}} scope "sys" relaxed
// CHECK-NEXT: }
// Lanes of the first warp take the ranks in turn, behind one fence.
// THREADS-LABEL: func.func @puts
// THREADS: fence.acq_rel.sys
// THREADS: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c32
// THREADS-NOT: fence.acq_rel
// THREADS: red.relaxed.sys.global.add.u64
func.func @puts(%status: !llvm.ptr, %rank: index, %ranks: index, %stride: index, %head: index, %signal: index,
                %buffer: index, %cells: index, %bound: index, %from: !v, %to: !v, %cell: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  simt.begin(%status, %rank, %ranks, %stride, %head, %signal, %buffer, %cells, %bound)
    : !llvm.ptr, index, index, index, index, index, index, index, index
  scf.for %p = %c0 to %ranks step %c1 {
    %bytes = arith.muli %p, %stride : index
    %theirs = simt.shift %to by %bytes : !v -> !v
    simt.move %from to %theirs : !v, !v
    %there = arith.addi %cell, %bytes : index
    simt.notify %there "add" %c1 scope "sys"
  } {dist.over_ranks}
  return
}

// A loop that waits between its notifies stays, and one over something else than ranks.
// CHECK-LABEL: func.func @others
// CHECK-NOT: simt.notify_each
func.func @others(%status: !llvm.ptr, %rank: index, %ranks: index, %stride: index, %head: index, %signal: index,
                  %buffer: index, %cells: index, %bound: index, %cell: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  simt.begin(%status, %rank, %ranks, %stride, %head, %signal, %buffer, %cells, %bound)
    : !llvm.ptr, index, index, index, index, index, index, index, index
  scf.for %p = %c0 to %ranks step %c1 {
    simt.wait %cell for %p site 0 scope "sys" in (%status, %rank, %ranks, %stride, %head, %signal, %buffer, %cells, %bound)
      : !llvm.ptr, index, index, index, index, index, index, index, index
    simt.notify %cell "add" %c1 scope "sys"
  } {dist.over_ranks}
  scf.for %p = %c0 to %cells step %c1 {
    simt.notify %cell "add" %c1 scope "sys"
  }
  return
}

!w = memref<?x?xf32, strided<[?, ?], offset: ?>>

// Tiles that are stored to the ranks, likewise.
// CHECK-LABEL: func.func @stores
// CHECK: tile.store
// CHECK-NOT: simt.notify %
// CHECK: } {dist.over_ranks}
// CHECK-NEXT: simt.notify_each
func.func @stores(%ranks: index, %stride: index, %to: !w, %cell: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tile = arith.constant dense<1.0> : tensor<8x8xf32>
  scf.for %p = %c0 to %ranks step %c1 {
    %bytes = arith.muli %p, %stride : index
    %theirs = simt.shift %to by %bytes : !w -> !w
    tile.store %tile, %theirs[%c0, %c0] : tensor<8x8xf32>, !w
    %there = arith.addi %cell, %bytes : index
    simt.notify %there "add" %c1 scope "sys"
  } {dist.over_ranks}
  return
}
