// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --dist-place-arguments --verify-diagnostics
// What cannot be gathered while the kernel runs.

!v1 = memref<?xf32, strided<[?], offset: ?>>
!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @not_a_tile(%A: !v2 {tile.name = "A", tile.readonly, dist.placement = #dist.placement<gathered dim 0>}, %C: !v2 {tile.name = "C"})
    attributes {tile.kernel, tile.extents = [["M", "K"], ["M", "K"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %rows = memref.dim %A, %c0 : !v2
  %columns = memref.dim %A, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  dist.tiles (%i, %j) of (%i8, %j8) order <"row-major"> {
    %n = arith.addi %i, %c1 : index
    // expected-error @+1 {{'A' is gathered along M, but this access to argument 'A' is no tile of M: it is not at the number of a tile}}
    %t = tile.load %A[%n, %j] : !v2 -> tensor<8x8xf32>
    tile.store %t, %C[%i, %j] : tensor<8x8xf32>, !v2
  }
  return
}

// -----

!v1 = memref<?xf32, strided<[?], offset: ?>>
!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @chosen_rows(%A: !v2 {tile.name = "A", tile.readonly, dist.placement = #dist.placement<gathered dim 0>}, %C: !v2 {tile.name = "C"})
    attributes {tile.kernel, tile.extents = [["M", "K"], ["M", "K"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %rows = memref.dim %A, %c0 : !v2
  %columns = memref.dim %A, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  dist.tiles (%i, %j) of (%i8, %j8) order <"row-major"> {
    %rowsOf = arith.constant dense<0> : tensor<8xi32>
    // expected-error @+2 {{this access to argument 'A' is no tile of M: it is chosen by a tile of indices}}
    // expected-note @+1 {{seen here}}
    %t = tile.gather %A[%rowsOf, %j] : !v2, tensor<8xi32> -> tensor<8x8xf32>
    tile.store %t, %C[%i, %j] : tensor<8x8xf32>, !v2
  }
  return
}

// -----

!v1 = memref<?xf32, strided<[?], offset: ?>>
!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @other_use(%A: !v2 {tile.name = "A", tile.readonly, dist.placement = #dist.placement<gathered dim 0>}, %C: !v2 {tile.name = "C"})
    attributes {tile.kernel, tile.extents = [["M", "K"], ["M", "K"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %rows = memref.dim %A, %c0 : !v2
  %columns = memref.dim %A, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  dist.tiles (%i, %j) of (%i8, %j8) order <"row-major"> {
    %t = tile.load %A[%i, %j] : !v2 -> tensor<8x8xf32>
    // expected-error @+1 {{'A' is gathered along M, but the number of the tile along M is used for more than to name tiles of arguments that have M}}
    %n = arith.muli %i, %c8 : index
    %p = arith.index_cast %n : index to i32
    %q = arith.sitofp %p : i32 to f32
    %s = tensor.splat %q : tensor<8x8xf32>
    tile.store %s, %C[%i, %j] : tensor<8x8xf32>, !v2
  }
  return
}

// -----

!v1 = memref<?xf32, strided<[?], offset: ?>>
!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @two_sizes(%A: !v2 {tile.name = "A", tile.readonly, dist.placement = #dist.placement<gathered dim 0>}, %C: !v2 {tile.name = "C"})
    attributes {tile.kernel, tile.extents = [["M", "K"], ["M", "K"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %rows = memref.dim %A, %c0 : !v2
  %columns = memref.dim %A, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  dist.tiles (%i, %j) of (%i8, %j8) order <"row-major"> {
    %t = tile.load %A[%i, %j] : !v2 -> tensor<8x8xf32>
    %s = arith.constant dense<0.0> : tensor<4x8xf32>
    // expected-error @+1 {{one loop takes tiles of 8 and of 4 elements along M}}
    tile.store %s, %C[%i, %j] : tensor<4x8xf32>, !v2
  }
  return
}

// -----

!v1 = memref<?xf32, strided<[?], offset: ?>>
!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @other_grid(%A: !v2 {tile.name = "A", tile.readonly, dist.placement = #dist.placement<gathered dim 0>}, %C: !v2 {tile.name = "C"})
    attributes {tile.kernel, tile.extents = [["M", "K"], ["M", "K"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %rows = memref.dim %A, %c0 : !v2
  %columns = memref.dim %A, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  // expected-error @+1 {{'A' is gathered along M, but the grid of this loop does not have the tiles of M}}
  dist.tiles (%i, %j) of (%rows, %j8) order <"row-major"> {
    %t = tile.load %A[%i, %j] : !v2 -> tensor<8x8xf32>
    tile.store %t, %C[%i, %j] : tensor<8x8xf32>, !v2
  }
  return
}

// -----

!v1 = memref<?xf32, strided<[?], offset: ?>>
!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @ordered(%A: !v2 {tile.name = "A", tile.readonly, dist.placement = #dist.placement<gathered dim 0>}, %C: !v2 {tile.name = "C"})
    attributes {tile.kernel, tile.extents = [["M", "K"], ["8", "K"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %rows = memref.dim %A, %c0 : !v2
  %columns = memref.dim %A, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  dist.tiles (%j) of (%j8) order <"row-major"> {
    %zero = arith.constant dense<0.0> : tensor<8x8xf32>
    // expected-error @+1 {{'A' is gathered along M, but what this loop over M carries depends on the order of its steps, and parts arrive in another order on each rank: expected a sum or another reduction, or inAnyOrder()}}
    %last = scf.for %i = %c0 to %i8 step %c1 iter_args(%acc = %zero) -> (tensor<8x8xf32>) {
      %t = tile.load %A[%i, %j] : !v2 -> tensor<8x8xf32>
      %half = arith.mulf %acc, %t : tensor<8x8xf32>
      %next = arith.addf %half, %t : tensor<8x8xf32>
      scf.yield %next : tensor<8x8xf32>
    }
    tile.store %last, %C[%c0, %j] : tensor<8x8xf32>, !v2
  }
  return
}

// -----

!v1 = memref<?xf32, strided<[?], offset: ?>>
!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @two_coordinates(%A: !v2 {tile.name = "A", tile.readonly, dist.placement = #dist.placement<gathered dim 0>}, %C: !v2 {tile.name = "C"})
    attributes {tile.kernel, tile.extents = [["M", "K"], ["8", "K"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %rows = memref.dim %A, %c0 : !v2
  %columns = memref.dim %A, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  // expected-error @+1 {{two coordinates of this loop walk along M}}
  dist.tiles (%i, %j) of (%i8, %i8) order <"row-major"> {
    %t = tile.load %A[%i, %c0] : !v2 -> tensor<8x8xf32>
    %u = tile.load %A[%j, %c0] : !v2 -> tensor<8x8xf32>
    tile.store %t, %C[%c0, %c0] : tensor<8x8xf32>, !v2
  }
  return
}

// -----

!v1 = memref<?xf32, strided<[?], offset: ?>>
!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @elements(%A: !v2 {tile.name = "A", tile.readonly, dist.placement = #dist.placement<gathered dim 0>}, %C: !v2 {tile.name = "C"})
    attributes {tile.kernel, tile.extents = [["M", "K"], ["M", "K"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %rows = memref.dim %A, %c0 : !v2
  %columns = memref.dim %A, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  scf.for %i = %c0 to %rows step %c1 {
    // expected-error @+1 {{this access to argument 'A' is no tile of M: it is not by a tile}}
    %t = memref.load %A[%i, %c0] : !v2
  }
  return
}

// -----

!v1 = memref<?xf32, strided<[?], offset: ?>>
!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

// expected-error @+1 {{'A' is gathered, but the kernel writes it: expected an input}}
func.func @written(%A: !v2 {tile.name = "A", dist.placement = #dist.placement<gathered dim 0>})
    attributes {tile.kernel, tile.extents = [["M", "K"]]} {
  return
}

// -----

!v1 = memref<?xf32, strided<[?], offset: ?>>
!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

// expected-error @+1 {{dimension 0 of 'A' cannot be placed: it is 2*M, expected a name}}
func.func @no_name(%A: !v2 {tile.name = "A", tile.readonly, dist.placement = #dist.placement<gathered dim 0>})
    attributes {tile.kernel, tile.extents = [["2*M", "K"]]} {
  return
}

// -----

!v1 = memref<?xf32, strided<[?], offset: ?>>
!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

// expected-error @+1 {{dimension 0 of 'A' cannot be placed: argument 'C' has extent 2*M, expected M by itself}}
func.func @in_a_product(%A: !v2 {tile.name = "A", tile.readonly, dist.placement = #dist.placement<gathered dim 0>}, %C: !v2 {tile.name = "C"})
    attributes {tile.kernel, tile.extents = [["M", "K"], ["2*M", "K"]]} {
  return
}

// -----

!v1 = memref<?xf32, strided<[?], offset: ?>>
!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

// expected-error @+1 {{dimension 0 of 'A' cannot be placed: argument 'C' has two dimensions M}}
func.func @twice(%A: !v2 {tile.name = "A", tile.readonly, dist.placement = #dist.placement<gathered dim 0>}, %C: !v2 {tile.name = "C"})
    attributes {tile.kernel, tile.extents = [["M", "K"], ["M", "M"]]} {
  return
}

// -----

!v1 = memref<?xf32, strided<[?], offset: ?>>
!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

// expected-error @+1 {{'A' is placed, but the signature names no extents of it}}
func.func @no_signature(%A: !v2 {tile.name = "A", tile.readonly, dist.placement = #dist.placement<gathered dim 0>}) attributes {tile.kernel} {
  return
}

// -----

!v1 = memref<?xf32, strided<[?], offset: ?>>
!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

// expected-error @+1 {{'A' is gathered, but the kernel has verbs of its own: expected a kernel of one device}}
func.func @distributed(%A: !v2 {tile.name = "A", tile.readonly, dist.placement = #dist.placement<gathered dim 0>}, %C: !v2 {tile.name = "C"})
    attributes {tile.kernel, tile.extents = [["M", "K"], ["M", "K"]]} {
  %r = dist.rank
  return
}

// -----

!v1 = memref<?xf32, strided<[?], offset: ?>>
!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @two_gathered(%A: !v2 {tile.name = "A", tile.readonly, dist.placement = #dist.placement<gathered dim 0>},
  %B: !v1 {tile.name = "B", tile.readonly, dist.placement = #dist.placement<gathered dim 0>}, %C: !v2 {tile.name = "C"})
    attributes {tile.kernel, tile.extents = [["M", "K"], ["N"], ["M", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %rows = memref.dim %A, %c0 : !v2
  %columns = memref.dim %A, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  %n = memref.dim %B, %c0 : !v1
  %n8 = arith.ceildivsi %n, %c8 : index
  // expected-error @+1 {{this loop walks along M and N, which are both gathered: expected one of them}}
  dist.tiles (%i, %j) of (%i8, %n8) order <"row-major"> {
    %t = tile.load %A[%i, %c0] : !v2 -> tensor<8x8xf32>
    %u = tile.load %B[%j] : !v1 -> tensor<8xf32>
    tile.store %t, %C[%i, %j] : tensor<8x8xf32>, !v2
  }
  return
}

// -----

!v1 = memref<?xf32, strided<[?], offset: ?>>
!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

// expected-error @+1 {{'A' is gathered along M and has the dimension N, along which 'B' is gathered: expected one of them}}
func.func @gathered_has_both(%A: !v2 {tile.name = "A", tile.readonly, dist.placement = #dist.placement<gathered dim 0>},
  %B: !v1 {tile.name = "B", tile.readonly, dist.placement = #dist.placement<gathered dim 0>}, %C: !v2 {tile.name = "C"})
    attributes {tile.kernel, tile.extents = [["M", "N"], ["N"], ["M", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %rows = memref.dim %A, %c0 : !v2
  %columns = memref.dim %A, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  dist.tiles (%i, %j) of (%i8, %j8) order <"row-major"> {
    %t = tile.load %A[%i, %j] : !v2 -> tensor<8x8xf32>
    %u = tile.load %B[%j] : !v1 -> tensor<8xf32>
    tile.store %t, %C[%i, %j] : tensor<8x8xf32>, !v2
  }
  return
}

// -----

!v1 = memref<?xf32, strided<[?], offset: ?>>

// A window is known before the loop that walks over it, and one loop walks over one.
func.func @two_windows(%x: !v1 {tile.name = "x", tile.readonly, dist.placement = #dist.placement<gathered dim 0>},
  %z: !v1 {tile.name = "z", tile.readonly}, %y: !v1 {tile.name = "y"}, %size: index {tile.name = "size"})
    attributes {tile.kernel, tile.extents = [["S"], ["S"], ["E"], []]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %steps = arith.ceildivsi %size, %c8 : index
  dist.tiles (%i) of (%c1) order <"row-major"> {
    %first = memref.subview %x[0] [%size] [1] : !v1 to !v1
    %second = memref.subview %z[%size] [%size] [1] : !v1 to !v1
    %sum = scf.for %j = %c0 to %steps step %c1 iter_args(%acc = %zero) -> (tensor<8xf32>) {
      %a = tile.load %first[%j] : !v1 -> tensor<8xf32>
      // expected-error @+1 {{'x' is gathered along S, but one loop walks over two parts of S}}
      %b = tile.load %second[%j] : !v1 -> tensor<8xf32>
      %next = arith.addf %acc, %a : tensor<8xf32>
      %sum = arith.addf %next, %b : tensor<8xf32>
      scf.yield %sum : tensor<8xf32>
    }
    tile.store %sum, %y[%i] : tensor<8xf32>, !v1
  }
  return
}

// -----

!v1 = memref<?xf32, strided<[?], offset: ?>>

// The number of a tile in a window says where its elements are, and nothing else.
func.func @numbers_of_tiles(%x: !v1 {tile.name = "x", tile.readonly, dist.placement = #dist.placement<gathered dim 0>},
  %y: !v1 {tile.name = "y"}, %size: index {tile.name = "size"})
    attributes {tile.kernel, tile.extents = [["S"], ["E"], []]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %steps = arith.ceildivsi %size, %c8 : index
  dist.tiles (%i) of (%c1) order <"row-major"> {
    %first = memref.subview %x[%c1] [%size] [1] : !v1 to !v1
    %sum = scf.for %j = %c0 to %steps step %c1 iter_args(%acc = %zero) -> (tensor<8xf32>) {
      %a = tile.load %first[%j] : !v1 -> tensor<8xf32>
      // expected-error @+1 {{'x' is gathered along S, but the number of the tile along S is used for more than to name tiles of arguments that have S}}
      %isFirst = arith.cmpi eq, %j, %c0 : index
      %b = arith.select %isFirst, %zero, %a : tensor<8xf32>
      %next = arith.addf %acc, %b : tensor<8xf32>
      scf.yield %next : tensor<8xf32>
    }
    tile.store %sum, %y[%i] : tensor<8xf32>, !v1
  }
  return
}
