// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ditron-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(simt-assign-layouts{warps=8},simt-join-reductions))' | FileCheck %s

// Warps meet once for two rows that all of them hold. What reads a sum ends what is joined with it, and a
// sum that each warp has by itself needs no meeting.
// CHECK-LABEL: func.func @rows
// CHECK: %[[X:.*]] = tile.load
// CHECK: %[[Y:.*]] = tile.load
// CHECK-NOT: tile.reduce
// CHECK: %[[R:.*]]:2 = simt.reduce_together %[[X]], %[[Y]] kinds ["sum", "max"] axes [1, 0]
// CHECK: tile.broadcast %[[R]]#0
// CHECK: tile.reduce sum
// CHECK-NOT: simt.reduce_together
// CHECK: tile.store
func.func @rows(%X: memref<?x?xf32> {tile.readonly}, %O: memref<?x?xf32>, %P: memref<?x?xf32>, %i: index) attributes {tile.kernel} {
  %x = tile.load %X[%i, %i] : memref<?x?xf32> -> tensor<1x8192xf32>
  %y = tile.load %X[%i, %i] : memref<?x?xf32> -> tensor<32x128xf32>
  %s = tile.reduce sum %x axis 1 : tensor<1x8192xf32> -> tensor<1x1xf32>
  %t = tile.reduce max %y axis 0 : tensor<32x128xf32> -> tensor<1x128xf32>
  %b = tile.broadcast %s : tensor<1x1xf32> -> tensor<1x8192xf32>
  %z = arith.subf %x, %b : tensor<1x8192xf32>
  %u = tile.reduce sum %z axis 1 : tensor<1x8192xf32> -> tensor<1x1xf32>
  tile.store %u, %O[%i, %i] : tensor<1x1xf32>, memref<?x?xf32>
  tile.store %t, %P[%i, %i] : tensor<1x128xf32>, memref<?x?xf32>
  return
}

// -----

// CHECK-LABEL: func.func @within_warps
// CHECK-COUNT-2: tile.reduce sum
// CHECK-NOT: simt.reduce_together
func.func @within_warps(%X: memref<?x?xf32> {tile.readonly}, %O: memref<?x?xf32>, %i: index) attributes {tile.kernel} {
  %x = tile.load %X[%i, %i] : memref<?x?xf32> -> tensor<8x1024xf32>
  %y = tile.load %X[%i, %i] : memref<?x?xf32> -> tensor<8x1024xf32>
  %s = tile.reduce sum %x axis 1 : tensor<8x1024xf32> -> tensor<8x1xf32>
  %t = tile.reduce sum %y axis 1 : tensor<8x1024xf32> -> tensor<8x1xf32>
  %u = arith.addf %s, %t : tensor<8x1xf32>
  tile.store %u, %O[%i, %i] : tensor<8x1xf32>, memref<?x?xf32>
  return
}

// -----

// A loop ends it too.
// CHECK-LABEL: func.func @loops
// CHECK-COUNT-2: tile.reduce sum
// CHECK-NOT: simt.reduce_together
func.func @loops(%X: memref<?x?xf32> {tile.readonly}, %O: memref<?x?xf32>, %i: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = tile.load %X[%i, %i] : memref<?x?xf32> -> tensor<1x8192xf32>
  %s = tile.reduce sum %x axis 1 : tensor<1x8192xf32> -> tensor<1x1xf32>
  scf.for %k = %c0 to %i step %c1 {
    tile.store %x, %O[%k, %i] : tensor<1x8192xf32>, memref<?x?xf32>
  }
  %t = tile.reduce sum %x axis 1 : tensor<1x8192xf32> -> tensor<1x1xf32>
  %u = arith.addf %s, %t : tensor<1x1xf32>
  tile.store %u, %O[%i, %i] : tensor<1x1xf32>, memref<?x?xf32>
  return
}
