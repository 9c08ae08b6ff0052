// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --lower-prove-requirements | FileCheck %s

// Of the numbers of tiles, however they are dealt.
// CHECK-LABEL: func.func @holds(
// CHECK-NOT: tile.require
// CHECK: return
func.func @holds(%core: index, %cores: index, %tiles: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c40 = arith.constant 40 : index
  %c48 = arith.constant 48 : index
  scf.for %tile = %core to %tiles step %cores {
    %group = arith.remui %tile, %c8 : index
    %first = arith.addi %group, %c40 : index
    %isBehind = arith.cmpi sge, %first, %c0 : index
    %isInFront = arith.cmpi slt, %first, %c48 : index
    %isInside = arith.andi %isBehind, %isInFront : i1
    tile.require %isInside, "{} is outside"(%first)
  }
  return
}

// What a launch may break, and what never holds, is asked.
// CHECK-LABEL: func.func @stays(
// CHECK-COUNT-3: tile.require
// CHECK: return
func.func @stays(%n: index) {
  %false = arith.constant false
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %group = arith.remui %n, %c8 : index
  %isLess = arith.cmpi slt, %group, %c7 : index
  tile.require %isLess, "{} is too many"(%group)
  %isSmall = arith.cmpi slt, %n, %c8 : index
  tile.require %isSmall, "{} is too many"(%n)
  tile.require %false, "never"
  return
}

// What was required before is not asked again, unless it was on one side of a branch alone.
// CHECK-LABEL: func.func @again(
// CHECK: tile.require %{{.*}}, "first"
// CHECK: tile.require %{{.*}}, "sometimes"
// CHECK: tile.require %{{.*}}, "behind"
// CHECK-NOT: tile.require
// CHECK: return
func.func @again(%n: index, %m: index, %some: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = arith.cmpi slt, %n, %m : index
  %other = arith.cmpi sgt, %m, %c1 : index
  tile.require %first, "first"
  scf.if %some {
    tile.require %other, "sometimes"
    tile.require %first, "again"
  }
  tile.require %other, "behind"
  scf.for %k = %c0 to %n step %c1 {
    tile.require %other, "always"
    tile.require %first, "for all"
  }
  return
}
