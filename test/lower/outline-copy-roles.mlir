// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --lower-hoist-symmetric --lower-outline-copy-roles --verify-diagnostics | FileCheck %s

!view = memref<?x?xf16, strided<[?, ?], offset: ?>>
!cube = memref<?x?x?xf16, strided<[?, ?, ?], offset: ?>, #dist.space<symmetric>>
!slot = memref<?x?xf16, strided<[?, ?], offset: ?>, #dist.space<symmetric>>

// The role leaves the kernel as steps; what they touch is fixed, other memory is not.
// CHECK-LABEL: func.func @gather(
// CHECK-SAME: dist.copy_engines
// CHECK-SAME: dist.copy_program = [
// CHECK-SAME: {arguments = array<i64: 4>, body = 0 : i64, kind = "wait", message = "", otherwise = 0 : i64, values = ["0", "7"]}
// CHECK-SAME: {arguments = array<i64>, body = 3 : i64, kind = "loop", message = "", otherwise = 0 : i64, values = ["1", "n", "1"]}
// CHECK-SAME: kind = "require", message = "{{.*}}: rank {} of {}", otherwise = 0 : i64, values = ["v0 n lt", "v0", "n"]
// CHECK-SAME: {arguments = array<i64: 0, 1>, body = 0 : i64, kind = "put", message = "", otherwise = 0 : i64, values = ["r v0 add n rem", "0", "0 r a1.s0 mul add", "a0.0", "a0.1", "a0.s0", "a0.s1", "a1.s1", "a1.s2"]}
// CHECK-SAME: {arguments = array<i64: 3>, body = 0 : i64, kind = "notify add", message = "", otherwise = 0 : i64, values = ["r v0 add n rem", "r", "1"]}
// CHECK-SAME: {arguments = array<i64>, body = 1 : i64, kind = "branch", message = "", otherwise = 1 : i64, values = ["a0.0 4 lt"]}
// CHECK-SAME: kind = "notify set", {{.*}} values = ["r", "1", "2"]
// CHECK-SAME: kind = "notify set", {{.*}} values = ["r", "0", "2"]
// CHECK-SAME: dist.symmetric = [
// CHECK-SAME: fixed = true, kind = "buffer", name = "full"
// CHECK-SAME: fixed = false, kind = "buffer", name = "other"
// CHECK-SAME: fixed = true, kind = "signals", name = "arrived"
// CHECK-SAME: fixed = true, kind = "signals", name = "ready"
// CHECK-SAME: fixed = true, kind = "signals", name = "flags"
// CHECK-NOT: dist.role
// CHECK: dist.notify
// CHECK: return
func.func @gather(%A: !view {tile.name = "A"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c7 = arith.constant 7 : index
  %m = memref.dim %A, %c0 : !view
  %k = memref.dim %A, %c1 : !view
  %R = dist.num_ranks
  %full = dist.symmetric "full"(%R, %m, %k) : !cube
  %other = dist.symmetric "other"(%m, %k) : !slot
  %arrived = dist.signals "arrived"(%R) : !dist.signals<1>
  %ready = dist.signals "ready"(%c1) : !dist.signals<1>
  %flags = dist.signals "flags"(%c2) : !dist.signals<1>
  dist.role "send" cores %c0 for %c1 on copy {
    %me = dist.rank
    dist.wait %ready[%c0] >= %c7 : !dist.signals<1>
    scf.for %i = %c1 to %R step %c1 {
      %sum = arith.addi %me, %i : index
      %peer = arith.remui %sum, %R : index
      %ok = arith.cmpi ult, %i, %R : index
      tile.require %ok, "rank {} of {}"(%i, %R)
      %there = memref.subview %full[%me, 0, 0] [1, %m, %k] [1, 1, 1] : !cube to !slot
      dist.put_notify %A, %there, %arrived[%me] on %peer add %c1 : !view, !slot, !dist.signals<1>
    }
    %few = arith.cmpi slt, %m, %c4 : index
    scf.if %few {
      dist.notify %flags[%c1] set %c2 : !dist.signals<1>
    } else {
      dist.notify %flags[%c0] set %c2 : !dist.signals<1>
    }
  }
  dist.notify %ready[%c0] add %c7 : !dist.signals<1>
  dist.wait %arrived[%c0] >= %c1 : !dist.signals<1>
  return
}

// -----

// Splits and permutations are followed too.
!view = memref<?x?xf16, strided<[?, ?], offset: ?>>
!cube = memref<?x?x?xf16, strided<[?, ?, ?], offset: ?>>
!sym = memref<?x?x?xf16, strided<[?, ?, ?], offset: ?>, #dist.space<symmetric>>
// CHECK-LABEL: func.func @splits(
// CHECK-SAME: values = ["0", "0", "0", "n", "a0.1", "a0.0 n div", "a0.s0 a0.0 n div mul", "a0.s1", "a0.s0", "a1.s0", "a1.s1", "a1.s2"]
func.func @splits(%A: !view) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %A, %c0 : !view
  %k = memref.dim %A, %c1 : !view
  %R = dist.num_ranks
  %part = arith.divsi %m, %R : index
  %full = dist.symmetric "full"(%R, %k, %part) : !sym
  dist.role "send" cores %c0 for %c1 on copy {
    %split = memref.expand_shape %A [[0, 1], [2]] output_shape [%R, %part, %k] : !view into !cube
    %turned = memref.transpose %split (i, j, k) -> (i, k, j) : !cube to !cube
    dist.put %turned, %full on %c0 : !cube, !sym
  }
  return
}
