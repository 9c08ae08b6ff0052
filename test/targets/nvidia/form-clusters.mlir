// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --nvidia-form-clusters | FileCheck %s

// A pair of CTAs takes tiles of two rows; beyond the last row nothing is stored.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[M:[a-z0-9]+]]: index, %[[N:[a-z0-9]+]]: index)
// CHECK-SAME: simt.cluster = 2
// CHECK: %[[RANK:.*]] = nvidia.cluster_rank
// CHECK: %[[ROW:.*]] = arith.divui %[[RANK]]
// CHECK: %[[PAIRS:.*]] = arith.ceildivsi %[[M]], %{{.*}} : index
// CHECK: dist.tiles (%[[I:.*]], %[[J:.*]]) of (%[[PAIRS]], %[[N]]) order <"grouped", 4> height 2 {
// CHECK: %[[FIRST:.*]] = arith.muli %[[I]]
// CHECK: %[[OWN:.*]] = arith.addi %[[FIRST]], %[[ROW]]
// CHECK: %[[BELOW:.*]] = arith.cmpi slt, %[[OWN]], %[[M]]
// CHECK: %[[INSIDE:.*]] = arith.andi %[[BELOW]]
// CHECK: tile.load %{{.*}}[%[[OWN]], %[[J]]]
// CHECK: scf.if %[[INSIDE]] {
// CHECK-NEXT: tile.store %{{.*}}, %{{.*}}[%[[OWN]], %[[J]]]
func.func @rows(%A: memref<?x?xf32, strided<[?, ?], offset: ?>>, %C: memref<?x?xf32, strided<[?, ?], offset: ?>>, %m: index, %n: index) {
  dist.tiles (%i, %j) of (%m, %n) order <"grouped", 8> {
    %a = tile.load %A[%i, %j] : memref<?x?xf32, strided<[?, ?], offset: ?>> -> tensor<64x64xf32>
    tile.store %a, %C[%i, %j] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  } {dist.together = array<i64: 2, 1, 1>}
  return
}

// What adds up over tiles would be added twice beyond the edge: left alone.
// CHECK-LABEL: func.func @adds
// CHECK-NOT: nvidia.cluster_rank
// CHECK: dist.tiles (%{{.*}}, %{{.*}}) of (%{{.*}}, %{{.*}}) order <"grouped", 8>
func.func @adds(%A: memref<?x?xf32, strided<[?, ?], offset: ?>>, %C: memref<?x?xf32, strided<[?, ?], offset: ?>>, %m: index, %n: index) {
  dist.tiles (%i, %j) of (%m, %n) order <"grouped", 8> {
    %a = tile.load %A[%i, %j] : memref<?x?xf32, strided<[?, ?], offset: ?>> -> tensor<64x64xf32>
    %old = tile.atomic_add %a, %C[%i, %j] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  } {dist.together = array<i64: 1, 2, 1>}
  return
}

!a = memref<?x?xf32, strided<[?, ?], offset: ?>>

