// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --lower-check-bounds --canonicalize --cse | FileCheck %s

!v = memref<?x?xf32, strided<[?, ?], offset: ?>>
!v3 = memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>
!sym = memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>

// The whole extent of a dimension is not required to be within it.
// CHECK-LABEL: func.func @slice(
// CHECK-SAME: %[[A:.*]]: memref<?x?xf32{{.*}}, %[[I:.*]]: index, %[[N:.*]]: index)
// CHECK-DAG: %[[M:.*]] = memref.dim %[[A]], %c0
// CHECK-DAG: %[[ROOM:.*]] = arith.subi %[[M]], %[[I]]
// CHECK-DAG: arith.cmpi sge, %[[I]], %c0
// CHECK-DAG: arith.cmpi sge, %[[N]], %c0
// CHECK-DAG: arith.cmpi sle, %[[I]], %[[M]]
// CHECK-DAG: arith.cmpi sle, %[[N]], %[[ROOM]]
// CHECK: tile.require %{{.*}}, "slice takes {} elements from {} on, {} apart, along dimension 0 of a view of [{}, {}] of 'A'"(%[[N]], %[[I]], %c1, %[[M]], %{{.*}})
// CHECK-NOT: tile.require
// CHECK: return
func.func @slice(%A: !v {tile.name = "A"}, %i: index, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %A, %c1 : !v
  %part = memref.subview %A[%i, 0] [%n, %m] [1, 1] : !v to !v
  %t = tile.load %part[%c0, %c0] : !v -> tensor<4x4xf32>
  tile.store %t, %A[%i, %n] : tensor<4x4xf32>, !v
  return
}

// A slice that nothing reads is required to be within its view too.
// CHECK-LABEL: func.func @unused(
// CHECK: tile.require
// CHECK-NEXT: return
func.func @unused(%A: !v {tile.name = "A"}, %i: index) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %n = memref.dim %A, %c1 : !v
  %part = memref.subview %A[0, 0] [%i, %n] [1, 1] : !v to !v
  return
}

// CHECK-LABEL: func.func @ranks(
// CHECK: %[[R:.*]] = dist.num_ranks
// CHECK: %[[KNOWN:.*]] = arith.cmpi ult, %[[I:.*]], %[[R]]
// CHECK: tile.require %[[KNOWN]], "on: names rank {} of {} ranks"(%[[I]], %[[R]])
// CHECK: tile.require %{{.*}}, "put moves a chunk of [{}, {}] of 'A' into one of [{}, {}] of 'b', expected equal extents"
// CHECK: dist.put
// CHECK: %[[IN:.*]] = arith.cmpi ult, %[[I]], %[[N:.*]] : index
// CHECK: tile.require %[[IN]], "wait names signal 's'[{}], but 's' has extents [{}]"(%[[I]], %[[N]])
// CHECK: dist.wait
func.func @ranks(%A: !v {tile.name = "A"}, %i: index, %n: index) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %b = dist.symmetric "b"(%n, %n) : !sym
  %s = dist.signals "s"(%n) : !dist.signals<1>
  dist.put %A, %b on %i : !v, !sym
  dist.wait %s[%i] >= %c1 : !dist.signals<1>
  return
}

// CHECK-LABEL: func.func @work(
// CHECK: tile.require %{{.*}}, "role 'r' takes {} cores from {} on, but there are {}"
// CHECK: dist.role "r"
// CHECK: tile.require %{{.*}}, "tiles: deals a grid of [{}] tiles"
// CHECK: dist.tiles
// CHECK: tile.require %{{.*}}, "range: has step {}, expected 1 or more"
// CHECK: tile.require %{{.*}}, "range: ends at {} and has step {}, expected a sum below 2^63"
// CHECK: scf.for
// CHECK-NOT: tile.require
// CHECK: scf.for
func.func @work(%A: !v {tile.name = "A"}, %i: index, %n: index) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  dist.role "r" cores %i for %n {
    dist.tiles (%t) of (%n) order <"row-major"> {
      scf.for %k = %i to %n step %n {
        dist.fence
        scf.for %l = %i to %n step %c1 {
          dist.fence
        }
      }
    }
  }
  return
}

