// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --canonicalize | FileCheck %s

//===-- Shapes: what changes nothing goes ------------------------------------------------------===//

// CHECK-LABEL: @identity
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>)
func.func @identity(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK-NEXT: return %[[X]], %[[X]], %[[X]]
  %0 = tile.broadcast %x : tensor<4x8xf32> -> tensor<4x8xf32>
  %1 = tile.reshape %x : tensor<4x8xf32> -> tensor<4x8xf32>
  %2 = tile.transpose %x [0, 1] : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0, %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: @square
func.func @square(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK: tile.transpose
  %0 = tile.transpose %x [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// CHECK-LABEL: @twice
// CHECK-SAME: (%[[X:.*]]: tensor<4x1xf32>, %[[Y:.*]]: tensor<2x3x4xf32>)
func.func @twice(%x: tensor<4x1xf32>, %y: tensor<2x3x4xf32>)
    -> (tensor<2x2xf32>, tensor<4x1xf32>, tensor<4x3x2xf32>, tensor<2x3x4xf32>, tensor<4x8xf32>) {
  // CHECK-DAG: %[[R:.*]] = tile.reshape %[[X]] : tensor<4x1xf32> -> tensor<2x2xf32>
  %0 = tile.reshape %x : tensor<4x1xf32> -> tensor<1x4xf32>
  %1 = tile.reshape %0 : tensor<1x4xf32> -> tensor<2x2xf32>
  %2 = tile.reshape %1 : tensor<2x2xf32> -> tensor<4x1xf32>
  // CHECK-DAG: %[[T:.*]] = tile.transpose %[[Y]] [2, 1, 0] : tensor<2x3x4xf32> -> tensor<4x3x2xf32>
  %3 = tile.transpose %y [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %4 = tile.transpose %3 [1, 0, 2] : tensor<3x4x2xf32> -> tensor<4x3x2xf32>
  %5 = tile.transpose %3 [2, 0, 1] : tensor<3x4x2xf32> -> tensor<2x3x4xf32>
  // CHECK-DAG: %[[B:.*]] = tile.broadcast %[[X]] : tensor<4x1xf32> -> tensor<4x8xf32>
  %6 = tile.broadcast %x : tensor<4x1xf32> -> tensor<4x8xf32>
  %7 = tile.broadcast %6 : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK: return %[[R]], %[[X]], %[[T]], %[[Y]], %[[B]]
  return %1, %2, %4, %5, %7
      : tensor<2x2xf32>, tensor<4x1xf32>, tensor<4x3x2xf32>, tensor<2x3x4xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: @constants
func.func @constants() -> (tensor<4x8xf32>, tensor<2x2xf32>, tensor<8x4xf32>) {
  // CHECK-DAG: arith.constant dense<1.500000e+00> : tensor<4x8xf32>
  // CHECK-DAG: arith.constant dense<1.500000e+00> : tensor<2x2xf32>
  // CHECK-DAG: arith.constant dense<1.500000e+00> : tensor<8x4xf32>
  // CHECK-NEXT: return
  %x = arith.constant dense<1.5> : tensor<4x1xf32>
  %0 = tile.broadcast %x : tensor<4x1xf32> -> tensor<4x8xf32>
  %1 = tile.reshape %x : tensor<4x1xf32> -> tensor<2x2xf32>
  %2 = tile.transpose %0 [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  return %0, %1, %2 : tensor<4x8xf32>, tensor<2x2xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: @splats
// CHECK-SAME: (%[[S:.*]]: f32)
func.func @splats(%s: f32) -> (tensor<4x8xf32>, tensor<2x2xf32>, tensor<8x4xf32>, tensor<4x1xf16>) {
  // CHECK-DAG: tensor.splat %[[S]] : tensor<4x8xf32>
  // CHECK-DAG: tensor.splat %[[S]] : tensor<2x2xf32>
  // CHECK-DAG: tensor.splat %[[S]] : tensor<8x4xf32>
  // CHECK-DAG: %[[H:.*]] = tile.cast %[[S]] : f32 to f16
  // CHECK-DAG: tensor.splat %[[H]] : tensor<4x1xf16>
  %x = tensor.splat %s : tensor<4x1xf32>
  %0 = tile.broadcast %x : tensor<4x1xf32> -> tensor<4x8xf32>
  %1 = tile.reshape %x : tensor<4x1xf32> -> tensor<2x2xf32>
  %2 = tile.transpose %0 [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %3 = tile.cast %x : tensor<4x1xf32> to tensor<4x1xf16>
  return %0, %1, %2, %3 : tensor<4x8xf32>, tensor<2x2xf32>, tensor<8x4xf32>, tensor<4x1xf16>
}

//===-- Casts of casts: only the exact ones go -------------------------------------------------===//

// CHECK-LABEL: @widening
// CHECK-SAME: (%[[X:.*]]: tensor<4xbf16>, %[[I:.*]]: i8, %[[B:.*]]: i1)
func.func @widening(%x: tensor<4xbf16>, %i: i8, %b: i1) -> (tensor<4xbf16>, tensor<4xf8E4M3FN>, f16, i16, tensor<4xbf16>) {
  // CHECK-DAG: %[[A:.*]] = tile.cast %[[X]] saturate : tensor<4xbf16> to tensor<4xf8E4M3FN>
  // CHECK-DAG: %[[C:.*]] = tile.cast %[[I]] : i8 to f16
  // CHECK-DAG: %[[D:.*]] = tile.cast %[[B]] : i1 to i16
  // CHECK-DAG: %[[E:.*]] = tile.cast %[[X]] saturate : tensor<4xbf16> to tensor<4xbf16>
  // CHECK: return %[[X]], %[[A]], %[[C]], %[[D]], %[[E]]
  %0 = tile.cast %x : tensor<4xbf16> to tensor<4xf32>
  %1 = tile.cast %0 : tensor<4xf32> to tensor<4xbf16>
  %2 = tile.cast %0 saturate : tensor<4xf32> to tensor<4xf8E4M3FN>
  %3 = tile.cast %i : i8 to i32
  %4 = tile.cast %3 : i32 to f16
  %5 = tile.cast %b : i1 to i32
  %6 = tile.cast %5 : i32 to i16
  %7 = tile.cast %0 saturate : tensor<4xf32> to tensor<4xbf16>
  return %1, %2, %4, %6, %7 : tensor<4xbf16>, tensor<4xf8E4M3FN>, f16, i16, tensor<4xbf16>
}

// CHECK-LABEL: @narrowing
// CHECK-COUNT-8: tile.cast
func.func @narrowing(%f: f32, %h: f16, %i: i16) -> (f32, bf16, i8, f16) {
  %0 = tile.cast %f : f32 to bf16
  %1 = tile.cast %0 : bf16 to f32
  // bf16 has fewer bits of mantissa than f16.
  %2 = tile.cast %h : f16 to bf16
  %3 = tile.cast %2 saturate : bf16 to bf16
  // From f32 it saturates, from i16 it would wrap.
  %4 = tile.cast %i : i16 to f32
  %5 = tile.cast %4 : f32 to i8
  // An infinity becomes finite on the way.
  %6 = tile.cast %h saturate : f16 to f32
  %7 = tile.cast %6 : f32 to f16
  return %1, %3, %5, %7 : f32, bf16, i8, f16
}

//===-- Casts of constants ---------------------------------------------------------------------===//

// CHECK-LABEL: @floats
func.func @floats() -> (f16, bf16, bf16, f16, f16, f8E4M3FN, f8E4M3FN, tensor<4xf16>) {
  %third = arith.constant 0.333333343 : f32
  %large = arith.constant 1.0e6 : f32
  %nan = arith.constant 0x7FC00000 : f32
  %tile = arith.constant dense<2.5> : tensor<4xf32>
  // CHECK-DAG: %[[A:.*]] = arith.constant 3.332520e-01 : f16
  %0 = tile.cast %third : f32 to f16
  // CHECK-DAG: %[[B:.*]] = arith.constant 3.339840e-01 : bf16
  %1 = tile.cast %third : f32 to bf16
  // CHECK-DAG: %[[C:.*]] = arith.constant 3.320310e-01 : bf16
  %2 = tile.cast %third rounding toward_zero : f32 to bf16
  // CHECK-DAG: %[[D:.*]] = arith.constant 0x7C00 : f16
  %3 = tile.cast %large : f32 to f16
  // CHECK-DAG: %[[E:.*]] = arith.constant 6.550400e+04 : f16
  %4 = tile.cast %large saturate : f32 to f16
  // CHECK-DAG: %[[F:.*]] = arith.constant 0x7F : f8E4M3FN
  %5 = tile.cast %large : f32 to f8E4M3FN
  // CHECK-DAG: %[[G:.*]] = arith.constant 4.480000e+02 : f8E4M3FN
  %6 = tile.cast %large saturate : f32 to f8E4M3FN
  // CHECK-DAG: %[[H:.*]] = arith.constant dense<2.500000e+00> : tensor<4xf16>
  %7 = tile.cast %tile : tensor<4xf32> to tensor<4xf16>
  // CHECK: return %[[A]], %[[B]], %[[C]], %[[D]], %[[E]], %[[F]], %[[G]], %[[H]]
  return %0, %1, %2, %3, %4, %5, %6, %7 : f16, bf16, bf16, f16, f16, f8E4M3FN, f8E4M3FN, tensor<4xf16>
}

// CHECK-LABEL: @integers
func.func @integers() -> (i32, i32, i32, i8, i32, i1, i1, i1) {
  %x = arith.constant 2.5 : f32
  %large = arith.constant -1.0e6 : f32
  %nan = arith.constant 0x7FC00000 : f32
  %zero = arith.constant -0.0 : f32
  // CHECK-DAG: %[[TWO:.*]] = arith.constant 2 : i32
  %0 = tile.cast %x : f32 to i32
  // CHECK-DAG: %[[THREE:.*]] = arith.constant 3 : i32
  %1 = tile.cast %x rounding up : f32 to i32
  %2 = tile.cast %x rounding down : f32 to i32
  // CHECK-DAG: %[[LOWEST:.*]] = arith.constant -128 : i8
  %3 = tile.cast %large : f32 to i8
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i32
  %4 = tile.cast %nan : f32 to i32
  // CHECK-DAG: %[[TRUE:.*]] = arith.constant true
  %5 = tile.cast %nan : f32 to i1
  // CHECK-DAG: %[[FALSE:.*]] = arith.constant false
  %6 = tile.cast %zero : f32 to i1
  %7 = tile.cast %x : f32 to i1
  // CHECK: return %[[TWO]], %[[THREE]], %[[TWO]], %[[LOWEST]], %[[ZERO]], %[[TRUE]], %[[FALSE]], %[[TRUE]]
  return %0, %1, %2, %3, %4, %5, %6, %7 : i32, i32, i32, i8, i32, i1, i1, i1
}

// CHECK-LABEL: @from_integers
func.func @from_integers() -> (i8, i8, f32, i32, f32, i1, tensor<4xf16>) {
  %x = arith.constant 300 : i32
  %true = arith.constant true
  %big = arith.constant 16777217 : i32
  %tile = arith.constant dense<-3> : tensor<4xi8>
  // CHECK-DAG: %[[A:.*]] = arith.constant 44 : i8
  %0 = tile.cast %x : i32 to i8
  // CHECK-DAG: %[[B:.*]] = arith.constant 127 : i8
  %1 = tile.cast %x saturate : i32 to i8
  // CHECK-DAG: %[[C:.*]] = arith.constant 1.000000e+00 : f32
  %2 = tile.cast %true : i1 to f32
  // CHECK-DAG: %[[D:.*]] = arith.constant 1 : i32
  %3 = tile.cast %true : i1 to i32
  // CHECK-DAG: %[[E:.*]] = arith.constant 0x4B800000 : f32
  %4 = tile.cast %big : i32 to f32
  // CHECK-DAG: %[[F:.*]] = arith.constant true
  %5 = tile.cast %x : i32 to i1
  // CHECK-DAG: %[[G:.*]] = arith.constant dense<-3.000000e+00> : tensor<4xf16>
  %6 = tile.cast %tile : tensor<4xi8> to tensor<4xf16>
  // CHECK: return %[[A]], %[[B]], %[[C]], %[[D]], %[[E]], %[[F]], %[[G]]
  return %0, %1, %2, %3, %4, %5, %6 : i8, i8, f32, i32, f32, i1, tensor<4xf16>
}

// CHECK-LABEL: @overflow
func.func @overflow() -> (f16, f8E4M3FN, f16, f16) {
  %large = arith.constant 1.0e6 : f32
  %infinity = arith.constant 0xFF800000 : f32
  // CHECK-DAG: %[[A:.*]] = arith.constant 6.550400e+04 : f16
  %0 = tile.cast %large rounding toward_zero : f32 to f16
  // CHECK-DAG: %[[B:.*]] = arith.constant 4.480000e+02 : f8E4M3FN
  %1 = tile.cast %large rounding toward_zero : f32 to f8E4M3FN
  // CHECK-DAG: %[[C:.*]] = arith.constant 0xFC00 : f16
  %2 = tile.cast %infinity rounding toward_zero : f32 to f16
  // CHECK-DAG: %[[D:.*]] = arith.constant -6.550400e+04 : f16
  %3 = tile.cast %infinity saturate : f32 to f16
  // CHECK: return %[[A]], %[[B]], %[[C]], %[[D]]
  return %0, %1, %2, %3 : f16, f8E4M3FN, f16, f16
}
