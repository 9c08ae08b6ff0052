// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-assign-layouts=tensor-maps=true --nvidia-specialize-warps | FileCheck %s
// RUN: %opt %s --simt-assign-layouts="tensor-maps=true tensor-stores=true" --nvidia-specialize-warps=tensor-stores=true | FileCheck %s --check-prefix=STORES

!bf16 = memref<?x?xbf16, strided<[?, ?], offset: ?>>
!sym = memref<?x?xbf16, strided<[?, ?], offset: ?>, #dist.space<symmetric>>

// The producer waits before the tiles that the wait guards; the consumer, which receives them, waits only where there
// is nothing to receive. What the CTA itself copies to memory that the producer loads is loaded behind a gate.
// CHECK-LABEL: func.func @waits
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<?x?xbf16
// CHECK: %[[PAGED:.*]] = simt.shift %[[A]] by %{{.*}} page %[[PAGE:[a-z0-9]+]]
// CHECK: %[[GATE:.*]] = nvidia.gate
// CHECK: nvidia.roles producer {
// CHECK-NEXT: nvidia.prefetch_maps
// CHECK-NEXT: nvidia.gate_wait %[[GATE]]
// CHECK: scf.for %[[I:.*]] =
// CHECK: simt.wait %{{.*}} for %{{.*}} site 1 scope "sys" in({{.*}}) {nvidia.producer}
// CHECK: scf.for %[[K:.*]] =
// CHECK: nvidia.acquire
// CHECK-NEXT: nvidia.tma_load %[[PAGED]][%[[I]], %[[K]]] page %[[PAGE]] by
// CHECK: } consumer {
// CHECK-NEXT: simt.move %{{.*}} to %[[PAGED]]
// CHECK-NEXT: nvidia.gate_arrive %[[GATE]]
// CHECK: scf.for
// CHECK: %[[EMPTY:.*]] = arith.cmpi sge
// CHECK-NEXT: scf.if %[[EMPTY]] {
// CHECK-NEXT: simt.wait
// CHECK-NEXT: }
// CHECK-NEXT: scf.for
// CHECK-NEXT: nvidia.receive
// CHECK: tile.store
// CHECK: nvidia.post
// TMA stores to symmetric memory are complete before the notify behind them; the move before the loop waits for none.
// STORES-LABEL: func.func @waits
// STORES-NOT: nvidia.complete_stores
// STORES: simt.move
// STORES-COUNT-2: nvidia.tma_store
// STORES-NEXT: nvidia.complete_stores
// STORES-NEXT: nvidia.post
// STORES-NOT: nvidia.complete_stores
func.func @waits(%A: !bf16 {tile.unit_stride}, %B: !bf16 {tile.unit_stride}, %C: !sym {tile.unit_stride},
                 %from: !bf16, %own: !bf16 {tile.unit_stride}, %cell: index, %m: index, %n: index, %status: !llvm.ptr) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = simt.shift %A by %n page %c1 : !bf16 -> !bf16
  simt.move %from to %a : !bf16, !bf16
  scf.for %i = %c0 to %m step %c1 {
    simt.wait %cell for %i site 1 scope "sys" in (%status) : !llvm.ptr
    %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) {
      %x = tile.load %a[%i, %k] : !bf16 -> tensor<64x64xbf16>
      %y = tile.load %B[%k, %i] : !bf16 -> tensor<64x64xbf16>
      %d = tile.dot %x, %y, %sum : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    %c = tile.cast %acc : tensor<64x64xf32> to tensor<64x64xbf16>
    tile.store %c, %C[%i, %c0] : tensor<64x64xbf16>, !sym
    tile.store %c, %own[%i, %c0] : tensor<64x64xbf16>, !bf16
    simt.notify %cell "add" %c1 scope "sys"
  }
  return
}

// -----

!bf16 = memref<?x?xbf16, strided<[?, ?], offset: ?>>

// Nobody reads the result before the kernel ends: the notify waits for no TMA store.
// STORES-LABEL: func.func @result
// STORES: nvidia.tma_store
// STORES-NEXT: nvidia.post
// STORES-NOT: nvidia.complete_stores
func.func @result(%A: !bf16 {tile.unit_stride}, %B: !bf16 {tile.unit_stride}, %C: !bf16 {tile.unit_stride},
                  %cell: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) {
    %x = tile.load %A[%c0, %k] : !bf16 -> tensor<64x64xbf16>
    %y = tile.load %B[%k, %c0] : !bf16 -> tensor<64x64xbf16>
    %d = tile.dot %x, %y, %sum : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  %c = tile.cast %acc : tensor<64x64xf32> to tensor<64x64xbf16>
  tile.store %c, %C[%c0, %c0] : tensor<64x64xbf16>, !bf16
  simt.notify %cell "add" %c1 scope "sys"
  return
}

// -----

!bf16 = memref<?x?xbf16, strided<[?, ?], offset: ?>>

