// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --cpu-tiles-to-loops --canonicalize --cse | FileCheck %s

!v = memref<?x?xf32, strided<[?, ?], offset: ?>>

// A chain runs in registers: no scratch memory, one loop nest; it is written twice, for tiles that
// lie within both views and for those that need a mask at an edge.
// CHECK-LABEL: @chain
// CHECK-SAME: tile.scratch_bytes = 0
// CHECK-NOT: memref.view
// CHECK: scf.if
// CHECK-NEXT: scf.for
// CHECK: %[[W:.*]] = vector.load %{{.*}} : memref<?xf32, strided<[1]>>, vector<16xf32>
// CHECK-NEXT: %[[WE:.*]] = math.exp %[[W]] : vector<16xf32>
// CHECK-NEXT: %[[WN:.*]] = arith.negf %[[WE]] : vector<16xf32>
// CHECK: vector.store %[[WN]]
// CHECK: vector.store {{.*}}, vector<8xf32>
// CHECK-NOT: vector.maskedstore
// CHECK: else
// CHECK-NEXT: scf.for
// CHECK: scf.for %[[J:.*]] = %{{.*}} to %{{.*}} step %c16
// CHECK: %[[MASK:.*]] = arith.cmpi sgt, %{{.*}} : vector<16xi32>
// CHECK: %[[X:.*]] = vector.maskedload %{{.*}}, %[[MASK]], %{{.*}} into vector<16xf32>
// CHECK-NEXT: %[[E:.*]] = math.exp %[[X]] : vector<16xf32>
// CHECK-NEXT: %[[N:.*]] = arith.negf %[[E]] : vector<16xf32>
// CHECK: vector.maskedstore %{{.*}}, %[[N]]
// The last vector of a row of 40 has 8 lanes.
// CHECK: vector.maskedload {{.*}} into vector<8xf32>
// CHECK: math.exp %{{.*}} : vector<8xf32>
// CHECK: vector.maskedstore
// CHECK-NOT: scf.for
// CHECK: return
func.func @chain(%A: !v {tile.unit_stride}, %B: !v {tile.unit_stride}, %i: index) attributes {tile.kernel} {
  %a = tile.load %A[%i, %i] : !v -> tensor<2x40xf32>
  %e = math.exp %a : tensor<2x40xf32>
  %n = arith.negf %e : tensor<2x40xf32>
  tile.store %n, %B[%i, %i] : tensor<2x40xf32>, !v
  return
}

// -----
!v = memref<?x?xf32, strided<[?, ?], offset: ?>>

// Elements that need not be neighbours are gathered and scattered.
// CHECK-LABEL: @strided
// CHECK: vector.gather
// CHECK: vector.scatter
func.func @strided(%A: !v, %B: !v, %i: index) attributes {tile.kernel} {
  %a = tile.load %A[%i, %i] : !v -> tensor<2x16xf32>
  tile.store %a, %B[%i, %i] : tensor<2x16xf32>, !v
  return
}

// -----
!v = memref<?x?xf32, strided<[?, ?], offset: ?>>

// What a loop carries has one buffer, in which the product accumulates; nothing is copied. The core's
// memory comes as the last argument.
// CHECK-LABEL: @accumulate
// CHECK-SAME: %[[MEMORY:[a-z0-9]+]]: memref<?xi8>)
// CHECK: %[[ACC:.*]] = memref.view %[[MEMORY]][%c0][] : memref<?xi8> to memref<8x32xf32>
// CHECK: vector.store %{{.*}}, %[[ACC]]
// CHECK: scf.for %{{.*}} = %c0 to %arg2 step %c1 {
// CHECK: %[[FIRST:.*]] = vector.load %[[ACC]]
// CHECK: scf.for {{.*}} iter_args({{.*}} = %[[FIRST]]
// CHECK: vector.fma
// CHECK: scf.yield
// CHECK: vector.store %{{.*}}, %[[ACC]]
// CHECK: vector.load %[[ACC]]
// CHECK: vector.store
// CHECK: vector.maskedstore
// CHECK-NOT: tensor
func.func @accumulate(%A: !v {tile.unit_stride}, %B: !v {tile.unit_stride}, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant dense<0.0> : tensor<8x32xf32>
  %s = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %z) -> tensor<8x32xf32> {
    %a = tile.load %A[%c0, %k] : !v -> tensor<8x16xf32>
    %b = tile.load %A[%k, %c0] : !v -> tensor<16x32xf32>
    %d = tile.dot %a, %b, %acc : tensor<8x16xf32>, tensor<16x32xf32> -> tensor<8x32xf32>
    scf.yield %d : tensor<8x32xf32>
  }
  tile.store %s, %B[%c0, %c0] : tensor<8x32xf32>, !v
  return
}

