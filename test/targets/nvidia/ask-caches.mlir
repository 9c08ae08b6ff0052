// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --nvidia-stream-constants | FileCheck %s
// RUN: %opt %s --nvidia-stream-constants --simt-tiles-to-threads | FileCheck %s --check-prefix=THREADS

!matrix = memref<?x?xbf16, strided<[?, ?], offset: ?>>
!table = memref<?x?xi64, strided<[?, ?], offset: ?>>
!row = tensor<1x1024xbf16, #tile.layout<"(8 : 1@warp, 4 : 8@reg, 4 : 1@lane, 8 : 1@reg | replicate 8 : 4@lane)">>
!weights = tensor<16x1024xbf16, #tile.layout<"(2 : 32@reg, 8 : 4@lane, 8 : 1@warp, 4 : 8@reg, 4 : 1@lane, 8 : 1@reg)">>
!sums = tensor<8x16x1xf32, #tile.layout<"(8 : 1@warp, 2 : 1@reg, 8 : 4@lane | replicate 4 : 1@lane)">>
!keys = tensor<64x128xbf16, #tile.layout<"(8 : 1@warp, 8 : 1@reg, 16 : 1@lane, 8 : 8@reg | replicate 2 : 16@lane)">>

// The producer asks for keys, whose place it finds: a requirement is not one of its own, but nothing that it is for is
// read where it does not hold. Products of a row take one slot more where they wait.
// CHECK-LABEL: func.func @task(
// CHECK-SAME: %[[TASKS:[a-z0-9]+]]: memref<?x?xi64, {{[^{]*}}{tile.readonly}
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<?x?xbf16,
// CHECK-SAME: %[[KEYS:[a-z0-9]+]]: memref<?x?xbf16, {{[^{]*}}{{{.*}}tile.lasting
// CHECK: nvidia.roles producer {
// CHECK: scf.for
// CHECK: scf.if
// CHECK: %[[PAGE:.*]] = memref.load %[[TASKS]]
// CHECK: %[[AT:.*]] = arith.index_cast %[[PAGE]]
// CHECK: %[[BAD:.*]] = arith.cmpi slt, %[[AT]]
// CHECK-NOT: "exit;"
// CHECK: %[[GOOD:.*]] = arith.xori %[[BAD]]
// CHECK-NEXT: scf.if %[[GOOD]] {
// CHECK-NEXT: nvidia.ask_rows %[[KEYS]][%[[AT]], %{{.*}}] as tensor<64x128xbf16,
// CHECK-NOT: "exit;"
// CHECK: nvidia.load_rows %[[W]]{{.*}} ahead 2 hungry
// CHECK: } consumer {
// CHECK: "exit;"
// CHECK: tile.load %[[KEYS]]
// A lane asks for what lies in one piece, else each for two rows. The producer waits until the copy of two slots before
// has landed, or the slot before that was taken.
// THREADS-LABEL: func.func @task(
// THREADS: scf.if
// THREADS: cp.async.bulk.prefetch.L2.global
// THREADS: } else {
// THREADS-COUNT-2: cp.async.bulk.prefetch.L2.global
// THREADS-NOT: cp.async.bulk.prefetch
// THREADS: mbarrier.try_wait{{.*}}ld.volatile.shared.u32
// THREADS: mbarrier.try_wait{{.*}}mbarrier.test_wait
// THREADS: vote.sync.all
func.func @task(%tasks: !table {tile.readonly}, %W: !matrix {tile.readonly, tile.unit_stride, tile.alignment = 16 : i64},
                %keys: !matrix {tile.lasting, tile.unit_stride, tile.alignment = 16 : i64},
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
      %page = memref.load %tasks[%t, %c1] : !table
      %at = arith.index_cast %page : i64 to index
      %bad = arith.cmpi slt, %at, %c0 : index
      scf.if %bad {
        llvm.inline_asm has_side_effects asm_dialect = att "exit;", ""  : () -> ()
      }
      %tile = tile.load %keys[%at, %c0] : !matrix -> !keys
      tile.store %tile, %y[%at, %c0] : !keys, !matrix
    } {dist.alternative = 0 : i64}
    scf.if %is {
      %sum = scf.for %k = %c0 to %c4 step %c1 iter_args(%sums = %zero) -> (!sums) {
        %row = tile.load %x[%c0, %k] : !matrix -> !row
        %rows = tile.load %W[%j, %k] : !matrix -> !weights
        %next = nvidia.sliced_dot %rows, %row, %sums : !weights, !row -> !sums
        scf.yield %next : !sums
      }
      %all = tile.reduce sum %sum axis 0 : !sums -> tensor<1x16x1xf32, #tile.layout<"(16 : 1@lane | replicate 8 : 1@warp, 2 : 16@lane)">>
      tile.store %all, %z[%c0, %j, %c0] : tensor<1x16x1xf32, #tile.layout<"(16 : 1@lane | replicate 8 : 1@warp, 2 : 16@lane)">>, memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>
    } {dist.alternative = 1 : i64}
  }
  return
}

