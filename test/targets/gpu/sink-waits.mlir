// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-sink-waits | FileCheck %s

!table = memref<?x?xi64, strided<[?, ?], offset: ?>>
!row = memref<?xf32, strided<[?], offset: ?>>

// Each type waits by itself, once it has read in the tables of the schedule what it works on. What it computes
// from what others write comes behind the wait, and so does all that depends on that.
// CHECK-LABEL: func.func @task
// CHECK-SAME: %[[TASKS:[a-z0-9]+]]: memref<?x?xi64,
// CHECK-SAME: %[[VIEWS:[a-z0-9]+]]: !llvm.ptr
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?xf32,
// CHECK: scf.for
// CHECK-NEXT: memref.load %[[TASKS]]
// CHECK-NOT: simt.wait
// CHECK: scf.if
// CHECK-NEXT: memref.load %[[TASKS]][%{{.*}}] {tile.within}
// CHECK-NEXT: arith.index_cast
// CHECK-NEXT: %[[Y:.*]] = simt.view_at %[[VIEWS]]
// CHECK-NEXT: scf.for
// CHECK-NEXT: simt.wait
// CHECK-NEXT: }
// CHECK-NEXT: tile.load %[[X]]
// CHECK-NEXT: tile.store %{{.*}}, %[[Y]]
// CHECK-NEXT: memref.load %[[X]]
// CHECK-NEXT: arith.fptosi
// CHECK-NEXT: arith.index_cast
// CHECK-NEXT: memref.load %[[TASKS]]
// CHECK-NEXT: memref.load %[[TASKS]]
// CHECK-NOT: simt.wait
// CHECK: {dist.alternative = 0 : i64}
// CHECK: scf.if
// CHECK-NEXT: scf.for
// CHECK-NEXT: simt.wait
// CHECK-NEXT: }
// CHECK-NEXT: tile.load
// CHECK-NEXT: tile.store
// CHECK-NEXT: {dist.alternative = 1 : i64}
// CHECK-NOT: simt.wait
func.func @task(%tasks: !table {tile.readonly}, %views: !llvm.ptr, %x: !row, %seen: !table, %status: !llvm.ptr, %rank: index,
                %ranks: index, %stride: index, %head: index, %signal: index, %buffer: index, %cells: index, %bound: index,
                %first: index, %end: index) attributes {dist.exact_cores = ["3"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %t = %first to %end step %c1 {
    %type = memref.load %tasks[%t, %c0] {tile.within} : !table
    %i = arith.index_cast %type : i64 to index
    %is0 = arith.cmpi eq, %i, %c0 : index
    %is1 = arith.cmpi eq, %i, %c1 : index
    scf.for %n = %first to %end step %c1 {
      simt.wait %cells for %n site 3 scope "gpu" in (%status, %rank, %ranks, %stride, %head, %signal, %buffer, %cells, %bound)
        : !llvm.ptr, index, index, index, index, index, index, index, index
    }
    scf.if %is0 {
      %tile = tile.load %x[%c0] : !row -> tensor<256xf32>
      %node = memref.load %tasks[%t, %c1] {tile.within} : !table
      %word = arith.index_cast %node : i64 to index
      %y = simt.view_at %views[%word] : !llvm.ptr -> !row
      tile.store %tile, %y[%c0] : tensor<256xf32>, !row
      %place = memref.load %x[%c0] : !row
      %number = arith.fptosi %place : f32 to i64
      %at = arith.index_cast %number : i64 to index
      %late = memref.load %tasks[%at, %c0] {tile.within} : !table
      %checked = memref.load %tasks[%t, %c0] : !table
      %sum = arith.addi %late, %checked : i64
      memref.store %sum, %seen[%t, %c0] : !table
    } {dist.alternative = 0 : i64}
    scf.if %is1 {
      %tile = tile.load %x[%c1] : !row -> tensor<256xf32>
      tile.store %tile, %x[%c0] : tensor<256xf32>, !row
    } {dist.alternative = 1 : i64}
  }
  return
}

// -----

!table = memref<?x?xi64, strided<[?, ?], offset: ?>>
!row = memref<?xf32, strided<[?], offset: ?>>
!cache = memref<?x?xbf16, strided<[?, ?], offset: ?>>

// The first tile of a task waits, in front of what tasks share and behind what no task writes: gains, positions, a
// requirement. Each branch goes on by itself, and asks for what it reads of a cache. A task without tiles waits
// behind the loop.
// CHECK-LABEL: func.func @tiles
// CHECK-SAME: %[[TASKS:[a-z0-9]+]]: memref<?x?xi64,
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?xf32,
// CHECK-SAME: %[[GAIN:[a-z0-9]+]]: memref<?xf32,
// CHECK-SAME: %[[CACHE:[a-z0-9]+]]: memref<?x?xbf16,
// CHECK: scf.if
// CHECK: scf.for %[[I:[a-z0-9]+]] = %[[FIRST:[a-z0-9]+]] to %[[END:[a-z0-9]+]]
// CHECK-NEXT: %[[IS:.*]] = arith.cmpi eq, %[[I]], %[[FIRST]]
// CHECK-NEXT: tile.load %[[GAIN]]
// CHECK-NEXT: memref.load %[[TASKS]]
// CHECK-NOT: simt.wait
// CHECK: "exit;"
// CHECK: scf.if
// CHECK-NEXT: scf.if %[[IS]] {
// CHECK-NEXT: simt.prefetch %[[CACHE]][%[[I]], %{{.*}}] : memref<?x?xbf16, {{.*}}> -> tensor<8x128xbf16>
// CHECK-NEXT: scf.for
// CHECK-NEXT: simt.wait
// CHECK: tile.load %[[X]]
// CHECK-NEXT: tile.load %[[CACHE]]
// CHECK: } else {
// CHECK-NEXT: scf.if %[[IS]] {
// CHECK-NEXT: scf.for
// CHECK-NEXT: simt.wait
// CHECK: tile.store
// CHECK: %[[EMPTY:.*]] = arith.cmpi sge, %[[FIRST]], %[[END]]
// CHECK-NEXT: scf.if %[[EMPTY]] {
// CHECK-NEXT: scf.for
// CHECK-NEXT: simt.wait
// CHECK: {dist.alternative = 0 : i64}
func.func @tiles(%tasks: !table {tile.readonly}, %x: !row, %gain: !row {tile.readonly}, %cache: !cache {tile.lasting},
                 %status: !llvm.ptr, %rank: index, %ranks: index, %stride: index, %head: index, %signal: index,
                 %buffer: index, %cells: index, %bound: index, %first: index, %end: index)
    attributes {dist.exact_cores = ["3"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %t = %first to %end step %c1 {
    %type = memref.load %tasks[%t, %c0] {tile.within} : !table
    %n = arith.index_cast %type : i64 to index
    %is0 = arith.cmpi eq, %n, %c0 : index
    scf.for %w = %first to %end step %c1 {
      simt.wait %cells for %w site 3 scope "gpu" in (%status, %rank, %ranks, %stride, %head, %signal, %buffer, %cells, %bound)
        : !llvm.ptr, index, index, index, index, index, index, index, index
    }
    scf.if %is0 {
      scf.for %i = %first to %end step %c1 {
        %g = tile.load %gain[%c0] : !row -> tensor<256xf32>
        %place = memref.load %tasks[%i, %c1] : !table
        %p = arith.index_cast %place : i64 to index
        %fails = arith.cmpi slt, %p, %c0 : index
        scf.if %fails {
          llvm.inline_asm has_side_effects "exit;", "" : () -> ()
        }
        %isOld = arith.cmpi slt, %p, %end : index
        scf.if %isOld {
          %q = tile.load %x[%i] : !row -> tensor<256xf32>
          %k = tile.load %cache[%i, %c0] : !cache -> tensor<8x128xbf16>
          tile.store %k, %cache[%p, %c0] : tensor<8x128xbf16>, !cache
          tile.store %q, %x[%p] : tensor<256xf32>, !row
        } else {
          tile.store %g, %x[%i] : tensor<256xf32>, !row
        }
      }
    } {dist.alternative = 0 : i64}
  }
  return
}

// -----

!row = memref<?xf32, strided<[?], offset: ?>>

// A kernel that is no graph waits where its author says.
// CHECK-LABEL: func.func @kernel
// CHECK: scf.for
// CHECK-NEXT: simt.wait
// CHECK: scf.if
// CHECK-NOT: simt.wait
func.func @kernel(%x: !row, %status: !llvm.ptr, %rank: index, %ranks: index, %stride: index, %head: index, %signal: index,
                  %buffer: index, %cells: index, %bound: index, %first: index, %end: index, %is: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %n = %first to %end step %c1 {
    simt.wait %cells for %n site 3 scope "gpu" in (%status, %rank, %ranks, %stride, %head, %signal, %buffer, %cells, %bound)
      : !llvm.ptr, index, index, index, index, index, index, index, index
  }
  scf.if %is {
    %tile = tile.load %x[%c1] : !row -> tensor<256xf32>
    tile.store %tile, %x[%c0] : tensor<256xf32>, !row
  } {dist.alternative = 0 : i64}
  return
}
