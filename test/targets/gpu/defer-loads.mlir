// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ditron-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(simt-defer-loads))' | FileCheck %s

// What is read behind a reduction and is stored together with what waited for it: the weights. The row itself is not.
// CHECK-LABEL: func.func @weights
// CHECK: tile.load %arg0[%arg3] :
// CHECK: tile.reduce
// CHECK: tile.load %arg1[%arg3] {simt.deferred} :
// CHECK: tile.store
func.func @weights(%x: memref<?xf32> {tile.readonly, tile.alignment = 16 : i64},
                   %w: memref<?xf32> {tile.readonly, tile.alignment = 16 : i64},
                   %y: memref<?xf32> {tile.alignment = 16 : i64}, %i: index) attributes {tile.kernel} {
  %0 = tile.load %x[%i] : memref<?xf32> -> tensor<4096xf32>
  %1 = tile.reduce sum %0 axis 0 : tensor<4096xf32> -> tensor<1xf32>
  %2 = tile.load %w[%i] : memref<?xf32> -> tensor<4096xf32>
  %3 = tile.broadcast %1 : tensor<1xf32> -> tensor<4096xf32>
  %4 = arith.mulf %0, %3 : tensor<4096xf32>
  %5 = arith.mulf %4, %2 : tensor<4096xf32>
  tile.store %5, %y[%i] : tensor<4096xf32>, memref<?xf32>
  return
}

// -----

// In a kernel that reduces also where no row waits: the first tile is read at once, the others come to it.
// CHECK-LABEL: func.func @second_walk
// CHECK: scf.for
// CHECK: tile.load %arg0[%{{.*}}] :
// CHECK: tile.load %arg1[%{{.*}}] {simt.deferred} :
func.func @second_walk(%x: memref<?xf32> {tile.readonly, tile.alignment = 16 : i64},
                       %w: memref<?xf32> {tile.readonly, tile.alignment = 16 : i64},
                       %y: memref<?xf32> {tile.alignment = 16 : i64}, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = tile.load %x[%c0] : memref<?xf32> -> tensor<4096xf32>
  %1 = tile.reduce sum %0 axis 0 : tensor<4096xf32> -> tensor<1xf32>
  %2 = tile.broadcast %1 : tensor<1xf32> -> tensor<4096xf32>
  scf.for %i = %c0 to %n step %c1 {
    %3 = tile.load %x[%i] : memref<?xf32> -> tensor<4096xf32>
    %4 = tile.load %w[%i] : memref<?xf32> -> tensor<4096xf32>
    %5 = arith.mulf %3, %2 : tensor<4096xf32>
    %6 = arith.mulf %5, %4 : tensor<4096xf32>
    tile.store %6, %y[%i] : tensor<4096xf32>, memref<?xf32>
  }
  return
}

// -----

// Not what is summed, is stored twice, may be written by the kernel, may be of any alignment, or is read before
// something else is written.
// CHECK-LABEL: func.func @others
// CHECK-NOT: simt.deferred
func.func @others(%x: memref<?xf32> {tile.readonly, tile.alignment = 16 : i64}, %any: memref<?xf32> {tile.readonly},
                  %y: memref<?xf32> {tile.alignment = 16 : i64}, %i: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0] : memref<?xf32> -> tensor<4096xf32>
  %1 = tile.reduce sum %0 axis 0 : tensor<4096xf32> -> tensor<1xf32>
  %2 = tile.load %x[%i] : memref<?xf32> -> tensor<4096xf32>
  %3 = tile.reduce sum %2 axis 0 : tensor<4096xf32> -> tensor<1xf32>
  %4 = arith.addf %1, %3 : tensor<1xf32>
  %5 = tile.broadcast %4 : tensor<1xf32> -> tensor<4096xf32>
  %twice = tile.load %x[%i] : memref<?xf32> -> tensor<4096xf32>
  %6 = arith.mulf %twice, %5 : tensor<4096xf32>
  tile.store %6, %y[%c0] : tensor<4096xf32>, memref<?xf32>
  tile.store %twice, %y[%i] : tensor<4096xf32>, memref<?xf32>
  %written = tile.load %y[%i] : memref<?xf32> -> tensor<4096xf32>
  %7 = arith.mulf %written, %5 : tensor<4096xf32>
  tile.store %7, %y[%c0] : tensor<4096xf32>, memref<?xf32>
  %unknown = tile.load %any[%i] : memref<?xf32> -> tensor<4096xf32>
  %8 = arith.mulf %unknown, %5 : tensor<4096xf32>
  tile.store %8, %y[%c0] : tensor<4096xf32>, memref<?xf32>
  %early = tile.load %x[%i] : memref<?xf32> -> tensor<4096xf32>
  tile.store %5, %y[%i] : tensor<4096xf32>, memref<?xf32>
  %9 = arith.mulf %early, %5 : tensor<4096xf32>
  tile.store %9, %y[%c0] : tensor<4096xf32>, memref<?xf32>
  return
}

// -----

// Nor what is larger than all that was read before: as much of it as can be is to be under way.
// CHECK-LABEL: func.func @larger
// CHECK-NOT: simt.deferred
func.func @larger(%s: memref<?xf32> {tile.readonly, tile.alignment = 16 : i64},
                  %x: memref<?xf32> {tile.readonly, tile.alignment = 16 : i64},
                  %y: memref<?xf32> {tile.alignment = 16 : i64}, %i: index) attributes {tile.kernel} {
  %0 = tile.load %s[%i] : memref<?xf32> -> tensor<128xf32>
  %1 = tile.reduce sum %0 axis 0 : tensor<128xf32> -> tensor<1xf32>
  %2 = tile.broadcast %1 : tensor<1xf32> -> tensor<4096xf32>
  %3 = tile.load %x[%i] : memref<?xf32> -> tensor<4096xf32>
  %4 = arith.mulf %3, %2 : tensor<4096xf32>
  tile.store %4, %y[%i] : tensor<4096xf32>, memref<?xf32>
  return
}

// -----

// Kernels that do not reduce read all they can at once.
// CHECK-LABEL: func.func @elementwise
// CHECK-NOT: simt.deferred
func.func @elementwise(%a: memref<?xf32> {tile.readonly, tile.alignment = 16 : i64},
                       %b: memref<?xf32> {tile.readonly, tile.alignment = 16 : i64},
                       %y: memref<?xf32> {tile.alignment = 16 : i64}, %i: index) attributes {tile.kernel} {
  %0 = tile.load %a[%i] : memref<?xf32> -> tensor<4096xf32>
  %1 = tile.load %b[%i] : memref<?xf32> -> tensor<4096xf32>
  %2 = arith.addf %0, %1 : tensor<4096xf32>
  tile.store %2, %y[%i] : tensor<4096xf32>, memref<?xf32>
  return
}
