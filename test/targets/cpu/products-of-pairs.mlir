// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --split-input-file --cpu-tiles-to-loops=multiplies-pairs=true --canonicalize --cse | FileCheck %s

!h = memref<?x?xbf16, strided<[?, ?], offset: ?>>
!v = memref<?x?xf32, strided<[?, ?], offset: ?>>

// Rows by rows: both sides as they are stored, 32 factors for 16 sums. Rows some way further on are
// prefetched.
// CHECK-LABEL: @rows
// CHECK: memref.view {{.*}} to memref<4x128xi16>
// CHECK: vector.load %{{.*}} : memref<4x128xi16>, vector<32xi16>
// CHECK: vector.load %{{.*}} : memref<?xi16, strided<[1]>>, vector<32xi16>
// CHECK: llvm.intr.prefetch
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"({{.*}}) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
// CHECK-NOT: vector.fma
// CHECK: return
func.func @rows(%Q: !h {tile.unit_stride}, %K: !h {tile.unit_stride}, %C: !v {tile.unit_stride}, %i: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<4x64xf32>
  %q = tile.load %Q[%c0, %c0] : !h -> tensor<4x128xbf16>
  %k = tile.load %K[%i, %c0] : !h -> tensor<64x128xbf16>
  %t = tile.transpose %k [1, 0] : tensor<64x128xbf16> -> tensor<128x64xbf16>
  %d = tile.dot %q, %t, %z : tensor<4x128xbf16>, tensor<128x64xbf16> -> tensor<4x64xf32>
  tile.store %d, %C[%c0, %i] : tensor<4x64xf32>, !v
  return
}

// -----
!h = memref<?x?xbf16, strided<[?, ?], offset: ?>>
!v = memref<?x?xf32, strided<[?, ?], offset: ?>>

// Rows by columns: pairs from two rows of the right side, where they lie. A register has the numbers of
// two vectors of sums.
// CHECK-LABEL: @columns
// CHECK: %[[UPPER:.*]] = vector.load %{{.*}} : memref<?xi16, strided<[1]>>, vector<32xi16>
// CHECK: %[[LOWER:.*]] = vector.load %{{.*}} : memref<?xi16, strided<[1]>>, vector<32xi16>
// CHECK: vector.shuffle %[[UPPER]], %[[LOWER]] [0, 32, 1, 33, {{.*}}, 15, 47] : vector<32xi16>, vector<32xi16>
// CHECK: vector.shuffle %[[UPPER]], %[[LOWER]] [16, 48, 17, 49, {{.*}}, 31, 63] : vector<32xi16>, vector<32xi16>
// CHECK: vector.bitcast {{.*}} : vector<2xi16> to vector<1xi32>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
// CHECK-NOT: vector.fma
// CHECK: return
func.func @columns(%P: !h {tile.unit_stride}, %V: !h {tile.unit_stride}, %C: !v {tile.unit_stride}, %i: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<4x32xf32>
  %p = tile.load %P[%c0, %i] : !h -> tensor<4x64xbf16>
  %v = tile.load %V[%i, %c0] : !h -> tensor<64x32xbf16>
  %d = tile.dot %p, %v, %z : tensor<4x64xbf16>, tensor<64x32xbf16> -> tensor<4x32xf32>
  tile.store %d, %C[%c0, %i] : tensor<4x32xf32>, !v
  return
}

// -----
!h = memref<?x?xbf16, strided<[?, ?], offset: ?>>
!v = memref<?x?xf32, strided<[?, ?], offset: ?>>

// An odd number of terms is multiplied one by one.
// CHECK-LABEL: @odd
// CHECK-NOT: llvm.call_intrinsic
// CHECK: vector.fma
// CHECK-NOT: llvm.call_intrinsic
// CHECK: return
func.func @odd(%P: !h {tile.unit_stride}, %V: !h {tile.unit_stride}, %C: !v {tile.unit_stride}, %i: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<4x32xf32>
  %p = tile.load %P[%c0, %i] : !h -> tensor<4x7xbf16>
  %v = tile.load %V[%i, %c0] : !h -> tensor<7x32xbf16>
  %d = tile.dot %p, %v, %z : tensor<4x7xbf16>, tensor<7x32xbf16> -> tensor<4x32xf32>
  tile.store %d, %C[%c0, %i] : tensor<4x32xf32>, !v
  return
}
