// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: not ditron-interpret %s | FileCheck %s
// What no run would come to the end of, and what the interpreter does not take, ends at once.

// CHECK-LABEL: kernel endless
// CHECK-NEXT: error: rank 0, core 0, limits.mlir:[[#@LINE+5]]: scf.for has 4611686018427387904 iterations, expected at most 1099511627776: no run of it ends
func.func @endless() attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %big = arith.constant 4611686018427387904 : index
  scf.for %i = %c0 to %big step %c1 {
  }
  return
}

// CHECK-LABEL: kernel vectors
// CHECK-NEXT: error: rank 0, core 0, limits.mlir:[[#@LINE+3]]: arith.addf has types (vector<4xf32>, vector<4xf32>) -> (vector<4xf32>) that the reference interpreter does not take there, expected tiles, scalars, indices or views
func.func @vectors() attributes {tile.kernel} {
  %v = arith.constant dense<1.0> : vector<4xf32>
  %w = arith.addf %v, %v : vector<4xf32>
  return
}

// CHECK-LABEL: kernel pages
// CHECK-NEXT: error: {{.*}}dist.symmetric 'in' lies in 0 pages (dist.pages), expected 1 or more
func.func @pages() attributes {tile.kernel} {
  %c4 = arith.constant 4 : index
  %b = dist.symmetric "in"(%c4, %c4) {dist.pages = 0 : i64} : memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
  return
}

// CHECK-LABEL: kernel expanded
// CHECK-NEXT: error: {{.*}}memref.expand_shape cuts a view of [5] of 'argument 0' into [4294967296, 4294967296], but dimension 0 has 5 elements and its parts no number of them
func.func @expanded(%A: memref<?xf32, strided<[?], offset: ?>> {interp.sizes = array<i64: 5>}) attributes {tile.kernel} {
  %big = arith.constant 4294967296 : index
  %v = memref.expand_shape %A [[0, 1]] output_shape [%big, %big] : memref<?xf32, strided<[?], offset: ?>> into memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}

// CHECK-LABEL: kernel unstated
// CHECK-NEXT: error: argument 0 is a scalar without interp.values
func.func @unstated(%n: index) attributes {tile.kernel} {
  return
}
