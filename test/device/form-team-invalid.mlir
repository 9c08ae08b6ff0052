// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --dist-form-team="axis=col" --split-input-file --verify-diagnostics

func.func @axis() -> index {
  // expected-error @+1 {{speaks of axis 'row' of the mesh, but the kernel is to run along axis 'col': expected one of all ranks}}
  %place = dist.rank along "row"
  return %place : index
}

// -----

func.func @peer(%i: index) -> index {
  // expected-error @+1 {{speaks of axis 'node' of the mesh, but the kernel is to run along axis 'col': expected one of all ranks}}
  %peer = dist.rank_at %i along "node"
  return %peer : index
}

// -----

func.func @barrier() {
  // expected-error @+1 {{waits for all ranks, but the kernel is to run along axis 'col', whose ranks do not wait for others: expected signals}}
  dist.barrier ranks
  return
}

// -----

// expected-error @+1 {{speaks of axis 'row' of the mesh, but the kernel is to run along axis 'col': expected one of all ranks}}
func.func @placed(%A: memref<?x?xf32, strided<[?, ?], offset: ?>> {dist.placement = #dist.placement<gathered dim 0 along "row">}) {
  return
}

// -----

func.func @order(%m: index) {
  // expected-error @+1 {{speaks of axis 'row' of the mesh, but the kernel is to run along axis 'col': expected one of all ranks}}
  dist.tiles (%i, %j) of (%m, %m) order <"own-shard-first" along "row"> {
  }
  return
}
