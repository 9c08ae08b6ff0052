// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --tile-fuse-dot | FileCheck %s

!a = tensor<8x4xf16>
!b = tensor<4x16xf16>
!c = tensor<8x16xf32>

// CHECK-LABEL: @right
// CHECK-SAME: (%[[A:.*]]: tensor<8x4xf16>, %[[B:.*]]: tensor<4x16xf16>, %[[C:.*]]: tensor<8x16xf32>)
func.func @right(%a: !a, %b: !b, %c: !c) -> !c {
  // CHECK-NEXT: %[[R:.*]] = tile.dot %[[A]], %[[B]], %[[C]] : tensor<8x4xf16>, tensor<4x16xf16> -> tensor<8x16xf32>
  // CHECK-NEXT: return %[[R]]
  %zero = arith.constant dense<0.0> : !c
  %0 = tile.dot %a, %b, %zero : !a, !b -> !c
  %1 = arith.addf %c, %0 : !c
  return %1 : !c
}

// CHECK-LABEL: @left
// CHECK-SAME: (%[[A:.*]]: tensor<8x4xf16>, %[[B:.*]]: tensor<4x16xf16>, %[[C:.*]]: tensor<8x16xf32>)
func.func @left(%a: !a, %b: !b, %c: !c) -> !c {
  // CHECK-NEXT: tile.dot %[[A]], %[[B]], %[[C]]
  // CHECK-NEXT: return
  %z = arith.constant -0.0 : f32
  %zero = tensor.splat %z : !c
  %0 = tile.dot %a, %b, %zero : !a, !b -> !c
  %1 = arith.addf %0, %c : !c
  return %1 : !c
}

// CHECK-LABEL: @precision
func.func @precision(%a: tensor<8x8xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK-NEXT: tile.dot {{.*}} precision tf32
  // CHECK-NEXT: return
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %0 = tile.dot %a, %a, %zero precision tf32 : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %1 = arith.addf %0, %c : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// CHECK-LABEL: @integers
func.func @integers(%a: tensor<8x8xi8>, %c: tensor<8x8xi32>) -> tensor<8x8xi32> {
  // CHECK-NEXT: tile.dot
  // CHECK-NEXT: return
  %zero = arith.constant dense<0> : tensor<8x8xi32>
  %0 = tile.dot %a, %a, %zero : tensor<8x8xi8>, tensor<8x8xi8> -> tensor<8x8xi32>
  %1 = arith.addi %0, %c : tensor<8x8xi32>
  return %1 : tensor<8x8xi32>
}

// CHECK-LABEL: @two
// CHECK-SAME: (%[[A:.*]]: tensor<8x8xi8>, %[[B:.*]]: tensor<8x8xi8>, %[[C:.*]]: tensor<8x8xi32>)
func.func @two(%a: tensor<8x8xi8>, %b: tensor<8x8xi8>, %c: tensor<8x8xi32>) -> tensor<8x8xi32> {
  // CHECK-NEXT: %[[P:.*]] = tile.dot %[[A]], %[[A]], %[[C]]
  // CHECK-NEXT: %[[Q:.*]] = tile.dot %[[B]], %[[B]], %[[P]]
  // CHECK-NEXT: return %[[Q]]
  %zero = arith.constant dense<0> : tensor<8x8xi32>
  %0 = tile.dot %a, %a, %zero : tensor<8x8xi8>, tensor<8x8xi8> -> tensor<8x8xi32>
  %1 = arith.addi %0, %c : tensor<8x8xi32>
  %2 = tile.dot %b, %b, %zero : tensor<8x8xi8>, tensor<8x8xi8> -> tensor<8x8xi32>
  %3 = arith.addi %1, %2 : tensor<8x8xi32>
  return %3 : tensor<8x8xi32>
}

// The product is used twice: it stays.
// CHECK-LABEL: @used_twice
func.func @used_twice(%a: !a, %b: !b, %c: !c) -> (!c, !c) {
  // CHECK: tile.dot
  // CHECK: arith.addf
  %zero = arith.constant dense<0.0> : !c
  %0 = tile.dot %a, %b, %zero : !a, !b -> !c
  %1 = arith.addf %c, %0 : !c
  return %0, %1 : !c, !c
}

// It accumulates already.
// CHECK-LABEL: @accumulates
func.func @accumulates(%a: !a, %b: !b, %c: !c) -> !c {
  // CHECK: tile.dot
  // CHECK: arith.addf
  %0 = tile.dot %a, %b, %c : !a, !b -> !c
  %1 = arith.addf %c, %0 : !c
  return %1 : !c
}
