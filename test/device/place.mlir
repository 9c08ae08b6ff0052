// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --cse --canonicalize --loop-invariant-code-motion | FileCheck %s
// Which core this is depends on the role: the question does not move into or out of one.

// CHECK-LABEL: @role
func.func @role(%s: !dist.signals<1>, %n: index) {
  // CHECK: %[[OUTER:.*]] = dist.core
  // CHECK: %[[ALL:.*]] = dist.num_cores
  %outer = dist.core
  %all = dist.num_cores
  // CHECK: scf.for
  scf.for %i = %n to %all step %n {
    // CHECK: dist.role "r"
    dist.role "r" cores %n for %n {
      // CHECK: %[[INNER:.*]] = dist.core
      // CHECK: %[[SOME:.*]] = dist.num_cores
      // CHECK: dist.notify %{{.*}}[%[[INNER]]] add %[[SOME]]
      %inner = dist.core
      %some = dist.num_cores
      dist.notify %s[%inner] add %some : !dist.signals<1>
    }
  }
  // CHECK: dist.notify %{{.*}}[%[[OUTER]]] add %[[ALL]]
  dist.notify %s[%outer] add %all : !dist.signals<1>
  return
}

// Nor is memory read before a wait what it is after it.
// CHECK-LABEL: @wait
func.func @wait(%s: !dist.signals<1>, %A: memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>, %n: index) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[BEFORE:.*]] = tile.load
  // CHECK: dist.wait
  // CHECK: %[[AFTER:.*]] = tile.load
  // CHECK: return %[[BEFORE]], %[[AFTER]]
  %0 = tile.load %A[%n] : memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>> -> tensor<4xf32>
  dist.wait %s[%n] >= %n : !dist.signals<1>
  %1 = tile.load %A[%n] : memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>> -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