// So it is in a loop that carries tiles. Where a loop passes on what the producer computes, nothing is asked for in it.
// CHECK-LABEL: func.func @loops(
// CHECK: nvidia.roles producer {
// CHECK-NOT: "exit;"
// CHECK: scf.if
// CHECK: scf.for
// CHECK: scf.if
// CHECK-NEXT: nvidia.ask_rows
// CHECK-NOT: nvidia.ask_rows
// CHECK-NOT: "exit;"
// CHECK: nvidia.load_rows
// CHECK: } consumer {
func.func @loops(%tasks: !table {tile.readonly}, %W: !matrix {tile.readonly, tile.unit_stride, tile.alignment = 16 : i64},
                 %keys: !matrix {tile.lasting, tile.unit_stride, tile.alignment = 16 : i64},
                 %x: !matrix {tile.unit_stride, tile.alignment = 16 : i64}, %y: !matrix {tile.unit_stride},
                 %z: memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>, %first: index, %end: index)
    attributes {dist.exact_cores = ["3"], simt.warps = 8 : i64, simt.ctas_per_sm = 1 : i64, simt.producer_warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant dense<0.0> : !sums
  %none = arith.constant dense<0.0> : !keys
  scf.for %t = %first to %end step %c1 {
    %type = memref.load %tasks[%t, %c0] : !table
    %j = arith.index_cast %type : i64 to index
    %is = arith.cmpi eq, %j, %c1 : index
    scf.if %is {
      %all = scf.for %n = %c0 to %c4 step %c1 iter_args(%sum = %none) -> (!keys) {
        %page = memref.load %tasks[%t, %n] : !table
        %at = arith.index_cast %page : i64 to index
        %bad = arith.cmpi slt, %at, %c0 : index
        scf.if %bad {
          llvm.inline_asm has_side_effects asm_dialect = att "exit;", ""  : () -> ()
        }
        %tile = tile.load %keys[%at, %c0] : !matrix -> !keys
        %next = arith.addf %sum, %tile : !keys
        scf.yield %next : !keys
      }
      tile.store %all, %y[%j, %c0] : !keys, !matrix
    } {dist.alternative = 0 : i64}
    scf.if %is {
      %last, %all = scf.for %n = %c0 to %c4 step %c1 iter_args(%at = %j, %sum = %none) -> (index, !keys) {
        %page = memref.load %tasks[%t, %at] : !table
        %next_at = arith.index_cast %page : i64 to index
        %tile = tile.load %keys[%next_at, %c0] : !matrix -> !keys
        %next = arith.addf %sum, %tile : !keys
        scf.yield %next_at, %next : index, !keys
      }
      tile.store %all, %y[%last, %c0] : !keys, !matrix
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
