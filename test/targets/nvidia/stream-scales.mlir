// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --nvidia-slice-products --simt-assign-layouts --nvidia-stream-constants | FileCheck %s
// RUN: %opt %s --nvidia-slice-products --simt-assign-layouts --nvidia-stream-constants --simt-tiles-to-threads | FileCheck %s --check-prefix=THREADS

!matrix = memref<?x?xbf16, strided<[?, ?], offset: ?>>
!blocks = memref<?x?x?x?xi8, strided<[?, ?, ?, ?], offset: ?>>
!scales = memref<?x?xf16, strided<[?, ?], offset: ?>>
!result = memref<?x?xf32, strided<[?, ?], offset: ?>>

// Scales come behind the blocks that they are of, in the same slot, though x was read between the two.
// CHECK-LABEL: func.func @blocks(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x?xbf16,
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<?x?x?x?xi8,
// CHECK-SAME: %[[S:[a-z0-9]+]]: memref<?x?xf16,
// CHECK: %[[RING:.*]] = nvidia.pipe leaving : <12 of tensor<17408xi8>>
// CHECK: nvidia.load_rows %[[W]]{{.*}} as tensor<1x64x8x32xi8, {{.*}} to %[[RING]] ahead 4 hungry more :
// CHECK-NEXT: nvidia.load_rows %[[S]]{{.*}} as tensor<1x512xf16, {{.*}} to %[[RING]] ahead 4 hungry at 16384 :
// CHECK: } consumer {
// CHECK: nvidia.receive_rows %[[W]]{{.*}} from %[[RING]] more :
// CHECK-NEXT: nvidia.receive_rows %[[S]]{{.*}} from %[[RING]] at 16384 :
// CHECK: tile.load %[[X]]
// CHECK: nvidia.sliced_dot
// The slot is full when both have landed, and free when both were read.
// THREADS-LABEL: func.func @blocks(
// THREADS: mbarrier.expect_tx.relaxed
// THREADS: cp.async.bulk
// THREADS: mbarrier.arrive.expect_tx
// THREADS: cp.async.bulk
// THREADS: mbarrier.try_wait
// THREADS-NOT: mbarrier
// THREADS: fence.proxy.async.shared::cta
// THREADS: nvvm.bar.warp.sync
// THREADS: mbarrier.arrive.shared
func.func @blocks(%x: !matrix {tile.unit_stride, tile.alignment = 16 : i64},
                  %W: !blocks {tile.readonly, tile.unit_stride, tile.alignment = 16 : i64},
                  %S: !scales {tile.readonly, tile.unit_stride, tile.alignment = 16 : i64},
                  %y: !result {tile.unit_stride, tile.alignment = 16 : i64}, %n: index)
    attributes {dist.exact_cores = ["3"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x1x8xf32>
  %sums = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x1x8xf32>) {
    %q = tile.load %W[%c0, %k, %c0, %c0] : !blocks -> tensor<1x64x8x32xi8>
    %a = tile.load %x[%c0, %k] : !matrix -> tensor<1x2048xbf16>
    %s = tile.load %S[%c0, %k] : !scales -> tensor<1x512xf16>
    %terms = tile.reshape %a : tensor<1x2048xbf16> -> tensor<64x1x32xbf16>
    %rows = tile.reshape %q : tensor<1x64x8x32xi8> -> tensor<64x8x32xi8>
    %w = tile.cast %rows : tensor<64x8x32xi8> to tensor<64x8x32xbf16>
    %columns = tile.transpose %w [0, 2, 1] : tensor<64x8x32xbf16> -> tensor<64x32x8xbf16>
    %d = tile.dot %terms, %columns, %zero : tensor<64x1x32xbf16>, tensor<64x32x8xbf16> -> tensor<64x1x8xf32>
    %each = tile.reshape %s : tensor<1x512xf16> -> tensor<64x1x8xf16>
    %wide = tile.cast %each : tensor<64x1x8xf16> to tensor<64x1x8xf32>
    %f = math.fma %d, %wide, %sum : tensor<64x1x8xf32>
    scf.yield %f : tensor<64x1x8xf32>
  }
  %all = tile.reduce sum %sums axis 0 : tensor<64x1x8xf32> -> tensor<1x1x8xf32>
  %r = tile.reshape %all : tensor<1x1x8xf32> -> tensor<1x8xf32>
  tile.store %r, %y[%c0, %c0] : tensor<1x8xf32>, !result
  return
}

// -----

!matrix = memref<?x?xbf16, strided<[?, ?], offset: ?>>
!blocks = memref<?x?x?x?xi8, strided<[?, ?, ?, ?], offset: ?>>
!scales = memref<?x?xf16, strided<[?, ?], offset: ?>>
!result = memref<?x?xf32, strided<[?, ?], offset: ?>>

// Somebody may have read them there: neither comes through a ring.
// CHECK-LABEL: func.func @scales_in_front(
// CHECK-NOT: nvidia.pipe
// CHECK: tile.load
// CHECK: nvidia.sliced_dot
// CHECK-NOT: nvidia.pipe
func.func @scales_in_front(%x: !matrix {tile.unit_stride, tile.alignment = 16 : i64},
                  %W: !blocks {tile.readonly, tile.unit_stride, tile.alignment = 16 : i64},
                  %S: !scales {tile.readonly, tile.unit_stride, tile.alignment = 16 : i64},
                  %y: !result {tile.unit_stride, tile.alignment = 16 : i64}, %n: index)
    attributes {dist.exact_cores = ["3"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x1x8xf32>
  %sums = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x1x8xf32>) {
    %s = tile.load %S[%c0, %k] : !scales -> tensor<1x512xf16>
    %q = tile.load %W[%c0, %k, %c0, %c0] : !blocks -> tensor<1x64x8x32xi8>
    %a = tile.load %x[%c0, %k] : !matrix -> tensor<1x2048xbf16>
    %terms = tile.reshape %a : tensor<1x2048xbf16> -> tensor<64x1x32xbf16>
    %rows = tile.reshape %q : tensor<1x64x8x32xi8> -> tensor<64x8x32xi8>
    %w = tile.cast %rows : tensor<64x8x32xi8> to tensor<64x8x32xbf16>
    %columns = tile.transpose %w [0, 2, 1] : tensor<64x8x32xbf16> -> tensor<64x32x8xbf16>
    %d = tile.dot %terms, %columns, %zero : tensor<64x1x32xbf16>, tensor<64x32x8xbf16> -> tensor<64x1x8xf32>
    %each = tile.reshape %s : tensor<1x512xf16> -> tensor<64x1x8xf16>
    %wide = tile.cast %each : tensor<64x1x8xf16> to tensor<64x1x8xf32>
    %f = math.fma %d, %wide, %sum : tensor<64x1x8xf32>
    scf.yield %f : tensor<64x1x8xf32>
  }
  %all = tile.reduce sum %sums axis 0 : tensor<64x1x8xf32> -> tensor<1x1x8xf32>
  %r = tile.reshape %all : tensor<1x1x8xf32> -> tensor<1x8xf32>
  tile.store %r, %y[%c0, %c0] : tensor<1x8xf32>, !result
  return
}
