// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --cpu-lower-to-llvm | FileCheck %s

// A divisor that may be 0 or -1 is replaced by 1, and the quotient corrected.
// CHECK-LABEL: llvm.func internal @divide(
// CHECK-SAME: %[[X:[a-z0-9]+]]: vector<4xi32>, %[[Y:[a-z0-9]+]]: vector<4xi32>
// CHECK-DAG: %[[ZERO:.*]] = llvm.mlir.constant(dense<0>
// CHECK-DAG: %[[BY_ZERO:.*]] = llvm.icmp "eq" %[[Y]], %[[ZERO]]
// CHECK-DAG: %[[BY_MINUS_ONE:.*]] = llvm.icmp "eq" %[[Y]], %{{.*}}
// CHECK: %[[SPECIAL:.*]] = llvm.or %[[BY_ZERO]], %[[BY_MINUS_ONE]]
// CHECK: %[[SAFE:.*]] = llvm.select %[[SPECIAL]], %{{.*}}, %[[Y]]
// CHECK: %[[Q:.*]] = llvm.sdiv %[[X]], %[[SAFE]]
// CHECK: %[[NEGATED:.*]] = llvm.sub %{{.*}}, %[[X]]
// CHECK: %[[R:.*]] = llvm.select %[[BY_MINUS_ONE]], %[[NEGATED]], %[[Q]]
// CHECK: llvm.select %[[BY_ZERO]], %{{.*}}, %[[R]]
func.func @divide(%x: vector<4xi32>, %y: vector<4xi32>, %p: !llvm.ptr) {
  %q = arith.divsi %x, %y : vector<4xi32>
  llvm.store %q, %p : vector<4xi32>, !llvm.ptr
  return
}

// -----

// Scalars and indices too; a constant other than 0 and -1 needs no care.
// CHECK-LABEL: llvm.func internal @scalars(
// CHECK: %[[SAFE:.*]] = llvm.select
// CHECK: llvm.srem %{{.*}}, %[[SAFE]]
// CHECK: llvm.sdiv %{{.*}}, %[[THREE:.*]] : i64
// CHECK-NOT: llvm.select
// CHECK: llvm.return
func.func @scalars(%x: index, %y: index, %p: !llvm.ptr) {
  %three = arith.constant 3 : index
  %r = arith.remsi %x, %y : index
  %q = arith.divsi %r, %three : index
  %w = arith.index_cast %q : index to i64
  llvm.store %w, %p : i64, !llvm.ptr
  return
}

// -----

// Amounts count modulo 64; beyond the width all bits are shifted out.
// CHECK-LABEL: llvm.func internal @shift(
// CHECK: %[[AMOUNT:.*]] = llvm.and
// CHECK: %[[BEYOND:.*]] = llvm.icmp "ugt" %[[AMOUNT]]
// CHECK: %[[CLAMPED:.*]] = llvm.intr.umin(%[[AMOUNT]]
// CHECK: llvm.shl %{{.*}}, %[[CLAMPED]]
// CHECK: llvm.select %[[BEYOND]]
// CHECK: llvm.ashr
func.func @shift(%x: vector<4xi8>, %y: vector<4xi8>, %p: !llvm.ptr) {
  %l = arith.shli %x, %y : vector<4xi8>
  %r = arith.shrsi %l, %y : vector<4xi8>
  llvm.store %r, %p : vector<4xi8>, !llvm.ptr
  return
}
