// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-assign-layouts --simt-tiles-to-threads --cse | FileCheck %s

// CHECK-LABEL: func.func @softmax
// CHECK-SAME: simt.shared_bytes = 0
// Wide accesses where addresses and what is left of the view allow, else one by one.
// CHECK: scf.if %{{.*}} -> (vector<8xi32>)
// CHECK-COUNT-2: ld.global.v4.b32
// CHECK: } else {
// CHECK-COUNT-8: ld.global.b32
// CHECK: arith.maximumf
// CHECK-COUNT-5: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.barrier0
// CHECK: arith.subf %{{.*}} : vector<8xf32>
// CHECK-COUNT-2: st.global.v4.b32
// CHECK: } else {
// CHECK-COUNT-8: st.global.b32
func.func @softmax(%X: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.unit_stride}, %i: index, %j: index) {
  %x = tile.load %X[%i, %j] : memref<?x?xf32, strided<[?, ?], offset: ?>> -> tensor<4x256xf32>
  %m = tile.reduce max %x axis 1 : tensor<4x256xf32> -> tensor<4x1xf32>
  %b = tile.broadcast %m : tensor<4x1xf32> -> tensor<4x256xf32>
  %s = arith.subf %x, %b : tensor<4x256xf32>
  tile.store %s, %X[%i, %j] : tensor<4x256xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}

// -----

// CHECK-LABEL: func.func @gemm
// CHECK: cp.async.cg.shared.global
// CHECK: cp.async.commit_group
// CHECK: cp.async.wait_group 0
// CHECK: nvvm.barrier0
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK-COUNT-16: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// Lanes exchange words until each has 16 bytes to store, without shared memory.
// CHECK-NOT: nvvm.barrier0
// CHECK-COUNT-16: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl
// CHECK: st.global.v4.b32
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

// Along both dimensions of the threads: shuffles, then the warps meet in shared memory.
// CHECK-LABEL: func.func @across_warps
// CHECK-SAME: simt.shared_bytes = 1024
// CHECK-COUNT-5: nvvm.shfl.sync bfly
// CHECK: nvvm.barrier0
// CHECK: llvm.store {{.*}} : f32, !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
func.func @across_warps(%X: memref<?xf32, strided<[?], offset: ?>> {tile.unit_stride}, %i: index) {
  %x = tile.load %X[%i] : memref<?xf32, strided<[?], offset: ?>> -> tensor<512xf32>
  %s = tile.reduce sum %x axis 0 : tensor<512xf32> -> tensor<1xf32>
  tile.store %s, %X[%i] : tensor<1xf32>, memref<?xf32, strided<[?], offset: ?>>
  return
}

// -----

// Each thread holds four neighbours, and warps hold other rows. What a warp has of all columns stands together
// in shared memory: parts of one column by four warps would have all lanes of a warp at the same bank. Then each
// thread collects two columns, where it would have four of them, and all warps the same.
// CHECK-LABEL: func.func @apart
// CHECK: nvvm.barrier0
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: llvm.load {{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xf32>
// CHECK: llvm.getelementptr {{.*}}[512] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
// CHECK-NEXT: llvm.load {{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xf32>
// CHECK: llvm.getelementptr {{.*}}[1024] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
// CHECK-NEXT: llvm.load {{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xf32>
// CHECK: llvm.getelementptr {{.*}}[1536] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
// CHECK-NEXT: llvm.load {{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xf32>
// CHECK-NOT: llvm.load
// CHECK: return
func.func @apart(%X: memref<?x?xf32, strided<[?, 1], offset: ?>> {tile.unit_stride}, %Y: memref<?xf32, strided<[?], offset: ?>>, %i: index) {
  %x = tile.load %X[%i, %i] : memref<?x?xf32, strided<[?, 1], offset: ?>> -> tensor<16x128xf32>
  %s = tile.reduce sum %x axis 0 : tensor<16x128xf32> -> tensor<1x128xf32>
  %r = tile.reshape %s : tensor<1x128xf32> -> tensor<128xf32>
  tile.store %r, %Y[%i] : tensor<128xf32>, memref<?xf32, strided<[?], offset: ?>>
  return
}

// -----

// Values of a byte, and their positions behind them: accesses of four positions are aligned.
// CHECK-LABEL: func.func @positions
// CHECK: nvvm.barrier0
// CHECK: llvm.store {{.*}} {alignment = 1 : i64} : i8, !llvm.ptr<3>
// CHECK: llvm.getelementptr {{.*}}[16] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
// CHECK: llvm.store {{.*}} {alignment = 4 : i64} : i32, !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
func.func @positions(%X: memref<?xi8, strided<[?], offset: ?>> {tile.unit_stride}, %Y: memref<?xi32, strided<[?], offset: ?>>, %i: index) {
  %x = tile.load %X[%i] : memref<?xi8, strided<[?], offset: ?>> -> tensor<2048xi8>
  %s = tile.reduce_index max %x axis 0 : tensor<2048xi8> -> tensor<1xi32>
  tile.store %s, %Y[%i] : tensor<1xi32>, memref<?xi32, strided<[?], offset: ?>>
  return
}

// -----

// Strides that are not known: element by element only.
// CHECK-LABEL: func.func @strided
// CHECK-NOT: ld.global.v4
// CHECK: ld.global.b32
func.func @strided(%X: memref<?xf32, strided<[?], offset: ?>>, %i: index) {
  %x = tile.load %X[%i] : memref<?xf32, strided<[?], offset: ?>> -> tensor<512xf32>
  tile.store %x, %X[%i] : tensor<512xf32>, memref<?xf32, strided<[?], offset: ?>>
  return
}

// -----

// Scalars of narrow floats compute in f32, and are rounded once, as elements of tiles are.
// CHECK-LABEL: func.func @narrow
// CHECK-SAME: %[[S:[a-z0-9]+]]: f8E4M3FN
// CHECK: arith.bitcast %[[S]] : f8E4M3FN to i8
// CHECK: arith.mulf %{{.*}}, %{{.*}} : vector<1xf32>
// CHECK: math.rsqrt %{{.*}} : vector<1xf32>
// CHECK: arith.truncf %{{.*}} : vector<1xf32> to vector<1xf16>
// CHECK: arith.cmpf olt, %{{.*}}, %{{.*}} : vector<1xf32>
// CHECK: math.exp2 %{{.*}} : vector<1xf32>
// CHECK-NOT: : f8E4M3FN
// CHECK: return
func.func @narrow(%s: f8E4M3FN, %h: f16, %b: bf16, %X: memref<?xf8E4M3FN, strided<[?], offset: ?>>, %H: memref<?xf16, strided<[?], offset: ?>>, %i: index) {
  %p = arith.mulf %s, %s : f8E4M3FN
  %x = tensor.splat %p : tensor<32xf8E4M3FN>
  tile.store %x, %X[%i] : tensor<32xf8E4M3FN>, memref<?xf8E4M3FN, strided<[?], offset: ?>>
  %r = math.rsqrt %h : f16
  %less = arith.cmpf olt, %r, %h : f16
  %e = math.exp2 %b : bf16
  %c = tile.cast %e : bf16 to f16
  %g = arith.select %less, %r, %c : f16
  %y = tensor.splat %g : tensor<32xf16>
  tile.store %y, %H[%i] : tensor<32xf16>, memref<?xf16, strided<[?], offset: ?>>
  return
}
