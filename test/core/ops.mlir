// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s | %opt | FileCheck %s
// Every op of `tile` prints as it reads.

!view = memref<?x?xf32, strided<[?, ?], offset: ?>>
!batch = memref<?x?x?xf16, strided<[?, ?, ?], offset: ?>>

// CHECK-LABEL: @kernel
// CHECK-SAME: {tile.name = "A", tile.readonly}
// CHECK-SAME: attributes {tile.kernel}
func.func @kernel(%A: !view {tile.name = "A", tile.readonly}) attributes {tile.kernel} {
  return
}

// CHECK-LABEL: @load
func.func @load(%A: !view, %X: !batch, %L: memref<8x16xi8>, %i: index, %j: index)
    -> (tensor<128x64xf32>, tensor<128x64xf32>, tensor<8x8xf16>, tensor<2x2x2xf16>, tensor<4xi8>) {
  // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x?xf32, strided<[?, ?], offset: ?>> -> tensor<128x64xf32>
  %0 = tile.load %A[%i, %j] : !view -> tensor<128x64xf32>
  // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] padding 0xFF800000 : f32 : memref<?x?xf32, strided<[?, ?], offset: ?>> -> tensor<128x64xf32>
  %1 = tile.load %A[%i, %j] padding 0xFF800000 : f32 : !view -> tensor<128x64xf32>
  // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] : memref<?x?x?xf16, strided<[?, ?, ?], offset: ?>> -> tensor<8x8xf16>
  %2 = tile.load %X[%i, %i, %j] : !batch -> tensor<8x8xf16>
  // CHECK: -> tensor<2x2x2xf16>
  %3 = tile.load %X[%i, %i, %j] : !batch -> tensor<2x2x2xf16>
  // CHECK: memref<8x16xi8> -> tensor<4xi8>
  %4 = tile.load %L[%i, %j] : memref<8x16xi8> -> tensor<4xi8>
  return %0, %1, %2, %3, %4
      : tensor<128x64xf32>, tensor<128x64xf32>, tensor<8x8xf16>, tensor<2x2x2xf16>, tensor<4xi8>
}

// CHECK-LABEL: @store
func.func @store(%t: tensor<8x16xf32>, %C: !view, %i: index) {
  // CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : tensor<8x16xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  tile.store %t, %C[%i, %i] : tensor<8x16xf32>, !view
  return
}

// CHECK-LABEL: @chunk
func.func @chunk(%X: !batch, %i: index) -> memref<?x?xf16, strided<[?, ?], offset: ?>> {
  // CHECK: tile.chunk %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] shape [128, 64] : memref<?x?x?xf16, strided<[?, ?, ?], offset: ?>> -> memref<?x?xf16, strided<[?, ?], offset: ?>>
  %c = tile.chunk %X[%i, %i, %i] shape [128, 64] : !batch -> memref<?x?xf16, strided<[?, ?], offset: ?>>
  return %c : memref<?x?xf16, strided<[?, ?], offset: ?>>
}

// CHECK-LABEL: @select_view
func.func @select_view(%X: !view, %Y: !view, %n: index) -> !view {
  // CHECK: tile.select_view %{{.*}} of (%{{.*}}, %{{.*}}) : memref<?x?xf32, strided<[?, ?], offset: ?>>
  %v = tile.select_view %n of (%X, %Y) : !view
  return %v : !view
}

// CHECK-LABEL: @rows
func.func @rows(%X: !view, %rows: tensor<16xi32>, %j: index) {
  // CHECK: tile.gather %{{.*}}[%{{.*}}, %{{.*}}] padding 1.000000e+00 : f32 : memref<?x?xf32, strided<[?, ?], offset: ?>>, tensor<16xi32> -> tensor<16x64xf32>
  %x = tile.gather %X[%rows, %j] padding 1.0 : f32 : !view, tensor<16xi32> -> tensor<16x64xf32>
  // CHECK: tile.scatter %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : tensor<16x64xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>, tensor<16xi32>
  tile.scatter %x, %X[%rows, %j] : tensor<16x64xf32>, !view, tensor<16xi32>
  return
}

