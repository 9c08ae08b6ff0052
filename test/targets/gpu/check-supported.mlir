// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-check-supported --verify-diagnostics

func.func @copies(%n: index) {
  // expected-error @+1 {{dist.role has no lowering to NVIDIA GPUs: it runs on engine nic, expected core or copy}}
  dist.role "copy" cores %n for %n on nic {
  }
  return
}

// -----

func.func @subtracts(%n: index, %ready: !dist.signals<1>) {
  // expected-error @+1 {{dist.notify has no lowering to NVIDIA GPUs: dist.notify 'subtract' is a form for programs to be checked; expected counters that only grow, with the order that the compiler picks}}
  dist.notify %ready[%n] subtract %n : !dist.signals<1>
  return
}

// -----

func.func @scatters(%x: tensor<4x8xf32>, %X: memref<?x?xf32, strided<[?, ?], offset: ?>>, %rows: tensor<4xi32>, %j: index) {
  // expected-error @+1 {{tile.scatter has no lowering to NVIDIA GPUs: rows in any order, of which several may be one, are scattered on backend 'cpu' only; expected iota(n), or iota(n) and a number more or less}}
  tile.scatter %x, %X[%rows, %j] : tensor<4x8xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>, tensor<4xi32>
  return
}

// -----

func.func @element(%x: tensor<1xi32>, %n: index) {
  // expected-error @+1 {{tensor.extract has no lowering to NVIDIA GPUs: an element of a tile is a scalar on backend 'cpu' only; expected the tile to be stored, and the element to be read}}
  %e = tensor.extract %x[%n] : tensor<1xi32>
  return
}

// -----

// Rows that count on from a number of the program or of the launch, on either side of the sum.
func.func @counts(%x: tensor<4x8xf32>, %X: memref<?x?xf32, strided<[?, ?], offset: ?>>, %n: i32, %j: index) {
  %two = arith.constant dense<2> : tensor<4xi32>
  %some = tensor.splat %n : tensor<4xi32>
  %iota = tile.iota axis 0 : tensor<4xi32>
  %behind = arith.addi %iota, %two : tensor<4xi32>
  %rows = arith.addi %some, %behind : tensor<4xi32>
  tile.scatter %x, %X[%behind, %j] : tensor<4x8xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>, tensor<4xi32>
  tile.scatter %x, %X[%rows, %j] : tensor<4x8xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>, tensor<4xi32>
  return
}
