// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-assign-layouts=target=gfx942 --simt-pipeline-loads=target=gfx942 | FileCheck %s
// What the next iteration reads is on its way to registers while this one multiplies.

// CHECK-LABEL: func.func @gemm
// CHECK-NOT: simt.ring
// CHECK: %[[A:.*]] = simt.fetch
// CHECK: %[[B:.*]] = simt.fetch
// CHECK: scf.for %[[K:.*]] = %{{.*}} iter_args(%{{.*}} = %{{.*}}, %[[NOWA:.*]] = %[[A]], %[[NOWB:.*]] = %[[B]])
// CHECK-NEXT: simt.await 0
// CHECK-NEXT: %[[SHAREDA:.*]] = simt.place %[[NOWA]] as tensor<64x32xbf16, {{.*}} : vector<8xi32>
// CHECK-NEXT: %[[SHAREDB:.*]] = simt.place %[[NOWB]] as tensor<32x64xbf16, {{.*}} : vector<8xi32>
// CHECK-NEXT: simt.await 0
// CHECK: %[[NEXT:.*]] = arith.addi %[[K]], %{{.*}}
// CHECK: %[[NEXTA:.*]] = simt.fetch %{{.*}}[%{{.*}}, %[[NEXT]]]
// CHECK: %[[NEXTB:.*]] = simt.fetch %{{.*}}[%[[NEXT]], %{{.*}}]
// CHECK: tile.dot %[[SHAREDA]], %[[SHAREDB]]
// CHECK: scf.yield %{{.*}}, %[[NEXTA]], %[[NEXTB]]
func.func @gemm(%A: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %B: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %C: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %i: index, %j: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) {
    %a = tile.load %A[%i, %k] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x32xbf16>
    %b = tile.load %B[%k, %j] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<32x64xbf16>
    %d = tile.dot %a, %b, %sum : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  %c = tile.cast %acc : tensor<64x64xf32> to tensor<64x64xbf16>
  tile.store %c, %C[%i, %j] : tensor<64x64xbf16>, memref<?x?xbf16, strided<[?, ?], offset: ?>>
  return
}