// CHECK-LABEL: @atomic_add
func.func @atomic_add(%C: !view, %v: tensor<8x16xf32>, %i: index) -> tensor<8x16xf32> {
  // CHECK: tile.atomic_add %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : tensor<8x16xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  %old = tile.atomic_add %v, %C[%i, %i] : tensor<8x16xf32>, !view
  return %old : tensor<8x16xf32>
}

// CHECK-LABEL: @dot
func.func @dot(%a: tensor<8x4xf32>, %b: tensor<4x16xf32>, %c: tensor<8x16xf32>,
               %p: tensor<3x8x4xi8>, %q: tensor<3x4x16xi8>, %r: tensor<3x8x16xi32>)
    -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<3x8x16xi32>) {
  // CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} : tensor<8x4xf32>, tensor<4x16xf32> -> tensor<8x16xf32>
  %0 = tile.dot %a, %b, %c : tensor<8x4xf32>, tensor<4x16xf32> -> tensor<8x16xf32>
  // CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} precision tf32 : tensor<8x4xf32>
  %1 = tile.dot %a, %b, %c precision tf32 : tensor<8x4xf32>, tensor<4x16xf32> -> tensor<8x16xf32>
  // CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} : tensor<3x8x4xi8>, tensor<3x4x16xi8> -> tensor<3x8x16xi32>
  %2 = tile.dot %p, %q, %r : tensor<3x8x4xi8>, tensor<3x4x16xi8> -> tensor<3x8x16xi32>
  return %0, %1, %2 : tensor<8x16xf32>, tensor<8x16xf32>, tensor<3x8x16xi32>
}

// CHECK-LABEL: @dot_fast_accum
func.func @dot_fast_accum(%a: tensor<8x4xf8E4M3FN>, %b: tensor<4x16xf8E4M3FN>, %c: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} precision fast_accum : tensor<8x4xf8E4M3FN>
  %0 = tile.dot %a, %b, %c precision fast_accum : tensor<8x4xf8E4M3FN>, tensor<4x16xf8E4M3FN> -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// CHECK-LABEL: @reduce
func.func @reduce(%x: tensor<16x256xf32>) -> (tensor<16x1xf32>, tensor<1x256xf32>, tensor<16x1xf32>,
    tensor<16x1xf32>, tensor<16x1xi32>, tensor<1x256xi32>, tensor<16x256xf32>) {
  // CHECK: tile.reduce sum %{{.*}} axis 1 : tensor<16x256xf32> -> tensor<16x1xf32>
  %0 = tile.reduce sum %x axis 1 : tensor<16x256xf32> -> tensor<16x1xf32>
  // CHECK: tile.reduce prod %{{.*}} axis 0 : tensor<16x256xf32> -> tensor<1x256xf32>
  %1 = tile.reduce prod %x axis 0 : tensor<16x256xf32> -> tensor<1x256xf32>
  // CHECK: tile.reduce max
  %2 = tile.reduce max %x axis 1 : tensor<16x256xf32> -> tensor<16x1xf32>
  // CHECK: tile.reduce min
  %3 = tile.reduce min %x axis 1 : tensor<16x256xf32> -> tensor<16x1xf32>
  // CHECK: tile.reduce_index max %{{.*}} axis 1 : tensor<16x256xf32> -> tensor<16x1xi32>
  %4 = tile.reduce_index max %x axis 1 : tensor<16x256xf32> -> tensor<16x1xi32>
  // CHECK: tile.reduce_index min %{{.*}} axis 0 : tensor<16x256xf32> -> tensor<1x256xi32>
  %5 = tile.reduce_index min %x axis 0 : tensor<16x256xf32> -> tensor<1x256xi32>
  // CHECK: tile.scan sum %{{.*}} axis 1 : tensor<16x256xf32>
  %6 = tile.scan sum %x axis 1 : tensor<16x256xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<16x1xf32>, tensor<1x256xf32>, tensor<16x1xf32>,
      tensor<16x1xf32>, tensor<16x1xi32>, tensor<1x256xi32>, tensor<16x256xf32>
}

