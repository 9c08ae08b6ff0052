// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-switch-types | FileCheck %s

// One case for each branch; what stands between them is computed before.
// CHECK-LABEL: func.func @types(
// CHECK-SAME: %[[TYPE:[a-z0-9]+]]: i64, %[[X:[a-z0-9]+]]: memref<?xi64>, %[[I:[a-z0-9]+]]: index)
// CHECK: %[[NEXT:.*]] = arith.addi %[[I]], %[[I]] : index
// CHECK: %[[CASE:.*]] = arith.index_cast %[[TYPE]] : i64 to index
// CHECK-NEXT: scf.index_switch %[[CASE]]
// CHECK-NEXT: case 0 {
// CHECK-NEXT: memref.store %[[TYPE]], %[[X]][%[[I]]]
// CHECK-NEXT: scf.yield
// CHECK: case 3 {
// CHECK-NEXT: memref.store %[[TYPE]], %[[X]][%[[NEXT]]]
// CHECK: default {
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @types(%type: i64, %x: memref<?xi64>, %i: index) {
  %c0 = arith.constant 0 : i64
  %c3 = arith.constant 3 : i64
  %isZero = arith.cmpi eq, %type, %c0 : i64
  scf.if %isZero {
    memref.store %type, %x[%i] : memref<?xi64>
  } {dist.alternative = 0 : i64}
  %isThree = arith.cmpi eq, %type, %c3 : i64
  %next = arith.addi %i, %i : index
  scf.if %isThree {
    memref.store %type, %x[%next] : memref<?xi64>
  } {dist.alternative = 1 : i64}
  return
}

// What is between them has an effect; conditions are of two numbers; two branches are of one value.
// CHECK-LABEL: func.func @apart(
// CHECK-NOT: scf.index_switch
func.func @apart(%type: i64, %other: i64, %x: memref<?xi64>, %i: index) {
  %c0 = arith.constant 0 : i64
  %c3 = arith.constant 3 : i64
  %true = arith.constant true
  %isZero = arith.cmpi eq, %type, %c0 : i64
  %isThree = arith.cmpi eq, %type, %c3 : i64
  %isOther = arith.cmpi eq, %other, %c3 : i64
  scf.if %true {
    scf.if %isZero {
      memref.store %type, %x[%i] : memref<?xi64>
    } {dist.alternative = 0 : i64}
    memref.store %other, %x[%i] : memref<?xi64>
    scf.if %isThree {
      memref.store %type, %x[%i] : memref<?xi64>
    } {dist.alternative = 1 : i64}
  }
  scf.if %true {
    scf.if %isZero {
      memref.store %type, %x[%i] : memref<?xi64>
    } {dist.alternative = 0 : i64}
    scf.if %isOther {
      memref.store %type, %x[%i] : memref<?xi64>
    } {dist.alternative = 1 : i64}
  }
  scf.if %true {
    scf.if %isZero {
      memref.store %type, %x[%i] : memref<?xi64>
    } {dist.alternative = 0 : i64}
    scf.if %isZero {
      memref.store %other, %x[%i] : memref<?xi64>
    } {dist.alternative = 1 : i64}
  }
  return
}
