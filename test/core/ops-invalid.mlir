// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --verify-diagnostics
// Every message of a verifier of `tile`.

func.func @tile_of_five_dimensions(%x: tensor<1x1x1x1x2xf32>) {
  // expected-error @+1 {{operand #0 must be tile (1 to 4 static dimensions of extent 1 or more, at most 1048576 elements, of f32, f16, bf16, f8E4M3FN, f8E5M2, i1, i8, i16, i32 or i64), but got 'tensor<1x1x1x1x2xf32>'}}
  %0 = tile.scan sum %x axis 0 : tensor<1x1x1x1x2xf32>
  return
}

// -----

func.func @tile_of_no_dimension(%x: tensor<f32>) {
  // expected-error @+1 {{operand #0 must be tile (1 to 4 static dimensions}}
  %0 = tile.reshape %x : tensor<f32> -> tensor<1xf32>
  return
}

// -----

func.func @tile_of_dynamic_extent(%x: tensor<?xf32>) {
  // expected-error @+1 {{operand #0 must be tile (1 to 4 static dimensions}}
  %0 = tile.scan sum %x axis 0 : tensor<?xf32>
  return
}

// -----

func.func @tile_of_extent_zero(%x: tensor<4x0xf32>) {
  // expected-error @+1 {{operand #0 must be tile (1 to 4 static dimensions of extent 1 or more}}
  %0 = tile.scan sum %x axis 0 : tensor<4x0xf32>
  return
}

// -----

func.func @tile_of_f64(%x: tensor<4xf64>) {
  // expected-error @+1 {{operand #0 must be tile (1 to 4 static dimensions of extent 1 or more, at most 1048576 elements, of f32}}
  %0 = tile.scan sum %x axis 0 : tensor<4xf64>
  return
}

// -----

