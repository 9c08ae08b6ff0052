// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --nvidia-check-supported --verify-diagnostics

func.func @communicates() {
  // expected-error @+1 {{dist.barrier has no lowering to NVIDIA GPUs: kernels that communicate run on backend 'cpu'}}
  dist.barrier ranks
  return
}

// -----

func.func @scatters(%x: tensor<4x8xf32>, %X: memref<?x?xf32, strided<[?, ?], offset: ?>>, %rows: tensor<4xi32>, %j: index) {
  // expected-error @+1 {{tile.scatter has no lowering to NVIDIA GPUs: rows are scattered on backend 'cpu' only}}
  tile.scatter %x, %X[%rows, %j] : tensor<4x8xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>, tensor<4xi32>
  return
}

// -----

func.func @batches(%a: tensor<2x16x16xf16>, %c: tensor<2x16x16xf32>) {
  // expected-error @+1 {{tile.dot has no lowering to NVIDIA GPUs: products of tiles with batch dimensions run on backend 'cpu'; expected 2 dimensions}}
  %d = tile.dot %a, %a, %c : tensor<2x16x16xf16>, tensor<2x16x16xf16> -> tensor<2x16x16xf32>
  return
}
