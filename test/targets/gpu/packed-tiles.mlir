// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --split-input-file --simt-assign-layouts | FileCheck %s
// RUN: %opt %s --split-input-file --simt-assign-layouts --simt-tiles-to-threads --canonicalize --cse | FileCheck %s --check-prefix=THREADS

!sym = memref<?x?xbf16, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
!out = memref<?x?xbf16, strided<[?, ?], offset: ?>>

// A packed tile is stored as its threads hold it, and loaded the same way: 8 elements at a time, the lanes of a warp
// one behind the other, and nothing masked but the tile as a whole.
// CHECK-LABEL: func.func @packed
// CHECK: %[[SUM:.*]] = arith.addf {{.*}} : tensor<64x64xf32, #tile.layout<"[[L:.*]]">>
// CHECK: %[[CAST:.*]] = tile.cast %[[SUM]]
// CHECK-NEXT: tile.store %[[CAST]], {{.*}} {dist.packed = array<i64: 0, 2>} : tensor<64x64xbf16, #tile.layout<"[[L]]">>
// CHECK-NEXT: tile.load {{.*}} {dist.packed = array<i64: 0, 2>} : {{.*}} -> tensor<64x64xbf16, #tile.layout<"[[L]]">>
// THREADS-LABEL: func.func @packed
// THREADS-COUNT-2: st.global.v4.b32
// THREADS-COUNT-2: ld.global.v4.b32
func.func @packed(%A: !out {tile.unit_stride}, %staged: !sym {tile.unit_stride}, %C: !out {tile.unit_stride}, %i: index, %j: index) {
  %a = tile.load %A[%i, %j] : !out -> tensor<64x64xbf16>
  %x = tile.cast %a : tensor<64x64xbf16> to tensor<64x64xf32>
  %s = arith.addf %x, %x : tensor<64x64xf32>
  %y = tile.cast %s : tensor<64x64xf32> to tensor<64x64xbf16>
  tile.store %y, %staged[%i, %j] {dist.packed = array<i64: 0, 2>} : tensor<64x64xbf16>, !sym
  %u = tile.load %staged[%i, %j] {dist.packed = array<i64: 0, 2>} : !sym -> tensor<64x64xbf16>
  tile.store %u, %C[%i, %j] : tensor<64x64xbf16>, !out
  return
}

// -----

!sym = memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>

// A tile that several threads hold stays row-major.
// CHECK-LABEL: func.func @few
// CHECK-NOT: dist.packed
func.func @few(%staged: !sym {tile.unit_stride}, %i: index, %j: index) {
  %x = arith.constant dense<1.0> : tensor<2x4xf32>
  tile.store %x, %staged[%i, %j] {dist.packed = array<i64: 0, 1>} : tensor<2x4xf32>, !sym
  return
}

// -----

!sym = memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>

// So does one that is loaded elsewhere, in a region that is planned by itself.
// CHECK-LABEL: func.func @apart
// CHECK-NOT: dist.packed
func.func @apart(%staged: !sym {tile.unit_stride}, %i: index, %j: index) {
  %x = arith.constant dense<1.0> : tensor<64x64xf32>
  tile.store %x, %staged[%i, %j] {dist.packed = array<i64: 0, 2>} : tensor<64x64xf32>, !sym
  return
}
