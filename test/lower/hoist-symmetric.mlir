// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --lower-hoist-symmetric | FileCheck %s

!v = memref<?x?xf16, strided<[?, ?], offset: ?>>
!sym = memref<?x?xf16, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
!far = memref<?x?xf16, strided<[?, ?], offset: ?>, #dist.space<remote>>

// The plan computes the extents from the arguments, in the order of the requests.
// CHECK-LABEL: func.func @gather_plan(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<?x?xf16, strided<[?, ?], offset: ?>>, %[[N:[a-z0-9]+]]: index, %[[OUT:[a-z0-9]+]]: memref<?xi64>)
// CHECK-SAME: dist.plan
// CHECK: %[[M:.*]] = memref.dim %[[A]], %c0
// CHECK: %[[K:.*]] = memref.dim %[[A]], %c1
// CHECK: %[[R:.*]] = dist.num_ranks
// CHECK: %[[ROWS:.*]] = arith.muli %[[R]], %[[M]]
// CHECK-NOT: dist.rank
// CHECK: %[[E0:.*]] = arith.index_cast %[[ROWS]] : index to i64
// CHECK: memref.store %[[E0]], %[[OUT]][%{{.*}}]
// CHECK: %[[E1:.*]] = arith.index_cast %[[K]]
// CHECK: memref.store %[[E1]], %[[OUT]][%{{.*}}]
// CHECK: %[[E2:.*]] = arith.index_cast %[[N]]
// CHECK: memref.store %[[E2]], %[[OUT]][%{{.*}}]
// CHECK: return

// The kernel takes the memory as arguments; signals are cells of 64 bits.
// CHECK-LABEL: func.func @gather(
// CHECK-SAME: %[[FULL:[a-z0-9]+]]: memref<?x?xf16, strided<[?, ?], offset: ?>, #dist.space<symmetric>> {tile.name = "full", tile.unit_stride}
// CHECK-SAME: %[[CELLS:[a-z0-9]+]]: memref<?xi64, strided<[?], offset: ?>, #dist.space<symmetric>> {tile.name = "ready", tile.unit_stride}
// CHECK-SAME: dist.requests = [{bytes = 2 : i64, kind = "buffer", name = "full", rank = 2 : i64}, {bytes = 8 : i64, kind = "signals", name = "ready", rank = 1 : i64}]
// CHECK-NOT: dist.symmetric
// CHECK: %[[READY:.*]] = builtin.unrealized_conversion_cast %[[CELLS]]
// CHECK-NOT: dist.signals "
// CHECK: dist.on %[[FULL]]
// CHECK: dist.wait %[[READY]]
func.func @gather(%A: !v {tile.name = "A"}, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %A, %c0 : !v
  %k = memref.dim %A, %c1 : !v
  %R = dist.num_ranks
  %rows = arith.muli %R, %m : index
  %full = dist.symmetric "full"(%rows, %k) : !sym
  %ready = dist.signals "ready"(%n) : !dist.signals<1>
  %me = dist.rank
  %there = dist.on %full, %me : !sym -> !far
  dist.get %there, %A : !far, !v
  dist.wait %ready[%c0] >= %c1 : !dist.signals<1>
  return
}

// -----

// Without symmetric memory the plan stores nothing, and there is nothing to provide.
// CHECK-LABEL: func.func @alone_plan
// CHECK-NEXT: return
// CHECK-LABEL: func.func @alone(
// CHECK-SAME: dist.requests = []
func.func @alone(%n: index) attributes {tile.kernel} {
  return
}

// -----

// Functions that are no kernels stay as they are.
// CHECK-LABEL: func.func @helper
// CHECK-NOT: @helper_plan
func.func @helper(%n: index) {
  return
}
