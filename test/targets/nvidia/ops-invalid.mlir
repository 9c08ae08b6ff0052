// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --verify-diagnostics
// Messages of verifiers of `nvidia`.

// A slot is found by the low bits of a count.
func.func @queue() {
  // expected-error @below {{has 3 slots, expected a power of two}}
  %queue = nvidia.queue : <3 of i32>
  return
}

// -----

func.func @enqueue(%queue: !nvidia.queue<4 of i32, index>, %n: i32) {
  // expected-error @below {{has 1 values but the queue has 2}}
  nvidia.enqueue %queue, %n : <4 of i32, index>, i32
  return
}

// -----

func.func @pipe(%n: index) {
  // expected-error @below {{has rows of 1 tiles, expected none or 2}}
  %pipe = nvidia.pipe rows(%n) : <4 of tensor<64x64xbf16>, tensor<32x64xbf16>>
  return
}

// -----

func.func @receive(%pipe: !nvidia.pipe<4 of tensor<64x64xbf16>>) {
  // expected-error @below {{value is 'tensor<64x32xbf16>' but the pipe has 'tensor<64x64xbf16>'}}
  %a = nvidia.receive %pipe : <4 of tensor<64x64xbf16>> -> tensor<64x32xbf16>
  return
}

// -----

func.func @tma_load(%A: memref<?x?xbf16, strided<[?, ?], offset: ?>>, %map: !llvm.ptr, %pipe: !nvidia.pipe<4 of tensor<64x64xbf16>>, %i: index) {
  // expected-error @below {{tile is 1, expected 0 to 0}}
  nvidia.tma_load %A[%i, %i] by %map to %pipe[%i] tile 1 shape [64, 64] : memref<?x?xbf16, strided<[?, ?], offset: ?>>, !llvm.ptr, <4 of tensor<64x64xbf16>>
  return
}

// -----

func.func @boxes(%A: memref<?x?xbf16, strided<[?, ?], offset: ?>>, %map: !llvm.ptr, %pipe: !nvidia.pipe<4 of tensor<24x64xbf16>>, %i: index) {
  // expected-error @below {{has boxes for a tile of 24 rows, expected a multiple of 16}}
  nvidia.tma_load %A[%i, %i] by %map to %pipe[%i] tile 0 shape [24, 64] rows %i by %map : memref<?x?xbf16, strided<[?, ?], offset: ?>>, !llvm.ptr, <4 of tensor<24x64xbf16>>, !llvm.ptr
  return
}

// -----

func.func @rows_without_a_map(%A: memref<?x?xbf16, strided<[?, ?], offset: ?>>, %map: !llvm.ptr, %pipe: !nvidia.pipe<4 of tensor<64x64xbf16>>, %i: index) {
  // expected-error @below {{has rows or a map of their boxes, expected both or none}}
  "nvidia.tma_load"(%A, %i, %i, %map, %pipe, %i, %i) <{operandSegmentSizes = array<i32: 1, 2, 1, 1, 1, 0, 1, 0>, shape = array<i64: 64, 64>, tile = 0 : i64}> : (memref<?x?xbf16, strided<[?, ?], offset: ?>>, index, index, !llvm.ptr, !nvidia.pipe<4 of tensor<64x64xbf16>>, index, index) -> ()
  return
}

// -----

func.func @product(%a: tensor<64x64xbf16>, %b: tensor<32x64xbf16>, %c: tensor<64x64xf32>) {
  // expected-error @below {{lhs has 64 columns but rhs has 32 rows}}
  %d = nvidia.wgmma %a, %b, %c : tensor<64x64xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
  return
}

// -----

func.func @promote(%a: tensor<64x128xf8E4M3FN>, %b: tensor<128x64xf8E4M3FN>, %c: tensor<64x64xf32>) {
  // expected-error @below {{has parts of 12 columns, expected a multiple of 8}}
  %d = nvidia.wgmma_promote %a, %b, %c by 12 : tensor<64x128xf8E4M3FN>, tensor<128x64xf8E4M3FN> -> tensor<64x64xf32>
  return
}

// -----

func.func @load_packed(%A: memref<?x?xbf16, strided<[?, ?], offset: ?>>, %pipe: !nvidia.pipe<4 of tensor<64x64xbf16>>, %i: index) {
  // expected-error @below {{has 1 coords but view has 2 dimensions}}
  nvidia.load_packed %A[%i] as tensor<64x64xbf16> to %pipe in 1 : memref<?x?xbf16, strided<[?, ?], offset: ?>>, <4 of tensor<64x64xbf16>>
  return
}

// -----

func.func @load_rows_ahead(%W: memref<?x?xf32, strided<[?, ?], offset: ?>>, %pipe: !nvidia.pipe<4 of tensor<8192xi8>>, %i: index) {
  // expected-error @below {{is 5 slots ahead, expected 1 to 4}}
  nvidia.load_rows %W[%i, %i] as tensor<4x512xf32> to %pipe ahead 5 : memref<?x?xf32, strided<[?, ?], offset: ?>>, <4 of tensor<8192xi8>>
  return
}

// -----

func.func @load_rows_behind(%W: memref<?x?xf32, strided<[?, ?], offset: ?>>, %pipe: !nvidia.pipe<4 of tensor<8192xi8>>, %i: index) {
  // expected-error @below {{is 0 slots ahead, expected 1 to 4}}
  nvidia.load_rows %W[%i, %i] as tensor<4x512xf32> to %pipe ahead 0 : memref<?x?xf32, strided<[?, ?], offset: ?>>, <4 of tensor<8192xi8>>
  return
}

// -----

func.func @load_rows_coords(%W: memref<?x?xf32, strided<[?, ?], offset: ?>>, %pipe: !nvidia.pipe<4 of tensor<8192xi8>>, %i: index) {
  // expected-error @below {{has 1 coords but view has 2 dimensions}}
  nvidia.load_rows %W[%i] as tensor<4x512xf32> to %pipe ahead 2 : memref<?x?xf32, strided<[?, ?], offset: ?>>, <4 of tensor<8192xi8>>
  return
}

// -----

func.func @receive_rows_coords(%W: memref<?x?xf32, strided<[?, ?], offset: ?>>, %pipe: !nvidia.pipe<4 of tensor<8192xi8>>, %i: index) {
  // expected-error @below {{has 3 coords but view has 2 dimensions}}
  %w = nvidia.receive_rows %W[%i, %i, %i] from %pipe : memref<?x?xf32, strided<[?, ?], offset: ?>>, <4 of tensor<8192xi8>> -> tensor<4x512xf32>
  return
}

// -----

func.func @cluster_sum_of_half(%tile: tensor<8x64xbf16>, %box: !nvidia.cluster_box) {
  // expected-error @below {{adds tiles of 'bf16', expected f32}}
  %sum = nvidia.cluster_sum %tile of 2 in %box : tensor<8x64xbf16>
  return
}

// -----

func.func @cluster_sum_of_three(%tile: tensor<8x64xf32>, %box: !nvidia.cluster_box) {
  // expected-error @below {{is of 3 CTAs, expected a power of two above 1}}
  %sum = nvidia.cluster_sum %tile of 3 in %box : tensor<8x64xf32>
  return
}