// CHECK-LABEL: @cast
func.func @cast(%x: tensor<16x16xf32>, %s: f32) -> (tensor<16x16xf8E4M3FN>, tensor<16x16xi8>, i32) {
  // CHECK: tile.cast %{{.*}} : tensor<16x16xf32> to tensor<16x16xf8E4M3FN>
  %0 = tile.cast %x : tensor<16x16xf32> to tensor<16x16xf8E4M3FN>
  // CHECK: tile.cast %{{.*}} rounding down saturate : tensor<16x16xf32> to tensor<16x16xi8>
  %1 = tile.cast %x rounding down saturate : tensor<16x16xf32> to tensor<16x16xi8>
  // CHECK: tile.cast %{{.*}} rounding toward_zero : f32 to i32
  %2 = tile.cast %s rounding toward_zero : f32 to i32
  return %0, %1, %2 : tensor<16x16xf8E4M3FN>, tensor<16x16xi8>, i32
}

// CHECK-LABEL: @shape
func.func @shape(%x: tensor<16x1xf8E5M2>) -> (tensor<16x32xf8E5M2>, tensor<32x16xf8E5M2>, tensor<8x64xf8E5M2>, tensor<1x256xi32>) {
  // CHECK: tile.broadcast %{{.*}} : tensor<16x1xf8E5M2> -> tensor<16x32xf8E5M2>
  %0 = tile.broadcast %x : tensor<16x1xf8E5M2> -> tensor<16x32xf8E5M2>
  // CHECK: tile.transpose %{{.*}} [1, 0] : tensor<16x32xf8E5M2> -> tensor<32x16xf8E5M2>
  %1 = tile.transpose %0 [1, 0] : tensor<16x32xf8E5M2> -> tensor<32x16xf8E5M2>
  // CHECK: tile.reshape %{{.*}} : tensor<16x32xf8E5M2> -> tensor<8x64xf8E5M2>
  %2 = tile.reshape %0 : tensor<16x32xf8E5M2> -> tensor<8x64xf8E5M2>
  // CHECK: tile.iota axis 1 : tensor<1x256xi32>
  %3 = tile.iota axis 1 : tensor<1x256xi32>
  return %0, %1, %2, %3 : tensor<16x32xf8E5M2>, tensor<32x16xf8E5M2>, tensor<8x64xf8E5M2>, tensor<1x256xi32>
}

// CHECK-LABEL: @variables
func.func @variables(%x: tensor<4x4xbf16>, %i: index) -> tensor<4x4xbf16> {
  // CHECK: %[[V:.*]] = tile.var %{{.*}} : tensor<4x4xbf16>
  %v = tile.var %x : tensor<4x4xbf16>
  // CHECK: tile.set %[[V]], %{{.*}} : tensor<4x4xbf16>
  tile.set %v, %x : tensor<4x4xbf16>
  // CHECK: tile.get %[[V]] : tensor<4x4xbf16>
  %y = tile.get %v : tensor<4x4xbf16>
  // CHECK: tile.var %{{.*}} : index
  %n = tile.var %i : index
  return %y : tensor<4x4xbf16>
}

// CHECK-LABEL: @checks
func.func @checks(%ok: i1, %n: index) {
  // CHECK: tile.require %{{.*}}, "takes {} rows of {}"(%{{.*}}, %{{.*}})
  tile.require %ok, "takes {} rows of {}"(%n, %n)
  // CHECK: tile.require %{{.*}}, "nothing goes"
  tile.require %ok, "nothing goes"
  return
}
