// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --cpu-lower-to-llvm | FileCheck %s

// No function of a library is called: everything is instructions on vectors.
// CHECK-LABEL: llvm.func internal @vectors(
// CHECK-NOT: llvm.intr.{{exp|log|sin|cos|pow}}
// CHECK-NOT: llvm.frem
// CHECK-NOT: llvm.call @
// CHECK: llvm.return
func.func @vectors(%x: vector<16xf32>, %y: vector<16xf32>, %p: !llvm.ptr) {
  %0 = math.exp %x : vector<16xf32>
  %1 = math.exp2 %0 : vector<16xf32>
  %2 = math.log %1 : vector<16xf32>
  %3 = math.log2 %2 : vector<16xf32>
  %4 = math.sin %3 : vector<16xf32>
  %5 = math.cos %4 : vector<16xf32>
  %6 = math.tanh %5 : vector<16xf32>
  %7 = math.erf %6 : vector<16xf32>
  %8 = math.rsqrt %7 : vector<16xf32>
  %9 = arith.remf %8, %y : vector<16xf32>
  %10 = arith.maximumf %9, %y : vector<16xf32>
  %11 = arith.minimumf %10, %x : vector<16xf32>
  %12 = vector.reduction <maximumf>, %11 : vector<16xf32> into f32
  llvm.store %12, %p : f32, !llvm.ptr
  return
}

// -----

// The maximum may be either of two zeros.
// CHECK-LABEL: llvm.func internal @maximum(
// CHECK-SAME: %[[X:[a-z0-9]+]]: f32, %[[Y:[a-z0-9]+]]: f32
// CHECK: llvm.intr.maximum(%[[X]], %[[Y]]) {fastmathFlags = #llvm.fastmath<nsz>}
func.func @maximum(%x: f32, %y: f32, %p: !llvm.ptr) {
  %m = arith.maximumf %x, %y : f32
  llvm.store %m, %p : f32, !llvm.ptr
  return
}
