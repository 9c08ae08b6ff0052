// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-hoist-conversions | FileCheck %s

#held = #tile.layout<"(2 : 1@reg, 8 : 4@lane | replicate 8 : 1@warp, 4 : 1@lane)">
#sent = #tile.layout<"(2 : 1@lane, 8 : 1@reg | replicate 8 : 1@warp, 16 : 2@lane)">

// A sum over ranks: what comes in decides which threads add it up. The own tile changes its threads once, in front
// of the loop that sends it to all.
// CHECK-LABEL: func.func @sum
// CHECK: %[[OWN:.*]] = tile.convert_layout %{{.*}} : tensor<1x16xf32, #tile.layout<"(2 : 1@reg{{.*}}> -> tensor<1x16xf32, #tile.layout<"(2 : 1@lane{{.*}}>
// CHECK-NEXT: scf.for
// CHECK-NEXT: simt.send %[[OWN]]
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<1x16xf32, #tile.layout<"(2 : 1@lane{{.*}}>
// CHECK-NEXT: %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[T:.*]] = %[[ZERO]]) -> (tensor<1x16xf32, #tile.layout<"(2 : 1@lane
// CHECK: scf.if
// CHECK-NEXT: arith.addf %[[T]], %[[OWN]]
// CHECK: %[[IN:.*]] = simt.receive
// CHECK-NEXT: arith.addf %[[T]], %[[IN]]
// CHECK: tile.convert_layout %[[SUM]] : tensor<1x16xf32, #tile.layout<"(2 : 1@lane{{.*}}> -> tensor<1x16xf32, #tile.layout<"(2 : 1@reg{{.*}}>
// CHECK-NOT: tile.convert_layout
func.func @sum(%own: tensor<1x16xf32, #held>, %Y: memref<?x?xf32>, %ranks: index, %rank: index, %slot: index, %e: index, %s: !llvm.ptr) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<1x16xf32, #held>
  scf.for %p = %c0 to %ranks step %c1 {
    %c = tile.convert_layout %own : tensor<1x16xf32, #held> -> tensor<1x16xf32, #sent>
    simt.send %c to %slot epoch %e : tensor<1x16xf32, #sent>
  }
  %r = scf.for %p = %c0 to %ranks step %c1 iter_args(%t = %zero) -> (tensor<1x16xf32, #held>) {
    %is = arith.cmpi eq, %p, %rank : index
    %n = scf.if %is -> (tensor<1x16xf32, #held>) {
      %a = arith.addf %t, %own : tensor<1x16xf32, #held>
      scf.yield %a : tensor<1x16xf32, #held>
    } else {
      %in = simt.receive %slot epoch %e site 0 in(%s) : !llvm.ptr -> tensor<1x16xf32, #sent>
      %c = tile.convert_layout %in : tensor<1x16xf32, #sent> -> tensor<1x16xf32, #held>
      %a = arith.addf %t, %c : tensor<1x16xf32, #held>
      scf.yield %a : tensor<1x16xf32, #held>
    }
    scf.yield %n : tensor<1x16xf32, #held>
  }
  tile.store %r, %Y[%c0, %c0] : tensor<1x16xf32, #held>, memref<?x?xf32>
  return
}

// -----

#held = #tile.layout<"(2 : 1@reg, 8 : 4@lane | replicate 8 : 1@warp, 4 : 1@lane)">
#sent = #tile.layout<"(2 : 1@lane, 8 : 1@reg | replicate 8 : 1@warp, 16 : 2@lane)">

// Somebody else sees the sum as it grows: it stays as it is.
// CHECK-LABEL: func.func @seen
// CHECK: scf.for
// CHECK: simt.receive
// CHECK-NEXT: tile.convert_layout
// CHECK: tile.store
// CHECK-NOT: tile.convert_layout
func.func @seen(%Y: memref<?x?xf32>, %ranks: index, %slot: index, %e: index, %s: !llvm.ptr) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<1x16xf32, #held>
  %r = scf.for %p = %c0 to %ranks step %c1 iter_args(%t = %zero) -> (tensor<1x16xf32, #held>) {
    %in = simt.receive %slot epoch %e site 0 in(%s) : !llvm.ptr -> tensor<1x16xf32, #sent>
    %c = tile.convert_layout %in : tensor<1x16xf32, #sent> -> tensor<1x16xf32, #held>
    %a = arith.addf %t, %c : tensor<1x16xf32, #held>
    tile.store %a, %Y[%p, %c0] : tensor<1x16xf32, #held>, memref<?x?xf32>
    scf.yield %a : tensor<1x16xf32, #held>
  }
  return
}
