// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --split-input-file --simt-spread-tiles | FileCheck %s

// Each tile gets a core, and its number is divided in 32 bits.
// CHECK-LABEL: func.func @spread(
// CHECK-SAME: simt.tiles = ["a0.0 4 ceildiv a0.1 mul"]
// CHECK: %[[CORE:.*]] = dist.core
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %[[CORE]], %{{.*}} : index
// CHECK: scf.if %[[EXISTS]] {
// CHECK: %[[ROW:.*]] = arith.divui %{{.*}}, %{{.*}} : i32
// CHECK: %[[I:.*]] = arith.index_castui %[[ROW]] : i32 to index
// CHECK: arith.remui %{{.*}}, %{{.*}} : i32
// CHECK: tile.load %{{.*}}[%[[I]],
// CHECK-NOT: scf.for
func.func @spread(%x: memref<?x?xf32, strided<[?, ?], offset: ?>>,
                  %y: memref<?x?xf32, strided<[?, ?], offset: ?>>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %rows = memref.dim %x, %c0 : memref<?x?xf32, strided<[?, ?], offset: ?>>
  %cols = memref.dim %x, %c1 : memref<?x?xf32, strided<[?, ?], offset: ?>>
  %bands = arith.ceildivsi %rows, %c4 : index
  %tiles = arith.muli %bands, %cols : index
  %core = dist.core
  %cores = dist.num_cores
  scf.for %t = %core to %tiles step %cores {
    %i = arith.divui %t, %cols : index
    %j = arith.remui %t, %cols : index
    %v = tile.load %x[%i, %j] : memref<?x?xf32, strided<[?, ?], offset: ?>> -> tensor<4x1xf32>
    tile.store %v, %y[%i, %j] : tensor<4x1xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  }
  return
}

// -----

// A divisor may be beyond 32 bits: the quotient is then that of the largest number that is not.
// CHECK-LABEL: func.func @divided(
// CHECK: %[[MOST:.*]] = arith.constant 4294967295 : index
// CHECK: arith.minui %{{.*}}, %[[MOST]] : index
// CHECK: arith.divui %{{.*}} : i32
func.func @divided(%n: index, %m: index, %y: memref<?xf32, strided<[?], offset: ?>>) attributes {tile.kernel} {
  %core = dist.core
  %cores = dist.num_cores
  %zero = arith.constant dense<0.0> : tensor<16xf32>
  scf.for %t = %core to %n step %cores {
    %i = arith.divui %t, %m : index
    tile.store %zero, %y[%i] : tensor<16xf32>, memref<?xf32, strided<[?], offset: ?>>
  }
  return
}

// -----

// What is carried from tile to tile stays with one core.
// CHECK-LABEL: func.func @carried(
// CHECK-NOT: simt.tiles
// CHECK: scf.for
func.func @carried(%n: index, %y: memref<?xf32, strided<[?], offset: ?>>) attributes {tile.kernel} {
  %core = dist.core
  %cores = dist.num_cores
  %zero = arith.constant dense<0.0> : tensor<16xf32>
  %sum = scf.for %t = %core to %n step %cores iter_args(%s = %zero) -> tensor<16xf32> {
    %v = tile.load %y[%t] : memref<?xf32, strided<[?], offset: ?>> -> tensor<16xf32>
    %next = arith.addf %s, %v : tensor<16xf32>
    scf.yield %next : tensor<16xf32>
  }
  tile.store %sum, %y[%core] : tensor<16xf32>, memref<?xf32, strided<[?], offset: ?>>
  return
}

// -----

// Another use of a core's number, and a tile that every core reads once.
// CHECK-LABEL: func.func @numbered(
// CHECK-NOT: simt.tiles
// CHECK: scf.for
func.func @numbered(%n: index, %y: memref<?xf32, strided<[?], offset: ?>>) attributes {tile.kernel} {
  %core = dist.core
  %cores = dist.num_cores
  %zero = arith.constant dense<0.0> : tensor<16xf32>
  scf.for %t = %core to %n step %cores {
    tile.store %zero, %y[%core] : tensor<16xf32>, memref<?xf32, strided<[?], offset: ?>>
  }
  return
}

// CHECK-LABEL: func.func @readOnce(
// CHECK-NOT: simt.tiles
// CHECK: scf.for
func.func @readOnce(%n: index, %y: memref<?xf32, strided<[?], offset: ?>>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %core = dist.core
  %cores = dist.num_cores
  %v = tile.load %y[%c0] : memref<?xf32, strided<[?], offset: ?>> -> tensor<16xf32>
  scf.for %t = %core to %n step %cores {
    tile.store %v, %y[%t] : tensor<16xf32>, memref<?xf32, strided<[?], offset: ?>>
  }
  return
}

// -----

// How many tiles there are is read from memory: a launch does not know.
// CHECK-LABEL: func.func @unknown(
// CHECK-NOT: simt.tiles
// CHECK: scf.for
func.func @unknown(%counts: memref<?xi32, strided<[?], offset: ?>>,
                   %y: memref<?xf32, strided<[?], offset: ?>>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %core = dist.core
  %cores = dist.num_cores
  %zero = arith.constant dense<0.0> : tensor<16xf32>
  %count = memref.load %counts[%c0] : memref<?xi32, strided<[?], offset: ?>>
  %n = arith.index_cast %count : i32 to index
  scf.for %t = %core to %n step %cores {
    tile.store %zero, %y[%t] : tensor<16xf32>, memref<?xf32, strided<[?], offset: ?>>
  }
  return
}

// -----

// Cores that wait for one another are there together.
// CHECK-LABEL: func.func @waiting(
// CHECK-NOT: simt.tiles
// CHECK: scf.for
func.func @waiting(%n: index, %y: memref<?xf32, strided<[?], offset: ?>>) attributes {tile.kernel} {
  %core = dist.core
  %cores = dist.num_cores
  %zero = arith.constant dense<0.0> : tensor<16xf32>
  scf.for %t = %core to %n step %cores {
    tile.store %zero, %y[%t] : tensor<16xf32>, memref<?xf32, strided<[?], offset: ?>>
  }
  dist.barrier cores
  return
}

// -----

// CTAs beside copy engines leave them room: there may be fewer than tiles.
// CHECK-LABEL: func.func @besideCopies(
// CHECK-NOT: simt.tiles
// CHECK: scf.for
func.func @besideCopies(%n: index, %y: memref<?xf32, strided<[?], offset: ?>>)
    attributes {tile.kernel, dist.copy_engines} {
  %core = dist.core
  %cores = dist.num_cores
  %zero = arith.constant dense<0.0> : tensor<16xf32>
  scf.for %t = %core to %n step %cores {
    tile.store %zero, %y[%t] : tensor<16xf32>, memref<?xf32, strided<[?], offset: ?>>
  }
  return
}