// -----
!v = memref<?x?xf32, strided<[?, ?], offset: ?>>

// An elementwise update happens in the carried buffer, too: 256 bytes are all the memory.
// CHECK-LABEL: @update
// CHECK-SAME: tile.scratch_bytes = 256
func.func @update(%A: !v {tile.unit_stride}, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant dense<0.0> : tensor<4x16xf32>
  %s = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %z) -> tensor<4x16xf32> {
    %a = tile.load %A[%c0, %k] : !v -> tensor<4x16xf32>
    %m = arith.mulf %acc, %a : tensor<4x16xf32>
    %p = arith.addf %m, %z : tensor<4x16xf32>
    scf.yield %p : tensor<4x16xf32>
  }
  tile.store %s, %A[%c0, %c0] : tensor<4x16xf32>, !v
  return
}

// -----
!v = memref<?x?xf32, strided<[?, ?], offset: ?>>

// A swap needs both old values: each goes by way of a buffer of its own (2 carried, 2 for a while).
// CHECK-LABEL: @swap
// CHECK-SAME: tile.scratch_bytes = 256
func.func @swap(%A: !v {tile.unit_stride}, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.load %A[%c0, %c0] : !v -> tensor<1x16xf32>
  %b = tile.load %A[%c1, %c0] : !v -> tensor<1x16xf32>
  %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (tensor<1x16xf32>, tensor<1x16xf32>) {
    scf.yield %y, %x : tensor<1x16xf32>, tensor<1x16xf32>
  }
  tile.store %s#0, %A[%c0, %c0] : tensor<1x16xf32>, !v
  tile.store %s#1, %A[%c1, %c0] : tensor<1x16xf32>, !v
  return
}

// -----
!v = memref<?x?xf32, strided<[?, ?], offset: ?>>

// The two loops use the same memory, one after the other: 64 rows of 16 for the sum and the tile
// that is read early, not twice as much.
// CHECK-LABEL: @reuse
// CHECK-SAME: tile.scratch_bytes = 6144
// CHECK: memref.view %arg2[%c2048][] : memref<?xi8> to memref<64x16xf32>
// CHECK: memref.view %arg2[%c2048][] : memref<?xi8> to memref<64x16xf32>
func.func @reuse(%A: !v {tile.unit_stride}, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %n step %c1 {
    %a = tile.load %A[%k, %c0] : !v -> tensor<64x16xf32>
    tile.store %a, %A[%k, %c1] : tensor<64x16xf32>, !v
  }
  scf.for %k = %c0 to %n step %c1 {
    %a = tile.load %A[%k, %c1] : !v -> tensor<64x16xf32>
    tile.store %a, %A[%k, %c0] : tensor<64x16xf32>, !v
  }
  return
}

// -----
!v = memref<?x?xf32, strided<[?, ?], offset: ?>>

// y = f(y) on one tile goes element by element; another tile of the same memory is read before,
// by any view of it.
// CHECK-LABEL: @in_place
// CHECK-SAME: tile.scratch_bytes = 0
func.func @in_place(%A: !v {tile.unit_stride}, %i: index) attributes {tile.kernel} {
  %a = tile.load %A[%i, %i] : !v -> tensor<8x8xf32>
  %e = math.exp %a : tensor<8x8xf32>
  tile.store %e, %A[%i, %i] : tensor<8x8xf32>, !v
  return
}
// CHECK-LABEL: @transposed_in_place
// CHECK-SAME: tile.scratch_bytes = 256
func.func @transposed_in_place(%A: !v {tile.unit_stride}, %i: index) attributes {tile.kernel} {
  %t = memref.transpose %A (d0, d1) -> (d1, d0) : !v to !v
  %a = tile.load %t[%i, %i] : !v -> tensor<8x8xf32>
  tile.store %a, %A[%i, %i] : tensor<8x8xf32>, !v
  return
}

// -----
!v = memref<?x?xf32, strided<[?, ?], offset: ?>>

