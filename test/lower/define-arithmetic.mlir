// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --lower-define-arithmetic | FileCheck %s

// What is divided by 0 is 0, whatever was divided.
// CHECK-LABEL: func.func @divide(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi8>, %[[Y:[a-z0-9]+]]: tensor<4xi8>
// CHECK-COUNT-3: arith.cmpi eq, %[[Y]],
// CHECK-NOT: arith.cmpi eq
// CHECK: return
func.func @divide(%x: tensor<4xi8>, %y: tensor<4xi8>) -> (tensor<4xi8>, tensor<4xi8>, tensor<4xi8>) {
  %q = arith.divui %x, %y : tensor<4xi8>
  %c = arith.ceildivui %x, %y : tensor<4xi8>
  %r = arith.remui %x, %y : tensor<4xi8>
  return %q, %c, %r : tensor<4xi8>, tensor<4xi8>, tensor<4xi8>
}

// The divisor is a number other than 0.
// CHECK-LABEL: func.func @byThree(
// CHECK-NOT: arith.select
// CHECK: return
func.func @byThree(%x: index) -> index {
  %three = arith.constant 3 : index
  %q = arith.divui %x, %three : index
  return %q : index
}

// The amount counts modulo 64, and beyond the width nothing is left.
// CHECK-LABEL: func.func @shift(
// CHECK: %[[AMOUNT:.*]] = arith.andi
// CHECK: arith.cmpi ugt, %[[AMOUNT]],
// CHECK: arith.shrui %{{.*}}, %{{.*}} : tensor<4xi64>
// CHECK: arith.select
func.func @shift(%x: tensor<4xi64>, %y: tensor<4xi64>) -> tensor<4xi64> {
  %s = arith.shrui %x, %y : tensor<4xi64>
  return %s : tensor<4xi64>
}

// CHECK-LABEL: func.func @convert(
// CHECK: tile.cast %{{.*}} rounding toward_zero : tensor<4xf32> to tensor<4xi32>
// CHECK: tile.cast %{{.*}} rounding toward_zero : f32 to i8
func.func @convert(%x: tensor<4xf32>, %y: f32) -> (tensor<4xi32>, i8) {
  %i = arith.fptosi %x : tensor<4xf32> to tensor<4xi32>
  %j = arith.fptosi %y : f32 to i8
  return %i, %j : tensor<4xi32>, i8
}