// What a loop counts up to the extent is within it.
// CHECK-LABEL: func.func @elements(
// CHECK-NOT: tile.require
// CHECK: memref.load
// CHECK: tile.require %{{.*}}, "read touches element [{}, {}] of a view of [{}, {}] of 'A'"
// CHECK: memref.load
func.func @elements(%A: !v {tile.name = "A"}, %i: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %A, %c0 : !v
  %n = memref.dim %A, %c1 : !v
  scf.for %k = %c0 to %m step %c1 {
    scf.for %l = %c1 to %n step %c1 {
      %x = memref.load %A[%k, %l] : !v
      %y = memref.load %A[%l, %k] : !v
      memref.store %x, %A[%k, %l] : !v
      memref.store %y, %A[%k, %l] : !v
    }
  }
  return
}

// What grows with the coordinates of tiles is required of the last tile, in front of the loop; a peer that is what is
// left of a division by the number of ranks needs nothing.
// CHECK-LABEL: func.func @tiles(
// CHECK-SAME: %[[M:[a-z0-9]+]]: index, %[[N:[a-z0-9]+]]: index
// CHECK: %[[S:.*]] = dist.signals
// CHECK: %[[LAST:.*]] = arith.subi %[[M]]
// CHECK: %[[PART:.*]] = arith.divsi %[[LAST]]
// CHECK: tile.require %{{.*}}, "notify names signal 's'[{}] of rank {}, but 's' has extents [{}]"
// CHECK: dist.tiles
// CHECK-NOT: tile.require
// CHECK: return
func.func @tiles(%m: index, %n: index, %k: index) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = dist.signals "s"(%k) : !dist.signals<1>
  %rank = dist.rank
  dist.tiles (%i, %j) of (%m, %n) order <"row-major"> {
    %part = arith.divsi %i, %c4 : index
    dist.notify %s[%part] on %rank add %c1 : !dist.signals<1>
    dist.wait %s[%part] >= %c1 : !dist.signals<1>
  }
  return
}

