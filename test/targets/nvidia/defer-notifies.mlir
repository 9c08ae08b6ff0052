// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --split-input-file --simt-assign-layouts=tensor-maps=true --nvidia-specialize-warps | FileCheck %s

!bf16 = memref<?x?xbf16, strided<[?, ?], offset: ?>>

// A thread of its own makes the notifies, at the widest scope that one has; what else releases waits for them.
// CHECK-LABEL: func.func @deferred
// CHECK: %[[OUTBOX:.*]] = nvidia.outbox
// CHECK: nvidia.roles producer {
// CHECK-NOT: nvidia.post
// CHECK: } consumer {
// CHECK: tile.store
// CHECK-NEXT: nvidia.post %[[OUTBOX]], %[[CELL:.*]], %[[ONE:.*]]{{$}}
// CHECK: nvidia.flush %[[OUTBOX]]
// CHECK-NEXT: simt.notify %[[CELL]] "max" %{{.*}} scope "gpu"
// CHECK: nvidia.post %[[OUTBOX]], %[[CELL]], %[[ONE]]
// CHECK: nvidia.flush %[[OUTBOX]]
// CHECK-NEXT: simt.sync "gpu"
// CHECK-NEXT: nvidia.close %[[OUTBOX]]
// CHECK-NEXT: } notifier {
// CHECK-NEXT: nvidia.notify_posts %[[OUTBOX]] in "sys"
func.func @deferred(%A: !bf16 {tile.unit_stride}, %B: !bf16 {tile.unit_stride}, %C: !bf16 {tile.unit_stride}, %cell: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  scf.for %i = %c0 to %n step %c1 {
    %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<128x128xf32>) {
      %a = tile.load %A[%i, %k] : !bf16 -> tensor<128x64xbf16>
      %b = tile.load %B[%k, %c0] : !bf16 -> tensor<64x128xbf16>
      %d = tile.dot %a, %b, %sum : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
      scf.yield %d : tensor<128x128xf32>
    }
    %c = tile.cast %acc : tensor<128x128xf32> to tensor<128x128xbf16>
    tile.store %c, %C[%i, %c0] : tensor<128x128xbf16>, !bf16
    simt.notify %cell "add" %c1 scope "gpu"
    simt.notify %cell "max" %c1 scope "gpu"
    simt.notify %cell "add" %c1 scope "sys"
  }
  simt.sync "gpu"
  return
}

// -----

!bf16 = memref<?x?xbf16, strided<[?, ?], offset: ?>>

// Nobody would close the outbox of a kernel that ends early.
// CHECK-LABEL: func.func @leaves
// CHECK-NOT: nvidia.outbox
// CHECK: simt.notify
func.func @leaves(%A: !bf16 {tile.unit_stride}, %B: !bf16 {tile.unit_stride}, %C: !bf16 {tile.unit_stride}, %cell: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  scf.for %i = %c0 to %n step %c1 {
    %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<128x128xf32>) {
      %a = tile.load %A[%i, %k] : !bf16 -> tensor<128x64xbf16>
      %b = tile.load %B[%k, %c0] : !bf16 -> tensor<64x128xbf16>
      %d = tile.dot %a, %b, %sum : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
      scf.yield %d : tensor<128x128xf32>
    }
    %bad = arith.cmpi eq, %i, %cell : index
    scf.if %bad {
      llvm.inline_asm has_side_effects "exit;", "" : () -> ()
    }
    %c = tile.cast %acc : tensor<128x128xf32> to tensor<128x128xbf16>
    tile.store %c, %C[%i, %c0] : tensor<128x128xbf16>, !bf16
    simt.notify %cell "add" %c1 scope "sys"
  }
  return
}

// -----

!bf16 = memref<?x?xbf16, strided<[?, ?], offset: ?>>
!sym = memref<?x?xbf16, strided<[?, ?], offset: ?>, #dist.space<symmetric>>