// What a wait is for must be known without memory that the kernel writes: this kernel has no roles.
// CHECK-LABEL: func.func @reads
// CHECK-NOT: nvidia.roles
// CHECK: simt.wait
// CHECK: tile.dot
func.func @reads(%A: !bf16 {tile.unit_stride}, %B: !bf16 {tile.unit_stride}, %C: !bf16 {tile.unit_stride},
                 %sizes: memref<?xi64, strided<[?], offset: ?>>, %cell: index, %n: index, %status: !llvm.ptr) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %word = memref.load %sizes[%n] : memref<?xi64, strided<[?], offset: ?>>
  %size = arith.index_cast %word : i64 to index
  simt.wait %cell for %size site 1 scope "sys" in (%status) : !llvm.ptr
  %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) {
    %x = tile.load %A[%c0, %k] : !bf16 -> tensor<64x64xbf16>
    %y = tile.load %B[%k, %c0] : !bf16 -> tensor<64x64xbf16>
    %d = tile.dot %x, %y, %sum : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  %c = tile.cast %acc : tensor<64x64xf32> to tensor<64x64xbf16>
  tile.store %c, %C[%c0, %c0] : tensor<64x64xbf16>, !bf16
  return
}

// -----

!bf16 = memref<?x?xbf16, strided<[?, ?], offset: ?>>
!words = memref<?xi64, strided<[?], offset: ?>>

// Symmetric memory that other ranks alone write is known where a wait has told of it: the producer waits, too.
// CHECK-LABEL: func.func @counts
// CHECK: nvidia.roles producer {
// CHECK: simt.wait
// CHECK: %[[WORD:.*]] = memref.load
// CHECK: nvidia.tma_load
// CHECK: } consumer {
func.func @counts(%A: !bf16 {tile.unit_stride}, %B: !bf16 {tile.unit_stride}, %C: !bf16 {tile.unit_stride},
                  %sizes: !words, %cell: index, %n: index, %status: !llvm.ptr) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %page = simt.shift %sizes by %n page %c1 : !words -> !words
  simt.wait %cell for %c1 site 1 scope "sys" in (%status) : !llvm.ptr
  %word = memref.load %page[%n] : !words
  %size = arith.index_cast %word : i64 to index
  %acc = scf.for %k = %c0 to %size step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) {
    %x = tile.load %A[%c0, %k] : !bf16 -> tensor<64x64xbf16>
    %y = tile.load %B[%k, %c0] : !bf16 -> tensor<64x64xbf16>
    %d = tile.dot %x, %y, %sum : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  %c = tile.cast %acc : tensor<64x64xf32> to tensor<64x64xbf16>
  tile.store %c, %C[%c0, %c0] : tensor<64x64xbf16>, !bf16
  return
}

// -----

!bf16 = memref<?x?xbf16, strided<[?, ?], offset: ?>>

// An operand that is stored before any is loaded, as where rows are copied to whole 16 bytes: the producer loads behind
// a gate.
// CHECK-LABEL: func.func @packs
// CHECK: %[[GATE:.*]] = nvidia.gate
// CHECK: nvidia.roles producer {
// CHECK-NEXT: nvidia.prefetch_maps
// CHECK-NEXT: nvidia.gate_wait %[[GATE]]
// CHECK: nvidia.tma_load
// CHECK: } consumer {
// CHECK: tile.store
// CHECK: nvidia.gate_arrive %[[GATE]]
// CHECK: nvidia.receive
func.func @packs(%A: !bf16 {tile.unit_stride}, %B: !bf16 {tile.unit_stride}, %C: !bf16 {tile.unit_stride},
                 %from: !bf16, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  scf.for %i = %c0 to %n step %c1 {
    %rows = tile.load %from[%i, %c0] : !bf16 -> tensor<64x64xbf16>
    tile.store %rows, %A[%i, %c0] : tensor<64x64xbf16>, !bf16
  }
  %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) {
    %x = tile.load %A[%c0, %k] : !bf16 -> tensor<64x64xbf16>
    %y = tile.load %B[%k, %c0] : !bf16 -> tensor<64x64xbf16>
    %d = tile.dot %x, %y, %sum : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  %c = tile.cast %acc : tensor<64x64xf32> to tensor<64x64xbf16>
  tile.store %c, %C[%c0, %c0] : tensor<64x64xbf16>, !bf16
  return
}

// -----

!bf16 = memref<?x?xbf16, strided<[?, ?], offset: ?>>

// An operand that is stored where others are loaded: this kernel has no roles.
// CHECK-LABEL: func.func @overwrites
// CHECK-NOT: nvidia.roles
// CHECK: tile.dot
func.func @overwrites(%A: !bf16 {tile.unit_stride}, %B: !bf16 {tile.unit_stride}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) {
    %x = tile.load %A[%c0, %k] : !bf16 -> tensor<64x64xbf16>
    %y = tile.load %B[%k, %c0] : !bf16 -> tensor<64x64xbf16>
    %d = tile.dot %x, %y, %sum : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  %c = tile.cast %acc : tensor<64x64xf32> to tensor<64x64xbf16>
  tile.store %c, %A[%c0, %c0] : tensor<64x64xbf16>, !bf16
  return
}
