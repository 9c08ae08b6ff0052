// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --dist-place-results --verify-diagnostics
// What cannot be summed over the ranks while the kernel runs.

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @no_sum(%A: !v2 {tile.name = "A", tile.readonly}, %C: !v2 {tile.name = "C", dist.placement = #dist.placement<reduce_scattered dim 0>})
    attributes {tile.kernel, tile.extents = [["M", "N"], ["M", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %rows = memref.dim %C, %c0 : !v2
  %columns = memref.dim %C, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  dist.tiles (%i, %j) of (%i8, %j8) order <"row-major"> {
    %a = tile.load %A[%i, %j] : !v2 -> tensor<8x8xf32>
    // expected-error @+1 {{'C' is reduce-scattered along M, but what is stored is no sum, and what follows from none: there is nothing to add over the ranks}}
    tile.store %a, %C[%i, %j] : tensor<8x8xf32>, !v2
  }
  return
}

// -----

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @ordered(%A: !v2 {tile.name = "A", tile.readonly}, %C: !v2 {tile.name = "C", dist.placement = #dist.placement<reduce_scattered dim 0>})
    attributes {tile.kernel, tile.extents = [["M", "N"], ["M", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %rows = memref.dim %C, %c0 : !v2
  %columns = memref.dim %C, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  dist.tiles (%i, %j) of (%i8, %j8) order <"row-major"> {
    // expected-error @+1 {{'C' is reduce-scattered along M, but what this loop carries depends on the order of its steps, and is stored: expected a sum}}
    %x = scf.for %k = %c0 to %j8 step %c1 iter_args(%acc = %zero) -> (tensor<8x8xf32>) {
      %a = tile.load %A[%i, %k] : !v2 -> tensor<8x8xf32>
      %half = arith.mulf %acc, %a : tensor<8x8xf32>
      %next = arith.addf %half, %a : tensor<8x8xf32>
      scf.yield %next : tensor<8x8xf32>
    }
    tile.store %x, %C[%i, %j] : tensor<8x8xf32>, !v2
  }
  return
}

// -----

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @not_added(%A: !v2 {tile.name = "A", tile.readonly}, %C: !v2 {tile.name = "C", dist.placement = #dist.placement<reduce_scattered dim 0>})
    attributes {tile.kernel, tile.extents = [["M", "N"], ["M", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %rows = memref.dim %C, %c0 : !v2
  %columns = memref.dim %C, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  dist.tiles (%i, %j) of (%i8, %j8) order <"row-major"> {
    // expected-error @+1 {{'C' is reduce-scattered along M, but what this loop computes is stored, and is no sum that begins with 0}}
    %x = scf.for %k = %c0 to %j8 step %c1 iter_args(%acc = %zero) -> (tensor<8x8xf32>) {
      %a = tile.load %A[%i, %k] : !v2 -> tensor<8x8xf32>
      %next = arith.maximumf %acc, %a : tensor<8x8xf32>
      scf.yield %next : tensor<8x8xf32>
    }
    tile.store %x, %C[%i, %j] : tensor<8x8xf32>, !v2
  }
  return
}

// -----

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @begins_elsewhere(%A: !v2 {tile.name = "A", tile.readonly}, %C: !v2 {tile.name = "C", dist.placement = #dist.placement<reduce_scattered dim 0>})
    attributes {tile.kernel, tile.extents = [["M", "N"], ["M", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %rows = memref.dim %C, %c0 : !v2
  %columns = memref.dim %C, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  dist.tiles (%i, %j) of (%i8, %j8) order <"row-major"> {
    %one = arith.constant dense<1.0> : tensor<8x8xf32>
    // expected-error @+1 {{'C' is reduce-scattered along M, but what this loop computes is stored, and is no sum that begins with 0}}
    %x = scf.for %k = %c0 to %j8 step %c1 iter_args(%acc = %one) -> (tensor<8x8xf32>) {
      %a = tile.load %A[%i, %k] : !v2 -> tensor<8x8xf32>
      %next = arith.addf %acc, %a : tensor<8x8xf32>
      scf.yield %next : tensor<8x8xf32>
    }
    tile.store %x, %C[%i, %j] : tensor<8x8xf32>, !v2
  }
  return
}

// -----

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @branch(%A: !v2 {tile.name = "A", tile.readonly}, %C: !v2 {tile.name = "C", dist.placement = #dist.placement<reduce_scattered dim 0>})
    attributes {tile.kernel, tile.extents = [["M", "N"], ["M", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %rows = memref.dim %C, %c0 : !v2
  %columns = memref.dim %C, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  dist.tiles (%i, %j) of (%i8, %j8) order <"row-major"> {
    %a = tile.load %A[%i, %j] : !v2 -> tensor<8x8xf32>
    %c = tile.dot %a, %a, %zero : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    %p = arith.cmpi eq, %j, %c0 : index
    // expected-error @+1 {{'C' is reduce-scattered along M, but what is stored follows from scf.if, which is no sum and cannot be left to the rank that has the sum}}
    %x = scf.if %p -> tensor<8x8xf32> {
      scf.yield %c : tensor<8x8xf32>
    } else {
      scf.yield %a : tensor<8x8xf32>
    }
    tile.store %x, %C[%i, %j] : tensor<8x8xf32>, !v2
  }
  return
}

// -----

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @read_twice(%A: !v2 {tile.name = "A", tile.readonly}, %C: !v2 {tile.name = "C", dist.placement = #dist.placement<reduce_scattered dim 0>})
    attributes {tile.kernel, tile.extents = [["M", "N"], ["M", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %rows = memref.dim %C, %c0 : !v2
  %columns = memref.dim %C, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  dist.tiles (%i, %j) of (%i8, %j8) order <"row-major"> {
    // expected-error @+1 {{'C' is reduce-scattered along M, but what this reads goes both into the sum, of which each rank computes a summand, and into what follows from it}}
    %a = tile.load %A[%i, %j] : !v2 -> tensor<8x8xf32>
    %c = tile.dot %a, %a, %zero : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    %y = arith.mulf %c, %a : tensor<8x8xf32>
    tile.store %y, %C[%i, %j] : tensor<8x8xf32>, !v2
  }
  return
}

// -----

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @two_views(%A: !v2 {tile.name = "A", tile.readonly}, %C: !v2 {tile.name = "C", dist.placement = #dist.placement<reduce_scattered dim 0>})
    attributes {tile.kernel, tile.extents = [["M", "N"], ["M", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %rows = memref.dim %C, %c0 : !v2
  %columns = memref.dim %C, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  dist.tiles (%i, %j) of (%i8, %j8) order <"row-major"> {
    // expected-error @+1 {{'C' is reduce-scattered along M, but the sum, and what follows from it, both read this argument along M}}
    %a = tile.load %A[%i, %j] : !v2 -> tensor<8x8xf32>
    %c = tile.dot %a, %a, %zero : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    %b = tile.load %A[%i, %c0] : !v2 -> tensor<8x8xf32>
    %y = arith.mulf %c, %b : tensor<8x8xf32>
    tile.store %y, %C[%i, %j] : tensor<8x8xf32>, !v2
  }
  return
}

// -----

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @other_shape(%A: !v2 {tile.name = "A", tile.readonly}, %C: !v2 {tile.name = "C", dist.placement = #dist.placement<reduce_scattered dim 0>})
    attributes {tile.kernel, tile.extents = [["M", "N"], ["M", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %rows = memref.dim %C, %c0 : !v2
  %columns = memref.dim %C, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  dist.tiles (%i, %j) of (%i8, %j8) order <"row-major"> {
    %a = tile.load %A[%i, %j] : !v2 -> tensor<8x8xf32>
    // expected-error @+1 {{this sum is of 'tensor<8x1xf32>', expected the shape of the stored 'tensor<8x8xf32>'}}
    %s = tile.reduce sum %a axis 1 : tensor<8x8xf32> -> tensor<8x1xf32>
    %e = math.exp %s : tensor<8x1xf32>
    %w = tile.broadcast %e : tensor<8x1xf32> -> tensor<8x8xf32>
    tile.store %w, %C[%i, %j] : tensor<8x8xf32>, !v2
  }
  return
}

// -----

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @two_stores(%A: !v2 {tile.name = "A", tile.readonly}, %C: !v2 {tile.name = "C", dist.placement = #dist.placement<reduce_scattered dim 0>})
    attributes {tile.kernel, tile.extents = [["M", "N"], ["M", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %rows = memref.dim %C, %c0 : !v2
  %columns = memref.dim %C, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  dist.tiles (%i, %j) of (%i8, %j8) order <"row-major"> {
    %a = tile.load %A[%i, %j] : !v2 -> tensor<8x8xf32>
    %c = tile.dot %a, %a, %zero : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    tile.store %c, %C[%i, %j] : tensor<8x8xf32>, !v2
    // expected-error @+1 {{'C' is reduce-scattered along M, but this tile.store is not its one store, in the loop over tiles and in no other loop or branch}}
    tile.store %c, %C[%i, %j] : tensor<8x8xf32>, !v2
  }
  return
}

// -----

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @other_result(%A: !v2 {tile.name = "A", tile.readonly}, %D: !v2 {tile.name = "D"}, %C: !v2 {tile.name = "C", dist.placement = #dist.placement<reduce_scattered dim 0>})
    attributes {tile.kernel, tile.extents = [["M", "N"], ["M", "N"], ["M", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %rows = memref.dim %C, %c0 : !v2
  %columns = memref.dim %C, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  dist.tiles (%i, %j) of (%i8, %j8) order <"row-major"> {
    %a = tile.load %A[%i, %j] : !v2 -> tensor<8x8xf32>
    %c = tile.dot %a, %a, %zero : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    // expected-error @+1 {{this tile.store is not its one store, in the loop over tiles and in no other loop or branch}}
    tile.store %c, %D[%i, %j] : tensor<8x8xf32>, !v2
    tile.store %c, %C[%i, %j] : tensor<8x8xf32>, !v2
  }
  return
}

// -----

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @nothing_stored(%A: !v2 {tile.name = "A", tile.readonly}, %C: !v2 {tile.name = "C", dist.placement = #dist.placement<reduce_scattered dim 0>})
    attributes {tile.kernel, tile.extents = [["M", "N"], ["M", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %rows = memref.dim %C, %c0 : !v2
  %columns = memref.dim %C, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  // expected-error @+1 {{'C' is reduce-scattered along M, but nothing in this loop stores it}}
  dist.tiles (%i, %j) of (%i8, %j8) order <"row-major"> {
    %a = tile.load %A[%i, %j] : !v2 -> tensor<8x8xf32>
  }
  return
}

// -----

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @two_loops(%A: !v2 {tile.name = "A", tile.readonly}, %C: !v2 {tile.name = "C", dist.placement = #dist.placement<reduce_scattered dim 0>})
    attributes {tile.kernel, tile.extents = [["M", "N"], ["M", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %rows = memref.dim %C, %c0 : !v2
  %columns = memref.dim %C, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  dist.tiles (%i, %j) of (%i8, %j8) order <"row-major"> {
    %a = tile.load %A[%i, %j] : !v2 -> tensor<8x8xf32>
    %c = tile.dot %a, %a, %zero : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    tile.store %c, %C[%i, %j] : tensor<8x8xf32>, !v2
  }
  // expected-error @+1 {{this is a second loop over tiles: expected one, which stores it}}
  dist.tiles (%i) of (%i8) order <"row-major"> {
  }
  return
}

// -----

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

// expected-error @+1 {{'C' is reduce-scattered along M, but the kernel has no loop over tiles}}
func.func @no_loop(%A: !v2 {tile.name = "A", tile.readonly}, %C: !v2 {tile.name = "C", dist.placement = #dist.placement<reduce_scattered dim 0>})
    attributes {tile.kernel, tile.extents = [["M", "N"], ["M", "N"]]} {
  return
}

// -----

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @not_each_tile(%A: !v2 {tile.name = "A", tile.readonly}, %C: !v2 {tile.name = "C", dist.placement = #dist.placement<reduce_scattered dim 0>})
    attributes {tile.kernel, tile.extents = [["M", "N"], ["M", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %rows = memref.dim %C, %c0 : !v2
  %columns = memref.dim %C, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  dist.tiles (%i, %j) of (%i8, %j8) order <"row-major"> {
    %a = tile.load %A[%i, %j] : !v2 -> tensor<8x8xf32>
    %c = tile.dot %a, %a, %zero : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    // expected-error @+1 {{the loop does not store each tile of dimension 1 once}}
    tile.store %c, %C[%i, %c0] : tensor<8x8xf32>, !v2
  }
  return
}

// -----

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @smaller_grid(%A: !v2 {tile.name = "A", tile.readonly}, %C: !v2 {tile.name = "C", dist.placement = #dist.placement<reduce_scattered dim 0>})
    attributes {tile.kernel, tile.extents = [["M", "N"], ["M", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %rows = memref.dim %C, %c0 : !v2
  %columns = memref.dim %C, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  dist.tiles (%i, %j) of (%c8, %j8) order <"row-major"> {
    %a = tile.load %A[%i, %j] : !v2 -> tensor<8x8xf32>
    %c = tile.dot %a, %a, %zero : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    // expected-error @+1 {{the loop does not store each tile of dimension 0 once}}
    tile.store %c, %C[%i, %j] : tensor<8x8xf32>, !v2
  }
  return
}

// -----

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @larger_grid(%A: !v2 {tile.name = "A", tile.readonly}, %C: !v2 {tile.name = "C", dist.placement = #dist.placement<reduce_scattered dim 0>})
    attributes {tile.kernel, tile.extents = [["M", "N"], ["M", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %rows = memref.dim %C, %c0 : !v2
  %columns = memref.dim %C, %c1 : !v2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  // expected-error @+1 {{the grid of this loop has 3 dimensions, expected those of the result}}
  dist.tiles (%i, %j, %n) of (%i8, %j8, %c8) order <"row-major"> {
    %a = tile.load %A[%i, %j] : !v2 -> tensor<8x8xf32>
    %c = tile.dot %a, %a, %zero : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    tile.store %c, %C[%i, %j] : tensor<8x8xf32>, !v2
  }
  return
}

// -----

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

// expected-error @+1 {{'C' is reduce-scattered along M, but the kernel has verbs of its own, or another argument is gathered: expected a kernel of one device}}
func.func @verbs(%A: !v2 {tile.name = "A", tile.readonly}, %C: !v2 {tile.name = "C", dist.placement = #dist.placement<reduce_scattered dim 0>})
    attributes {tile.kernel, tile.extents = [["M", "N"], ["M", "N"]]} {
  %r = dist.rank
  return
}

// -----

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

// expected-error @+1 {{'C' is summed over the ranks, but is an input: expected a result}}
func.func @input(%C: !v2 {tile.name = "C", tile.readonly, dist.placement = #dist.placement<all_reduced>})
    attributes {tile.kernel, tile.extents = [["M", "N"]]} {
  return
}

// -----

!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

// expected-error @+1 {{'D' and 'C' are both summed over the ranks: expected one result}}
func.func @two_results(%D: !v2 {tile.name = "D", dist.placement = #dist.placement<all_reduced>}, %C: !v2 {tile.name = "C", dist.placement = #dist.placement<reduce_scattered dim 0>})
    attributes {tile.kernel, tile.extents = [["M", "N"], ["M", "N"]]} {
  return
}

// -----

!b2 = memref<?x?xi8, strided<[?, ?], offset: ?>>

func.func @rounded_integers(%A: !b2 {tile.name = "A", tile.readonly}, %C: !b2 {tile.name = "C", dist.placement = #dist.placement<all_reduced rounded true>})
    attributes {tile.kernel, tile.extents = [["M", "N"], ["M", "N"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0> : tensor<8x8xi32>
  %rows = memref.dim %C, %c0 : !b2
  %columns = memref.dim %C, %c1 : !b2
  %i8 = arith.ceildivsi %rows, %c8 : index
  %j8 = arith.ceildivsi %columns, %c8 : index
  dist.tiles (%i, %j) of (%i8, %j8) order <"row-major"> {
    %a = tile.load %A[%i, %j] : !b2 -> tensor<8x8xi8>
    // expected-error @+1 {{'C' is all-reduced, but summands of 'i32' cannot travel as 'i8': expected floats}}
    %c = tile.dot %a, %a, %zero : tensor<8x8xi8>, tensor<8x8xi8> -> tensor<8x8xi32>
    %y = tile.cast %c : tensor<8x8xi32> to tensor<8x8xi8>
    tile.store %y, %C[%i, %j] : tensor<8x8xi8>, !b2
  }
  return
}
