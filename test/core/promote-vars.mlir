// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --tile-promote-vars | FileCheck %s
// No variable is left anywhere.
// CHECK-NOT: tile.var
// CHECK-NOT: tile.get
// CHECK-NOT: tile.set

!tile = tensor<8x8xf32>

// CHECK-LABEL: @straight
// CHECK-SAME: (%[[X:.*]]: tensor<8x8xf32>, %[[Y:.*]]: tensor<8x8xf32>)
func.func @straight(%x: !tile, %y: !tile) -> (!tile, !tile) {
  %v = tile.var %x : !tile
  %0 = tile.get %v : !tile
  tile.set %v, %y : !tile
  %1 = tile.get %v : !tile
  // CHECK: return %[[X]], %[[Y]]
  return %0, %1 : !tile, !tile
}

// -----

// CHECK-LABEL: @loop
// CHECK-SAME: (%[[ZERO:[^:]*]]: {{.*}}, %[[X:[^:]*]]: {{.*}}, %[[L:[^:]*]]: index, %[[N:[^:]*]]: index)
func.func @loop(%zero: tensor<8x8xf32>, %x: tensor<8x8xf32>, %l: index, %n: index) -> tensor<8x8xf32> {
  // CHECK: %[[R:.*]] = scf.for %{{.*}} = %[[L]] to %[[N]] step %[[N]] iter_args(%[[A:.*]] = %[[ZERO]]) -> (tensor<8x8xf32>) {
  // CHECK:   %[[S:.*]] = arith.addf %[[A]], %[[X]]
  // CHECK:   scf.yield %[[S]]
  // CHECK: } {note}
  // CHECK: return %[[R]]
  %v = tile.var %zero : tensor<8x8xf32>
  scf.for %k = %l to %n step %n {
    %0 = tile.get %v : tensor<8x8xf32>
    %1 = arith.addf %0, %x : tensor<8x8xf32>
    tile.set %v, %1 : tensor<8x8xf32>
  } {note}
  %2 = tile.get %v : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

// Only what is written is carried, after what the loop carries already.
// CHECK-LABEL: @carried
// CHECK-SAME: (%[[I:[^:]*]]: index, %[[X:[^:]*]]: f32, %[[Y:[^:]*]]: f32)
func.func @carried(%i: index, %x: f32, %y: f32) -> (f32, index, f32, f32) {
  %read = tile.var %x : f32
  %b = tile.var %y : f32
  %a = tile.var %i : index
  // CHECK: %[[R:.*]]:3 = scf.for %[[K:.*]] = {{.*}} iter_args(%[[OLD:.*]] = %[[Y]], %[[A:.*]] = %[[I]], %[[B:.*]] = %[[Y]]) -> (f32, index, f32) {
  %r = scf.for %k = %i to %i step %i iter_args(%old = %y) -> f32 {
    // CHECK: %[[SUM:.*]] = arith.addi %[[A]], %[[K]]
    %0 = tile.get %a : index
    %1 = arith.addi %0, %k : index
    tile.set %a, %1 : index
    // CHECK: %[[PRODUCT:.*]] = arith.mulf %[[X]], %[[B]]
    %2 = tile.get %read : f32
    %3 = tile.get %b : f32
    %4 = arith.mulf %2, %3 : f32
    tile.set %b, %4 : f32
    // CHECK: scf.yield %[[PRODUCT]], %[[SUM]], %[[PRODUCT]]
    scf.yield %4 : f32
  }
  %5 = tile.get %a : index
  %6 = tile.get %b : f32
  %7 = tile.get %read : f32
  // CHECK: return %[[R]]#0, %[[R]]#1, %[[R]]#2, %[[X]]
  return %r, %5, %6, %7 : f32, index, f32, f32
}

// -----

// CHECK-LABEL: @branch
// CHECK-SAME: (%[[C:[^:]*]]: i1, %[[X:[^:]*]]: f32, %[[Y:[^:]*]]: f32)
func.func @branch(%c: i1, %x: f32, %y: f32) -> f32 {
  %v = tile.var %x : f32
  // CHECK: %[[R:.*]] = scf.if %[[C]] -> (f32) {
  // CHECK:   scf.yield %[[Y]]
  // CHECK: } else {
  // CHECK:   scf.yield %[[X]]
  // CHECK: }
  scf.if %c {
    tile.set %v, %y : f32
  }
  %0 = tile.get %v : f32
  // CHECK: return %[[R]]
  return %0 : f32
}

// -----

// CHECK-LABEL: @branches_with_results
// CHECK-SAME: (%[[C:[^:]*]]: i1, %[[X:[^:]*]]: f32, %[[Y:[^:]*]]: f32)
func.func @branches_with_results(%c: i1, %x: f32, %y: f32) -> (i32, f32, f32) {
  %v = tile.var %x : f32
  %w = tile.var %x : f32
  // CHECK: %[[R:.*]]:3 = scf.if %[[C]] -> (i32, f32, f32) {
  %r = scf.if %c -> i32 {
    // CHECK: %[[ONE:.*]] = arith.constant 1 : i32
    // CHECK: scf.yield %[[ONE]], %[[Y]], %[[X]]
    tile.set %v, %y : f32
    %one = arith.constant 1 : i32
    scf.yield %one : i32
  } else {
    // CHECK: %[[TWO:.*]] = arith.constant 2 : i32
    // CHECK: scf.yield %[[TWO]], %[[X]], %[[Y]]
    tile.set %w, %y : f32
    %two = arith.constant 2 : i32
    scf.yield %two : i32
  }
  %0 = tile.get %v : f32
  %1 = tile.get %w : f32
  // CHECK: return %[[R]]#0, %[[R]]#1, %[[R]]#2
  return %r, %0, %1 : i32, f32, f32
}

// -----

// Loops in branches in loops; a variable inside of the loop begins anew each time.
// CHECK-LABEL: @nested
// CHECK-SAME: (%[[C:[^:]*]]: i1, %[[X:[^:]*]]: f32, %[[N:[^:]*]]: index)
func.func @nested(%c: i1, %x: f32, %n: index) -> f32 {
  // CHECK: %[[OUTER:.*]] = scf.for {{.*}} iter_args(%[[V:.*]] = %[[X]]) -> (f32) {
  // CHECK:   %[[IF:.*]]:2 = scf.if %[[C]] -> (f32, f32) {
  // CHECK:     %[[INNER:.*]]:2 = scf.for {{.*}} iter_args(%[[T:.*]] = %[[X]], %[[U:.*]] = %[[V]]) -> (f32, f32) {
  // CHECK:       %[[T1:.*]] = arith.addf %[[T]], %[[U]]
  // CHECK:       %[[U1:.*]] = arith.mulf %[[U]], %[[T1]]
  // CHECK:       scf.yield %[[T1]], %[[U1]]
  // CHECK:     }
  // CHECK:     scf.yield %[[INNER]]#0, %[[INNER]]#1
  // CHECK:   } else {
  // CHECK:     scf.yield %[[X]], %[[V]]
  // CHECK:   }
  // CHECK:   %[[LAST:.*]] = arith.subf %[[IF]]#1, %[[IF]]#0
  // CHECK:   scf.yield %[[LAST]]
  // CHECK: }
  // CHECK: return %[[OUTER]]
  %v = tile.var %x : f32
  scf.for %i = %n to %n step %n {
    %temporary = tile.var %x : f32
    scf.if %c {
      scf.for %j = %n to %n step %n {
        %0 = tile.get %temporary : f32
        %1 = tile.get %v : f32
        %2 = arith.addf %0, %1 : f32
        tile.set %temporary, %2 : f32
        %3 = arith.mulf %1, %2 : f32
        tile.set %v, %3 : f32
      }
    }
    %4 = tile.get %v : f32
    %5 = tile.get %temporary : f32
    %6 = arith.subf %4, %5 : f32
    tile.set %v, %6 : f32
  }
  %7 = tile.get %v : f32
  return %7 : f32
}

// -----

// Roles and tiles read from outside, and have variables of their own.
// CHECK-LABEL: @tiles
// CHECK-SAME: (%[[X:[^:]*]]: tensor<8x8xf32>, %[[C:[^:]*]]: memref<?x?xf32>, %[[N:[^:]*]]: index)
func.func @tiles(%x: tensor<8x8xf32>, %C: memref<?x?xf32>, %n: index) {
  %v = tile.var %x : tensor<8x8xf32>
  // CHECK: dist.role
  dist.role "r" cores %n for %n {
    // CHECK: dist.tiles
    dist.tiles (%i, %j) of (%n, %n) order <"row-major"> {
      %0 = tile.get %v : tensor<8x8xf32>
      %acc = tile.var %0 : tensor<8x8xf32>
      // CHECK: %[[R:.*]] = scf.for {{.*}} iter_args(%[[A:.*]] = %[[X]])
      scf.for %k = %n to %n step %n {
        // CHECK: %[[S:.*]] = arith.addf %[[A]], %[[X]]
        // CHECK: scf.yield %[[S]]
        %1 = tile.get %acc : tensor<8x8xf32>
        %2 = arith.addf %1, %0 : tensor<8x8xf32>
        tile.set %acc, %2 : tensor<8x8xf32>
      }
      // CHECK: tile.store %[[R]]
      %3 = tile.get %acc : tensor<8x8xf32>
      tile.store %3, %C[%i, %j] : tensor<8x8xf32>, memref<?x?xf32>
    }
  }
  return
}
