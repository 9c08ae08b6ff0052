// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: not ditron-interpret %s | FileCheck %s
// What is wrong, where, on which rank and core.

!sym = memref<?xi32, strided<[?], offset: ?>, #dist.space<symmetric>>

// CHECK-LABEL: kernel outside
// CHECK-NEXT: error: rank 0, core 0, errors.mlir:[[@LINE+4]]: memref.load touches element [3] of a view of [3] of 'A'
func.func @outside(%A: memref<?xi32> {interp.sizes = array<i64: 3>, tile.name = "A"})
    attributes {tile.kernel, ranks = 2} {
  %c3 = arith.constant 3 : index
  %x = memref.load %A[%c3] : memref<?xi32>
  return
}

// CHECK-LABEL: kernel below
// CHECK-NEXT: error: {{.*}}: memref.store touches element [-1] of a view of [3] of 'argument 0'
func.func @below(%A: memref<?xi32> {interp.sizes = array<i64: 3>}) attributes {tile.kernel} {
  %at = arith.constant -1 : index
  %x = arith.constant 1 : i32
  memref.store %x, %A[%at] : memref<?xi32>
  return
}

// CHECK-LABEL: kernel input
// CHECK-NEXT: error: {{.*}}: tile.store writes 'A', which is an input
func.func @input(%A: memref<3xi32> {tile.name = "A", tile.readonly}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %x = tile.load %A[%c0] : memref<3xi32> -> tensor<3xi32>
  tile.store %x, %A[%c0] : tensor<3xi32>, memref<3xi32>
  return
}

// CHECK-LABEL: kernel beyond
// CHECK-NEXT: error: {{.*}}: memref.subview takes 2 elements from 2 on, 1 apart, along dimension 0 of a view of [3] of 'argument 0'
func.func @beyond(%A: memref<?xi32, strided<[?], offset: ?>> {interp.sizes = array<i64: 3>}) attributes {tile.kernel} {
  %c2 = arith.constant 2 : index
  %x = memref.subview %A[%c2] [%c2] [1]
      : memref<?xi32, strided<[?], offset: ?>> to memref<?xi32, strided<[?], offset: ?>>
  return
}

// CHECK-LABEL: kernel split
// CHECK-NEXT: error: {{.*}}: memref.expand_shape cuts a view of [3] of 'argument 0' into [2, 2], but dimension 0 has 3 elements and its parts 4
func.func @split(%A: memref<?xi32, strided<[?], offset: ?>> {interp.sizes = array<i64: 3>}) attributes {tile.kernel} {
  %c2 = arith.constant 2 : index
  %x = memref.expand_shape %A [[0, 1]] output_shape [%c2, %c2]
      : memref<?xi32, strided<[?], offset: ?>> into memref<?x?xi32, strided<[?, ?], offset: ?>>
  return
}

// CHECK-LABEL: kernel cast
// CHECK-NEXT: error: {{.*}}: memref.cast states extents [4] for a view of [3]
func.func @cast(%A: memref<?xi32> {interp.sizes = array<i64: 3>}) attributes {tile.kernel} {
  %x = memref.cast %A : memref<?xi32> to memref<4xi32>
  return
}

// CHECK-LABEL: kernel unknown
// CHECK-NEXT: error: rank 0, core 0, errors.mlir:[[@LINE+2]]: some.op is not an operation that the reference interpreter knows
func.func @unknown() attributes {tile.kernel} {
  "some.op"() : () -> ()
  return
}

// CHECK-LABEL: kernel type
// CHECK-NEXT: error: {{.*}}: arith.constant elements are of f64, expected f32, f16, bf16, f8E4M3FN, f8E5M2, i1, i8, i16, i32, i64 or index
func.func @type() attributes {tile.kernel} {
  %x = arith.constant 1.0 : f64
  return
}

// CHECK-LABEL: kernel sizes
// CHECK-NEXT: error: rank 1, core 0, {{.*}}: dist.symmetric 'b' has extents [4] on rank 0 but [5] on rank 1: every rank must give the same
func.func @sizes() attributes {tile.kernel, ranks = 2} {
  %c4 = arith.constant 4 : index
  %me = dist.rank
  %n = arith.addi %c4, %me : index
  %b = dist.symmetric "b"(%n) : !sym
  return
}

