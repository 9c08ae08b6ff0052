// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --split-input-file --simt-await-elements | FileCheck %s
// RUN: %opt %s --split-input-file --simt-await-elements --simt-tiles-to-threads --canonicalize | FileCheck %s --check-prefix=THREADS

#row = #tile.layout<"(4 : 1@warp, 32 : 1@lane, 4 : 1@reg)">

// Loads of a block wait together, what the places of the later ones are made of going in front of the first one. What
// stands between them needs only the first.
// CHECK-LABEL: func.func @two
// CHECK: %[[PLACE:.*]] = arith.addi %{{.*}}, %{{.*}} : index
// CHECK: %[[T:.*]]:2 = simt.await_elements(%[[X:.*]], %[[X]]) at(%[[I:.*]], %[[PLACE]]) counts [1, 1] sites [3, 4]
// CHECK-SAME: paddings [unit, unit] in(%{{.*}}, %{{.*}} :
// CHECK: arith.mulf %[[T]]#0, %[[T]]#0
// CHECK: arith.addf %{{.*}}, %[[T]]#1
// CHECK-NOT: tile.load

// All are loaded before one is looked at, again and again until no element has all bits set, by a warp together.
// THREADS-LABEL: func.func @two
// THREADS: scf.while
// THREADS-COUNT-2: ld.relaxed.gpu.global.v4.b32
// THREADS: arith.cmpi eq, %{{.*}}, %c-1_i32
// THREADS: vote.sync.all
// THREADS: scf.condition
// One lane's element is looked at in between.
// THREADS: scf.while
// THREADS: ld.relaxed.gpu.global.b32
func.func @two(%X: memref<?xf32, strided<[?], offset: ?>> {tile.unit_stride, tile.alignment = 16 : i64, tile.self_signaling},
               %Y: memref<?xf32, strided<[?], offset: ?>> {tile.unit_stride, tile.alignment = 16 : i64}, %i: index,
               %status: !llvm.ptr {simt.launch_word = 0 : i64}, %b: index {simt.launch_word = 1 : i64}, %c: index {simt.launch_word = 2 : i64},
               %d: index {simt.launch_word = 3 : i64}, %f: index {simt.launch_word = 4 : i64}, %g: index {simt.launch_word = 5 : i64},
               %h: index {simt.launch_word = 6 : i64}, %k: index {simt.launch_word = 7 : i64}, %l: index {simt.launch_word = 8 : i64})
    attributes {tile.kernel, simt.warps = 4 : i64} {
  %c1 = arith.constant 1 : index
  %x = tile.load %X[%i] {simt.site = 3 : i64} : memref<?xf32, strided<[?], offset: ?>> -> tensor<512xf32, #row>
  %square = arith.mulf %x, %x : tensor<512xf32, #row>
  %next = arith.addi %i, %c1 : index
  %y = tile.load %X[%next] {simt.site = 4 : i64} : memref<?xf32, strided<[?], offset: ?>> -> tensor<512xf32, #row>
  %sum = arith.addf %square, %y : tensor<512xf32, #row>
  tile.store %sum, %Y[%i] : tensor<512xf32, #row>, memref<?xf32, strided<[?], offset: ?>>
  return
}

// -----