func.func @load_coords(%A: memref<?x?xf32>, %i: index) {
  // expected-error @+1 {{'tile.load' op has 1 coords but view has 2 dimensions}}
  %0 = tile.load %A[%i] : memref<?x?xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @load_rank(%A: memref<?xf32>, %i: index) {
  // expected-error @+1 {{'tile.load' op tile has 2 dimensions but view only 1}}
  %0 = tile.load %A[%i] : memref<?xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @load_element(%A: memref<?x?xf32>, %i: index) {
  // expected-error @+1 {{'tile.load' op tile has elements of 'f16' but view has 'f32'}}
  %0 = tile.load %A[%i, %i] : memref<?x?xf32> -> tensor<4x4xf16>
  return
}

// -----

func.func @load_padding(%A: memref<?x?xf32>, %i: index) {
  // expected-error @+1 {{'tile.load' op padding has type 'i32' but tile has elements of 'f32'}}
  %0 = tile.load %A[%i, %i] padding 0 : i32 : memref<?x?xf32> -> tensor<4x4xf32>
  return
}

// -----

// There is no memory of a peer that a load could name.
// expected-error @+2 {{expected ::ditron::device::SpaceKind to be one of: symmetric}}
// expected-error @+1 {{failed to parse Dist_SpaceAttr parameter 'kind'}}
func.func @load_remote(%A: memref<?x?xf32, #dist.space<remote>>, %i: index) {
  return
}

// -----

func.func @store_coords(%t: tensor<4xf32>, %A: memref<?xf32>, %i: index) {
  // expected-error @+1 {{'tile.store' op has 2 coords but view has 1 dimensions}}
  tile.store %t, %A[%i, %i] : tensor<4xf32>, memref<?xf32>
  return
}

// -----

func.func @chunk_shape(%A: memref<?x?xf32>, %i: index) {
  // expected-error @+1 {{'tile.chunk' op shape is [4, 0], expected extents of 1 or more}}
  %0 = tile.chunk %A[%i, %i] shape [4, 0] : memref<?x?xf32> -> memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}

// -----

func.func @chunk_coords(%A: memref<?x?xf32>, %i: index) {
  // expected-error @+1 {{'tile.chunk' op has 1 coords but view has 2 dimensions}}
  %0 = tile.chunk %A[%i] shape [4, 4] : memref<?x?xf32> -> memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}

// -----

func.func @chunk_rank(%A: memref<?xf32>, %i: index) {
  // expected-error @+1 {{'tile.chunk' op tile has 2 dimensions but view only 1}}
  %0 = tile.chunk %A[%i] shape [4, 4] : memref<?xf32> -> memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}

// -----

func.func @chunk_result(%A: memref<?x?xf32>, %i: index) {
  // expected-error @+1 {{'tile.chunk' op chunk is 'memref<4x4xf32>', expected 'memref<?x?xf32, strided<[?, ?], offset: ?>>'}}
  %0 = tile.chunk %A[%i, %i] shape [4, 4] : memref<?x?xf32> -> memref<4x4xf32>
  return
}

// -----

func.func @chunk_space(%A: memref<?xf32, #dist.space<symmetric>>, %i: index) {
  // expected-error @+1 {{'tile.chunk' op chunk is 'memref<?xf32, strided<[?], offset: ?>>', expected 'memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>'}}
  %0 = tile.chunk %A[%i] shape [4] : memref<?xf32, #dist.space<symmetric>> -> memref<?xf32, strided<[?], offset: ?>>
  return
}

// -----

func.func @gather_rank(%A: memref<?x?x?xf32>, %rows: tensor<4xi32>, %i: index) {
  // expected-error @+1 {{'tile.gather' op moves rows between 2 dimensions, but tile has 2 and view has 3}}
  %0 = tile.gather %A[%rows, %i] : memref<?x?x?xf32>, tensor<4xi32> -> tensor<4x4xf32>
  return
}

// -----

func.func @gather_rows(%A: memref<?x?xf32>, %rows: tensor<8xi32>, %i: index) {
  // expected-error @+1 {{'tile.gather' op has 8 rows but tile has 4}}
  %0 = tile.gather %A[%rows, %i] : memref<?x?xf32>, tensor<8xi32> -> tensor<4x4xf32>
  return
}

// -----

func.func @gather_indices(%A: memref<?x?xf32>, %rows: tensor<4xi64>, %i: index) {
  // expected-error @+1 {{'tile.gather' op operand #1 must be tile of 1 dimension of i32, but got 'tensor<4xi64>'}}
  %0 = tile.gather %A[%rows, %i] : memref<?x?xf32>, tensor<4xi64> -> tensor<4x4xf32>
  return
}

// -----

func.func @gather_padding(%A: memref<?x?xf32>, %rows: tensor<4xi32>, %i: index) {
  // expected-error @+1 {{'tile.gather' op padding has type 'f16' but tile has elements of 'f32'}}
  %0 = tile.gather %A[%rows, %i] padding 0.0 : f16 : memref<?x?xf32>, tensor<4xi32> -> tensor<4x4xf32>
  return
}

// -----

func.func @scatter_element(%x: tensor<4x4xf16>, %A: memref<?x?xf32>, %rows: tensor<4xi32>, %i: index) {
  // expected-error @+1 {{'tile.scatter' op tile has elements of 'f16' but view has 'f32'}}
  tile.scatter %x, %A[%rows, %i] : tensor<4x4xf16>, memref<?x?xf32>, tensor<4xi32>
  return
}

// -----

func.func @atomic_element(%x: tensor<4xf16>, %A: memref<?xf16>, %i: index) {
  // expected-error @+1 {{'tile.atomic_add' op tile has elements of 'f16', expected f32, i32 or i64}}
  %0 = tile.atomic_add %x, %A[%i] : tensor<4xf16>, memref<?xf16>
  return
}

// -----

func.func @dot_rank(%a: tensor<4xf32>, %b: tensor<4x4xf32>, %c: tensor<4x4xf32>) {
  // expected-error @+1 {{'tile.dot' op lhs, rhs and acc need one number of dimensions, 2 or more; found 'tensor<4xf32>', 'tensor<4x4xf32>', 'tensor<4x4xf32>'}}
  %0 = tile.dot %a, %b, %c : tensor<4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @dot_batch(%a: tensor<2x4x4xf32>, %b: tensor<3x4x4xf32>, %c: tensor<2x4x4xf32>) {
  // expected-error @+1 {{'tile.dot' op batch dimensions of lhs, rhs and acc differ: 'tensor<2x4x4xf32>', 'tensor<3x4x4xf32>', 'tensor<2x4x4xf32>'}}
  %0 = tile.dot %a, %b, %c : tensor<2x4x4xf32>, tensor<3x4x4xf32> -> tensor<2x4x4xf32>
  return
}

// -----

func.func @dot_depth(%a: tensor<4x8xf32>, %b: tensor<4x4xf32>, %c: tensor<4x4xf32>) {
  // expected-error @+1 {{'tile.dot' op lhs has 8 columns but rhs has 4 rows}}
  %0 = tile.dot %a, %b, %c : tensor<4x8xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @dot_acc_shape(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>, %c: tensor<4x8xf32>) {
  // expected-error @+1 {{'tile.dot' op acc is 'tensor<4x8xf32>' but the product is 4x4}}
  %0 = tile.dot %a, %b, %c : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @dot_elements(%a: tensor<4x4xf16>, %b: tensor<4x4xbf16>, %c: tensor<4x4xf32>) {
  // expected-error @+1 {{'tile.dot' op lhs has elements of 'f16' but rhs has 'bf16'}}
  %0 = tile.dot %a, %b, %c : tensor<4x4xf16>, tensor<4x4xbf16> -> tensor<4x4xf32>
  return
}

// -----

func.func @dot_integers(%a: tensor<4x4xi16>, %b: tensor<4x4xi16>, %c: tensor<4x4xi32>) {
  // expected-error @+1 {{'tile.dot' op lhs has elements of 'i16', expected floats or i8}}
  %0 = tile.dot %a, %b, %c : tensor<4x4xi16>, tensor<4x4xi16> -> tensor<4x4xi32>
  return
}

// -----

func.func @dot_acc_float(%a: tensor<4x4xf16>, %b: tensor<4x4xf16>, %c: tensor<4x4xf16>) {
  // expected-error @+1 {{'tile.dot' op acc has elements of 'f16', expected f32 for a product of 'f16'}}
  %0 = tile.dot %a, %b, %c : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf16>
  return
}

// -----

func.func @dot_acc_integer(%a: tensor<4x4xi8>, %b: tensor<4x4xi8>, %c: tensor<4x4xf32>) {
  // expected-error @+1 {{'tile.dot' op acc has elements of 'f32', expected i32 for a product of 'i8'}}
  %0 = tile.dot %a, %b, %c : tensor<4x4xi8>, tensor<4x4xi8> -> tensor<4x4xf32>
  return
}

// -----

func.func @dot_precision(%a: tensor<4x4xf16>, %b: tensor<4x4xf16>, %c: tensor<4x4xf32>) {
  // expected-error @+1 {{'tile.dot' op precision tf32 is for f32, but lhs has elements of 'f16'}}
  %0 = tile.dot %a, %b, %c precision tf32 : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf32>
  return
}

// -----

func.func @dot_fast_accum(%a: tensor<4x4xf16>, %b: tensor<4x4xf16>, %c: tensor<4x4xf32>) {
  // expected-error @+1 {{'tile.dot' op precision fast_accum is for 8-bit floats, but lhs has elements of 'f16'}}
  %0 = tile.dot %a, %b, %c precision fast_accum : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf32>
  return
}

// -----

func.func @reduce_axis(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tile.reduce' op axis is 2, expected 0 to 1 in 'tensor<4x8xf32>'}}
  %0 = tile.reduce sum %x axis 2 : tensor<4x8xf32> -> tensor<4x1xf32>
  return
}

// -----

func.func @reduce_negative_axis(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tile.reduce' op axis is -1, expected 0 to 1 in 'tensor<4x8xf32>'}}
  %0 = tile.reduce sum %x axis -1 : tensor<4x8xf32> -> tensor<4x1xf32>
  return
}

// -----

func.func @reduce_shape(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tile.reduce' op result is 'tensor<4xf32>' but 'tensor<4x8xf32>' reduced along axis 1 has shape [4, 1]}}
  %0 = tile.reduce sum %x axis 1 : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @reduce_element(%x: tensor<4x8xf16>) {
  // expected-error @+1 {{'tile.reduce' op result has elements of 'f32' but source has 'f16'}}
  %0 = tile.reduce sum %x axis 1 : tensor<4x8xf16> -> tensor<4x1xf32>
  return
}

// -----

func.func @reduce_truth(%x: tensor<4x8xi1>) {
  // expected-error @+1 {{'tile.reduce' op source has elements of i1, expected floats or integers of 8 bits or more}}
  %0 = tile.reduce sum %x axis 1 : tensor<4x8xi1> -> tensor<4x1xi1>
  return
}

// -----

func.func @reduce_index_element(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tile.reduce_index' op result has elements of 'i64', expected i32}}
  %0 = tile.reduce_index max %x axis 1 : tensor<4x8xf32> -> tensor<4x1xi64>
  return
}

// -----

func.func @reduce_index_truth(%x: tensor<4x8xi1>) {
  // expected-error @+1 {{'tile.reduce_index' op source has elements of i1}}
  %0 = tile.reduce_index max %x axis 1 : tensor<4x8xi1> -> tensor<4x1xi32>
  return
}

// -----

func.func @reduce_index_sum(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{enum values for attribute 'kind' [max, min]}}
  %0 = tile.reduce_index sum %x axis 1 : tensor<4x8xf32> -> tensor<4x1xi32>
  return
}

// -----

func.func @scan_axis(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tile.scan' op axis is 2, expected 0 to 1 in 'tensor<4x8xf32>'}}
  %0 = tile.scan sum %x axis 2 : tensor<4x8xf32>
  return
}

// -----

func.func @scan_truth(%x: tensor<4x8xi1>) {
  // expected-error @+1 {{'tile.scan' op source has elements of i1}}
  %0 = tile.scan sum %x axis 1 : tensor<4x8xi1>
  return
}

// -----

func.func @cast_shape(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tile.cast' op source is 'tensor<4x8xf32>' but result is 'tensor<8x4xf16>', of another shape}}
  %0 = tile.cast %x : tensor<4x8xf32> to tensor<8x4xf16>
  return
}

// -----

func.func @cast_tile_to_scalar(%x: tensor<1xf32>) {
  // expected-error @+1 {{'tile.cast' op source is 'tensor<1xf32>' but result is 'f16', of another shape}}
  %0 = tile.cast %x : tensor<1xf32> to f16
  return
}

// -----

func.func @cast_rounding_integer(%x: tensor<4xi32>) {
  // expected-error @+1 {{'tile.cast' op rounding is up but source has integers, which round to nearest_even only}}
  %0 = tile.cast %x rounding up : tensor<4xi32> to tensor<4xf16>
  return
}

// -----

func.func @cast_rounding_float(%x: tensor<4xf32>) {
  // expected-error @+1 {{'tile.cast' op rounding is down, expected nearest_even or toward_zero between floats}}
  %0 = tile.cast %x rounding down : tensor<4xf32> to tensor<4xf16>
  return
}

// -----

func.func @broadcast(%x: tensor<2x8xf32>) {
  // expected-error @+1 {{'tile.broadcast' op source 'tensor<2x8xf32>' does not repeat to 'tensor<4x8xf32>': only extents of 1 do}}
  %0 = tile.broadcast %x : tensor<2x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @transpose_permutation(%x: tensor<2x8xf32>) {
  // expected-error @+1 {{'tile.transpose' op permutation is [1, 1], expected each of 0 to 1 once}}
  %0 = tile.transpose %x [1, 1] : tensor<2x8xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @transpose_result(%x: tensor<2x8xf32>) {
  // expected-error @+1 {{'tile.transpose' op result is 'tensor<2x8xf32>' but the permuted source has shape [8, 2] of 'f32'}}
  %0 = tile.transpose %x [1, 0] : tensor<2x8xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @reshape(%x: tensor<2x8xf32>) {
  // expected-error @+1 {{'tile.reshape' op source 'tensor<2x8xf32>' and result 'tensor<4x5xf32>' hold different elements}}
  %0 = tile.reshape %x : tensor<2x8xf32> -> tensor<4x5xf32>
  return
}

// -----

func.func @iota_element() {
  // expected-error @+1 {{'tile.iota' op result has elements of 'f32', expected i32}}
  %0 = tile.iota axis 0 : tensor<4xf32>
  return
}

// -----

func.func @iota_axis() {
  // expected-error @+1 {{'tile.iota' op axis is 1, expected 0 to 0 in 'tensor<4xi32>'}}
  %0 = tile.iota axis 1 : tensor<4xi32>
  return
}

// -----

func.func @var_of_view(%A: memref<4xf32>) {
  // expected-error @+1 {{'initial' must be tile, scalar or index, but got 'memref<4xf32>'}}
  %0 = tile.var %A : memref<4xf32>
  return
}

// -----

func.func @set_type(%x: f32, %y: f16) {
  // expected-note @+1 {{prior use here}}
  %0 = tile.var %x : f32
  // expected-error @+1 {{expects different type than prior uses: '!tile.var<f16>' vs '!tile.var<f32>'}}
  tile.set %0, %y : f16
  return
}

// -----

func.func @require_places(%ok: i1, %n: index) {
  // expected-error @+1 {{'tile.require' op message has 1 places '{}' for 2 values}}
  tile.require %ok, "takes {} rows"(%n, %n)
  return
}

// -----

func.func @select_view_of_nothing(%n: index) -> memref<?xf32, strided<[?], offset: ?>> {
  // expected-error @+1 {{'tile.select_view' op selects among no views, expected 1 or more}}
  %v = tile.select_view %n of () : memref<?xf32, strided<[?], offset: ?>>
  return %v : memref<?xf32, strided<[?], offset: ?>>
}

// -----

func.func @select_view_types(%n: index, %a: memref<?xf32, strided<[?], offset: ?>>, %b: memref<?xi32, strided<[?], offset: ?>>) {
  // expected-error @+1 {{'tile.select_view' op view 1 is 'memref<?xi32, strided<[?], offset: ?>>', expected 'memref<?xf32, strided<[?], offset: ?>>', as the result is}}
  %v = "tile.select_view"(%n, %a, %b) : (index, memref<?xf32, strided<[?], offset: ?>>, memref<?xi32, strided<[?], offset: ?>>) -> memref<?xf32, strided<[?], offset: ?>>
  return
}
