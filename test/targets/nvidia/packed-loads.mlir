// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --split-input-file --simt-assign-layouts=tensor-maps=true --nvidia-specialize-warps | FileCheck %s

!bf16 = memref<?x?xbf16, strided<[?, ?], offset: ?>>
!sym = memref<?x?xbf16, strided<[?, ?], offset: ?>, #dist.space<symmetric>>

// What others have computed comes through the slots of the mainloop, behind the producer's wait; the consumer does
// not wait. A slot has 128 x 64 and 64 x 128 elements: room for a tile of 128 x 128.
// CHECK-LABEL: func.func @added
// CHECK-SAME: %[[PARTS:[a-z0-9]+]]: memref<?x?xbf16, {{[^{]*}}#dist.space<symmetric>>
// CHECK: %[[PIPE:.*]] = nvidia.pipe
// CHECK: nvidia.roles producer {
// CHECK: scf.for
// CHECK: scf.for
// CHECK: nvidia.acquire
// CHECK: simt.wait %{{.*}} {nvidia.producer}
// CHECK-NEXT: nvidia.load_packed %[[PARTS]][%[[I:.*]], %{{.*}}] as tensor<128x128xbf16, {{.*}}> to %[[PIPE]] in 1
// CHECK: } consumer {
// CHECK: nvidia.receive %[[PIPE]]
// CHECK-NOT: simt.wait
// CHECK: %[[PART:.*]] = nvidia.receive_packed %[[PARTS]][%{{.*}}] from %[[PIPE]] in 1
// CHECK-NEXT: tile.cast %[[PART]]
func.func @added(%A: !bf16 {tile.unit_stride}, %B: !bf16 {tile.unit_stride}, %C: !bf16 {tile.unit_stride}, %parts: !sym {tile.unit_stride}, %cell: index, %n: index, %status: !llvm.ptr) {
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
    simt.wait %cell for %c1 site 1 scope "sys" in (%status) : !llvm.ptr
    %part = tile.load %parts[%i, %c0] {dist.packed = array<i64: 0, 1>} : !sym -> tensor<128x128xbf16>
    %wide = tile.cast %part : tensor<128x128xbf16> to tensor<128x128xf32>
    %total = arith.addf %acc, %wide : tensor<128x128xf32>
    %c = tile.cast %total : tensor<128x128xf32> to tensor<128x128xbf16>
    tile.store %c, %C[%i, %c0] : tensor<128x128xbf16>, !bf16
  }
  return
}

// -----

!bf16 = memref<?x?xbf16, strided<[?, ?], offset: ?>>
!sym = memref<?x?xbf16, strided<[?, ?], offset: ?>, #dist.space<symmetric>>

// What the kernel itself stores is there for its own threads alone.
// CHECK-LABEL: func.func @stored
// CHECK: nvidia.roles
// CHECK-NOT: nvidia.load_packed
// CHECK: tile.load %{{.*}} {dist.packed
func.func @stored(%A: !bf16 {tile.unit_stride}, %B: !bf16 {tile.unit_stride}, %C: !bf16 {tile.unit_stride}, %parts: !sym {tile.unit_stride}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<128x128xf32>) {
    %a = tile.load %A[%c0, %k] : !bf16 -> tensor<128x64xbf16>
    %b = tile.load %B[%k, %c0] : !bf16 -> tensor<64x128xbf16>
    %d = tile.dot %a, %b, %sum : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
    scf.yield %d : tensor<128x128xf32>
  }
  %c = tile.cast %acc : tensor<128x128xf32> to tensor<128x128xbf16>
  tile.store %c, %parts[%c0, %c0] {dist.packed = array<i64: 0, 2>} : tensor<128x128xbf16>, !sym
  %part = tile.load %parts[%c0, %c0] {dist.packed = array<i64: 0, 2>} : !sym -> tensor<128x128xbf16>
  tile.store %part, %C[%c0, %c0] : tensor<128x128xbf16>, !bf16
  return
}