// An element is a tile of one that all threads load. What is stored is never what readers wait for: another NaN.
// CHECK-LABEL: func.func @element
// CHECK: %[[T:.*]] = simt.await_elements(%{{.*}}) at(%{{.*}}) counts [1] sites [0]
// CHECK: simt.element %[[T]] : tensor<1xf32, {{.*}}> -> f32
// CHECK-NOT: memref.load
// THREADS-LABEL: func.func @element
// THREADS: ld.relaxed.gpu.global.b32
// THREADS: %[[IS:.*]] = arith.cmpi eq, %{{.*}}, %c-1_i32
// THREADS: arith.select %{{.*}}, %c2147483647_i32, %{{.*}} : i32
// THREADS: st.relaxed.gpu.global.v4.b32
func.func @element(%X: memref<?xf32, strided<[?], offset: ?>> {tile.unit_stride, tile.alignment = 16 : i64, tile.self_signaling},
                   %Y: memref<?xf32, strided<[?], offset: ?>> {tile.unit_stride, tile.alignment = 16 : i64, tile.self_signaling}, %i: index,
                   %status: !llvm.ptr {simt.launch_word = 0 : i64}, %b: index {simt.launch_word = 1 : i64}, %c: index {simt.launch_word = 2 : i64},
                   %d: index {simt.launch_word = 3 : i64}, %f: index {simt.launch_word = 4 : i64}, %g: index {simt.launch_word = 5 : i64},
                   %h: index {simt.launch_word = 6 : i64}, %k: index {simt.launch_word = 7 : i64}, %l: index {simt.launch_word = 8 : i64})
    attributes {tile.kernel, simt.warps = 4 : i64} {
  %x = memref.load %X[%i] {simt.site = 0 : i64} : memref<?xf32, strided<[?], offset: ?>>
  %t = tensor.splat %x : tensor<512xf32, #tile.layout<"(4 : 1@warp, 32 : 1@lane, 4 : 1@reg)">>
  tile.store %t, %Y[%i] : tensor<512xf32, #tile.layout<"(4 : 1@warp, 32 : 1@lane, 4 : 1@reg)">>, memref<?xf32, strided<[?], offset: ?>>
  return
}

// -----

// What is to be in shared memory is looked for in registers, and put there behind the wait for all.
// CHECK-LABEL: func.func @shared
// CHECK: %[[T:.*]]:2 = simt.await_elements({{.*}} -> tensor<512xf32, #{{.*}}>, tensor<512xf32, #{{.*}}>
// CHECK-NEXT: %[[A:.*]] = tile.convert_layout %[[T]]#0
// CHECK: %[[B:.*]] = tile.convert_layout %[[T]]#1
// CHECK: arith.addf
// CHECK-NOT: tile.load
func.func @shared(%X: memref<?xf32, strided<[?], offset: ?>> {tile.unit_stride, tile.alignment = 16 : i64, tile.self_signaling},
                  %Y: memref<?xf32, strided<[?], offset: ?>> {tile.unit_stride, tile.alignment = 16 : i64}, %i: index,
                  %status: !llvm.ptr {simt.launch_word = 0 : i64}, %b: index {simt.launch_word = 1 : i64}, %c: index {simt.launch_word = 2 : i64},
                  %d: index {simt.launch_word = 3 : i64}, %f: index {simt.launch_word = 4 : i64}, %g: index {simt.launch_word = 5 : i64},
                  %h: index {simt.launch_word = 6 : i64}, %k: index {simt.launch_word = 7 : i64}, %l: index {simt.launch_word = 8 : i64})
    attributes {tile.kernel, simt.warps = 4 : i64} {
  %c1 = arith.constant 1 : index
  %next = arith.addi %i, %c1 : index
  %x = tile.load %X[%i] {simt.site = 3 : i64} : memref<?xf32, strided<[?], offset: ?>> -> tensor<512xf32, #tile.layout<"(512 : 1@m)">>
  %y = tile.load %X[%next] {simt.site = 4 : i64} : memref<?xf32, strided<[?], offset: ?>> -> tensor<512xf32, #tile.layout<"(512 : 1@m)">>
  %a = tile.convert_layout %x : tensor<512xf32, #tile.layout<"(512 : 1@m)">> -> tensor<512xf32, #tile.layout<"(4 : 1@warp, 32 : 1@lane, 4 : 1@reg)">>
  %e = tile.convert_layout %y : tensor<512xf32, #tile.layout<"(512 : 1@m)">> -> tensor<512xf32, #tile.layout<"(4 : 1@warp, 32 : 1@lane, 4 : 1@reg)">>
  %sum = arith.addf %a, %e : tensor<512xf32, #tile.layout<"(4 : 1@warp, 32 : 1@lane, 4 : 1@reg)">>
  tile.store %sum, %Y[%i] : tensor<512xf32, #tile.layout<"(4 : 1@warp, 32 : 1@lane, 4 : 1@reg)">>, memref<?xf32, strided<[?], offset: ?>>
  return
}
