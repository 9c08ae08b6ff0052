// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-assign-layouts --nvidia-stream-constants | FileCheck %s
// RUN: %opt %s --simt-assign-layouts --nvidia-stream-constants --simt-tiles-to-threads | FileCheck %s --check-prefix=THREADS

!matrix = memref<?x?xf32, strided<[?, ?], offset: ?>>
!table = memref<?x?xi64, strided<[?, ?], offset: ?>>

// The producer walks through the tasks as far as they lead to W: it waits for none, and reads no x. Up to 64 KB
// of a ring of 208 KB are on their way. A task that leaves the kernel says so. Nothing is left of asking for W ahead.
// CHECK-LABEL: func.func @task(
// CHECK-SAME: %[[TASKS:[a-z0-9]+]]: memref<?x?xi64, {{[^{]*}}{tile.readonly}
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<?x?xf32,
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x?xf32,
// CHECK-SAME: simt.ctas_per_sm = 1
// CHECK-SAME: simt.producer_warps = 4
// CHECK: %[[RING:.*]] = nvidia.pipe leaving : <26 of tensor<8192xi8>>
// CHECK-NEXT: nvidia.roles producer {
// CHECK-NEXT: scf.for %[[T:.*]] =
// CHECK-NEXT: memref.load %[[TASKS]][%[[T]],
// CHECK: scf.if
// CHECK-NEXT: scf.for %[[K:[a-z0-9]+]] =
// CHECK-NEXT: nvidia.load_rows %[[W]][%{{.*}}, %[[K]]] as tensor<4x512xf32, {{.*}}> to %[[RING]] ahead 8
// CHECK: } {dist.alternative = 0 : i64}
// CHECK-NOT: simt.wait
// CHECK-NOT: memref.load
// CHECK: } consumer {
// CHECK: scf.if
// CHECK-NEXT: scf.for
// CHECK-NEXT: simt.wait
// CHECK: memref.load %[[X]]
// CHECK: scf.if
// CHECK-NEXT: nvidia.leave %[[RING]]
// CHECK-NEXT: llvm.inline_asm {{.*}} "exit;"
// CHECK: scf.for %[[K:[a-z0-9]+]] =
// CHECK-NEXT: tile.load %[[X]][%{{.*}}, %[[K]]]
// CHECK-NEXT: nvidia.receive_rows %[[W]][%{{.*}}, %[[K]]] from %[[RING]]
// CHECK-NOT: tile.load
// CHECK: tile.reduce
// The producer's wait for a free slot ends when a consumer leaves; then it waits for what is on its way, and
// leaves too, with all its lanes. Else it waits for the copy of 8 slots before. One lane says how many bytes will
// come, and each copies a row, which L2 gives up first.
// THREADS-LABEL: func.func @task(
// THREADS: mbarrier.try_wait{{.*}}ld.volatile.shared.u32
// THREADS: mbarrier.try_wait
// THREADS: vote.sync.all
// THREADS: scf.if
// THREADS: scf.for
// THREADS: mbarrier.try_wait
// THREADS: "exit;"
// THREADS: scf.if
// THREADS: mbarrier.arrive.expect_tx
// THREADS: scf.if
// THREADS: %[[FIRST:.*]] = arith.constant 1364590687093260288 : i64
// THREADS-NEXT: cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint{{.*}} %[[FIRST]] :
// THREADS-NOT: cp.async.bulk
// THREADS: ld.acquire
// THREADS: st.volatile.shared.u32
// THREADS: "exit;"
// THREADS: mbarrier.try_wait
// THREADS: fence.proxy.async.shared::cta
// THREADS: nvvm.bar.warp.sync
// THREADS: mbarrier.arrive.shared
func.func @task(%tasks: !table {tile.readonly}, %W: !matrix {tile.readonly, tile.unit_stride, tile.alignment = 16 : i64}, %x: !matrix, %y: !matrix, %status: !llvm.ptr, %rank: index,
                %ranks: index, %stride: index, %head: index, %signal: index, %buffer: index, %cells: index, %bound: index,
                %first: index, %end: index, %steps: index) attributes {dist.exact_cores = ["3"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<4x512xf32>
  scf.for %t = %first to %end step %c1 {
    %type = memref.load %tasks[%t, %c0] : !table
    %j = arith.index_cast %type : i64 to index
    %is = arith.cmpi eq, %j, %c1 : index
    scf.if %is {
      %step = memref.load %tasks[%t, %c1] : !table
      %k = arith.index_cast %step : i64 to index
      simt.prefetch %W[%j, %k] : !matrix -> tensor<4x512xf32>
    }
    scf.if %is {
      scf.for %n = %first to %end step %c1 {
        simt.wait %cells for %n site 3 scope "gpu" in (%status, %rank, %ranks, %stride, %head, %signal, %buffer, %cells, %bound)
          : !llvm.ptr, index, index, index, index, index, index, index, index
      }
      %bad = memref.load %x[%c0, %c0] : !matrix
      %limit = arith.constant 1.0 : f32
      %fails = arith.cmpf ogt, %bad, %limit : f32
      scf.if %fails {
        llvm.inline_asm has_side_effects asm_dialect = att "exit;", "" : () -> ()
      }
      %sum = scf.for %k = %c0 to %steps step %c1 iter_args(%s = %zero) -> (tensor<4x512xf32>) {
        %a = tile.load %x[%c0, %k] : !matrix -> tensor<1x512xf32>
        %w = tile.load %W[%j, %k] : !matrix -> tensor<4x512xf32>
        %c = tile.broadcast %a : tensor<1x512xf32> -> tensor<4x512xf32>
        %p = arith.mulf %w, %c : tensor<4x512xf32>
        %m = arith.addf %s, %p : tensor<4x512xf32>
        scf.yield %m : tensor<4x512xf32>
      }
      %total = tile.reduce sum %sum axis 1 : tensor<4x512xf32> -> tensor<4x1xf32>
      tile.store %total, %y[%j, %c0] : tensor<4x1xf32>, !matrix
    } {dist.alternative = 0 : i64}
  }
  return
}

// -----

!matrix = memref<?x?xf32, strided<[?, ?], offset: ?>>

// Rows of 1 KB take longer by copies of their own than by what threads load.
// CHECK-LABEL: func.func @short_rows
// CHECK-NOT: simt.producer_warps
// CHECK-NOT: nvidia.
// CHECK: tile.load %{{.*}} -> tensor<4x256xf32
// CHECK-NOT: nvidia.
func.func @short_rows(%W: !matrix {tile.readonly, tile.unit_stride, tile.alignment = 16 : i64}, %x: !matrix, %y: !matrix, %j: index, %steps: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<4x256xf32>
  %sum = scf.for %k = %c0 to %steps step %c1 iter_args(%s = %zero) -> (tensor<4x256xf32>) {
    %a = tile.load %x[%c0, %k] : !matrix -> tensor<1x256xf32>
    %w = tile.load %W[%j, %k] : !matrix -> tensor<4x256xf32>
    %c = tile.broadcast %a : tensor<1x256xf32> -> tensor<4x256xf32>
    %p = arith.mulf %w, %c : tensor<4x256xf32>
    %m = arith.addf %s, %p : tensor<4x256xf32>
    scf.yield %m : tensor<4x256xf32>
  }
  %total = tile.reduce sum %sum axis 1 : tensor<4x256xf32> -> tensor<4x1xf32>
  tile.store %total, %y[%j, %c0] : tensor<4x1xf32>, !matrix
  return
}

// -----

!matrix = memref<?x?xf32, strided<[?, ?], offset: ?>>

// What the kernel writes is not there before.
// CHECK-LABEL: func.func @written
// CHECK-NOT: simt.producer_warps
// CHECK-NOT: nvidia.
// CHECK: tile.load %{{.*}} -> tensor<4x512xf32
// CHECK-NOT: nvidia.
func.func @written(%W: !matrix {tile.unit_stride, tile.alignment = 16 : i64}, %x: !matrix, %y: !matrix, %j: index, %steps: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<4x512xf32>
  %sum = scf.for %k = %c0 to %steps step %c1 iter_args(%s = %zero) -> (tensor<4x512xf32>) {
    %a = tile.load %x[%c0, %k] : !matrix -> tensor<1x512xf32>
    %w = tile.load %W[%j, %k] : !matrix -> tensor<4x512xf32>
    %c = tile.broadcast %a : tensor<1x512xf32> -> tensor<4x512xf32>
    %p = arith.mulf %w, %c : tensor<4x512xf32>
    %m = arith.addf %s, %p : tensor<4x512xf32>
    scf.yield %m : tensor<4x512xf32>
  }
  %total = tile.reduce sum %sum axis 1 : tensor<4x512xf32> -> tensor<4x1xf32>
  tile.store %total, %W[%j, %c0] : tensor<4x1xf32>, !matrix
  return
}

// -----

!matrix = memref<?x?xf32, strided<[?, ?], offset: ?>>

// A copy takes whole runs of 16 bytes.
// CHECK-LABEL: func.func @unaligned
// CHECK-NOT: simt.producer_warps
// CHECK-NOT: nvidia.
// CHECK: tile.load %{{.*}} -> tensor<4x512xf32
// CHECK-NOT: nvidia.
func.func @unaligned(%W: !matrix {tile.readonly, tile.unit_stride}, %x: !matrix, %y: !matrix, %j: index, %steps: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<4x512xf32>
  %sum = scf.for %k = %c0 to %steps step %c1 iter_args(%s = %zero) -> (tensor<4x512xf32>) {
    %a = tile.load %x[%c0, %k] : !matrix -> tensor<1x512xf32>
    %w = tile.load %W[%j, %k] : !matrix -> tensor<4x512xf32>
    %c = tile.broadcast %a : tensor<1x512xf32> -> tensor<4x512xf32>
    %p = arith.mulf %w, %c : tensor<4x512xf32>
    %m = arith.addf %s, %p : tensor<4x512xf32>
    scf.yield %m : tensor<4x512xf32>
  }
  %total = tile.reduce sum %sum axis 1 : tensor<4x512xf32> -> tensor<4x1xf32>
  tile.store %total, %y[%j, %c0] : tensor<4x1xf32>, !matrix
  return
}

// -----

!matrix = memref<?x?xf32, strided<[?, ?], offset: ?>>

// The producer cannot find a place that x names, which others write.
// CHECK-LABEL: func.func @found_late
// CHECK-NOT: simt.producer_warps
// CHECK-NOT: nvidia.
// CHECK: tile.load %{{.*}} -> tensor<4x512xf32
// CHECK-NOT: nvidia.
func.func @found_late(%W: !matrix {tile.readonly, tile.unit_stride, tile.alignment = 16 : i64}, %x: !matrix, %y: !matrix, %j: index, %steps: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<4x512xf32>
  %number = memref.load %x[%c0, %c0] : !matrix
  %whole = arith.fptosi %number : f32 to i64
  %at = arith.index_cast %whole : i64 to index
  %sum = scf.for %k = %c0 to %steps step %c1 iter_args(%s = %zero) -> (tensor<4x512xf32>) {
    %a = tile.load %x[%c0, %k] : !matrix -> tensor<1x512xf32>
    %w = tile.load %W[%at, %k] : !matrix -> tensor<4x512xf32>
    %c = tile.broadcast %a : tensor<1x512xf32> -> tensor<4x512xf32>
    %p = arith.mulf %w, %c : tensor<4x512xf32>
    %m = arith.addf %s, %p : tensor<4x512xf32>
    scf.yield %m : tensor<4x512xf32>
  }
  %total = tile.reduce sum %sum axis 1 : tensor<4x512xf32> -> tensor<4x1xf32>
  tile.store %total, %y[%j, %c0] : tensor<4x1xf32>, !matrix
  return
}

// -----

!blocks = memref<?x?x?x?xbf16, strided<[?, ?, ?, ?], offset: ?>>
!matrix = memref<?x?xbf16, strided<[?, ?], offset: ?>>
!result = memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>

// Blocks of a matrix lie in slots as they do in memory, whichever way they are put together behind it. Each 8 rows take a
// slot, so two of these are a tile. One lane copies one, where it lies in one piece, else lanes copy rows of blocks.
// CHECK-LABEL: func.func @blocks
// CHECK: %[[RING:.*]] = nvidia.pipe leaving : <13 of tensor<16384xi8>>
// CHECK: nvidia.load_rows %{{.*}} as tensor<2x32x8x32xbf16, {{.*}}> to %[[RING]] ahead 4 hungry
// CHECK: nvidia.receive_rows %{{.*}} from %[[RING]]
// CHECK-SAME: -> tensor<2x32x8x32xbf16, #tile.layout<"(2 : 32@reg, 8 : 1@warp, 4 : 8@reg, 32 : 1@lane, 8 : 1@reg)">>
// THREADS-LABEL: func.func @blocks
// THREADS: mbarrier.arrive.expect_tx
// THREADS: scf.if
// THREADS: cp.async.bulk.shared::cluster.global
// THREADS: } else {
// THREADS: scf.for
// THREADS: cp.async.bulk.shared::cluster.global
// THREADS: mbarrier.arrive.expect_tx
// THREADS: cp.async.bulk.shared::cluster.global
// THREADS: } else {
// THREADS: cp.async.bulk.shared::cluster.global
// THREADS-NOT: cp.async.bulk
// THREADS-COUNT-2: mbarrier.arrive.shared
// THREADS-NOT: mbarrier.arrive.shared
func.func @blocks(%W: !blocks {tile.readonly, tile.unit_stride, tile.alignment = 16 : i64}, %x: !matrix, %y: !result,
                  %j: index, %steps: index) attributes {dist.exact_cores = ["3"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<8x16x1xf32>
  %sum = scf.for %k = %c0 to %steps step %c1 iter_args(%s = %zero) -> (tensor<8x16x1xf32>) {
    %a = tile.load %x[%c0, %k] : !matrix -> tensor<1x1024xbf16>
    %b = tile.load %W[%j, %k, %c0, %c0] : !blocks -> tensor<2x32x8x32xbf16>
    %t = tile.transpose %b [0, 2, 1, 3] : tensor<2x32x8x32xbf16> -> tensor<2x8x32x32xbf16>
    %w = tile.reshape %t : tensor<2x8x32x32xbf16> -> tensor<16x1024xbf16>
    %d = nvidia.sliced_dot %w, %a, %s : tensor<16x1024xbf16>, tensor<1x1024xbf16> -> tensor<8x16x1xf32>
    scf.yield %d : tensor<8x16x1xf32>
  }
  tile.store %sum, %y[%c0, %j, %c0] : tensor<8x16x1xf32>, !result
  return
}