// Roles have whole clusters each, a launch two of them. What depends on the row of tiles is waited for only inside of
// the grid; what does not, by both CTAs, which load a part of it each. The other loop is dealt to CTAs.
// CHECK-LABEL: func.func @roles
// CHECK-SAME: %[[ROWS:[a-z0-9]+]]: index, %[[COLUMNS:[a-z0-9]+]]: index, %[[R:[a-z0-9]+]]: index)
// CHECK-SAME: simt.cluster = 2 : i64, simt.least_cores = 4 : i64
// CHECK: %[[CORES:.*]] = dist.num_cores
// CHECK: %[[CLUSTERS:.*]] = arith.divui
// CHECK: %[[BORDER:.*]] = arith.minsi
// CHECK: %[[COMM:.*]] = arith.muli
// CHECK: dist.role "comm" cores %{{.*}} for %[[COMM]] {
// CHECK-NEXT: dist.tiles (%{{.*}}, %{{.*}}) of (%[[ROWS]], %[[COLUMNS]]) order <"row-major"> {
// CHECK: dist.role "compute" cores %{{.*}} for %{{.*}} {
// CHECK: %[[PAIRS:.*]] = arith.ceildivsi %[[ROWS]]
// CHECK: %[[ELEMENTS:.*]] = arith.muli %[[ROWS]]
// CHECK: dist.tiles (%[[S:.*]], %[[I:.*]], %[[J:.*]]) of (%[[R]], %[[PAIRS]], %[[COLUMNS]]) order <"own-shard-first", 4 over batch> elements %[[ELEMENTS]] height 2 {
// CHECK: %[[FIRST:.*]] = arith.muli %[[I]]
// CHECK: %[[OWN:.*]] = arith.addi %[[FIRST]]
// CHECK: %[[BELOW:.*]] = arith.cmpi slt, %[[OWN]], %[[ROWS]]
// CHECK: %[[INSIDE:.*]] = arith.andi %[[BELOW]]
// CHECK: scf.if %[[BELOW]] {
// CHECK-NEXT: dist.wait %{{.*}}[%[[S]], %[[OWN]]]
// CHECK-NEXT: }
// CHECK-NEXT: dist.wait %{{.*}}[%[[S]], %{{.*}}]
// CHECK-NEXT: tile.load
// CHECK-NEXT: scf.if %[[INSIDE]] {
// CHECK-NEXT: tile.store
// CHECK-NEXT: }
// CHECK-NEXT: scf.if %[[INSIDE]] {
// CHECK-NEXT: dist.notify
// CHECK-NEXT: }
// CHECK-NEXT: } {dist.sharers = 2 : i64}
func.func @roles(%A: !a, %C: !a, %m: index, %n: index, %r: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %ready = dist.signals "ready"(%r, %m) : !dist.signals<2>
  %done = dist.signals "done"(%m) : !dist.signals<1>
  %cores = dist.num_cores
  %rest = arith.subi %cores, %c3 : index
  dist.role "comm" cores %c0 for %c3 {
    dist.tiles (%i, %j) of (%m, %n) order <"row-major"> {
      dist.notify %done[%i] add %c1 : !dist.signals<1>
    }
  }
  dist.role "compute" cores %c3 for %rest {
    dist.tiles (%s, %i, %j) of (%r, %m, %n) order <"own-shard-first", 8 over batch> {
      dist.wait %ready[%s, %i] >= %c1 : !dist.signals<2>
      dist.wait %ready[%s, %c0] >= %c1 : !dist.signals<2>
      %a = tile.load %A[%i, %j] : !a -> tensor<64x64xf32>
      tile.store %a, %C[%i, %j] : tensor<64x64xf32>, !a
      dist.notify %done[%i] add %c1 : !dist.signals<1>
    } {dist.together = array<i64: 2, 1, 1>}
  }
  return
}

// The number of cores that a signal counts is not that of a role with other borders: left alone.
// CHECK-LABEL: func.func @counts
// CHECK-NOT: nvidia.cluster_rank
func.func @counts(%A: !a, %C: !a, %m: index, %n: index, %s: !dist.signals<1>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cores = dist.num_cores
  %rest = arith.subi %cores, %c1 : index
  dist.role "compute" cores %c1 for %rest {
    dist.tiles (%i, %j) of (%m, %n) order <"grouped", 8> {
      dist.wait %s[%c0] >= %rest : !dist.signals<1>
      %a = tile.load %A[%i, %j] : !a -> tensor<64x64xf32>
      tile.store %a, %C[%i, %j] : tensor<64x64xf32>, !a
    } {dist.together = array<i64: 2, 1, 1>}
  }
  return
}

// -----

