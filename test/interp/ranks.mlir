// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ditron-interpret %s | FileCheck %s
// Who am I: ranks, nodes, cores, roles, and the tiles dealt to them.

// CHECK-LABEL: kernel mesh
// Rank 3 of 2 x 2: node 1, local 1. Cores count within their rank.
// CHECK: rank 2 argument 0
// CHECK-NEXT: {{^}}  2 1 0 4 2 2 2
// CHECK-NEXT: rank 3 argument 0
// CHECK-NEXT: {{^}}  3 1 1 4 2 2 2
func.func @mesh(%C: memref<7xi64>) attributes {tile.kernel, ranks = 4, nodes = 2, cores = 2} {
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %i2 = arith.constant 2 : index
  %i3 = arith.constant 3 : index
  %i4 = arith.constant 4 : index
  %i5 = arith.constant 5 : index
  %i6 = arith.constant 6 : index
  %a = dist.rank
  %b = dist.rank along "node"
  %c = dist.rank along "local"
  %d = dist.num_ranks
  %e = dist.num_ranks along "node"
  %f = dist.num_ranks along "local"
  %g = dist.num_cores
  func.call @put(%a, %C, %i0) : (index, memref<7xi64>, index) -> ()
  func.call @put(%b, %C, %i1) : (index, memref<7xi64>, index) -> ()
  func.call @put(%c, %C, %i2) : (index, memref<7xi64>, index) -> ()
  func.call @put(%d, %C, %i3) : (index, memref<7xi64>, index) -> ()
  func.call @put(%e, %C, %i4) : (index, memref<7xi64>, index) -> ()
  func.call @put(%f, %C, %i5) : (index, memref<7xi64>, index) -> ()
  func.call @put(%g, %C, %i6) : (index, memref<7xi64>, index) -> ()
  return
}
func.func @put(%x: index, %C: memref<7xi64>, %at: index) {
  %y = arith.index_cast %x : index to i64
  memref.store %y, %C[%at] : memref<7xi64>
  return
}

// CHECK-LABEL: kernel roles
// Of 5 cores 1 to 3 run the outer role, the last two of these the inner one; within it they count
// from 0 again. Columns: the core's number in the inner role, and how many run it.
// CHECK-NEXT: rank 0 argument 0
// CHECK-NEXT: {{^}}  -1 -1
// CHECK-NEXT: {{^}}  0 3
// CHECK-NEXT: {{^}}  0 2
// CHECK-NEXT: {{^}}  1 2
// CHECK-NEXT: {{^}}  -1 -1
func.func @roles(%C: memref<5x2xi64> {interp.values = dense<-1> : tensor<5x2xi64>})
    attributes {tile.kernel, cores = 5} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %whole = dist.core
  dist.role "outer" cores %c1 for %c3 {
    %o = dist.core
    %on = dist.num_cores
    %x = arith.index_cast %o : index to i64
    %xn = arith.index_cast %on : index to i64
    memref.store %x, %C[%whole, %c0] : memref<5x2xi64>
    memref.store %xn, %C[%whole, %c1] : memref<5x2xi64>
    dist.role "inner" cores %c1 for %c2 {
      %i = dist.core
      %in = dist.num_cores
      %y = arith.index_cast %i : index to i64
      %yn = arith.index_cast %in : index to i64
      memref.store %y, %C[%whole, %c0] : memref<5x2xi64>
      memref.store %yn, %C[%whole, %c1] : memref<5x2xi64>
    }
  }
  return
}

// CHECK-LABEL: kernel dealt
// A grid of 2 x 3 x 2 tiles over 3 cores: each element says which core had it, counted from 1.
// CHECK-NEXT: rank 0 argument 0
// CHECK-NEXT: {{^}}  1 2
// CHECK-NEXT: {{^}}  3 1
// CHECK-NEXT: {{^}}  2 3
// CHECK-NEXT: {{^}}  1 2
// CHECK-NEXT: {{^}}  3 1
// CHECK-NEXT: {{^}}  2 3
func.func @dealt(%C: memref<2x3x2xi64> {interp.values = dense<0> : tensor<2x3x2xi64>})
    attributes {tile.kernel, cores = 3} {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %me = dist.core
  %n = arith.addi %me, %c1 : index
  %x = arith.index_cast %n : index to i64
  dist.tiles (%b, %i, %j) of (%c2, %c3, %c2) order <"row-major"> {
    %old = memref.load %C[%b, %i, %j] : memref<2x3x2xi64>
    %new = arith.addi %old, %x : i64
    memref.store %new, %C[%b, %i, %j] : memref<2x3x2xi64>
  }
  return
}

// CHECK-LABEL: kernel orders
// The order in which one core visits the rows of tiles: 5 rows an each of 3 ranks, 4 a tile. The
// gather starts with the first tile that begins in the own shard, the scatter with the tile in
// which the next rank's rows begin.
// CHECK-NEXT: rank 0 argument 0
// CHECK-NEXT: {{^}}  0 1 2 3
// CHECK-NEXT: rank 0 argument 1
// CHECK-NEXT: {{^}}  1 2 3 0
// CHECK-NEXT: rank 1 argument 0
// CHECK-NEXT: {{^}}  2 3 0 1
// CHECK-NEXT: rank 1 argument 1
// CHECK-NEXT: {{^}}  2 3 0 1
// CHECK-NEXT: rank 2 argument 0
// CHECK-NEXT: {{^}}  3 0 1 2
// CHECK-NEXT: rank 2 argument 1
// CHECK-NEXT: {{^}}  0 1 2 3
func.func @orders(%G: memref<4xi64>, %S: memref<4xi64>) attributes {tile.kernel, ranks = 3} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %rows = arith.constant 15 : index
  %g = tile.var %c0 : index
  dist.tiles (%i, %j) of (%c4, %c1) order <"own-shard-first"> elements %rows height 4 {
    %at = tile.get %g : index
    %x = arith.index_cast %i : index to i64
    memref.store %x, %G[%at] : memref<4xi64>
    %next = arith.addi %at, %c1 : index
    tile.set %g, %next : index
  }
  %s = tile.var %c0 : index
  dist.tiles (%i, %j) of (%c4, %c1) order <"next-rank-first"> elements %rows height 4 {
    %at = tile.get %s : index
    %x = arith.index_cast %i : index to i64
    memref.store %x, %S[%at] : memref<4xi64>
    %next = arith.addi %at, %c1 : index
    tile.set %s, %next : index
  }
  return
}

// CHECK-LABEL: kernel batches
// The batch is spread over the ranks: rank 1 of 2 begins with the second half of 4 matrices.
// CHECK: rank 1 argument 0
// CHECK-NEXT: {{^}}  2 3 0 1
func.func @batches(%G: memref<4xi64>) attributes {tile.kernel, ranks = 2} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %g = tile.var %c0 : index
  dist.tiles (%b, %i, %j) of (%c4, %c1, %c1) order <"own-shard-first" over batch> {
    %at = tile.get %g : index
    %x = arith.index_cast %b : index to i64
    memref.store %x, %G[%at] : memref<4xi64>
    %next = arith.addi %at, %c1 : index
    tile.set %g, %next : index
  }
  return
}
