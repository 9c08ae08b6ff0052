// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-assign-layouts=tensor-maps=true --nvidia-specialize-warps | FileCheck %s

!bf16 = memref<?x?xbf16, strided<[?, ?], offset: ?>>

// The producer looks for the row and sends it; what nobody else asks for is not sent.
// CHECK-LABEL: func.func @finds
// CHECK: %[[QUEUE:.*]] = nvidia.queue : <4 of index>
// CHECK: nvidia.roles producer {
// CHECK: scf.for
// CHECK: %[[FOUND:.*]]:2 = scf.for
// CHECK: nvidia.enqueue %[[QUEUE]], %[[FOUND]]#0 : <4 of index>, index
// CHECK: nvidia.tma_load %{{.*}}[%[[FOUND]]#0,
// CHECK: } consumer {
// CHECK-NEXT: scf.for
// CHECK-NEXT: %[[ROW:.*]] = nvidia.dequeue %[[QUEUE]] : <4 of index> -> index
// CHECK-NEXT: scf.for
// CHECK-NEXT: nvidia.receive
// CHECK: tile.store %{{.*}}, %{{.*}}[%[[ROW]],
func.func @finds(%A: !bf16 {tile.unit_stride}, %B: !bf16 {tile.unit_stride}, %C: !bf16 {tile.unit_stride}, %counts: memref<?xindex, strided<[?], offset: ?>> {tile.readonly, tile.unit_stride}, %m: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  scf.for %i = %c0 to %m step %c1 {
    %found:2 = scf.for %p = %c0 to %n step %c1 iter_args(%row = %c0, %end = %c0) -> (index, index) {
      %count = memref.load %counts[%p] : memref<?xindex, strided<[?], offset: ?>>
      %next = arith.addi %end, %count : index
      %past = arith.cmpi sge, %i, %next : index
      %here = arith.select %past, %next, %row : index
      scf.yield %here, %next : index, index
    }
    %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<128x128xf32>) {
      %a = tile.load %A[%found#0, %k] : !bf16 -> tensor<128x64xbf16>
      %b = tile.load %B[%k, %c0] : !bf16 -> tensor<64x128xbf16>
      %d = tile.dot %a, %b, %sum : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
      scf.yield %d : tensor<128x128xf32>
    }
    %c = tile.cast %acc : tensor<128x128xf32> to tensor<128x128xbf16>
    tile.store %c, %C[%found#0, %c0] : tensor<128x128xbf16>, !bf16
  }
  return
}

// A loop that may end the kernel would never send: both roles look by themselves. So where it is looked for once.
// CHECK-LABEL: func.func @ends
// CHECK-NOT: nvidia.queue
func.func @ends(%A: !bf16 {tile.unit_stride}, %B: !bf16 {tile.unit_stride}, %C: !bf16 {tile.unit_stride}, %counts: memref<?xindex, strided<[?], offset: ?>> {tile.readonly, tile.unit_stride}, %m: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %from = scf.for %p = %c0 to %n step %c1 iter_args(%all = %c0) -> (index) {
    %count = memref.load %counts[%p] : memref<?xindex, strided<[?], offset: ?>>
    %next = arith.addi %all, %count : index
    scf.yield %next : index
  }
  scf.for %i = %from to %m step %c1 {
    %row = scf.for %p = %c0 to %n step %c1 iter_args(%end = %c0) -> (index) {
      %count = memref.load %counts[%p] : memref<?xindex, strided<[?], offset: ?>>
      %bad = arith.cmpi slt, %count, %c0 : index
      scf.if %bad {
        llvm.inline_asm has_side_effects asm_dialect = att "exit;", "" : () -> ()
      }
      %next = arith.addi %end, %count : index
      scf.yield %next : index
    }
    %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<128x128xf32>) {
      %a = tile.load %A[%row, %k] : !bf16 -> tensor<128x64xbf16>
      %b = tile.load %B[%k, %c0] : !bf16 -> tensor<64x128xbf16>
      %d = tile.dot %a, %b, %sum : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
      scf.yield %d : tensor<128x128xf32>
    }
    %c = tile.cast %acc : tensor<128x128xf32> to tensor<128x128xbf16>
    tile.store %c, %C[%row, %c0] : tensor<128x128xbf16>, !bf16
  }
  return
}
