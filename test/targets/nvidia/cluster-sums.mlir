// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-assign-layouts=tensor-maps=true --nvidia-specialize-warps --simt-tiles-to-threads | FileCheck %s

// The box is made, and all CTAs of the cluster know it, before any gives. The owner announces the bytes that copies
// count, waits for them, adds, and tells the giver, who has waited until it had taken what came before. No CTA leaves
// before all do.
// CHECK-LABEL: func.func @sum
// CHECK: mbarrier.init.shared::cta.b64 [$0], 1;
// CHECK: mbarrier.init.shared::cta.b64 [$0], 4;
// CHECK: barrier.cluster.arrive.release.aligned
// CHECK: wgmma.wait_group
// CHECK: %{{.*}} = scf.if %{{.*}} -> (vector<4xf32>) {
// CHECK: mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], 2048;
// CHECK: mbarrier.try_wait.parity.acquire.cluster
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
// CHECK: arith.addf
// CHECK: fence.proxy.async.shared::cta
// CHECK: nvvm.bar.warp.sync
// CHECK: mbarrier.arrive.shared::cluster.b64
// CHECK: } else {
// CHECK: mbarrier.try_wait.parity.shared::cta.b64
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
// CHECK: fence.proxy.async.shared::cta
// CHECK: mapa.shared::cluster.u32
// CHECK: cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [$0], [$1], 2048, [$2];
// CHECK: barrier.cluster.arrive.release;
func.func @sum(%A: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride, tile.readonly}, %B: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride, tile.readonly}, %C: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.unit_stride}, %first: index, %depth: index, %owns: i1) attributes {simt.cluster = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant dense<0.0> : tensor<64x8xf32>
  %box = nvidia.cluster_box : !nvidia.cluster_box
  %part = scf.for %k = %first to %depth step %c2 iter_args(%s = %zero) -> (tensor<64x8xf32>) {
    %a = tile.load %A[%c0, %k] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
    %b = tile.load %B[%c0, %k] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<8x64xbf16>
    %w = tile.transpose %b [1, 0] : tensor<8x64xbf16> -> tensor<64x8xbf16>
    %d = tile.dot %a, %w, %s : tensor<64x64xbf16>, tensor<64x8xbf16> -> tensor<64x8xf32>
    scf.yield %d : tensor<64x8xf32>
  }
  %all = nvidia.cluster_sum %part of 2 in %box : tensor<64x8xf32>
  scf.if %owns {
    tile.store %all, %C[%c0, %c0] : tensor<64x8xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  }
  return
}

// Of a launch that is recorded the first entry of the log stands in front of the box: both come before the roles, as
// producers too are among those that meet.
// CHECK-LABEL: func.func @recorded
// CHECK: mbarrier.init.shared::cta.b64 [$0], 4;
// CHECK: barrier.cluster.arrive.release.aligned
// CHECK: cp.async.bulk.tensor
func.func @recorded(%A: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride, tile.readonly}, %B: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride, tile.readonly}, %C: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.unit_stride}, %first: index, %depth: index, %status: !llvm.ptr) attributes {simt.cluster = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant dense<0.0> : tensor<64x8xf32>
  simt.log 9 site 0 to %status : !llvm.ptr
  %box = nvidia.cluster_box : !nvidia.cluster_box
  %part = scf.for %k = %first to %depth step %c2 iter_args(%s = %zero) -> (tensor<64x8xf32>) {
    %a = tile.load %A[%c0, %k] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
    %b = tile.load %B[%c0, %k] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<8x64xbf16>
    %w = tile.transpose %b [1, 0] : tensor<8x64xbf16> -> tensor<64x8xbf16>
    %d = tile.dot %a, %w, %s : tensor<64x64xbf16>, tensor<64x8xbf16> -> tensor<64x8xf32>
    scf.yield %d : tensor<64x8xf32>
  }
  %all = nvidia.cluster_sum %part of 2 in %box : tensor<64x8xf32>
  tile.store %all, %C[%c0, %c0] : tensor<64x8xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}
