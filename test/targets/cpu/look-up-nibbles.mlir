// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --cpu-look-up-nibbles --canonicalize | FileCheck %s

// The table is computed once, and serves the low and the high bits of the same bytes.
// CHECK-LABEL: @weights
// CHECK-SAME: %[[BITS:[a-z0-9]+]]: vector<16xi32>
// CHECK: %[[ALL:.*]] = arith.constant dense<[0.000000e+00, 1.000000e+00, {{.*}} 1.500000e+01]>
// CHECK: %[[TABLE:.*]] = math.fma %[[ALL]], %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.permvar.sf.512"(%[[TABLE]], %[[BITS]])
// CHECK: %[[HIGH:.*]] = arith.shrsi %[[BITS]]
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.permvar.sf.512"(%{{.*}}, %[[HIGH]])
// CHECK-NOT: arith.sitofp
func.func @weights(%bits: vector<16xi32>, %s: f32, %m: f32) -> (vector<16xf32>, vector<16xf32>) {
  %mask = arith.constant dense<15> : vector<16xi32>
  %four = arith.constant dense<4> : vector<16xi32>
  %scale = vector.broadcast %s : f32 to vector<16xf32>
  %minimum = vector.broadcast %m : f32 to vector<16xf32>
  %l = arith.andi %bits, %mask : vector<16xi32>
  %x = arith.sitofp %l : vector<16xi32> to vector<16xf32>
  %low = math.fma %x, %scale, %minimum : vector<16xf32>
  %shifted = arith.shrsi %bits, %four : vector<16xi32>
  %h = arith.andi %shifted, %mask : vector<16xi32>
  %y = arith.sitofp %h : vector<16xi32> to vector<16xf32>
  %high = arith.mulf %y, %scale : vector<16xf32>
  return %low, %high : vector<16xf32>, vector<16xf32>
}

// A scale for each lane, five bits, and shorter vectors are computed as they are.
// CHECK-LABEL: @others
// CHECK-NOT: call_intrinsic
// CHECK: return
func.func @others(%bits: vector<16xi32>, %few: vector<8xi32>, %scales: vector<16xf32>, %s: f32)
    -> (vector<16xf32>, vector<16xf32>, vector<8xf32>) {
  %scale = vector.broadcast %s : f32 to vector<16xf32>
  %short = vector.broadcast %s : f32 to vector<8xf32>
  %four = arith.constant dense<15> : vector<16xi32>
  %five = arith.constant dense<31> : vector<16xi32>
  %of_few = arith.constant dense<15> : vector<8xi32>
  %a = arith.andi %bits, %four : vector<16xi32>
  %b = arith.andi %bits, %five : vector<16xi32>
  %c = arith.andi %few, %of_few : vector<8xi32>
  %x = arith.sitofp %a : vector<16xi32> to vector<16xf32>
  %y = arith.sitofp %b : vector<16xi32> to vector<16xf32>
  %z = arith.sitofp %c : vector<8xi32> to vector<8xf32>
  %p = arith.mulf %x, %scales : vector<16xf32>
  %q = arith.mulf %y, %scale : vector<16xf32>
  %r = arith.mulf %z, %short : vector<8xf32>
  return %p, %q, %r : vector<16xf32>, vector<16xf32>, vector<8xf32>
}
