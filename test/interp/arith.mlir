// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ditron-interpret %s | FileCheck %s
// arith and math beyond what unit/reference/ElementwiseTest.cpp sweeps.

// CHECK-LABEL: kernel division
// x / 0 is 0 and the least number / -1 wraps; so do sums and products.
// CHECK: rank 0 Q
// CHECK-NEXT: {{^}}  0 -128 -3 3
// CHECK-NEXT: rank 0 R
// CHECK-NEXT: {{^}}  0 0 -1 1
// CHECK-NEXT: rank 0 C
// CHECK-NEXT: {{^}}  0 -128 -3 4
// CHECK-NEXT: rank 0 F
// CHECK-NEXT: {{^}}  0 -128 -4 3
// CHECK-NEXT: rank 0 U
// CHECK-NEXT: {{^}}  0 0 124 3
// CHECK-NEXT: rank 0 S
// CHECK-NEXT: {{^}}  7 127 -5 9
func.func @division(%X: memref<4xi8> {interp.values = dense<[7, -128, -7, 7]> : tensor<4xi8>, tile.readonly},
    %Y: memref<4xi8> {interp.values = dense<[0, -1, 2, 2]> : tensor<4xi8>, tile.readonly},
    %Q: memref<4xi8> {tile.name = "Q"}, %R: memref<4xi8> {tile.name = "R"},
    %C: memref<4xi8> {tile.name = "C"}, %F: memref<4xi8> {tile.name = "F"},
    %U: memref<4xi8> {tile.name = "U"}, %S: memref<4xi8> {tile.name = "S"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %x = tile.load %X[%c0] : memref<4xi8> -> tensor<4xi8>
  %y = tile.load %Y[%c0] : memref<4xi8> -> tensor<4xi8>
  %q = arith.divsi %x, %y : tensor<4xi8>
  %r = arith.remsi %x, %y : tensor<4xi8>
  %c = arith.ceildivsi %x, %y : tensor<4xi8>
  %f = arith.floordivsi %x, %y : tensor<4xi8>
  %u = arith.divui %x, %y : tensor<4xi8>
  %s = arith.addi %x, %y : tensor<4xi8>
  tile.store %q, %Q[%c0] : tensor<4xi8>, memref<4xi8>
  tile.store %r, %R[%c0] : tensor<4xi8>, memref<4xi8>
  tile.store %c, %C[%c0] : tensor<4xi8>, memref<4xi8>
  tile.store %f, %F[%c0] : tensor<4xi8>, memref<4xi8>
  tile.store %u, %U[%c0] : tensor<4xi8>, memref<4xi8>
  tile.store %s, %S[%c0] : tensor<4xi8>, memref<4xi8>
  return
}

// CHECK-LABEL: kernel unsigned
// -6 and -1 are 250 and 255 where an i8 is read as unsigned.
// CHECK: rank 0 MIN
// CHECK-NEXT: {{^}}  5 -6 0
// CHECK-NEXT: rank 0 MAX
// CHECK-NEXT: {{^}}  -6 -1 7
// CHECK-NEXT: rank 0 DIV
// CHECK-NEXT: {{^}}  50 0 0
// CHECK-NEXT: rank 0 CEIL
// CHECK-NEXT: {{^}}  50 1 0
// CHECK-NEXT: rank 0 REM
// CHECK-NEXT: {{^}}  0 -6 0
// CHECK-NEXT: rank 0 SHIFT
// CHECK-NEXT: {{^}}  7 0 7
// CHECK-NEXT: rank 0 LESS
// CHECK-NEXT: {{^}}  0 1 0
// CHECK-NEXT: rank 0 FLOAT
// CHECK-NEXT: {{^}}  250 250 7
func.func @unsigned(%X: memref<3xi8> {interp.values = dense<[-6, -6, 7]> : tensor<3xi8>, tile.readonly},
    %Y: memref<3xi8> {interp.values = dense<[5, -1, 0]> : tensor<3xi8>, tile.readonly},
    %A: memref<3xi8> {tile.name = "MIN"}, %B: memref<3xi8> {tile.name = "MAX"},
    %C: memref<3xi8> {tile.name = "DIV"}, %D: memref<3xi8> {tile.name = "CEIL"},
    %E: memref<3xi8> {tile.name = "REM"}, %F: memref<3xi8> {tile.name = "SHIFT"},
    %G: memref<3xi1> {tile.name = "LESS"}, %H: memref<3xf32> {tile.name = "FLOAT"})
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %x = tile.load %X[%c0] : memref<3xi8> -> tensor<3xi8>
  %y = tile.load %Y[%c0] : memref<3xi8> -> tensor<3xi8>
  %a = arith.minui %x, %y : tensor<3xi8>
  %b = arith.maxui %x, %y : tensor<3xi8>
  %c = arith.divui %x, %y : tensor<3xi8>
  %d = arith.ceildivui %x, %y : tensor<3xi8>
  %e = arith.remui %x, %y : tensor<3xi8>
  %f = arith.shrui %x, %y : tensor<3xi8>
  %g = arith.cmpi ult, %x, %y : tensor<3xi8>
  %h = arith.uitofp %x : tensor<3xi8> to tensor<3xf32>
  tile.store %a, %A[%c0] : tensor<3xi8>, memref<3xi8>
  tile.store %b, %B[%c0] : tensor<3xi8>, memref<3xi8>
  tile.store %c, %C[%c0] : tensor<3xi8>, memref<3xi8>
  tile.store %d, %D[%c0] : tensor<3xi8>, memref<3xi8>
  tile.store %e, %E[%c0] : tensor<3xi8>, memref<3xi8>
  tile.store %f, %F[%c0] : tensor<3xi8>, memref<3xi8>
  tile.store %g, %G[%c0] : tensor<3xi1>, memref<3xi1>
  tile.store %h, %H[%c0] : tensor<3xf32>, memref<3xf32>
  return
}