// What is left of a division by the extent is within it; so is the number of the chunk of a tile, if
// the tiles are cut into as many chunks as there are counters, and a rank of a buffer with a part for
// each.
// CHECK-LABEL: func.func @chunks(
// CHECK-NOT: tile.require
// CHECK: return
func.func @chunks(%A: !v {tile.name = "A"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %r = dist.num_ranks
  %me = dist.rank
  %m = memref.dim %A, %c0 : !v
  %n = memref.dim %A, %c1 : !v
  %tiles = arith.ceildivsi %m, %c8 : index
  %size = arith.ceildivsi %tiles, %c3 : index
  %staged = dist.symmetric "staged"(%r, %m, %n) : memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>, #dist.space<symmetric>>
  %done = dist.signals "done"(%r, %c3) : !dist.signals<2>
  dist.tiles (%s, %i) of (%r, %tiles) order <"row-major", 1> {
    %chunk = arith.divsi %i, %size : index
    %own = arith.cmpi eq, %s, %me : index
    scf.if %own {
      scf.for %k = %c1 to %r step %c1 {
        %back = arith.subi %r, %k : index
        %behind = arith.addi %me, %back : index
        %peer = arith.remsi %behind, %r : index
        dist.wait %done[%peer, %chunk] >= %c1 : !dist.signals<2>
      }
    } else {
      %part = memref.subview %staged[%s, 0, 0] [1, %m, %n] [1, 1, 1]
          : memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>, #dist.space<symmetric>> to !sym
      %t = tile.load %part[%i, %c0] : !sym -> tensor<8x8xf32>
      tile.store %t, %A[%i, %c0] : tensor<8x8xf32>, !v
      dist.notify %done[%s, %chunk] add %c1 : !dist.signals<2>
    }
  }
  return
}

// A tile cut into fewer chunks than it names is required to be within the counters.
// CHECK-LABEL: func.func @other_chunks(
// CHECK: tile.require %{{.*}}, "wait names signal 'done'[{}], but 'done' has extents [{}]"
func.func @other_chunks(%A: !v {tile.name = "A"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %tiles = memref.dim %A, %c0 : !v
  %size = arith.ceildivsi %tiles, %c4 : index
  %done = dist.signals "done"(%c3) : !dist.signals<1>
  dist.tiles (%i) of (%tiles) order <"row-major", 1> {
    %chunk = arith.divsi %i, %size : index
    dist.wait %done[%chunk] >= %c1 : !dist.signals<1>
  }
  return
}

// -----

// CHECK-LABEL: func.func @slots
// CHECK: tile.require %{{.*}}, "on: names rank {} of {} ranks"
// CHECK: tile.require %{{.*}}, "send names inbox 'b'[{}] of rank {}, but 'b' has extents [{}]"
// CHECK: dist.send
// CHECK: tile.require %{{.*}}, "receive names inbox 'b'[{}], but 'b' has extents [{}]"
// CHECK: dist.receive
func.func @slots(%i: index, %n: index, %p: index, %t: tensor<4xf32>) attributes {tile.kernel} {
  %b = dist.inbox "b"(%n) : !dist.inbox<1 of tensor<4xf32>>
  dist.send %t to %b[%i] on %p : tensor<4xf32>, !dist.inbox<1 of tensor<4xf32>>
  %u = dist.receive %b[%i] : !dist.inbox<1 of tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// Numbers of the compiler's own are within what they count.
// CHECK-LABEL: func.func @own
// CHECK-NOT: tile.require
// CHECK: dist.receive
func.func @own(%i: i64, %n: index, %j: index) attributes {tile.kernel} {
  %b = dist.inbox "b"(%n) : !dist.inbox<1 of tensor<4xf32>>
  %own = arith.index_cast %i {tile.within} : i64 to index
  %u = dist.receive %b[%own] : !dist.inbox<1 of tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

!v = memref<?x?xf32, strided<[?, ?], offset: ?>>
!v3 = memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>

// Extents of one name are one, of slices those that they were made with.
// CHECK-LABEL: func.func @named(
// CHECK-NOT: tile.require
// CHECK: return
func.func @named(%A: !v {tile.name = "A"}, %B: !v3 {tile.name = "B"}) attributes {tile.kernel, tile.extents = [["M", "N"], ["N", "M", "2*N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %A, %c0 : !v
  %n = memref.dim %A, %c1 : !v
  dist.tiles (%i, %j) of (%n, %m) order <"row-major"> {
    %rows = memref.subview %B[%i, 0, 0] [1, %m, %n] [1, 1, 1] {tile.within} : !v3 to !v
    %part = memref.subview %rows[%j, 0] [1, %n] [1, 1] : !v to memref<?xf32, strided<[?], offset: ?>>
    %x = memref.load %A[%j, %i] : !v
    memref.store %x, %A[%j, %i] : !v
    %turned = memref.transpose %rows (d0, d1) -> (d1, d0) : !v to !v
    %column = memref.subview %turned[%i, 0] [1, %m] [1, 1] : !v to memref<?xf32, strided<[?], offset: ?>>
    memref.store %x, %column[%j] : memref<?xf32, strided<[?], offset: ?>>
    memref.store %x, %part[%i] : memref<?xf32, strided<[?], offset: ?>>
  }
  return
}

// Other names are other extents, though they may be equal.
// CHECK-LABEL: func.func @otherwise_named(
// CHECK: tile.require %{{.*}}, "read touches element [{}, {}] of a view of [{}, {}] of 'B'"
// CHECK: return
func.func @otherwise_named(%A: !v {tile.name = "A"}, %B: !v {tile.name = "B"}) attributes {tile.kernel, tile.extents = [["M", "N"], ["K", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %A, %c0 : !v
  %n = memref.dim %A, %c1 : !v
  dist.tiles (%i, %j) of (%m, %n) order <"row-major"> {
    %x = memref.load %B[%i, %j] : !v
    memref.store %x, %A[%i, %j] : !v
  }
  return
}

// Of equal shares of an extent, each is within it, but the one behind them may not be.
// CHECK-LABEL: func.func @shares(
// CHECK-NOT: tile.require
// CHECK: dist.tiles
// CHECK: tile.require {{.*}}, "slice takes {} elements from {} on
// CHECK-NOT: tile.require
// CHECK: return
func.func @shares(%A: !v {tile.name = "A"}, %B: !v {tile.name = "B"}) attributes {tile.kernel, tile.extents = [["M", "N"], ["G", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %A, %c0 : !v
  %n = memref.dim %B, %c1 : !v
  %shares = memref.dim %B, %c0 : !v
  %size = arith.divsi %m, %shares : index
  dist.tiles (%i) of (%shares) order <"row-major"> {
    %first = arith.muli %i, %size : index
    %mine = memref.subview %A[%first, 0] [%size, %n] [1, 1] : !v to !v
    %next = arith.addi %first, %size : index
    %other = memref.subview %A[%next, 0] [%size, %n] [1, 1] : !v to !v
    %t = tile.load %mine[%c0, %c0] : !v -> tensor<4x4xf32>
    tile.store %t, %other[%c0, %c0] : tensor<4x4xf32>, !v
  }
  return
}