// So it is with arguments that may be the very same elements, and with views that are chosen.
// CHECK-LABEL: @two_in_place
// CHECK-SAME: tile.scratch_bytes = 0
func.func @two_in_place(%A: !v {tile.in_place = 1 : i64, tile.readonly, tile.unit_stride}, %B: !v {tile.in_place = 1 : i64, tile.unit_stride}, %i: index) attributes {tile.kernel} {
  %a = tile.load %A[%i, %i] : !v -> tensor<8x8xf32>
  %e = math.exp %a : tensor<8x8xf32>
  tile.store %e, %B[%i, %i] : tensor<8x8xf32>, !v
  return
}
// CHECK-LABEL: @two_transposed_in_place
// CHECK-SAME: tile.scratch_bytes = 256
func.func @two_transposed_in_place(%A: !v {tile.in_place = 1 : i64, tile.readonly, tile.unit_stride}, %B: !v {tile.in_place = 1 : i64, tile.unit_stride}, %i: index) attributes {tile.kernel} {
  %t = memref.transpose %A (d0, d1) -> (d1, d0) : !v to !v
  %a = tile.load %t[%i, %i] : !v -> tensor<8x8xf32>
  tile.store %a, %B[%i, %i] : tensor<8x8xf32>, !v
  return
}
// CHECK-LABEL: @apart
// CHECK-SAME: tile.scratch_bytes = 0
func.func @apart(%A: !v {tile.readonly, tile.unit_stride}, %B: !v {tile.unit_stride}, %i: index) attributes {tile.kernel} {
  %t = memref.transpose %A (d0, d1) -> (d1, d0) : !v to !v
  %a = tile.load %t[%i, %i] : !v -> tensor<8x8xf32>
  tile.store %a, %B[%i, %i] : tensor<8x8xf32>, !v
  return
}
// CHECK-LABEL: @chosen
// CHECK-SAME: tile.scratch_bytes = 256
func.func @chosen(%A: !v {tile.readonly, tile.unit_stride}, %B: !v {tile.unit_stride}, %i: index, %is: i1) attributes {tile.kernel} {
  %c = arith.select %is, %A, %B : !v
  %t = memref.transpose %c (d0, d1) -> (d1, d0) : !v to !v
  %a = tile.load %t[%i, %i] : !v -> tensor<8x8xf32>
  tile.store %a, %B[%i, %i] : tensor<8x8xf32>, !v
  return
}
// CHECK-LABEL: @chosen_by_number
// CHECK-SAME: tile.scratch_bytes = 256
func.func @chosen_by_number(%A: !v {tile.unit_stride}, %B: !v {tile.unit_stride}, %i: index, %n: index, %m: index) attributes {tile.kernel} {
  %x = tile.select_view %n of (%A, %B) : !v
  %y = tile.select_view %m of (%A, %B) : !v
  %t = memref.transpose %x (d0, d1) -> (d1, d0) : !v to !v
  %a = tile.load %t[%i, %i] : !v -> tensor<8x8xf32>
  tile.store %a, %y[%i, %i] : tensor<8x8xf32>, !v
  return
}

// -----
!v = memref<?x?xf32, strided<[?, ?], offset: ?>>

// A row's maximum and sum, each element of the row computed once: the pattern of softmax, in four
// vectors, for a whole row and for one at an edge.
// CHECK-LABEL: @softmax
// CHECK-COUNT-8: math.exp %{{.*}} : vector<16xf32>
// CHECK-NOT: math.exp
// CHECK: return
func.func @softmax(%A: !v {tile.unit_stride}, %B: !v {tile.unit_stride}, %i: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %x = tile.load %A[%i, %c0] : !v -> tensor<1x64xf32>
  %m = tile.reduce max %x axis 1 : tensor<1x64xf32> -> tensor<1x1xf32>
  %mm = tile.broadcast %m : tensor<1x1xf32> -> tensor<1x64xf32>
  %d = arith.subf %x, %mm : tensor<1x64xf32>
  %e = math.exp %d : tensor<1x64xf32>
  %s = tile.reduce sum %e axis 1 : tensor<1x64xf32> -> tensor<1x1xf32>
  %ss = tile.broadcast %s : tensor<1x1xf32> -> tensor<1x64xf32>
  %y = arith.divf %e, %ss : tensor<1x64xf32>
  tile.store %y, %B[%i, %c0] : tensor<1x64xf32>, !v
  return
}

// -----
!v = memref<?x?xf32, strided<[?, ?], offset: ?>>

