// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --dist-print-tile-access --verify-diagnostics -o %t
// RUN: ditron compile gemm --target x86-64 --emit ir --config m=128,n=64,k=32 -o %t.gemm
// RUN: ditron-opt %t.gemm --dist-print-tile-access -o %t 2>&1 | FileCheck %s --check-prefix=GEMM
// RUN: ditron compile ag-gemm --target x86-64 --emit ir --config m=128,n=64,k=32,chunk=16 -o %t.ag-gemm
// RUN: ditron-opt %t.ag-gemm --dist-print-tile-access -o %t 2>&1 | FileCheck %s --check-prefix=AG-GEMM
// RUN: ditron compile gemm-rs --target x86-64 --emit ir --config m=128,n=64,k=32 -o %t.gemm-rs
// RUN: ditron-opt %t.gemm-rs --dist-print-tile-access -o %t 2>&1 | FileCheck %s --check-prefix=GEMM-RS
// RUN: ditron compile softmax --target x86-64 --emit ir --config rows=4,width=1024 -o %t.softmax
// RUN: ditron-opt %t.softmax --dist-print-tile-access -o %t 2>&1 | FileCheck %s --check-prefix=SOFTMAX
// RUN: ditron compile grouped-gemm --target x86-64 --emit ir --config m=128,n=64,k=32 -o %t.grouped
// RUN: ditron-opt %t.grouped --dist-print-tile-access -o %t 2>&1 | FileCheck %s --check-prefix=GROUPED
// RUN: ditron compile flash-attention --target x86-64 --emit ir --config m=64,n=64,d=64 -o %t.flash
// RUN: ditron-opt %t.flash --dist-print-tile-access -o %t 2>&1 | FileCheck %s --check-prefix=FLASH
// What a point of dist.tiles reads and writes: of kernels of the library, and form by form.

// GEMM: reads 'A'[t0 * 128 : 128, sweep l0 * 32 : 32, reduction]
// GEMM: reads 'B'[sweep l0 * 32 : 32, reduction, t1 * 64 : 64]
// GEMM: writes 'C'[t0 * 128 : 128, t1 * 64 : 64]

// The shard is a coordinate of its own.
// AG-GEMM: reads 'A'[t0 * 16 : 16, t1 * 4096 : 4096]
// AG-GEMM: writes 'full'[rank : 1, t0 * 16 : 16, t1 * 4096 : 4096] of a peer
// AG-GEMM: reads 'full'[t0 : 1, t1 * 128 : 128, sweep l0 * 32 : 32, reduction]
// AG-GEMM: reads 'B'[sweep l0 * 32 : 32, reduction, t2 * 64 : 64]
// AG-GEMM: writes 'C'[t0 : 1, t1 * 128 : 128, t2 * 64 : 64]

// GEMM-RS: reads 'A'[t0 : 1, t1 * 128 : 128, sweep l0 * 32 : 32, reduction]
// GEMM-RS: writes 'partial'[t0 : 1, t1 * 128 : 128, t2 * 64 : 64]
// GEMM-RS: reads 'partial'[rank : 1, t0 * 128 : 128, t1 * 64 : 64] of a peer
// GEMM-RS: writes 'incoming'[t0 * 128 : 128, t1 * 64 : 64]
// GEMM-RS: writes 'C'[t0 * 128 : 128, t1 * 64 : 64]

// A row in one tile, or two walks: the first one rescales what it carries.
// SOFTMAX: may read 'x'[t0 * 4 : 4, 0 : 1024]
// SOFTMAX: may write 'y'[t0 * 4 : 4, 0 : 1024]
// SOFTMAX: may read 'x'[t0 * 4 : 4, sweep l0 * 1024 : 1024, ordered]
// SOFTMAX: may read 'x'[t0 * 4 : 4, sweep l0 * 1024 : 1024]
// SOFTMAX: may write 'y'[t0 * 4 : 4, sweep l0 * 1024 : 1024]

// Which rows a block has is found in a list.
// GROUPED: may read 'W'[? : it depends on scf.for, t1 * 64 : 64, sweep l0 * 32 : 32, reduction]
// GROUPED: may read 'A'[? : it depends on scf.for, sweep l0 * 32 : 32, reduction]
// GROUPED: may write 'C'[? : it depends on scf.for, t1 * 64 : 64]

// Blocks are dealt by hand, and keys behind the first queries are left out.
// FLASH: may read 'q'[? : it depends on {{.*}}, 0 : 64]
// FLASH: may read 'k'[? : it depends on {{.*}}, 0 : 64]
// FLASH: may write 'o'[? : it depends on {{.*}}, 0 : 64]

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>
!v3 = memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>