// CHECK-LABEL: kernel negative
// CHECK-NEXT: error: {{.*}}: dist.signals 's' has extents [2, -1], expected none below 0 and a product that fits memory
func.func @negative() attributes {tile.kernel} {
  %c2 = arith.constant 2 : index
  %n = arith.constant -1 : index
  %s = dist.signals "s"(%c2, %n) : !dist.signals<2>
  return
}

// CHECK-LABEL: kernel peer
// CHECK-NEXT: error: {{.*}}: dist.get names rank 2 of 2 ranks
func.func @peer() attributes {tile.kernel, ranks = 2} {
  %c2 = arith.constant 2 : index
  %b = dist.symmetric "b"(%c2) : !sym
  dist.get %b on %c2, %b : !sym, !sym
  return
}

// CHECK-LABEL: kernel signal
// CHECK-NEXT: error: {{.*}}: dist.notify names signal 's'[2] of rank 0, but 's' has extents [2]
func.func @signal() attributes {tile.kernel} {
  %c2 = arith.constant 2 : index
  %s = dist.signals "s"(%c2) : !dist.signals<1>
  dist.notify %s[%c2] add %c2 : !dist.signals<1>
  return
}

// CHECK-LABEL: kernel shrink
// CHECK-NEXT: error: {{.*}}: dist.notify changes signal 's'[] of rank 0 by -2: counters only grow
func.func @shrink() attributes {tile.kernel} {
  %n = arith.constant -2 : index
  %s = dist.signals "s"() : !dist.signals<0>
  dist.notify %s[] add %n : !dist.signals<0>
  return
}

// CHECK-LABEL: kernel negative_counter
// CHECK-NEXT: error: {{.*}}: dist.notify subtracts 2 from signal 's'[] of rank 0, which is 1: a counter is never negative
func.func @negative_counter() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %s = dist.signals "s"() : !dist.signals<0>
  dist.notify %s[] add %c1 : !dist.signals<0>
  dist.notify %s[] subtract %c2 : !dist.signals<0>
  return
}

// CHECK-LABEL: kernel overshot
// CHECK-NEXT: error: deadlock: nobody is left to notify those who wait
// CHECK-NEXT: {{^}}  rank 0, core 0, errors.mlir:[[@LINE+6]]: waits for signal 's'[] to be just that: expected 1, seen 2; last notified by rank 0, core 0, errors.mlir:[[@LINE+5]], which added 2
func.func @overshot() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %s = dist.signals "s"() : !dist.signals<0>
  dist.notify %s[] add %c2 : !dist.signals<0>
  dist.wait %s[] == %c1 : !dist.signals<0>
  return
}

// CHECK-LABEL: kernel modes
// CHECK-NEXT: error: {{.*}}: dist.notify notifies signal 's'[] of rank 0 by 'set', but errors.mlir:[[@LINE+4]] did by 'add': a signal is notified in one mode
func.func @modes() attributes {tile.kernel} {
  %c2 = arith.constant 2 : index
  %s = dist.signals "s"() : !dist.signals<0>
  dist.notify %s[] add %c2 : !dist.signals<0>
  dist.notify %s[] set %c2 : !dist.signals<0>
  return
}

// CHECK-LABEL: kernel role
// CHECK-NEXT: error: {{.*}}, role 'outer', {{.*}}: dist.role 'inner' takes 2 cores from 1 on, but there are 2
func.func @role() attributes {tile.kernel, cores = 3} {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  dist.role "outer" cores %c1 for %c2 {
    dist.role "inner" cores %c1 for %c2 {
    }
  }
  return
}

// A range of tiles lies within the grid.
// CHECK-LABEL: kernel range_before
// CHECK-NEXT: error: {{.*}}: dist.tiles begins with tile -1, expected 0 or more
func.func @range_before() attributes {tile.kernel} {
  %before = arith.constant -1 : index
  %c4 = arith.constant 4 : index
  dist.tiles (%i) of (%c4) from %before to %c4 order <"row-major"> {
  }
  return
}

