// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --lower-hoist-symmetric --verify-diagnostics | FileCheck %s

!v = memref<?x?xf16, strided<[?, ?], offset: ?>>
!sym = memref<?x?xf16, strided<[?, ?], offset: ?>, #dist.space<symmetric>>

// The kernel takes the memory as arguments; signals are cells of 64 bits.
// CHECK-LABEL: func.func @gather(
// CHECK-SAME: %[[FULL:[a-z0-9]+]]: memref<?x?xf16, strided<[?, ?], offset: ?>, #dist.space<symmetric>> {tile.dense, tile.name = "full", tile.unit_stride}
// CHECK-SAME: %[[CELLS:[a-z0-9]+]]: memref<?xi64, strided<[?], offset: ?>, #dist.space<symmetric>> {tile.dense, tile.name = "ready", tile.unit_stride}
// CHECK-SAME: dist.arguments = [{kind = "view", name = "A", rank = 2 : i64, type = "f16"}, {kind = "index", name = "", rank = 0 : i64, type = "i64"}]
// CHECK-SAME: dist.symmetric = [
// CHECK-SAME: {element_bytes = 2 : i64, extents = ["n a0.0 mul", "a0.1"], fixed = false, kind = "buffer", name = "full"}
// CHECK-SAME: {element_bytes = 8 : i64, extents = ["a1"], fixed = false, kind = "signals", name = "ready"}
// CHECK-NOT: dist.symmetric
// CHECK: %[[READY:.*]] = builtin.unrealized_conversion_cast %[[CELLS]]
// CHECK-NOT: dist.signals "
// CHECK: dist.get %[[FULL]] on
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
  dist.get %full on %me, %A : !sym, !v
  dist.wait %ready[%c0] >= %c1 : !dist.signals<1>
  return
}

// -----

// Without symmetric memory there is nothing to provide.
// CHECK-LABEL: func.func @alone(
// CHECK-SAME: dist.symmetric = []
func.func @alone(%n: index) attributes {tile.kernel} {
  return
}

// -----

// Functions that are no kernels stay as they are.
// CHECK-LABEL: func.func @helper(
// CHECK-NOT: dist.symmetric
func.func @helper(%n: index) {
  return
}

// -----

// What extents may be: arithmetic, comparisons and choices; extents of what was cut of an argument
// and of symmetric memory that stands before; integers of any width.
// CHECK-LABEL: func.func @forms(
// CHECK-SAME: name = "width", rank = 0 : i64, type = "i32"
// CHECK-SAME: extents = ["n", "a0.1 16 ceildiv"], fixed = false, kind = "buffer", name = "full"
// CHECK-SAME: extents = ["a1 3 max"], fixed = false, kind = "signals", name = "ready"
// CHECK-SAME: extents = ["a2 a2 add 32 wrap"], fixed = false, kind = "signals", name = "narrow"
// CHECK-SAME: extents = ["a1 3 lt 1 xor n a0.0 select"], fixed = false, kind = "signals", name = "chosen"
// CHECK-SAME: extents = ["a0.1", "a1", "a0.1 16 ceildiv"], fixed = false, kind = "signals", name = "views"
func.func @forms(%A: memref<?x?xf32, strided<[?, ?], offset: ?>>, %n: index, %width: i32 {tile.name = "width"}) attributes {tile.kernel} {
  %yes = arith.constant true
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %ranks = dist.num_ranks
  %rows = memref.dim %A, %c0 : memref<?x?xf32, strided<[?, ?], offset: ?>>
  %cols = memref.dim %A, %c1 : memref<?x?xf32, strided<[?, ?], offset: ?>>
  %chunks = arith.ceildivsi %cols, %c16 : index
  %count = arith.maxsi %n, %c3 : index
  %full = dist.symmetric "full"(%ranks, %chunks) : memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
  %ready = dist.signals "ready"(%count) : !dist.signals<1>
  %sum = arith.addi %width, %width : i32
  %twice = arith.index_cast %sum : i32 to index
  %narrow = dist.signals "narrow"(%twice) : !dist.signals<1>
  %isFew = arith.cmpi slt, %n, %c3 : index
  %isMany = arith.xori %isFew, %yes : i1
  %choice = arith.select %isMany, %ranks, %rows : index
  %chosen = dist.signals "chosen"(%choice) : !dist.signals<1>
  %turned = memref.transpose %A (i, j) -> (j, i) : memref<?x?xf32, strided<[?, ?], offset: ?>> to memref<?x?xf32, strided<[?, ?], offset: ?>>
  %turnedRows = memref.dim %turned, %c0 : memref<?x?xf32, strided<[?, ?], offset: ?>>
  %part = memref.subview %A[0, 0] [%n, %cols] [1, 1] : memref<?x?xf32, strided<[?, ?], offset: ?>> to memref<?x?xf32, strided<[?, ?], offset: ?>>
  %partRows = memref.dim %part, %c0 : memref<?x?xf32, strided<[?, ?], offset: ?>>
  %fullCols = memref.dim %full, %c1 : memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
  %views = dist.signals "views"(%turnedRows, %partRows, %fullCols) : !dist.signals<3>
  return
}

