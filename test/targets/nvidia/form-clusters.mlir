// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --nvidia-form-clusters | FileCheck %s

// A pair of CTAs takes tiles of two rows; beyond the last row nothing is stored.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[M:[a-z0-9]+]]: index, %[[N:[a-z0-9]+]]: index)
// CHECK-SAME: simt.cluster = 2
// CHECK: %[[RANK:.*]] = nvidia.cluster_rank
// CHECK: %[[ROW:.*]] = arith.divui %[[RANK]]
// CHECK: %[[PAIRS:.*]] = arith.ceildivsi %[[M]], %{{.*}} : index
// CHECK: dist.tiles (%[[I:.*]], %[[J:.*]]) of (%[[PAIRS]], %[[N]]) order <"grouped", 4> height 2 {
// CHECK: %[[FIRST:.*]] = arith.muli %[[I]]
// CHECK: %[[OWN:.*]] = arith.addi %[[FIRST]], %[[ROW]]
// CHECK: %[[BELOW:.*]] = arith.cmpi slt, %[[OWN]], %[[M]]
// CHECK: %[[INSIDE:.*]] = arith.andi %[[BELOW]]
// CHECK: tile.load %{{.*}}[%[[OWN]], %[[J]]]
// CHECK: scf.if %[[INSIDE]] {
// CHECK-NEXT: tile.store %{{.*}}, %{{.*}}[%[[OWN]], %[[J]]]
func.func @rows(%A: memref<?x?xf32, strided<[?, ?], offset: ?>>, %C: memref<?x?xf32, strided<[?, ?], offset: ?>>, %m: index, %n: index) {
  dist.tiles (%i, %j) of (%m, %n) order <"grouped", 8> {
    %a = tile.load %A[%i, %j] : memref<?x?xf32, strided<[?, ?], offset: ?>> -> tensor<64x64xf32>
    tile.store %a, %C[%i, %j] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  } {dist.together = array<i64: 2, 1>}
  return
}

// What adds up over tiles would be added twice beyond the edge: left alone.
// CHECK-LABEL: func.func @adds
// CHECK-NOT: nvidia.cluster_rank
// CHECK: dist.tiles (%{{.*}}, %{{.*}}) of (%{{.*}}, %{{.*}}) order <"grouped", 8>
func.func @adds(%A: memref<?x?xf32, strided<[?, ?], offset: ?>>, %C: memref<?x?xf32, strided<[?, ?], offset: ?>>, %m: index, %n: index) {
  dist.tiles (%i, %j) of (%m, %n) order <"grouped", 8> {
    %a = tile.load %A[%i, %j] : memref<?x?xf32, strided<[?, ?], offset: ?>> -> tensor<64x64xf32>
    %old = tile.atomic_add %a, %C[%i, %j] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  } {dist.together = array<i64: 1, 2>}
  return
}