// Two CTAs share each tile: every second step is one's. Rank 0 adds up, in a box of its own for each sum, and stores.
// CHECK-LABEL: func.func @terms
// CHECK-SAME: simt.cluster = 2
// CHECK: %[[SECOND:.*]] = nvidia.cluster_box : !nvidia.cluster_box
// CHECK: %[[FIRST:.*]] = nvidia.cluster_box : !nvidia.cluster_box
// CHECK: %[[RANK:.*]] = nvidia.cluster_rank
// CHECK: %[[PART:.*]] = arith.remui %[[RANK]]
// CHECK: dist.tiles (%[[I:.*]], %[[J:.*]]) of
// CHECK: %[[BEFORE:.*]] = arith.muli %[[PART]]
// CHECK: %[[BEGIN:.*]] = arith.addi %{{.*}}, %[[BEFORE]]
// CHECK: %[[STEP:.*]] = arith.muli
// CHECK: %[[SUMS:.*]]:2 = scf.for %{{.*}} = %[[BEGIN]] to %{{.*}} step %[[STEP]]
// CHECK: nvidia.cluster_sum %[[SUMS]]#1 of 2 in %[[SECOND]] : tensor<8x1xf32>
// CHECK: %[[SUM:.*]] = nvidia.cluster_sum %[[SUMS]]#0 of 2 in %[[FIRST]] : tensor<8x64xf32>
// CHECK: %[[OWNS:.*]] = arith.cmpi eq, %[[PART]]
// CHECK-NEXT: scf.if %[[OWNS]] {
// CHECK-NEXT: tile.broadcast
// CHECK-NEXT: arith.addf %[[SUM]]
// CHECK-NEXT: tile.store
!m = memref<?x?xbf16, strided<[?, ?], offset: ?>>
!c = memref<?x?xf32, strided<[?, ?], offset: ?>>
func.func @terms(%A: !m, %B: !m, %C: !c, %m: index, %n: index, %k: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<8x64xf32>
  %none = arith.constant dense<0.0> : tensor<8x1xf32>
  dist.tiles (%i, %j) of (%m, %n) order <"row-major"> {
    %sums:2 = scf.for %s = %c0 to %k step %c1 iter_args(%acc = %zero, %squares = %none) -> (tensor<8x64xf32>, tensor<8x1xf32>) {
      %a = tile.load %A[%i, %s] : !m -> tensor<8x64xbf16>
      %b = tile.load %B[%s, %j] : !m -> tensor<64x64xbf16>
      %d = tile.dot %a, %b, %acc : tensor<8x64xbf16>, tensor<64x64xbf16> -> tensor<8x64xf32>
      %w = tile.cast %a : tensor<8x64xbf16> to tensor<8x64xf32>
      %p = arith.mulf %w, %w : tensor<8x64xf32>
      %q = tile.reduce sum %p axis 1 : tensor<8x64xf32> -> tensor<8x1xf32>
      %t = arith.addf %squares, %q : tensor<8x1xf32>
      scf.yield %d, %t : tensor<8x64xf32>, tensor<8x1xf32>
    }
    %all = tile.broadcast %sums#1 : tensor<8x1xf32> -> tensor<8x64xf32>
    %y = arith.addf %sums#0, %all : tensor<8x64xf32>
    tile.store %y, %C[%i, %j] : tensor<8x64xf32>, !c
  } {dist.together = array<i64: 1, 1, 2>}
  return
}

// -----

// What comes from step to step is no sum: each tile is one CTA's.
// CHECK-LABEL: func.func @largest
// CHECK-NOT: nvidia.
!m = memref<?x?xbf16, strided<[?, ?], offset: ?>>
!c = memref<?x?xf32, strided<[?, ?], offset: ?>>
func.func @largest(%A: !m, %B: !m, %C: !c, %m: index, %n: index, %k: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<8x64xf32>
  dist.tiles (%i, %j) of (%m, %n) order <"row-major"> {
    %most = scf.for %s = %c0 to %k step %c1 iter_args(%before = %zero) -> (tensor<8x64xf32>) {
      %a = tile.load %A[%i, %s] : !m -> tensor<8x64xbf16>
      %b = tile.load %B[%s, %j] : !m -> tensor<64x64xbf16>
      %d = tile.dot %a, %b, %zero : tensor<8x64xbf16>, tensor<64x64xbf16> -> tensor<8x64xf32>
      %t = arith.maximumf %before, %d : tensor<8x64xf32>
      scf.yield %t : tensor<8x64xf32>
    }
    tile.store %most, %C[%i, %j] : tensor<8x64xf32>, !c
  } {dist.together = array<i64: 1, 1, 2>}
  return
}

// -----

// What is stored in front of the sums would be stored by both: each tile is one CTA's.
// CHECK-LABEL: func.func @stores_before
// CHECK-NOT: nvidia.
!m = memref<?x?xbf16, strided<[?, ?], offset: ?>>
!c = memref<?x?xf32, strided<[?, ?], offset: ?>>
func.func @stores_before(%A: !m, %B: !m, %C: !c, %D: !c, %m: index, %n: index, %k: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<8x64xf32>
  dist.tiles (%i, %j) of (%m, %n) order <"row-major"> {
    scf.for %s = %c0 to %k step %c1 {
      tile.store %zero, %D[%i, %s] : tensor<8x64xf32>, !c
    }
    %sum = scf.for %s = %c0 to %k step %c1 iter_args(%acc = %zero) -> (tensor<8x64xf32>) {
      %a = tile.load %A[%i, %s] : !m -> tensor<8x64xbf16>
      %b = tile.load %B[%s, %j] : !m -> tensor<64x64xbf16>
      %d = tile.dot %a, %b, %acc : tensor<8x64xbf16>, tensor<64x64xbf16> -> tensor<8x64xf32>
      scf.yield %d : tensor<8x64xf32>
    }
    tile.store %sum, %C[%i, %j] : tensor<8x64xf32>, !c
  } {dist.together = array<i64: 1, 1, 2>}
  return
}
