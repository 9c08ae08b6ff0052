// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --nvidia-stream-constants | FileCheck %s
// RUN: %opt %s --nvidia-stream-constants --simt-tiles-to-threads | FileCheck %s --check-prefix=THREADS

!matrix = memref<?x?xbf16, strided<[?, ?], offset: ?>>
!table = memref<?x?xi64, strided<[?, ?], offset: ?>>
!row = tensor<1x1024xbf16, #tile.layout<"(8 : 1@warp, 4 : 8@reg, 4 : 1@lane, 8 : 1@reg | replicate 8 : 4@lane)">>
!weights = tensor<16x1024xbf16, #tile.layout<"(2 : 32@reg, 8 : 4@lane, 8 : 1@warp, 4 : 8@reg, 4 : 1@lane, 8 : 1@reg)">>
!sums = tensor<8x16x1xf32, #tile.layout<"(8 : 1@warp, 2 : 1@reg, 8 : 4@lane | replicate 4 : 1@lane)">>
!keys = tensor<64x128xbf16, #tile.layout<"(8 : 1@warp, 8 : 1@reg, 16 : 1@lane, 8 : 8@reg | replicate 2 : 16@lane)">>

// Pages come through the ring of the weights, in the order in which they are used, of a cache whose rows were there before
// the launch (tile.prior). A consumer takes each where it uses it first. A task that stores there has loads in front of
// the store in the ring, and those behind it by itself: perhaps it reads what it has stored. Another cache is not brought.
// CHECK-LABEL: func.func @task(
// CHECK-SAME: memref<?x?xi64, {{[^{]*}}{tile.readonly}
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<?x?xbf16,
// CHECK-SAME: %[[KEYS:[a-z0-9]+]]: memref<?x?xbf16, {{[^{]*}}{{{.*}}tile.prior
// CHECK-SAME: %[[SHARED:[a-z0-9]+]]: memref<?x?xbf16, {{[^{]*}}{{{.*}}tile.lasting
// CHECK: %[[RING:.*]] = nvidia.pipe leaving
// CHECK: nvidia.roles producer {
// CHECK-NOT: nvidia.ask_rows
// CHECK: nvidia.load_rows %[[KEYS]][%[[AT:.*]], %{{.*}}] as tensor<64x128xbf16,
// CHECK-NEXT: nvidia.load_rows %[[KEYS]][%{{.*}}, %{{.*}}] as tensor<64x128xbf16,
// CHECK-NOT: nvidia.load_rows %[[KEYS]]
// CHECK-NOT: nvidia.load_rows %[[SHARED]]
// CHECK: nvidia.load_rows %[[W]]
// CHECK: } consumer {
// CHECK: %[[FIRST:.*]] = nvidia.receive_rows %[[KEYS]]
// CHECK-NEXT: %[[ONE:.*]] = arith.addf %[[FIRST]], %[[FIRST]]
// CHECK-NEXT: %[[SECOND:.*]] = nvidia.receive_rows %[[KEYS]]
// CHECK-NEXT: arith.addf %[[ONE]], %[[SECOND]]
// CHECK: tile.store %{{.*}}, %[[KEYS]]
// CHECK: tile.load %[[KEYS]]
// CHECK: tile.load %[[SHARED]]
// A page in one piece is a copy by one lane; of another one each lane copies rows. Few are on their way, as of weights.
// THREADS-LABEL: func.func @task(
// THREADS: mbarrier.arrive.expect_tx
// THREADS: scf.if
// THREADS: cp.async.bulk.shared::cluster.global
// THREADS: } else {
// THREADS: scf.for
// THREADS: cp.async.bulk.shared::cluster.global
func.func @task(%tasks: !table {tile.readonly}, %W: !matrix {tile.readonly, tile.unit_stride, tile.alignment = 16 : i64},
                %keys: !matrix {tile.lasting, tile.prior, tile.unit_stride, tile.alignment = 16 : i64},
                %shared: !matrix {tile.lasting, tile.unit_stride, tile.alignment = 16 : i64},
                %x: !matrix {tile.unit_stride, tile.alignment = 16 : i64}, %y: !matrix {tile.unit_stride},
                %z: memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>, %first: index, %end: index)
    attributes {dist.exact_cores = ["3"], simt.warps = 8 : i64, simt.ctas_per_sm = 1 : i64, simt.producer_warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant dense<0.0> : !sums
  scf.for %t = %first to %end step %c1 {
    %type = memref.load %tasks[%t, %c0] : !table
    %j = arith.index_cast %type : i64 to index
    %is = arith.cmpi eq, %j, %c1 : index
    scf.if %is {
      scf.for %tile = %c0 to %c4 step %c1 {
        %page = memref.load %tasks[%t, %tile] : !table
        %at = arith.index_cast %page : i64 to index
        %a = tile.load %keys[%at, %c0] : !matrix -> !keys
        %b = tile.load %keys[%at, %c1] : !matrix -> !keys
        %one = arith.addf %a, %a : !keys
        %sum = arith.addf %one, %b : !keys
        tile.store %sum, %keys[%tile, %c0] : !keys, !matrix
        %c = tile.load %keys[%at, %c4] : !matrix -> !keys
        tile.store %c, %y[%tile, %c0] : !keys, !matrix
      }
    } {dist.alternative = 0 : i64}
    scf.if %is {
      scf.for %tile = %c0 to %c4 step %c1 {
        %a = tile.load %shared[%tile, %c0] : !matrix -> !keys
        tile.store %a, %y[%tile, %c0] : !keys, !matrix
      }
    } {dist.alternative = 1 : i64}
    scf.if %is {
      %sum = scf.for %k = %c0 to %c4 step %c1 iter_args(%sums = %zero) -> (!sums) {
        %row = tile.load %x[%c0, %k] : !matrix -> !row
        %rows = tile.load %W[%j, %k] : !matrix -> !weights
        %next = nvidia.sliced_dot %rows, %row, %sums : !weights, !row -> !sums
        scf.yield %next : !sums
      }
      %all = tile.reduce sum %sum axis 0 : !sums -> tensor<1x16x1xf32, #tile.layout<"(16 : 1@lane | replicate 8 : 1@warp, 2 : 16@lane)">>
      tile.store %all, %z[%c0, %j, %c0] : tensor<1x16x1xf32, #tile.layout<"(16 : 1@lane | replicate 8 : 1@warp, 2 : 16@lane)">>, memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>
    } {dist.alternative = 2 : i64}
  }
  return
}