// Views: transposed, a slice of them, a dimension less, a dimension in two.
func.func @views(%A: !v2 {tile.name = "A"}, %B: !v3 {tile.name = "B"}, %n: index {tile.name = "n"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %rows = memref.dim %A, %c0 : !v2
  %columns = memref.dim %A, %c1 : !v2
  %last = memref.dim %B, %c2 : !v3
  %middle = memref.dim %B, %c1 : !v3
  dist.tiles (%i, %j) of (%n, %n) order <"row-major"> {
    %t = memref.transpose %A (d0, d1) -> (d1, d0) : !v2 to !v2
    // expected-remark @+1 {{reads 'A'[t1 * 8 : 8, t0 * 4 : 4]}}
    %0 = tile.load %t[%i, %j] : !v2 -> tensor<4x8xf32>
    %first = arith.addi %i, %n : index
    %part = memref.subview %A[%first, 0] [%n, %columns] [1, 1] : !v2 to !v2
    // expected-remark @+1 {{writes 'A'[t0 + n + t1 * 4 : 4, 0 : 8]}}
    tile.store %0, %part[%j, %c0] : tensor<4x8xf32>, !v2
    %less = memref.subview %B[%j, 0, 0] [1, %middle, %last] [1, 1, 1] : !v3 to !v2
    // expected-remark @+1 {{updates 'B'[t1 : 1, t0 * 4 : 4, 8 : 8]}}
    %1 = tile.atomic_add %0, %less[%i, %c1] : tensor<4x8xf32>, !v2
    %ranks = dist.num_ranks
    %share = arith.divsi %rows, %ranks : index
    %split = memref.expand_shape %A [[0, 1], [2]] output_shape [%ranks, %share, %columns] : !v2 into !v3
    %rank = dist.rank
    // expected-remark @+1 {{reads 'A'[rank : 1, t0 * 4 : 4, t1 * 8 : 8]}}
    %2 = tile.load %split[%rank, %i, %j] : !v3 -> tensor<4x8xf32>
  }
  return
}

// -----

!v1 = memref<?xf32, strided<[?], offset: ?>>

// Loops: over all of it, over a part, over what another loop leaves; what they carry.
func.func @loops(%x: !v1 {tile.name = "x"}, %n: index {tile.name = "n"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %size = memref.dim %x, %c0 : !v1
  %tiles = arith.ceildivsi %size, %c4 : index
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  dist.tiles (%i) of (%n) order <"row-major"> {
    %sums:2 = scf.for %k = %c0 to %tiles step %c1 iter_args(%sum = %zero, %most = %zero) -> (tensor<4xf32>, tensor<4xf32>) {
      // expected-remark @+1 {{reads 'x'[sweep l0 * 4 : 4, reduction]}}
      %0 = tile.load %x[%k] : !v1 -> tensor<4xf32>
      %1 = arith.addf %0, %sum : tensor<4xf32>
      %2 = arith.maximumf %most, %0 : tensor<4xf32>
      scf.yield %1, %2 : tensor<4xf32>, tensor<4xf32>
    }
    %last = scf.for %k = %c0 to %tiles step %c1 iter_args(%old = %zero) -> (tensor<4xf32>) {
      // expected-remark @+1 {{reads 'x'[sweep l0 * 4 : 4, ordered]}}
      %0 = tile.load %x[%k] : !v1 -> tensor<4xf32>
      %1 = arith.subf %0, %old : tensor<4xf32>
      scf.yield %1 : tensor<4xf32>
    }
    %any = scf.for %k = %c0 to %tiles step %c1 iter_args(%old = %zero) -> (tensor<4xf32>) {
      // expected-remark @+1 {{reads 'x'[sweep l0 * 4 : 4, marked]}}
      %0 = tile.load %x[%k] : !v1 -> tensor<4xf32>
      %1 = arith.subf %0, %old : tensor<4xf32>
      scf.yield %1 : tensor<4xf32>
    } {dist.reorderable}
    %prefix = scf.for %k = %c0 to %tiles step %c1 iter_args(%sum = %zero) -> (tensor<4xf32>) {
      // expected-remark @+1 {{reads 'x'[sweep l0 * 4 : 4, ordered]}}
      %0 = tile.load %x[%k] : !v1 -> tensor<4xf32>
      %1 = arith.addf %0, %sum : tensor<4xf32>
      // expected-remark @+1 {{writes 'x'[sweep l0 * 4 : 4, ordered]}}
      tile.store %1, %x[%k] : tensor<4xf32>, !v1
      scf.yield %1 : tensor<4xf32>
    }
    // expected-note @+1 {{seen here: it follows a loop that does not walk over the whole window}}
    scf.for %k = %i to %tiles step %c1 {
      // expected-remark @+1 {{reads 'x'[? : it follows a loop that does not walk over the whole window]}}
      %0 = tile.load %x[%k] : !v1 -> tensor<4xf32>
      // expected-remark @+1 {{reads 'x'[? : it follows a loop that does not walk over the whole window]}}
      %1 = tile.load %x[%k] : !v1 -> tensor<8xf32>
    }
  }
  return
}

// -----

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>
!v3 = memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>

// What is not known, and where that is seen.
func.func @unknown(%A: !v2 {tile.name = "A"}, %list: memref<?xindex> {tile.name = "list"},
                   %given: memref<?xindex> {tile.name = "given", tile.readonly},
                   %rows: tensor<4xi32>, %n: index {tile.name = "n"}, %yes: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %columns = memref.dim %A, %c1 : !v2
  %c3 = arith.constant 3 : index
  // expected-remark @+1 {{reads 'given'[3 : 1]}}
  %fixed = memref.load %given[%c3] : memref<?xindex>
  // expected-note @+1 {{seen here: it depends on dist.core}}
  %core = dist.core
  // expected-remark @+1 {{reads 'A'[? : it depends on dist.core, s1 * 8 : 8]}}
  %0 = tile.load %A[%core, %fixed] : !v2 -> tensor<4x8xf32>
  dist.tiles (%i, %j) of (%n, %n) order <"row-major"> {
    // expected-note @+2 {{seen here: it depends on memref.load}}
    // expected-remark @+1 {{reads 'list'[t0 : 1]}}
    %read = memref.load %list[%i] : memref<?xindex>
    %more = arith.addi %read, %c1 : index
    scf.if %yes {
      // expected-remark @+1 {{may write 'A'[? : it depends on memref.load, t1 * 8 : 8]}}
      tile.store %0, %A[%more, %j] : tensor<4x8xf32>, !v2
    }
    // expected-note @+1 {{seen here: it depends on arith.muli}}
    %square = arith.muli %i, %i : index
    // expected-remark @+1 {{reads 'A'[? : it depends on arith.muli, t1 * 8 : 8]}}
    %1 = tile.load %A[%square, %j] : !v2 -> tensor<4x8xf32>
    // expected-note @+2 {{seen here: it is chosen by a tile of indices}}
    // expected-remark @+1 {{reads 'A'[? : it is chosen by a tile of indices, t1 * 8 : 8]}}
    %2 = tile.gather %A[%rows, %j] : !v2, tensor<4xi32> -> tensor<4x8xf32>
    // expected-note @+1 {{seen here: it leaves out elements}}
    %apart = memref.subview %A[%i, 0] [%n, %columns] [2, 1] : !v2 to !v2
    // expected-remark @+1 {{reads 'A'[? : it leaves out elements, t1 * 8 : 8]}}
    %3 = tile.load %apart[%i, %j] : !v2 -> tensor<4x8xf32>
    %part = memref.subview %A[%i, 0] [%n, %columns] [1, 1] : !v2 to !v2
    // expected-note @+1 {{seen here: it is split behind a slice}}
    %split = memref.expand_shape %part [[0, 1], [2]] output_shape [%c2, %c3, %columns] : !v2 into !v3
    // expected-remark @+1 {{reads 'A'[? : it is split behind a slice, ? : it is split behind a slice, t1 * 8 : 8]}}
    %4 = tile.load %split[%i, %i, %j] : !v3 -> tensor<4x8xf32>
  }
  return
}

// -----

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>
!s2 = memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>

// Whole views move too. The extents of symmetric memory are those that it was declared with.
func.func @moves(%A: !v2 {tile.name = "A"}, %n: index {tile.name = "n"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ranks = dist.num_ranks
  %box = dist.symmetric "box"(%n, %ranks) : !s2
  // expected-remark @+2 {{reads 'A'[0 : A.0, 0 : A.1]}}
  // expected-remark @+1 {{writes 'box'[0 : n, 0 : ranks] of a peer}}
  dist.put %A, %box on %c1 : !v2, !s2
  scf.for %r = %c0 to %ranks step %c1 {
    // expected-remark @+1 {{reads 'box'[0 : 1, sweep l0 : 1]}}
    %0 = memref.load %box[%c0, %r] : !s2
  }
  return
}
