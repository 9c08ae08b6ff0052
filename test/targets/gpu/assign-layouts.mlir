// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-assign-layouts | FileCheck %s

// Rows go to warps, so that a reduction needs no more than shuffles; what it gives is replicated.
// CHECK-LABEL: func.func @softmax
// CHECK-SAME: simt.ctas_per_sm = 4 : i64, simt.warps = 4
// CHECK: tile.load {{.*}} -> tensor<4x256xf32, #tile.layout<"(4 : 1@warp, 2 : 4@reg, 32 : 1@lane, 4 : 1@reg)">>
// CHECK: tile.reduce max {{.*}} -> tensor<4x1xf32, #tile.layout<"(4 : 1@warp | replicate 32 : 1@lane)">>
// CHECK-NOT: convert_layout
func.func @softmax(%X: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.unit_stride}, %i: index, %j: index) {
  %x = tile.load %X[%i, %j] : memref<?x?xf32, strided<[?, ?], offset: ?>> -> tensor<4x256xf32>
  %m = tile.reduce max %x axis 1 : tensor<4x256xf32> -> tensor<4x1xf32>
  %b = tile.broadcast %m : tensor<4x1xf32> -> tensor<4x256xf32>
  %s = arith.subf %x, %b : tensor<4x256xf32>
  tile.store %s, %X[%i, %j] : tensor<4x256xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}

// -----

// Rows that begin at multiples of 4 bytes are read so many at a time, by neighbours side by side, and written so.
// CHECK-LABEL: func.func @narrow
// CHECK: tile.load {{.*}} -> tensor<4x256xbf16, #tile.layout<"(4 : 1@warp, 4 : 2@reg, 32 : 1@lane, 2 : 1@reg)">>
// CHECK-NOT: convert_layout
// CHECK: tile.store
func.func @narrow(%X: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride, tile.alignment = 4 : i64}, %i: index, %j: index) {
  %x = tile.load %X[%i, %j] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<4x256xbf16>
  %s = arith.addf %x, %x : tensor<4x256xbf16>
  tile.store %s, %X[%i, %j] : tensor<4x256xbf16>, memref<?x?xbf16, strided<[?, ?], offset: ?>>
  return
}

// -----

// Operands of the product go to shared memory, the accumulator is in fragments of the tensor cores, and what is
// stored is exchanged between the lanes of a quad into runs of 16 bytes.
// CHECK-LABEL: func.func @gemm
// CHECK: tile.load {{.*}} -> tensor<64x32xbf16, #tile.layout<"(2048 : 1@m | swizzle<2,3,3>@m)">>
// CHECK: tile.load {{.*}} -> tensor<32x64xbf16, #tile.layout<"(2048 : 1@m | swizzle<3,3,3>@m)">>
// CHECK: tile.dot {{.*}} -> tensor<64x64xf32, #tile.layout<"(2 : 2@warp, 2 : 16@reg, 2 : 2@reg, 8 : 4@lane, 2 : 1@warp, 4 : 4@reg, 4 : 1@lane, 2 : 1@reg)">>
// CHECK: tile.convert_layout {{.*}} -> tensor<64x64xbf16, #tile.layout<"(2 : 2@warp, 4 : 8@reg, 8 : 4@lane, 2 : 1@warp, 4 : 1@lane, 8 : 1@reg)">>
// CHECK: tile.store
func.func @gemm(%A: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %B: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %C: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %i: index, %j: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) {
    %a = tile.load %A[%i, %k] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x32xbf16>
    %b = tile.load %B[%k, %j] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<32x64xbf16>
    %d = tile.dot %a, %b, %sum : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  %c = tile.cast %acc : tensor<64x64xf32> to tensor<64x64xbf16>
  tile.store %c, %C[%i, %j] : tensor<64x64xbf16>, memref<?x?xbf16, strided<[?, ?], offset: ?>>
  return
}

// -----

// The choice of the large tile reaches the small one against the flow of data: each thread reads the
// weights that it needs.
// CHECK-LABEL: func.func @weights
// CHECK: tile.load {{.*}} -> tensor<256xf32, #tile.layout<"(2 : 4@reg, 32 : 1@lane, 4 : 1@reg | replicate 4 : 1@warp)">>
// CHECK-NOT: convert_layout
func.func @weights(%X: memref<?x?xf32, strided<[?, ?], offset: ?>>, %W: memref<?xf32, strided<[?], offset: ?>>, %i: index) {
  %w = tile.load %W[%i] : memref<?xf32, strided<[?], offset: ?>> -> tensor<256xf32>
  %r = tile.reshape %w : tensor<256xf32> -> tensor<1x256xf32>
  %b = tile.broadcast %r : tensor<1x256xf32> -> tensor<4x256xf32>
  %x = tile.load %X[%i, %i] : memref<?x?xf32, strided<[?, ?], offset: ?>> -> tensor<4x256xf32>
  %s = arith.mulf %x, %b : tensor<4x256xf32>
  tile.store %s, %X[%i, %i] : tensor<4x256xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}

// -----

