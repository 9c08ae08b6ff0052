// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-carry-rows | FileCheck %s
// RUN: %opt %s --simt-carry-rows --simt-tiles-to-threads --canonicalize | FileCheck %s --check-prefix=THREADS

// Words of a task's row come from the lanes of a warp, which have asked for them while the task before ran. Other rows,
// columns that are not known, and tables that tasks may write are read as they were.
// CHECK-LABEL: func.func @tasks
// CHECK: %[[FIRST:.*]] = simt.row %arg0[%arg3] below %arg4
// CHECK: scf.for %[[T:.*]] = %arg3 to %arg4 step %{{.*}} iter_args(%[[WORDS:.*]] = %[[FIRST]]) -> (i64)
// CHECK: %[[AFTER:.*]] = arith.addi %[[T]], %
// CHECK: %[[NEXT:.*]] = simt.row %arg0[%[[AFTER]]] below %arg4
// CHECK: simt.column 0 of %[[WORDS]] : i64
// CHECK: scf.if
// CHECK: simt.column 4 of %[[WORDS]] : i64
// CHECK: memref.load %arg0[%[[T]], %arg5]
// CHECK: memref.load %arg1[%[[T]], %
// CHECK: memref.load %arg6[%[[T]], %
// CHECK: dist.alternative
// CHECK: simt.notify
// CHECK: scf.yield %[[NEXT]] : i64
// Each lane reads one word, and gives both halves of it away.
// THREADS-LABEL: func.func @tasks
// THREADS: ld.global.v2.b32
// THREADS: scf.for
// THREADS: ld.global.v2.b32
// THREADS-COUNT-2: nvvm.shfl.sync  idx {{.*}}, %c0_i32, %c31_i32
// THREADS: scf.if
// THREADS-COUNT-2: nvvm.shfl.sync  idx {{.*}}, %c4_i32, %c31_i32
func.func @tasks(%tasks: memref<?x?xi64, strided<[?, ?], offset: ?>> {tile.readonly}, %others: memref<?x?xi32, strided<[?, ?], offset: ?>>, %cell: index, %first: index, %end: index, %column: index, %written: memref<?x?xi64, strided<[?, ?], offset: ?>>) attributes {tile.kernel, simt.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %none = arith.constant 0 : i64
  scf.for %t = %first to %end step %c1 {
    %type = memref.load %tasks[%t, %c0] : memref<?x?xi64, strided<[?, ?], offset: ?>>
    %is = arith.cmpi eq, %type, %none : i64
    scf.if %is {
      %word = memref.load %tasks[%t, %c4] : memref<?x?xi64, strided<[?, ?], offset: ?>>
      %any = memref.load %tasks[%t, %column] : memref<?x?xi64, strided<[?, ?], offset: ?>>
      %small = memref.load %others[%t, %c4] : memref<?x?xi32, strided<[?, ?], offset: ?>>
      %new = memref.load %written[%t, %c4] : memref<?x?xi64, strided<[?, ?], offset: ?>>
      %at = arith.index_cast %word : i64 to index
      simt.notify %at "add" %c1 scope "gpu"
    } {dist.alternative = 0 : i64}
    simt.notify %cell "add" %c1 scope "gpu"
  }
  return
}

// -----

// Of a word whose low half is all that is asked for, that half travels.
// CHECK-LABEL: func.func @halves
// CHECK: %[[HALF:.*]] = simt.column 2 of %{{.*}} : i32
// CHECK-NOT: arith.trunci
// CHECK: arith.index_cast %[[HALF]] : i32 to index
// THREADS-LABEL: func.func @halves
// THREADS: scf.if
// THREADS: nvvm.shfl.sync  idx {{.*}}, %c2_i32, %c31_i32
// THREADS-NOT: nvvm.shfl.sync  idx {{.*}}, %c2_i32
// THREADS: return
func.func @halves(%tasks: memref<?x?xi64, strided<[?, ?], offset: ?>> {tile.readonly}, %cell: index, %first: index, %end: index) attributes {tile.kernel, simt.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %none = arith.constant 0 : i64
  scf.for %t = %first to %end step %c1 {
    %type = memref.load %tasks[%t, %c0] : memref<?x?xi64, strided<[?, ?], offset: ?>>
    %is = arith.cmpi eq, %type, %none : i64
    scf.if %is {
      %word = memref.load %tasks[%t, %c2] : memref<?x?xi64, strided<[?, ?], offset: ?>>
      %low = arith.trunci %word : i64 to i32
      %at = arith.index_cast %low : i32 to index
      simt.notify %at "add" %c1 scope "gpu"
    } {dist.alternative = 0 : i64}
    simt.notify %cell "add" %c1 scope "gpu"
  }
  return
}

// -----

// A producer notifies nobody: it walks ahead by itself.
// CHECK-LABEL: func.func @producer
// CHECK-NOT: simt.row
// CHECK: memref.load
func.func @producer(%tasks: memref<?x?xi64, strided<[?, ?], offset: ?>> {tile.readonly}, %first: index, %end: index) attributes {tile.kernel, simt.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %none = arith.constant 0 : i64
  scf.for %t = %first to %end step %c1 {
    %type = memref.load %tasks[%t, %c0] : memref<?x?xi64, strided<[?, ?], offset: ?>>
    %is = arith.cmpi eq, %type, %none : i64
    scf.if %is {
    } {dist.alternative = 0 : i64}
  }
  return
}
