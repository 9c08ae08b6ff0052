// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-merge-waits | FileCheck %s
// RUN: %opt %s --simt-merge-waits --simt-assign-layouts --simt-tiles-to-threads | FileCheck %s --check-prefix=THREADS

!table = memref<?x?xi64, strided<[?, ?], offset: ?>>

// CHECK-LABEL: func.func @schedule
// CHECK-NOT: scf.for
// CHECK: simt.wait_each %{{.*}} to %{{.*}} site 3 scope "gpu" in
// CHECK-NEXT: ^bb0(%[[W:.*]]: index):
// CHECK-NEXT: memref.load %{{.*}}[%[[W]]
// CHECK: %[[CELL:.*]] = arith.addi
// CHECK-NEXT: simt.awaited %[[CELL]] for %{{.*}}
// CHECK-NOT: simt.wait %
// Each lane of the first warp polls counters of its own; the others meet it at the barrier.
// THREADS-LABEL: func.func @schedule
// THREADS: scf.if
// THREADS: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c32
// THREADS: memref.load
// THREADS: scf.while
// THREADS: ld.acquire.gpu
// THREADS: nvvm.barrier0
func.func @schedule(%waits: !table, %status: !llvm.ptr, %rank: index, %ranks: index, %stride: index, %head: index,
                    %signal: index, %buffer: index, %cells: index, %bound: index, %first: index, %end: index)
    attributes {dist.exact_cores = ["3"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %w = %first to %end step %c1 {
    %core = memref.load %waits[%w, %c0] : !table
    %count = memref.load %waits[%w, %c1] : !table
    %number = arith.index_cast %core : i64 to index
    %value = arith.index_cast %count : i64 to index
    %cell = arith.addi %cells, %number : index
    simt.wait %cell for %value site 3 scope "gpu" in (%status, %rank, %ranks, %stride, %head, %signal, %buffer, %cells, %bound)
      : !llvm.ptr, index, index, index, index, index, index, index, index
  }
  return
}

// A loop that does more than wait stays, and one of a kernel without a schedule.
// CHECK-LABEL: func.func @more
// CHECK-NOT: simt.wait_each
func.func @more(%status: !llvm.ptr, %rank: index, %ranks: index, %stride: index, %head: index, %signal: index,
                %buffer: index, %cells: index, %bound: index, %cell: index) attributes {dist.exact_cores = ["3"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %p = %c0 to %ranks step %c1 {
    simt.notify %cell "add" %c1 scope "sys"
    simt.wait %cell for %p site 0 scope "sys" in (%status, %rank, %ranks, %stride, %head, %signal, %buffer, %cells, %bound)
      : !llvm.ptr, index, index, index, index, index, index, index, index
  }
  return
}
// CHECK-LABEL: func.func @in_turn
// CHECK-NOT: simt.wait_each
func.func @in_turn(%status: !llvm.ptr, %rank: index, %ranks: index, %stride: index, %head: index, %signal: index,
                   %buffer: index, %cells: index, %bound: index, %cell: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %p = %c0 to %ranks step %c1 {
    simt.wait %cell for %p site 0 scope "sys" in (%status, %rank, %ranks, %stride, %head, %signal, %buffer, %cells, %bound)
      : !llvm.ptr, index, index, index, index, index, index, index, index
  }
  return
}
