// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ditron-interpret %s | FileCheck %s
// scf, func and the variables of the language.

// CHECK-LABEL: kernel loops
// Sum of 0, 2, 4, ... below 9; products; a loop that never runs gives its initial values.
// CHECK-NEXT: rank 0 argument 0
// CHECK-NEXT: {{^}}  20 7 45 6
func.func @loops(%C: memref<4xi64>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0 : i64
  %seven = arith.constant 7 : i64
  %sum = scf.for %i = %c0 to %c9 step %c2 iter_args(%s = %zero) -> i64 {
    %x = arith.index_cast %i : index to i64
    %t = arith.addi %s, %x : i64
    scf.yield %t : i64
  }
  %never = scf.for %i = %c9 to %c0 step %c1 iter_args(%s = %seven) -> i64 {
    scf.yield %zero : i64
  }
  memref.store %sum, %C[%c0] : memref<4xi64>
  memref.store %never, %C[%c1] : memref<4xi64>
  %v = tile.var %zero : i64
  scf.for %i = %c0 to %c3 step %c1 {
    scf.for %j = %c0 to %c3 step %c1 {
      %old = tile.get %v : i64
      %new = func.call @next(%old, %i) : (i64, index) -> i64
      tile.set %v, %new : i64
    }
  }
  %last = tile.get %v : i64
  memref.store %last, %C[%c2] : memref<4xi64>
  %many:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %c1, %b = %c2) -> (index, index) {
    scf.yield %b, %a : index, index
  }
  %product = arith.muli %many#0, %c3 : index
  %p = arith.index_cast %product : index to i64
  memref.store %p, %C[%c3] : memref<4xi64>
  return
}

// A device function.
func.func @next(%x: i64, %i: index) -> i64 {
  %five = arith.constant 5 : i64
  %y = arith.addi %x, %five : i64
  return %y : i64
}

// CHECK-LABEL: kernel branches
// CHECK-NEXT: rank 0 argument 1
// CHECK-NEXT: {{^}}  10 -1 10 -1
func.func @branches(%n: index {interp.values = 4 : index}, %C: memref<?xi32> {interp.sizes = array<i64: 4>})
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %ten = arith.constant 10 : i32
  %minus = arith.constant -1 : i32
  scf.for %i = %c0 to %n step %c1 {
    %odd = arith.remsi %i, %c2 : index
    %even = arith.cmpi eq, %odd, %c0 : index
    %x = scf.if %even -> i32 {
      scf.yield %ten : i32
    } else {
      scf.yield %minus : i32
    }
    memref.store %x, %C[%i] : memref<?xi32>
    scf.if %even {
      %y = arith.addi %ten, %ten : i32
    }
  }
  return
}

// CHECK-LABEL: kernel variables
// A value read before keeps what it was.
// CHECK-NEXT: rank 0 argument 0
// CHECK-NEXT: {{^}}  1 1
// CHECK-NEXT: rank 0 argument 1
// CHECK-NEXT: {{^}}  2 2
func.func @variables(%A: memref<2xf32>, %B: memref<2xf32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<2xf32>
  %v = tile.var %one : tensor<2xf32>
  %before = tile.get %v : tensor<2xf32>
  %two = arith.addf %before, %one : tensor<2xf32>
  tile.set %v, %two : tensor<2xf32>
  %after = tile.get %v : tensor<2xf32>
  tile.store %before, %A[%c0] : tensor<2xf32>, memref<2xf32>
  tile.store %after, %B[%c0] : tensor<2xf32>, memref<2xf32>
  return
}
