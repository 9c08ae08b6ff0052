// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --nvidia-overlap-launches | FileCheck %s
// RUN: %opt %s --nvidia-overlap-launches=chip=sm_89 | FileCheck %s --check-prefix=OLD
// OLD-NOT: nvidia.follow_launches

!v = memref<?xf32, strided<[?], offset: ?>>

// A launch waits for the one before where it first reads or writes memory.
// CHECK-LABEL: func.func @copy
// CHECK-SAME: attributes {nvidia.overlaps}
// CHECK: memref.dim
// CHECK-NEXT: nvidia.pipe
// CHECK-NEXT: nvidia.follow_launches
// CHECK-NEXT: tile.load
// CHECK-NOT: nvidia.follow_launches
func.func @copy(%A: !v, %B: !v) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %A, %c0 : !v
  %pipe = nvidia.pipe : <4 of tensor<64xf32>>
  %t = tile.load %A[%n] : !v -> tensor<64xf32>
  tile.store %t, %B[%n] : tensor<64xf32>, !v
  return
}

// A kernel of several ranks waits for others, whose place the next launch is not to take.
// CHECK-LABEL: func.func @ranks
// CHECK-NOT: nvidia.follow_launches
func.func @ranks(%A: !v, %B: !v) attributes {nvidia.distributed} {
  %c0 = arith.constant 0 : index
  %t = tile.load %A[%c0] : !v -> tensor<64xf32>
  tile.store %t, %B[%c0] : tensor<64xf32>, !v
  return
}