// CHECK-LABEL: kernel range_behind
// CHECK-NEXT: error: {{.*}}: dist.tiles ends with tile 5, but the grid has 4
func.func @range_behind() attributes {tile.kernel} {
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  dist.tiles (%i) of (%c4) from %c3 to %c5 order <"row-major"> {
  }
  return
}

// CHECK-LABEL: kernel grid
// CHECK-NEXT: error: {{.*}}: dist.tiles has 2 rows of tiles, but 9 elements, 4 in a tile, make 3
func.func @grid() attributes {tile.kernel} {
  %c2 = arith.constant 2 : index
  %c9 = arith.constant 9 : index
  dist.tiles (%i, %j) of (%c2, %c2) order <"row-major"> elements %c9 height 4 {
  }
  return
}

// CHECK-LABEL: kernel recursion
// CHECK-NEXT: error: {{.*}}: func.call calls 'again' within itself: there is no recursion
func.func @recursion() attributes {tile.kernel} {
  func.call @again() : () -> ()
  return
}
func.func @again() {
  func.call @again() : () -> ()
  return
}

// CHECK-LABEL: kernel step
// CHECK-NEXT: error: {{.*}}: scf.for has step 0, expected 1 or more
func.func @step() attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %c1 step %c0 {
  }
  return
}

// CHECK-LABEL: kernel deadlock
// CHECK-NEXT: error: deadlock: nobody is left to notify those who wait
// CHECK-NEXT: {{^}}  rank 0, core 0, role 'a', errors.mlir:[[@LINE+13]]: waits for signal 's'[1]: expected 2, seen 1; last notified by rank 1, core 0, role 'a', errors.mlir:[[@LINE+11]], which added 1
// CHECK-NEXT: {{^}}  rank 0, core 1, errors.mlir:[[@LINE+14]]: waits at a barrier of 2 cores: expected 2, seen 1
// CHECK-NEXT: {{^}}  rank 1, core 0, role 'a', errors.mlir:[[@LINE+11]]: waits for signal 's'[1]: expected 2, seen 0; nobody has notified it in this launch
// CHECK-NEXT: {{^}}  rank 1, core 1, errors.mlir:[[@LINE+12]]: waits at a barrier of 2 cores: expected 2, seen 1
func.func @deadlock() attributes {tile.kernel, ranks = 2, cores = 2} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %s = dist.signals "s"(%c2) : !dist.signals<1>
  %me = dist.rank
  dist.role "a" cores %c0 for %c1 {
    dist.notify %s[%me] on %c0 add %c1 : !dist.signals<1>
    // Signal 1 of rank 0 is raised once, by rank 1; those of rank 1 never.
    dist.wait %s[%c1] >= %c2 : !dist.signals<1>
  }
  dist.barrier cores
  return
}

// CHECK-LABEL: kernel meeting
// CHECK-NEXT: error: rank 1, {{.*}}: dist.barrier is among 1 cores on rank 0 but 2 on rank 1
func.func @meeting() attributes {tile.kernel, ranks = 2, cores = 2} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %me = dist.rank
  %n = arith.addi %me, %c1 : index
  dist.role "some" cores %c0 for %n {
    dist.barrier ranks
  }
  return
}

// CHECK-LABEL: kernel require
// CHECK-NEXT: error: {{.*}}: tile.require takes 4 rows of 2
func.func @require() attributes {tile.kernel} {
  %yes = arith.constant true
  %no = arith.constant false
  %c4 = arith.constant 4 : index
  %c2 = arith.constant 2 : index
  tile.require %yes, "goes on"
  tile.require %no, "takes {} rows of {}"(%c4, %c2)
  return
}

// CHECK-LABEL: kernel chunks
// CHECK-NEXT: error: {{.*}}: dist.put moves a chunk of [3] of 'argument 0' into one of [2] of 'b', expected equal extents
func.func @chunks(%A: memref<?xi32, strided<[?], offset: ?>> {interp.sizes = array<i64: 3>}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = dist.symmetric "b"(%c2) : !sym
  dist.put %A, %b on %c0 : memref<?xi32, strided<[?], offset: ?>>, !sym
  return
}