// A warp copies to peers what the consumer has stored here, too. Several ranks that a tile goes to have posts in a row.
// CHECK-LABEL: func.func @moved
// CHECK: %[[OUTBOX:.*]] = nvidia.outbox
// CHECK: } consumer {
// CHECK: tile.store %{{.*}}, %[[SUMS:.*]][%[[I:.*]], %{{.*}}] {dist.once, dist.packed
// CHECK-NEXT: scf.for
// CHECK-NEXT: %[[THEIRS:.*]] = simt.shift %[[SUMS]]
// CHECK-NEXT: nvidia.post_move %[[OUTBOX]], %[[SUMS]][%[[I]], %{{.*}}] to %[[THEIRS]][%[[I]], %{{.*}}] of tensor<128x128xbf16, {{.*}} {several = 3 : i64}
// CHECK-NEXT: }
// CHECK: scf.for
// CHECK: nvidia.post %[[OUTBOX]]
// CHECK: } notifier {
// CHECK-NEXT: nvidia.notify_posts %[[OUTBOX]] in "sys" moves
func.func @moved(%A: !bf16 {tile.unit_stride}, %B: !bf16 {tile.unit_stride}, %sums: !sym {tile.unit_stride}, %cell: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  scf.for %i = %c0 to %n step %c1 {
    %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<128x128xf32>) {
      %a = tile.load %A[%i, %k] : !bf16 -> tensor<128x64xbf16>
      %b = tile.load %B[%k, %c0] : !bf16 -> tensor<64x128xbf16>
      %d = tile.dot %a, %b, %sum : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
      scf.yield %d : tensor<128x128xf32>
    }
    %c = tile.cast %acc : tensor<128x128xf32> to tensor<128x128xbf16>
    tile.store %c, %sums[%i, %c0] {dist.once, dist.packed = array<i64: 0, 2>} : tensor<128x128xbf16>, !sym
    scf.for %p = %c0 to %c3 step %c1 {
      %theirs = simt.shift %sums by %p : !sym -> !sym
      tile.store %c, %theirs[%i, %c0] {dist.packed = array<i64: 0, 2>} : tensor<128x128xbf16>, !sym
    }
    simt.notify_each %c0 to %c3 scope "sys" {
    ^bb0(%p: index):
      %there = arith.addi %cell, %p : index
      simt.notify %there "add" %c1 scope "sys" relaxed
    }
    simt.notify %cell "add" %c1 scope "gpu"
  }
  return
}

// -----

!bf16 = memref<?x?xbf16, strided<[?, ?], offset: ?>>
!sym = memref<?x?xbf16, strided<[?, ?], offset: ?>, #dist.space<symmetric>>

// Memory that the next tile may be stored to is not copied later.
// CHECK-LABEL: func.func @reused
// CHECK-NOT: nvidia.post_move
// CHECK: nvidia.notify_posts %{{.*}} in "sys"{{$}}
func.func @reused(%A: !bf16 {tile.unit_stride}, %B: !bf16 {tile.unit_stride}, %sums: !sym {tile.unit_stride}, %cell: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  scf.for %i = %c0 to %n step %c1 {
    %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<128x128xf32>) {
      %a = tile.load %A[%i, %k] : !bf16 -> tensor<128x64xbf16>
      %b = tile.load %B[%k, %c0] : !bf16 -> tensor<64x128xbf16>
      %d = tile.dot %a, %b, %sum : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
      scf.yield %d : tensor<128x128xf32>
    }
    %c = tile.cast %acc : tensor<128x128xf32> to tensor<128x128xbf16>
    tile.store %c, %sums[%i, %c0] {dist.packed = array<i64: 0, 2>} : tensor<128x128xbf16>, !sym
    scf.for %p = %c0 to %c3 step %c1 {
      %theirs = simt.shift %sums by %p : !sym -> !sym
      tile.store %c, %theirs[%i, %c0] {dist.packed = array<i64: 0, 2>} : tensor<128x128xbf16>, !sym
    }
    simt.notify_each %c0 to %c3 scope "sys" {
    ^bb0(%p: index):
      %there = arith.addi %cell, %p : index
      simt.notify %there "add" %c1 scope "sys" relaxed
    }
    simt.notify %cell "add" %c1 scope "gpu"
  }
  return
}

// -----

!bf16 = memref<?x?xbf16, strided<[?, ?], offset: ?>>

