// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ditron-interpret %s | FileCheck %s

// CHECK-LABEL: kernel choice
// The view that the condition chooses, of plain or of symmetric memory.
// CHECK-NEXT: rank 0 argument 1
// CHECK-NEXT: {{^}}  0 1
// CHECK-NEXT: {{^}}  7 7
func.func @choice(%A: memref<?x?xf32, strided<[?, ?], offset: ?>> {interp.sizes = array<i64: 1, 2>, tile.readonly},
                  %C: memref<2x2xf32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %sevens = arith.constant dense<7.0> : tensor<1x2xf32>
  %S = dist.symmetric "S"(%c1, %c2) : memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
  tile.store %sevens, %S[%c0, %c0] : tensor<1x2xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
  %T = memref.memory_space_cast %S : memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
      to memref<?x?xf32, strided<[?, ?], offset: ?>>
  scf.for %i = %c0 to %c2 step %c1 {
    %first = arith.cmpi eq, %i, %c0 : index
    %view = arith.select %first, %A, %T : memref<?x?xf32, strided<[?, ?], offset: ?>>
    %t = tile.load %view[%c0, %c0] : memref<?x?xf32, strided<[?, ?], offset: ?>> -> tensor<1x2xf32>
    tile.store %t, %C[%i, %c0] : tensor<1x2xf32>, memref<2x2xf32>
  }
  return
}

// CHECK-LABEL: kernel views
// [6, 4] split into [2, 3, 4], its second part, without its first row, transposed.
// CHECK-NEXT: rank 0 argument 1
// CHECK-NEXT: {{^}}  16 20
// CHECK-NEXT: {{^}}  17 21
// CHECK-NEXT: {{^}}  18 22
// CHECK-NEXT: {{^}}  19 23
// CHECK-NEXT: rank 0 argument 2
// CHECK-NEXT: {{^}}  6 4 3 22
func.func @views(%A: memref<?x?xf32, strided<[?, ?], offset: ?>> {interp.sizes = array<i64: 6, 4>, tile.readonly},
                 %C: memref<4x2xf32>, %D: memref<4xi64>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %m = memref.dim %A, %c0 : memref<?x?xf32, strided<[?, ?], offset: ?>>
  %n = memref.dim %A, %c1 : memref<?x?xf32, strided<[?, ?], offset: ?>>
  %rows = arith.divsi %m, %c2 : index
  %parts = memref.expand_shape %A [[0, 1], [2]] output_shape [%c2, %rows, %n]
      : memref<?x?xf32, strided<[?, ?], offset: ?>> into memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>
  %part = memref.subview %parts[%c1, 0, 0] [1, %rows, %n] [1, 1, 1]
      : memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>> to memref<?x?xf32, strided<[?, ?], offset: ?>>
  %rest = memref.subview %part[%c1, 0] [%c2, %n] [1, 1]
      : memref<?x?xf32, strided<[?, ?], offset: ?>> to memref<?x?xf32, strided<[?, ?], offset: ?>>
  %t = memref.transpose %rest (i, j) -> (j, i)
      : memref<?x?xf32, strided<[?, ?], offset: ?>> to memref<?x?xf32, strided<[?, ?], offset: ?>>
  %s = memref.cast %t : memref<?x?xf32, strided<[?, ?], offset: ?>> to memref<4x2xf32, strided<[?, ?], offset: ?>>
  %x = tile.load %s[%c0, %c0] : memref<4x2xf32, strided<[?, ?], offset: ?>> -> tensor<4x2xf32>
  tile.store %x, %C[%c0, %c0] : tensor<4x2xf32>, memref<4x2xf32>
  %corner = memref.load %t[%c2, %c1] : memref<?x?xf32, strided<[?, ?], offset: ?>>
  %i = arith.fptosi %corner : f32 to i64
  %mi = arith.index_cast %m : index to i64
  %ni = arith.index_cast %n : index to i64
  %ri = arith.index_cast %rows : index to i64
  memref.store %mi, %D[%c0] : memref<4xi64>
  memref.store %ni, %D[%c1] : memref<4xi64>
  memref.store %ri, %D[%c2] : memref<4xi64>
  memref.store %i, %D[%c3] : memref<4xi64>
  return
}

// CHECK-LABEL: kernel chunk
// A chunk is cut at the edges of its view, and empty past it.
// CHECK-NEXT: rank 0 argument 1
// CHECK-NEXT: {{^}}  4 3
// CHECK-NEXT: {{^}}  1 0
func.func @chunk(%A: memref<5x7xi8> {tile.readonly}, %D: memref<2x2xi64>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %x = tile.chunk %A[%c0, %c1] shape [4, 4] : memref<5x7xi8> -> memref<?x?xi8, strided<[?, ?], offset: ?>>
  %y = tile.chunk %A[%c1, %c2] shape [4, 4] : memref<5x7xi8> -> memref<?x?xi8, strided<[?, ?], offset: ?>>
  scf.for %d = %c0 to %c2 step %c1 {
    %xd = memref.dim %x, %d : memref<?x?xi8, strided<[?, ?], offset: ?>>
    %yd = memref.dim %y, %d : memref<?x?xi8, strided<[?, ?], offset: ?>>
    %xi = arith.index_cast %xd : index to i64
    %yi = arith.index_cast %yd : index to i64
    memref.store %xi, %D[%c0, %d] : memref<2x2xi64>
    memref.store %yi, %D[%c1, %d] : memref<2x2xi64>
  }
  return
}

// CHECK-LABEL: kernel select_view
// CHECK-NEXT: rank 0 argument 1
// CHECK-NEXT: {{^}}  7 7
// CHECK-NEXT: rank 0 argument 2
// CHECK-NEXT: {{^}}  0 1 7 7 0 1
func.func @select_view(%A: memref<?xf32, strided<[?], offset: ?>> {interp.sizes = array<i64: 2>, tile.readonly},
                       %B: memref<?xf32, strided<[?], offset: ?>> {interp.sizes = array<i64: 2>}, %C: memref<6xf32>)
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %sevens = arith.constant dense<7.0> : tensor<2xf32>
  tile.store %sevens, %B[%c0] : tensor<2xf32>, memref<?xf32, strided<[?], offset: ?>>
  scf.for %i = %c0 to %c3 step %c1 {
    %n = arith.remsi %i, %c2 : index
    %view = tile.select_view %n of (%A, %B) : memref<?xf32, strided<[?], offset: ?>>
    %t = tile.load %view[%c0] : memref<?xf32, strided<[?], offset: ?>> -> tensor<2xf32>
    tile.store %t, %C[%i] : tensor<2xf32>, memref<6xf32>
  }
  return
}