// A tile and its transpose together: one of them moves.
// CHECK-LABEL: func.func @transposed
// CHECK: tile.convert_layout
// CHECK-NOT: tile.convert_layout
func.func @transposed(%X: memref<?x?xf32, strided<[?, ?], offset: ?>>, %i: index) {
  %x = tile.load %X[%i, %i] : memref<?x?xf32, strided<[?, ?], offset: ?>> -> tensor<32x32xf32>
  %t = tile.transpose %x [1, 0] : tensor<32x32xf32> -> tensor<32x32xf32>
  %s = arith.addf %x, %t : tensor<32x32xf32>
  tile.store %s, %X[%i, %i] : tensor<32x32xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}

// -----

// Accumulators of products that stand side by side share the registers of a thread: they count together.
// CHECK-LABEL: func.func @two_products
// CHECK-SAME: simt.warps = 8
func.func @two_products(%A: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %C: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.unit_stride}, %i: index, %j: index) {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %none = arith.constant dense<0.0> : tensor<64x128xf32>
  %a = tile.load %A[%i, %j] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
  %b = tile.load %A[%j, %i] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
  %v = tile.load %A[%j, %j] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x128xbf16>
  %scores = tile.dot %a, %b, %zero : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  %weights = tile.cast %scores : tensor<64x64xf32> to tensor<64x64xbf16>
  %sums = tile.dot %weights, %v, %none : tensor<64x64xbf16>, tensor<64x128xbf16> -> tensor<64x128xf32>
  tile.store %sums, %C[%i, %i] : tensor<64x128xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}

// -----

// Warps meet to add rows. Each thread collects a pair of columns then, where every warp would have all of them.
// CHECK-LABEL: func.func @collected
// CHECK: tile.reduce sum {{.*}} : tensor<16x128xf32, #tile.layout<"(4 : 4@reg, 4 : 1@warp, 32 : 1@lane, 4 : 1@reg)">> -> tensor<1x128xf32, #tile.layout<"(2 : 1@warp, 32 : 1@lane, 2 : 1@reg | replicate 2 : 2@warp)">>
// CHECK-NOT: convert_layout
func.func @collected(%X: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.unit_stride}, %Y: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.unit_stride}, %i: index) {
  %x = tile.load %X[%i, %i] : memref<?x?xf32, strided<[?, ?], offset: ?>> -> tensor<16x128xf32>
  %s = tile.reduce sum %x axis 0 : tensor<16x128xf32> -> tensor<1x128xf32>
  tile.store %s, %Y[%i, %i] : tensor<1x128xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}

// -----

// Two warps share a row, and want its sum where they have the row: it is collected so.
// CHECK-LABEL: func.func @wanted_again
// CHECK: tile.reduce sum {{.*}} -> tensor<2x1xf32, #tile.layout<"(2 : 
// CHECK-NOT: convert_layout
func.func @wanted_again(%X: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.unit_stride}, %i: index) {
  %x = tile.load %X[%i, %i] : memref<?x?xf32, strided<[?, ?], offset: ?>> -> tensor<2x1024xf32>
  %s = tile.reduce sum %x axis 1 : tensor<2x1024xf32> -> tensor<2x1xf32>
  %b = tile.broadcast %s : tensor<2x1xf32> -> tensor<2x1024xf32>
  %y = arith.subf %x, %b : tensor<2x1024xf32>
  tile.store %y, %X[%i, %i] : tensor<2x1024xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}

// -----

// What a loop carries has one layout, though its body wants another one than what stands behind it.
// CHECK-LABEL: func.func @carried
// CHECK: scf.for {{.*}} iter_args(%[[CARRIED:.*]] = %{{.*}}) -> (tensor<4x2xi8, #tile.layout<"[[LAYOUT:.*]]">>)
// CHECK: arith.select %{{.*}}, %[[CARRIED]], %{{.*}} : tensor<4x2xi8, #tile.layout<"[[LAYOUT]]">>
func.func @carried(%X: memref<?x?xi8, strided<[?, ?], offset: ?>>, %i: index, %n: index, %b: i1) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %a = arith.constant dense<0> : tensor<4x4xi8>
  %none = arith.constant dense<0> : tensor<4x2xi32>
  %x = tile.load %X[%i, %zero] : memref<?x?xi8, strided<[?, ?], offset: ?>> -> tensor<4x2xi8>
  %y = tile.load %X[%i, %one] : memref<?x?xi8, strided<[?, ?], offset: ?>> -> tensor<4x2xi8>
  %init = scf.if %b -> (tensor<4x2xi8>) {
    %less = arith.cmpi slt, %y, %x : tensor<4x2xi8>
    %product = tile.dot %a, %x, %none : tensor<4x4xi8>, tensor<4x2xi8> -> tensor<4x2xi32>
    %cast = tile.cast %product : tensor<4x2xi32> to tensor<4x2xi8>
    scf.yield %cast : tensor<4x2xi8>
  } else {
    scf.yield %y : tensor<4x2xi8>
  }
  %result = scf.for %k = %zero to %n step %one iter_args(%carried = %init) -> (tensor<4x2xi8>) {
    %next = arith.select %b, %carried, %y : tensor<4x2xi8>
    scf.yield %next : tensor<4x2xi8>
  }
  %columns = tile.transpose %result [1, 0] : tensor<4x2xi8> -> tensor<2x4xi8>
  %rows = tile.reshape %x : tensor<4x2xi8> -> tensor<2x4xi8>
  %sum = arith.addi %columns, %rows : tensor<2x4xi8>
  tile.store %sum, %X[%i, %i] : tensor<2x4xi8>, memref<?x?xi8, strided<[?, ?], offset: ?>>
  return
}
