// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-fold-extents | FileCheck %s

!matrix = memref<?x?xf32, strided<[?, ?], offset: ?>>

// Of an argument, and of a view of a table; what differs between launches is asked for.
// CHECK-LABEL: func.func @known(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x?xf32,
// CHECK: %[[Y:.*]] = simt.view_at
// CHECK-DAG: %[[ROWS:.*]] = memref.dim %[[X]], %c0
// CHECK-DAG: %[[COLUMNS:.*]] = arith.constant 4096 : index
// CHECK-DAG: %[[COUNT:.*]] = arith.constant 96 : index
// CHECK-DAG: %[[WIDTH:.*]] = memref.dim %[[Y]], %c1
// CHECK: return %[[ROWS]], %[[COLUMNS]], %[[COUNT]], %[[WIDTH]]
func.func @known(%x: !matrix {tile.known_extents = array<i64: -1, 4096>}, %table: !llvm.ptr)
    -> (index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = simt.view_at %table[%c0] {tile.known_extents = array<i64: 96, -1>} : !llvm.ptr -> !matrix
  %rows = memref.dim %x, %c0 : !matrix
  %columns = memref.dim %x, %c1 : !matrix
  %count = memref.dim %y, %c0 : !matrix
  %width = memref.dim %y, %c1 : !matrix
  return %rows, %columns, %count, %width : index, index, index, index
}

// Of an argument of which nothing is known; of any dimension; of one that there is not.
// CHECK-LABEL: func.func @unknown(
// CHECK-COUNT-3: memref.dim
// CHECK-NEXT: return
func.func @unknown(%x: !matrix, %y: !matrix {tile.known_extents = array<i64: 96, 4096>}, %d: index)
    -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %rows = memref.dim %x, %c0 : !matrix
  %any = memref.dim %y, %d : !matrix
  %none = memref.dim %y, %c2 : !matrix
  return %rows, %any, %none : index, index, index
}

// Of a view of another shape: numbers that it was made with.
// CHECK-LABEL: func.func @expanded(
// CHECK: %[[CUT:.*]] = memref.expand_shape
// CHECK-DAG: %[[ROWS:.*]] = arith.constant 12 : index
// CHECK-DAG: %[[HEADS:.*]] = memref.dim %[[CUT]], %c1
// CHECK-DAG: %[[WIDTH:.*]] = arith.constant 128 : index
// CHECK: return %[[ROWS]], %[[HEADS]], %[[WIDTH]]
func.func @expanded(%x: !matrix {tile.known_extents = array<i64: 96, -1>}, %heads: index)
    -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c128 = arith.constant 128 : index
  %all = memref.dim %x, %c0 : !matrix
  %eighth = arith.divsi %all, %c8 : index
  %cut = memref.expand_shape %x [[0, 1], [2]] output_shape [%eighth, %heads, %c128]
      : !matrix into memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>
  %rows = memref.dim %cut, %c0 : memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>
  %each = memref.dim %cut, %c1 : memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>
  %width = memref.dim %cut, %c2 : memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>
  return %rows, %each, %width : index, index, index
}

// What follows from extents is computed.
// CHECK-LABEL: func.func @follows(
// CHECK: %[[STEPS:.*]] = arith.constant 5 : index
// CHECK: return %[[STEPS]], %{{.*}} : index, index
func.func @follows(%x: !matrix {tile.known_extents = array<i64: 96, 4096>}, %n: index) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1024 = arith.constant 1024 : index
  %rows = memref.dim %x, %c0 : !matrix
  %columns = memref.dim %x, %c1 : !matrix
  %most = arith.maxsi %rows, %columns : index
  %tiles = arith.ceildivsi %most, %c1024 : index
  %steps = arith.addi %tiles, %c1 : index
  %other = arith.muli %steps, %n : index
  return %steps, %other : index, index
}