// -----

func.func @read(%A: memref<?xi32, strided<[?], offset: ?>>, %n: index) attributes {tile.kernel} {
  // expected-error @+1 {{the extents of symmetric memory are computed by memref.load, which launches cannot evaluate; expected arithmetic of extents of arguments, integer arguments and the number of ranks}}
  %value = memref.load %A[%n] : memref<?xi32, strided<[?], offset: ?>>
  %count = arith.index_cast %value : i32 to index
  %full = dist.symmetric "full"(%count) : memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>
  return
}

// -----

func.func @unsigned(%width: i32) attributes {tile.kernel} {
  // expected-error @+1 {{the extents of symmetric memory are computed by arith.index_castui, which launches cannot evaluate}}
  %count = arith.index_castui %width : i32 to index
  %full = dist.symmetric "full"(%count) : memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>
  return
}

// -----

func.func @floats(%x: f32) attributes {tile.kernel} {
  // expected-error @+1 {{the extents of symmetric memory are computed by arith.fptosi, which launches cannot evaluate}}
  %width = arith.fptosi %x : f32 to i32
  %count = arith.index_cast %width : i32 to index
  %full = dist.symmetric "full"(%count) : memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>
  return
}

// -----

// An inbox is words: 3 packets of 4 words for each 32 bytes of a row, 1 where a row has 4 bytes.
// CHECK-LABEL: func.func @inboxes(
// CHECK-SAME: %[[WIDE:[a-z0-9]+]]: memref<?x?x?xi32, {{.*}}> {tile.dense, tile.known_extents = array<i64: -1, -1, 96>, tile.name = "wide", tile.unit_stride}
// CHECK-SAME: %[[NARROW:[a-z0-9]+]]: memref<?x?xi32, {{.*}}> {tile.dense, tile.known_extents = array<i64: -1, 12>, tile.name = "narrow", tile.unit_stride}
// CHECK-SAME: {element_bytes = 4 : i64, extents = ["n", "a0", "96"], fixed = false, kind = "inbox", name = "wide"}
// CHECK-SAME: {element_bytes = 4 : i64, extents = ["n", "12"], fixed = false, kind = "inbox", name = "narrow"}
// CHECK: builtin.unrealized_conversion_cast %[[WIDE]] : {{.*}} to !dist.inbox<2 of tensor<4x32xf16>>
// CHECK: builtin.unrealized_conversion_cast %[[NARROW]]
// CHECK: dist.receive
func.func @inboxes(%n: index) attributes {tile.kernel} {
  %R = dist.num_ranks
  %wide = dist.inbox "wide"(%R, %n) : !dist.inbox<2 of tensor<4x32xf16>>
  %narrow = dist.inbox "narrow"(%R) : !dist.inbox<1 of tensor<3xi32>>
  %t = dist.receive %wide[%n, %n] : !dist.inbox<2 of tensor<4x32xf16>> -> tensor<4x32xf16>
  %u = dist.receive %narrow[%n] : !dist.inbox<1 of tensor<3xi32>> -> tensor<3xi32>
  return
}

// -----

// Memory is dense, and extents that are numbers are known.
// CHECK-LABEL: func.func @numbers(
// CHECK-SAME: {tile.dense, tile.known_extents = array<i64: 4, -1>, tile.name = "rows", tile.unit_stride}
// CHECK-SAME: {tile.dense, tile.known_extents = array<i64: -1, 4>, tile.name = "columns", tile.unit_stride}
// CHECK-SAME: {tile.dense, tile.known_extents = array<i64: 4>, tile.name = "ready", tile.unit_stride}
func.func @numbers(%n: index) attributes {tile.kernel} {
  %c4 = arith.constant 4 : index
  %rows = dist.symmetric "rows"(%c4, %n) : memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
  %columns = dist.symmetric "columns"(%n, %c4) : memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
  %ready = dist.signals "ready"(%c4) : !dist.signals<1>
  return
}