// What is sent before the product is the notifier's, which a warp is then; a barrier and the end of the launch wait for it.
// CHECK-LABEL: func.func @sent
// CHECK: %[[THERE:.*]] = simt.shift %{{.*}} by %{{.*}} :
// CHECK: nvidia.roles producer {
// CHECK: } consumer {
// CHECK-NEXT: nvidia.post_mark %[[OUTBOX:.*]]
// CHECK-NOT: simt.move
// CHECK: nvidia.flush %[[OUTBOX]]
// CHECK-NEXT: simt.sync "gpu"
// CHECK: tile.store
// CHECK: nvidia.flush %[[OUTBOX]]
// CHECK-NEXT: simt.end
// CHECK-NEXT: nvidia.close %[[OUTBOX]]
// CHECK-NEXT: } notifier {
// CHECK-NEXT: scf.for
// CHECK-NEXT: nvidia.warp_move %{{.*}} to %[[THERE]]
// CHECK-NEXT: nvidia.warp_notify %{{.*}} add %{{.*}} in "sys"
// CHECK: nvidia.notify_posts %[[OUTBOX]] in "gpu" moves
func.func @sent(%A: !bf16 {tile.unit_stride, tile.readonly}, %B: !bf16 {tile.unit_stride, tile.readonly}, %C: !bf16 {tile.unit_stride}, %gathered: !bf16, %distance: index, %cell: index, %n: index, %status: !llvm.ptr) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %there = simt.shift %gathered by %distance : !bf16 -> !bf16
  scf.for %i = %c0 to %n step %c1 {
    simt.move %A to %there : !bf16, !bf16
    simt.notify %cell "add" %c1 scope "sys"
  }
  simt.sync "gpu"
  scf.for %i = %c0 to %n step %c1 {
    %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<128x128xf32>) {
      %a = tile.load %A[%i, %k] : !bf16 -> tensor<128x64xbf16>
      %b = tile.load %B[%k, %c0] : !bf16 -> tensor<64x128xbf16>
      %d = tile.dot %a, %b, %sum : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
      scf.yield %d : tensor<128x128xf32>
    }
    %c = tile.cast %acc : tensor<128x128xf32> to tensor<128x128xbf16>
    tile.store %c, %C[%i, %c0] : tensor<128x128xbf16>, !bf16
  }
  simt.end(%status, %n, %n, %n, %n, %n, %n, %n, %n) : !llvm.ptr, index, index, index, index, index, index, index, index
  return
}

// -----

!bf16 = memref<?x?xbf16, strided<[?, ?], offset: ?>>

// What the kernel may write, its threads send before they write it.
// CHECK-LABEL: func.func @sent_by_all
// CHECK: } consumer {
// CHECK: simt.move
// CHECK-NOT: nvidia.warp_move
func.func @sent_by_all(%A: !bf16 {tile.unit_stride, tile.readonly}, %B: !bf16 {tile.unit_stride, tile.readonly}, %C: !bf16 {tile.unit_stride}, %gathered: !bf16, %distance: index, %cell: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %there = simt.shift %gathered by %distance : !bf16 -> !bf16
  simt.move %C to %there : !bf16, !bf16
  simt.notify %cell "add" %c1 scope "sys"
  scf.for %i = %c0 to %n step %c1 {
    %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<128x128xf32>) {
      %a = tile.load %A[%i, %k] : !bf16 -> tensor<128x64xbf16>
      %b = tile.load %B[%k, %c0] : !bf16 -> tensor<64x128xbf16>
      %d = tile.dot %a, %b, %sum : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
      scf.yield %d : tensor<128x128xf32>
    }
    %c = tile.cast %acc : tensor<128x128xf32> to tensor<128x128xbf16>
    tile.store %c, %C[%i, %c0] : tensor<128x128xbf16>, !bf16
  }
  return
}

// -----

!bf16 = memref<?x?xbf16, strided<[?, ?], offset: ?>>

// What others have sent is there behind the barrier: the producer waits for the consumer to have passed it.
// CHECK-LABEL: func.func @met
// CHECK: %[[GATE:.*]] = nvidia.gate
// CHECK: nvidia.roles producer {
// CHECK: nvidia.gate_wait %[[GATE]]
// CHECK: nvidia.tma_load
// CHECK: } consumer {
// CHECK: simt.move
// CHECK-NEXT: simt.meet
// CHECK-NEXT: nvidia.gate_arrive %[[GATE]]
func.func @met(%A: !bf16 {tile.unit_stride, tile.readonly}, %B: !bf16 {tile.unit_stride, tile.readonly}, %C: !bf16 {tile.unit_stride}, %gathered: !bf16 {tile.unit_stride}, %distance: index, %n: index, %cell: index, %w: !llvm.ptr) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %there = simt.shift %gathered by %distance : !bf16 -> !bf16
  simt.move %A to %there : !bf16, !bf16
  simt.meet %cell of %n ranks site 1 in (%w, %n, %n, %n, %n, %n, %n, %n, %n) : !llvm.ptr, index, index, index, index, index, index, index, index
  scf.for %i = %c0 to %n step %c1 {
    %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<128x128xf32>) {
      %a = tile.load %gathered[%i, %k] : !bf16 -> tensor<128x64xbf16>
      %b = tile.load %B[%k, %c0] : !bf16 -> tensor<64x128xbf16>
      %d = tile.dot %a, %b, %sum : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
      scf.yield %d : tensor<128x128xf32>
    }
    %c = tile.cast %acc : tensor<128x128xf32> to tensor<128x128xbf16>
    tile.store %c, %C[%i, %c0] : tensor<128x128xbf16>, !bf16
  }
  return
}