// CHECK-LABEL: kernel conversions
// extsi of true is -1, as integers are signed; floats are truncated towards zero and saturate.
// CHECK-NEXT: rank 0 argument 0
// CHECK-NEXT: {{^}}  -1 1 44 -2 2147483647 3
func.func @conversions(%C: memref<6xi32>) attributes {tile.kernel} {
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %i2 = arith.constant 2 : index
  %i3 = arith.constant 3 : index
  %i4 = arith.constant 4 : index
  %i5 = arith.constant 5 : index
  %true = arith.constant true
  %0 = arith.extsi %true : i1 to i32
  %1 = arith.extui %true : i1 to i32
  %big = arith.constant 300 : i32
  %b = arith.trunci %big : i32 to i8
  %2 = arith.extsi %b : i8 to i32
  %f = arith.constant -2.75 : f32
  %3 = arith.fptosi %f : f32 to i32
  %huge = arith.constant 1.0e30 : f32
  %4 = arith.fptosi %huge : f32 to i32
  // 3.001 is not a number of bf16: it becomes 3.
  %x = arith.constant 3.001 : f32
  %t = arith.truncf %x : f32 to bf16
  %e = arith.extf %t : bf16 to f32
  %d = arith.subf %e, %x : f32
  %z = arith.constant 0.0 : f32
  %less = arith.cmpf olt, %d, %z : f32
  %y = arith.fptosi %e : f32 to i32
  %5 = arith.select %less, %y, %0 : i32
  memref.store %0, %C[%i0] : memref<6xi32>
  memref.store %1, %C[%i1] : memref<6xi32>
  memref.store %2, %C[%i2] : memref<6xi32>
  memref.store %3, %C[%i3] : memref<6xi32>
  memref.store %4, %C[%i4] : memref<6xi32>
  memref.store %5, %C[%i5] : memref<6xi32>
  return
}

// CHECK-LABEL: kernel rounding
// Every operation rounds to the element type: 1 + 2^-11 is 1 in f16.
// CHECK-NEXT: rank 0 argument 0
// CHECK-NEXT: {{^}}  0
func.func @rounding(%C: memref<1xf16>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<1xf16>
  %tiny = arith.constant dense<4.8828125e-04> : tensor<1xf16>
  %x = arith.addf %one, %tiny : tensor<1xf16>
  %y = arith.subf %x, %one : tensor<1xf16>
  tile.store %y, %C[%c0] : tensor<1xf16>, memref<1xf16>
  return
}

// CHECK-LABEL: kernel choose
// CHECK-NEXT: rank 0 argument 0
// CHECK-NEXT: {{^}}  7 7 7
func.func @choose(%C: memref<3xf32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %a = arith.constant dense<[1.0, 2.0, 7.0]> : tensor<3xf32>
  %x = tensor.extract %a[%c2] : tensor<3xf32>
  %s = tensor.splat %x : tensor<3xf32>
  %big = arith.cmpf ogt, %x, %x : f32
  %t = arith.select %big, %a, %s : tensor<3xf32>
  tile.store %t, %C[%c0] : tensor<3xf32>, memref<3xf32>
  return
}

// CHECK-LABEL: kernel fma
// Rounded once: 4097 * 4097 is halfway between two f32, and what is added decides.
// CHECK: rank 0 Y
// CHECK-NEXT: {{^}}  16785410 16785408 16785408
func.func @fma(%X: memref<3xf32> {interp.values = dense<[4097.0, 4097.0, 4097.0]> : tensor<3xf32>, tile.readonly},
    %Z: memref<3xf32> {interp.values = dense<[1.0e-12, 0.0, -1.0e-12]> : tensor<3xf32>, tile.readonly},
    %Y: memref<3xf32> {tile.name = "Y"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %x = tile.load %X[%c0] : memref<3xf32> -> tensor<3xf32>
  %z = tile.load %Z[%c0] : memref<3xf32> -> tensor<3xf32>
  %y = math.fma %x, %x, %z : tensor<3xf32>
  tile.store %y, %Y[%c0] : tensor<3xf32>, memref<3xf32>
  return
}
