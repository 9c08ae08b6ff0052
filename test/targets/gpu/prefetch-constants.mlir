// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-prefetch-constants | FileCheck %s
// RUN: %opt %s --simt-prefetch-constants --simt-assign-layouts --simt-tiles-to-threads | FileCheck %s --check-prefix=THREADS

!table = memref<?x?xi64, strided<[?, ?], offset: ?>>
!matrix = memref<?x?xf32, strided<[?, ?], offset: ?>>
!row = memref<?xf32, strided<[?], offset: ?>>

// The weights are asked for before the wait: x is not, which others write, nor is what is loaded at a place that x
// names.
// CHECK-LABEL: func.func @task
// CHECK: memref.load
// CHECK: scf.if
// CHECK-NEXT: scf.for %[[K:.*]] =
// CHECK-NEXT: simt.prefetch %{{.*}}[%{{.*}}, %[[K]]] {{.*}} -> tensor<4x256xf32>
// CHECK-NOT: simt.prefetch
// CHECK: simt.wait %
// CHECK-NOT: simt.prefetch
// Each thread asks for a line.
// THREADS-LABEL: func.func @task
// THREADS-COUNT-1: prefetch.global.L2
// THREADS-NOT: prefetch.global.L2
// THREADS: ld.acquire
func.func @task(%tasks: !table {tile.readonly}, %W: !matrix {tile.readonly}, %x: !row, %y: !row, %status: !llvm.ptr, %rank: index,
                %ranks: index, %stride: index, %head: index, %signal: index, %buffer: index, %cells: index, %bound: index,
                %first: index, %end: index, %steps: index) attributes {dist.exact_cores = ["3"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<4x256xf32>
  scf.for %t = %first to %end step %c1 {
    scf.for %n = %first to %end step %c1 {
      simt.wait %cells for %n site 3 scope "gpu" in (%status, %rank, %ranks, %stride, %head, %signal, %buffer, %cells, %bound)
        : !llvm.ptr, index, index, index, index, index, index, index, index
    }
    %type = memref.load %tasks[%t, %c0] : !table
    %j = arith.index_cast %type : i64 to index
    %is = arith.cmpi eq, %j, %c1 : index
    scf.if %is {
      %sum = scf.for %k = %c0 to %steps step %c1 iter_args(%s = %zero) -> (tensor<4x256xf32>) {
        %a = tile.load %x[%k] : !row -> tensor<256xf32>
        %w = tile.load %W[%j, %k] : !matrix -> tensor<4x256xf32>
        %b = tile.reshape %a : tensor<256xf32> -> tensor<1x256xf32>
        %c = tile.broadcast %b : tensor<1x256xf32> -> tensor<4x256xf32>
        %p = arith.mulf %w, %c : tensor<4x256xf32>
        %n = arith.addf %s, %p : tensor<4x256xf32>
        scf.yield %n : tensor<4x256xf32>
      }
      %total = tile.reduce sum %sum axis 1 : tensor<4x256xf32> -> tensor<4x1xf32>
      %flat = tile.reshape %total : tensor<4x1xf32> -> tensor<4xf32>
      tile.store %flat, %y[%j] : tensor<4xf32>, !row
      %place = memref.load %x[%c0] : !row
      %number = arith.fptosi %place : f32 to i64
      %at = arith.index_cast %number : i64 to index
      %other = tile.load %W[%at, %c0] : !matrix -> tensor<4x256xf32>
      tile.store %other, %W[%j, %c0] : tensor<4x256xf32>, !matrix
    } {dist.alternative = 0 : i64}
  }
  return
}
