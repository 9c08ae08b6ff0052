// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-receive-together | FileCheck %s
// RUN: %opt %s --simt-receive-together --simt-tiles-to-threads --canonicalize | FileCheck %s --check-prefix=THREADS

#sent = #tile.layout<"(2 : 1@lane, 8 : 1@reg | replicate 8 : 1@warp, 16 : 2@lane)">

// Four ranks at a time: their slots, where there are so many and it is not this one's; one wait; then the sums in
// their order.
// CHECK-LABEL: func.func @sum
// CHECK: %[[R:.*]] = scf.for %[[P:.*]] = %{{.*}} to %[[RANKS:.*]] step %{{.*}} iter_args(%[[T:.*]] = %{{.*}})
// CHECK: %[[P1:.*]] = arith.addi %[[P]], %{{.*}}
// CHECK: %[[IS1:.*]] = arith.cmpi slt, %[[P1]], %[[RANKS]]
// CHECK: %[[S0:.*]]:2 = scf.if %{{.*}} -> (i1, index)
// CHECK: arith.cmpi eq, %[[P]], %{{.*}}
// CHECK: %[[S1:.*]]:2 = scf.if %[[IS1]] -> (i1, index)
// CHECK: %[[IN:.*]]:4 = simt.receive_all(%[[S0]]#1, %[[S1]]#1, %{{.*}}, %{{.*}}) where(%[[S0]]#0, %[[S1]]#0, %{{.*}}, %{{.*}}) epoch %{{.*}} sites [7, 7, 7, 7]
// CHECK: arith.addf %[[T]], %{{.*}}
// CHECK: arith.addf %[[T]], %[[IN]]#0
// CHECK: scf.if %[[IS1]] -> (tensor
// CHECK: arith.addf %{{.*}}, %[[IN]]#1
// CHECK: arith.addf %{{.*}}, %[[IN]]#3
// CHECK-NOT: simt.receive %

// All threads hold the elements, and a thread each waits for a packet: 6 of a slot, of 8 threads.
// THREADS-LABEL: func.func @sum
// THREADS-SAME: simt.shared_bytes = 1024
// THREADS: scf.while
// THREADS-COUNT-1: "{ .reg .b128 packet; {{.*}}mov.b128 packet, {low, low}; @$5 ld.relaxed.sys.global.b128 packet, [$4];
// THREADS-NOT: ld.relaxed.sys.global.b128
// THREADS: nvvm.barrier0
// THREADS-COUNT-3: llvm.store {{.*}} : i32, !llvm.ptr<3>
// THREADS: nvvm.barrier0
// THREADS: llvm.load {{.*}} : !llvm.ptr<3>
func.func @sum(%Y: memref<?x?xf32>, %ranks: index, %rank: index, %box: index, %e: index,
               %a: !llvm.ptr, %b: index, %c: index, %d: index, %f: index, %g: index, %h: index, %i: index, %j: index)
    attributes {tile.kernel, simt.warps = 8 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c96 = arith.constant 96 : index
  %zero = arith.constant dense<0.0> : tensor<1x16xf32, #sent>
  %own = tile.load %Y[%c1, %c0] : memref<?x?xf32> -> tensor<1x16xf32, #sent>
  %r = scf.for %p = %c0 to %ranks step %c1 iter_args(%t = %zero) -> (tensor<1x16xf32, #sent>) {
    %is = arith.cmpi eq, %p, %rank : index
    %n = scf.if %is -> (tensor<1x16xf32, #sent>) {
      %x = arith.addf %t, %own : tensor<1x16xf32, #sent>
      scf.yield %x : tensor<1x16xf32, #sent>
    } else {
      %by = arith.muli %p, %c96 : index
      %slot = arith.addi %box, %by : index
      %in = simt.receive %slot epoch %e site 7 in(%a, %b, %c, %d, %f, %g, %h, %i, %j) : !llvm.ptr, index, index, index, index, index, index, index, index -> tensor<1x16xf32, #sent>
      %x = arith.addf %t, %in : tensor<1x16xf32, #sent>
      scf.yield %x : tensor<1x16xf32, #sent>
    }
    scf.yield %n : tensor<1x16xf32, #sent>
  }
  tile.store %r, %Y[%c0, %c0] : tensor<1x16xf32, #sent>, memref<?x?xf32>
  return
}

// -----

#wide = #tile.layout<"(32 : 1@lane, 8 : 1@warp, 8 : 1@reg)">

// Each thread holds other elements: three packets of a tile, and waits for those of four tiles. A loop that writes
// memory is left alone.
// CHECK-LABEL: func.func @wide
// CHECK: simt.receive_all
// CHECK: scf.for
// CHECK: simt.receive %
// CHECK-NOT: simt.receive_all
// THREADS-LABEL: func.func @wide
// THREADS-COUNT-12: @$5 ld.relaxed.sys.global.b128
// THREADS-COUNT-3: ld.relaxed.sys.global.b128 packet, [$4]
func.func @wide(%Y: memref<?xf32>, %ranks: index, %box: index, %e: index,
                %a: !llvm.ptr, %b: index, %c: index, %d: index, %f: index, %g: index, %h: index, %i: index, %j: index)
    attributes {tile.kernel, simt.warps = 8 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %own = tile.load %Y[%c1] : memref<?xf32> -> tensor<2048xf32, #wide>
  %r = scf.for %p = %c1 to %ranks step %c1 iter_args(%t = %own) -> (tensor<2048xf32, #wide>) {
    %slot = arith.addi %box, %p : index
    %in = simt.receive %slot epoch %e site 0 in(%a, %b, %c, %d, %f, %g, %h, %i, %j) : !llvm.ptr, index, index, index, index, index, index, index, index -> tensor<2048xf32, #wide>
    %x = arith.addf %t, %in : tensor<2048xf32, #wide>
    scf.yield %x : tensor<2048xf32, #wide>
  }
  tile.store %r, %Y[%c0] : tensor<2048xf32, #wide>, memref<?xf32>
  scf.for %p = %c1 to %ranks step %c1 {
    %slot = arith.addi %box, %p : index
    %in = simt.receive %slot epoch %e site 1 in(%a, %b, %c, %d, %f, %g, %h, %i, %j) : !llvm.ptr, index, index, index, index, index, index, index, index -> tensor<2048xf32, #wide>
    tile.store %in, %Y[%p] : tensor<2048xf32, #wide>, memref<?xf32>
  }
  return
}
