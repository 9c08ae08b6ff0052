// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --ditron-gpu=target=gfx942 | FileCheck %s
// Two wavefronts of 64 threads, where a GPU of 32 lanes has four warps.

// CHECK: llvm.func internal @copy(
// CHECK-DAG: rocdl.workgroup.id.x
// CHECK-DAG: rocdl.workitem.id.x
// CHECK-NOT: nvvm
// CHECK: llvm.func @ditron_kernel(
// CHECK-SAME: rocdl.flat_work_group_size = "128,128"
// CHECK-SAME: rocdl.kernel
func.func @copy(%X: memref<?xf32, strided<[?], offset: ?>> {tile.name = "x"}, %s: f32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %X, %c0 : memref<?xf32, strided<[?], offset: ?>>
  dist.tiles (%i) of (%n) order <"row-major"> {
    %x = tile.load %X[%i] : memref<?xf32, strided<[?], offset: ?>> -> tensor<128xf32>
    %y = tensor.splat %s : tensor<128xf32>
    %z = arith.addf %x, %y : tensor<128xf32>
    tile.store %z, %X[%i] : tensor<128xf32>, memref<?xf32, strided<[?], offset: ?>>
  }
  return
}
