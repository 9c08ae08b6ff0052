// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ditron-interpret %s | FileCheck %s

// CHECK-LABEL: kernel old
// The result is what was there, and 0 beyond the view; integers wrap.
// CHECK-NEXT: rank 0 argument 0
// CHECK-NEXT: {{^}}  -2147483648 0 5
// CHECK-NEXT: rank 0 argument 1
// CHECK-NEXT: {{^}}  2147483647 -1 4 0
func.func @old(%C: memref<3xi32> {interp.values = dense<[2147483647, -1, 4]> : tensor<3xi32>},
               %old: memref<4xi32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant dense<1> : tensor<2xi32>
  %x = tile.atomic_add %one, %C[%c0] : tensor<2xi32>, memref<3xi32>
  %y = tile.atomic_add %one, %C[%c1] : tensor<2xi32>, memref<3xi32>
  tile.store %x, %old[%c0] : tensor<2xi32>, memref<4xi32>
  tile.store %y, %old[%c1] : tensor<2xi32>, memref<4xi32>
  return
}

// CHECK-LABEL: kernel cores
// Every core adds once.
// CHECK-NEXT: rank 0 argument 0
// CHECK-NEXT: {{^}}  7 8
func.func @cores(%C: memref<2xf32>) attributes {tile.kernel, cores = 7, seed = 3} {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<2xf32>
  %0 = tile.atomic_add %one, %C[%c0] : tensor<2xf32>, memref<2xf32>
  return
}
