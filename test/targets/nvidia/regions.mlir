// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-outline-regions=tensor-maps=true | FileCheck %s
// RUN: %opt %s --simt-outline-regions=tensor-maps=true --simt-assign-layouts=tensor-maps=true --nvidia-specialize-warps --simt-join-regions | FileCheck %s --check-prefix=JOINED
// RUN: %opt %s --simt-outline-regions | FileCheck %s --check-prefix=WHOLE

// The second product reads what the first one has written, so the producer of the whole kernel could not prefetch it. Each
// has a region, with the kernel's arguments, the constants and views computed anew, and the count that a loop has found.
// CHECK-LABEL: func.func @two_products
// CHECK: %[[COUNT:.*]] = scf.for
// CHECK: simt.enter @two_products_region0(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) :
// CHECK-NEXT: simt.sync "gpu"
// CHECK-NEXT: simt.enter @two_products_region1(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[COUNT]]) :
// CHECK-NEXT: return
// CHECK: func.func private @two_products_region1
// CHECK-SAME: %[[N:[a-z0-9]+]]: index) attributes {simt.most_warps = 12 : i64, simt.region}
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[N]]
// CHECK: tile.dot
// CHECK: func.func private @two_products_region0
// CHECK: arith.constant dense<0.000000e+00> : tensor<128x128xf32>
// CHECK: tile.dot
// CHECK-NOT: tile.dot

// The regions have 8 and 4 warps and their producers; the CTA has those of the larger one. Behind each region all meet.
// JOINED-LABEL: func.func @two_products
// JOINED-SAME: %[[MAPX:[a-z0-9]+]]: !llvm.ptr {simt.tensor_map = {argument = 0 : i64, box = array<i64: 128, 64>}}
// JOINED-SAME: %[[MAPW:[a-z0-9]+]]: !llvm.ptr {simt.tensor_map = {argument = 1 : i64, box = array<i64: 64, 64>}}
// JOINED-SAME: %[[MAPT:[a-z0-9]+]]: !llvm.ptr {simt.tensor_map = {argument = 2 : i64, box = array<i64: 64, 64>}}
// JOINED-SAME: simt.ctas_per_sm = 1 : i64, simt.warps = 12 : i64
// JOINED: call @two_products_region0(%{{.*}}, %[[MAPX]], %[[MAPW]]) :
// JOINED-NEXT: simt.sync "cta"
// JOINED-NEXT: simt.sync "gpu"
// JOINED: %[[THREADS:.*]] = arith.constant 256 : i32
// JOINED: %[[IN:.*]] = arith.cmpi ult, %{{.*}}, %[[THREADS]] : i32
// JOINED-NEXT: scf.if %[[IN]] {
// JOINED-NEXT: call @two_products_region1(%{{.*}}, %[[MAPT]]
// JOINED-NEXT: }
// JOINED-NEXT: simt.sync "cta"
// JOINED: func.func private @two_products_region1
// JOINED-SAME: simt.cta_warps = 12 : i64, simt.ctas_per_sm = 1 : i64, simt.most_warps = 12 : i64, simt.producer_warps = 4 : i64, simt.region, simt.warps = 4 : i64
// JOINED: nvidia.roles
// JOINED: func.func private @two_products_region0
// JOINED-SAME: simt.cta_warps = 12 : i64, simt.ctas_per_sm = 1 : i64, simt.most_warps = 12 : i64, simt.producer_warps = 4 : i64, simt.region, simt.warps = 8 : i64
// JOINED: nvidia.roles

// Without tensor maps there are no roles, and no regions.
// WHOLE-LABEL: func.func @two_products
// WHOLE-NOT: simt.region
func.func @two_products(%X: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %W: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %T: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %Y: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.unit_stride}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %count = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %c0) -> (index) {
    %next = arith.addi %sum, %k : index
    scf.yield %next : index
  }
  scf.for %i = %c0 to %n step %c1 {
    %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<128x128xf32>) {
      %a = tile.load %X[%i, %k] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<128x64xbf16>
      %b = tile.load %W[%k, %i] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x128xbf16>
      %d = tile.dot %a, %b, %sum : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
      scf.yield %d : tensor<128x128xf32>
    }
    %t = tile.cast %acc : tensor<128x128xf32> to tensor<128x128xbf16>
    tile.store %t, %T[%i, %i] : tensor<128x128xbf16>, memref<?x?xbf16, strided<[?, ?], offset: ?>>
  }
  simt.sync "gpu"
  scf.for %i = %c0 to %count step %c1 {
    %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %none) -> (tensor<64x64xf32>) {
      %a = tile.load %T[%i, %k] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
      %b = tile.load %T[%k, %i] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
      %d = tile.dot %a, %b, %sum : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    tile.store %acc, %Y[%i, %i] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  }
  return
}
