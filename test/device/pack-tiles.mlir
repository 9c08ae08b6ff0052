// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --split-input-file --dist-pack-tiles | FileCheck %s

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>
!s2 = memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
!s3 = memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>, #dist.space<symmetric>>

// Whole tiles are stored and loaded, and rows of tiles are put: both buffers have one order.
// CHECK-LABEL: func @sums(
// CHECK: tile.store %{{.*}}, %{{.*}} {dist.packed = array<i64: 0, 2>}
// CHECK: tile.load %{{.*}} {dist.packed = array<i64: 0, 2>}
// CHECK: tile.store %{{[^{]*$}}
func.func @sums(%A: !v2 {tile.readonly}, %C: !v2) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %r = dist.num_ranks
  %me = dist.rank
  %m = memref.dim %C, %c0 : !v2
  %n = memref.dim %C, %c1 : !v2
  %mt = arith.ceildivsi %m, %c8 : index
  %nt = arith.ceildivsi %n, %c16 : index
  %rows = arith.muli %mt, %c8 : index
  %columns = arith.muli %nt, %c16 : index
  %staged = dist.symmetric "staged"(%r, %rows, %columns) : !s3
  %parts = dist.symmetric "parts"(%r, %rows, %columns) : !s3
  %done = dist.signals "done"(%r) : !dist.signals<1>
  dist.role "send" cores %c0 for %c1 on copy {
    %wide = memref.dim %staged, %c2 : !s3
    %first = arith.muli %c1, %c8 : index
    %left = arith.subi %rows, %first : index
    %some = arith.minsi %left, %c16 : index
    %from = memref.subview %staged[%c1, %first, 0] [1, %some, %wide] [1, 1, 1] : !s3 to !s2
    %to = memref.subview %parts[%me, %first, 0] [1, %some, %columns] [1, 1, 1] : !s3 to !s2
    dist.put %from, %to on %c1 : !s2, !s2
    dist.notify %done[%me] on %c1 add %c1 : !dist.signals<1>
  }
  dist.tiles (%i, %j) of (%mt, %nt) order <"row-major", 1> {
    %t = tile.load %A[%i, %j] : !v2 -> tensor<8x16xf32>
    tile.store %t, %staged[%c1, %i, %j] : tensor<8x16xf32>, !s3
    dist.wait %done[%c1] >= %c1 : !dist.signals<1>
    %u = tile.load %parts[%c1, %i, %j] : !s3 -> tensor<8x16xf32>
    tile.store %u, %C[%i, %j] : tensor<8x16xf32>, !v2
  }
  return
}

// -----

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>
!s2 = memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>

// Tiles that may be ragged, tiles of two shapes, and rows that are no whole tiles stay row-major.
// CHECK-LABEL: func @kept(
// CHECK-NOT: dist.packed
func.func @kept(%C: !v2) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %small = arith.constant dense<0.0> : tensor<4x8xf32>
  %m = memref.dim %C, %c0 : !v2
  %t = arith.ceildivsi %m, %c8 : index
  %rows = arith.muli %t, %c8 : index
  %ragged = dist.symmetric "ragged"(%m, %rows) : !s2
  tile.store %zero, %ragged[%c0, %c0] : tensor<8x8xf32>, !s2
  %shapes = dist.symmetric "shapes"(%rows, %rows) : !s2
  tile.store %zero, %shapes[%c0, %c0] : tensor<8x8xf32>, !s2
  tile.store %small, %shapes[%c0, %c0] : tensor<4x8xf32>, !s2
  %cut = dist.symmetric "cut"(%rows, %rows) : !s2
  tile.store %zero, %cut[%c0, %c0] : tensor<8x8xf32>, !s2
  %part = memref.subview %cut[0, 0] [%c12, %rows] [1, 1] : !s2 to !s2
  %whole = memref.subview %cut[%c8, 0] [%c12, %rows] [1, 1] : !s2 to !s2
  dist.put %part, %whole on %c0 : !s2, !s2
  return
}

// -----

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>
!s2 = memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>

// So do columns of tiles, buffers that a get reads or an argument is put into, and operands of products.
// CHECK-LABEL: func @seen(
// CHECK-NOT: dist.packed
func.func @seen(%A: !v2 {tile.readonly}, %C: !v2) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %narrow = dist.symmetric "narrow"(%c16, %c16) : !s2
  tile.store %zero, %narrow[%c0, %c0] : tensor<8x8xf32>, !s2
  %left = memref.subview %narrow[0, 0] [%c16, %c8] [1, 1] : !s2 to !s2
  %right = memref.subview %narrow[0, %c8] [%c16, %c8] [1, 1] : !s2 to !s2
  dist.put %left, %right on %c0 : !s2, !s2
  %fetched = dist.symmetric "fetched"(%c16, %c16) : !s2
  tile.store %zero, %fetched[%c0, %c0] : tensor<8x8xf32>, !s2
  dist.get %fetched on %c0, %C : !s2, !v2
  %given = dist.symmetric "given"(%c16, %c16) : !s2
  %g = tile.load %given[%c0, %c0] : !s2 -> tensor<8x8xf32>
  tile.store %g, %C[%c0, %c0] : tensor<8x8xf32>, !v2
  dist.put %A, %given on %c0 : !v2, !s2
  %factors = dist.symmetric "factors"(%c16, %c16) : !s2
  tile.store %zero, %factors[%c0, %c0] : tensor<8x8xf32>, !s2
  %f = tile.load %factors[%c0, %c0] : !s2 -> tensor<8x8xf32>
  %d = tile.dot %f, %zero, %zero : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  tile.store %d, %C[%c0, %c0] : tensor<8x8xf32>, !v2
  return
}