// Where the store may go past the caches and shares no memory with what is read, a row is stored
// beside the exponentials of the next one; the last row, for itself.
// CHECK-LABEL: @softmaxOfRows
// CHECK: scf.if
// CHECK: scf.for
// CHECK: math.exp
// CHECK: llvm.store {{.*}}nontemporal
// CHECK: vector.reduction <add>
// CHECK: llvm.store {{.*}}nontemporal
// CHECK: } else {
// CHECK-NOT: llvm.store {{.*}}nontemporal
// CHECK: vector.reduction <add>
func.func @softmaxOfRows(%A: !v {tile.unit_stride}, %B: !v {tile.unit_stride}, %i: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<4x1xf32>
  %x = tile.load %A[%i, %c0] : !v -> tensor<4x128xf32>
  %e = math.exp %x : tensor<4x128xf32>
  %s = tile.reduce sum %e axis 1 : tensor<4x128xf32> -> tensor<4x1xf32>
  %f = arith.divf %one, %s : tensor<4x1xf32>
  %ff = tile.broadcast %f : tensor<4x1xf32> -> tensor<4x128xf32>
  %y = arith.mulf %e, %ff : tensor<4x128xf32>
  tile.store %y, %B[%i, %c0] : tensor<4x128xf32>, !v
  return
}

// -----
!h = memref<?x?xbf16, strided<[?, ?], offset: ?>>

// Narrow floats compute in f32 and round after every operation; memory holds their bits.
// CHECK-LABEL: @narrow
// CHECK: vector.maskedload {{.*}} into vector<16xi16>
// CHECK: arith.addf %{{.*}} : vector<16xf32>
// CHECK: vector.maskedstore {{.*}} vector<16xi16>
// CHECK-NOT: bf16>
func.func @narrow(%A: !h {tile.unit_stride}, %i: index) attributes {tile.kernel} {
  %a = tile.load %A[%i, %i] : !h -> tensor<1x16xbf16>
  %b = arith.addf %a, %a : tensor<1x16xbf16>
  tile.store %b, %A[%i, %i] : tensor<1x16xbf16>, !h
  return
}

// -----

// A function that is no kernel is left alone.
// CHECK-LABEL: @helper
// CHECK-NEXT: return
func.func @helper(%n: index) {
  return
}

// -----
!v = memref<?x?xf32, strided<[?, ?], offset: ?>>
!w = memref<?xf32, strided<[?], offset: ?>>

// What costs no more to repeat than to read back is repeated: memory holds the row (64 bytes) and the
// tile (256), but neither the row repeated, nor the tile shifted, nor the square's factor.
// CHECK-LABEL: @repeated
// CHECK-SAME: tile.scratch_bytes = 320
func.func @repeated(%A: !v {tile.unit_stride}, %R: !w {tile.unit_stride}, %B: !v {tile.unit_stride}, %C: !v {tile.unit_stride}, %i: index) attributes {tile.kernel} {
  %a = tile.load %A[%i, %i] : !v -> tensor<4x16xf32>
  %e = math.exp %a : tensor<4x16xf32>
  %r = tile.load %R[%i] : !w -> tensor<16xf32>
  %s = tile.reshape %r : tensor<16xf32> -> tensor<1x16xf32>
  %b = tile.broadcast %s : tensor<1x16xf32> -> tensor<4x16xf32>
  %shifted = arith.subf %e, %b : tensor<4x16xf32>
  %scaled = arith.mulf %e, %b : tensor<4x16xf32>
  %root = math.sqrt %shifted : tensor<4x16xf32>
  %square = arith.mulf %root, %root : tensor<4x16xf32>
  tile.store %square, %B[%i, %i] : tensor<4x16xf32>, !v
  %sum = arith.addf %shifted, %scaled : tensor<4x16xf32>
  tile.store %sum, %C[%i, %i] : tensor<4x16xf32>, !v
  return
}

// -----
!b = memref<?x?xi32, strided<[?, ?], offset: ?>>

// So is what follows from the place of an element alone: no memory holds it.
// CHECK-LABEL: @places
// CHECK-NOT: memref.view
// CHECK: return
func.func @places(%A: !b {tile.unit_stride}, %B: !b {tile.unit_stride}, %i: index) attributes {tile.kernel} {
  %four = arith.constant dense<4> : tensor<4x16xi32>
  %a = tile.load %A[%i, %i] : !b -> tensor<4x16xi32>
  %place = tile.iota axis 1 : tensor<4x16xi32>
  %distance = arith.muli %place, %four : tensor<4x16xi32>
  %x = arith.shrsi %a, %distance : tensor<4x16xi32>
  tile.store %x, %A[%i, %i] : tensor<4x16xi32>, !b
  %b = tile.load %B[%i, %i] : !b -> tensor<4x16xi32>
  %y = arith.shrsi %b, %distance : tensor<4x16xi32>
  tile.store %y, %B[%i, %i] : tensor<4x16xi32>, !b
  return
}
