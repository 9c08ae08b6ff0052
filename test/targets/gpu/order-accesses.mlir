// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-order-accesses | FileCheck %s

#wide = #tile.layout<"(4 : 1@warp, 32 : 1@lane, 8 : 1@reg)">
#narrow = #tile.layout<"(32 : 1@lane, 2 : 1@reg | replicate 4 : 1@warp)">
!v = memref<?xf32, strided<[?], offset: ?>>

// Other threads read what was written: they meet in between, and before the next tile is written.
// CHECK-LABEL: func.func @through_memory
// CHECK: scf.for
// CHECK: simt.sync "cta"
// CHECK-NEXT: tile.store
// CHECK: scf.for
// CHECK: simt.sync "cta"
// CHECK-NEXT: tile.load %arg1
// CHECK-NOT: simt.sync
// CHECK: return
func.func @through_memory(%x: !v, %t: !v, %y: !v, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = tile.load %x[%i] : !v -> tensor<1024xf32, #wide>
    tile.store %a, %t[%i] : tensor<1024xf32, #wide>, !v
    scf.for %k = %c0 to %n step %c1 {
      %b = tile.load %t[%k] : !v -> tensor<64xf32, #narrow>
      tile.store %b, %y[%k] : tensor<64xf32, #narrow>, !v
    }
  }
  return
}

// So do threads that read a word of it.
// CHECK-LABEL: func.func @words
// CHECK: simt.sync "cta"
// CHECK-NEXT: tile.store
// CHECK: simt.sync "cta"
// CHECK-NEXT: memref.load %arg1
// CHECK-NOT: simt.sync
// CHECK: return
func.func @words(%x: !v, %t: !v, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = tile.load %x[%i] : !v -> tensor<1024xf32, #wide>
    tile.store %a, %t[%i] : tensor<1024xf32, #wide>, !v
    %b = memref.load %t[%i] : !v
    %c = memref.load %x[%i] : !v
  }
  return
}

// Each element is one thread's.
// CHECK-LABEL: func.func @in_place
// CHECK-NOT: simt.sync
// CHECK: return
func.func @in_place(%x: !v, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = tile.load %x[%i] : !v -> tensor<1024xf32, #wide>
    %b = arith.addf %a, %a : tensor<1024xf32, #wide>
    tile.store %b, %x[%i] : tensor<1024xf32, #wide>, !v
  }
  return
}

// Nor do arguments that may be the very same elements need more, where the views of both are alike.
// CHECK-LABEL: func.func @two_in_place
// CHECK-NOT: simt.sync
// CHECK: return
func.func @two_in_place(%x: !v {tile.in_place = 1 : i64, tile.readonly}, %y: !v {tile.in_place = 1 : i64}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = tile.load %x[%i] : !v -> tensor<1024xf32, #wide>
    tile.store %a, %y[%i] : tensor<1024xf32, #wide>, !v
  }
  return
}
// CHECK-LABEL: func.func @parts_in_place
// CHECK-NOT: simt.sync
// CHECK: return
func.func @parts_in_place(%x: !v {tile.in_place = 1 : i64, tile.readonly}, %y: !v {tile.in_place = 1 : i64}, %n: index) {
  %c0 = arith.constant 0 : index
  %all = memref.dim %x, %c0 : !v
  %same = memref.dim %y, %c0 : !v
  %from = memref.subview %x[1] [%all] [1] : !v to memref<?xf32, strided<[?], offset: ?>>
  %to = memref.subview %y[1] [%same] [1] : !v to memref<?xf32, strided<[?], offset: ?>>
  %a = tile.load %from[%n] : !v -> tensor<1024xf32, #wide>
  tile.store %a, %to[%n] : tensor<1024xf32, #wide>, !v
  return
}
// CHECK-LABEL: func.func @unlike
// CHECK: tile.load
// CHECK-NEXT: simt.sync "cta"
// CHECK-NEXT: tile.store
func.func @unlike(%x: !v {tile.in_place = 1 : i64, tile.readonly}, %y: !v {tile.in_place = 1 : i64}, %n: index) {
  %from = memref.subview %x[1] [%n] [1] : !v to !v
  %a = tile.load %from[%n] : !v -> tensor<1024xf32, #wide>
  tile.store %a, %y[%n] : tensor<1024xf32, #wide>, !v
  return
}

// What is read of a view that is chosen, or of a part of it, may be of any of its choices.
// CHECK-LABEL: func.func @chosen
// CHECK: tile.store
// CHECK-NEXT: simt.sync "cta"
// CHECK-NEXT: tile.load
func.func @chosen(%x: !v, %y: !v, %z: !v, %n: index, %is: i1) {
  %inner = arith.select %is, %x, %y : !v
  %outer = arith.select %is, %z, %inner : !v
  %part = memref.subview %outer[1] [%n] [1] : !v to !v
  %a = tile.load %z[%n] : !v -> tensor<1024xf32, #wide>
  tile.store %a, %y[%n] : tensor<1024xf32, #wide>, !v
  %b = tile.load %part[%n] : !v -> tensor<1024xf32, #wide>
  tile.store %b, %x[%n] : tensor<1024xf32, #wide>, !v
  return
}

// They meet already on every way, or only on some.
// CHECK-LABEL: func.func @met
// CHECK: tile.store
// CHECK-NEXT: simt.notify
// CHECK-NEXT: tile.load
// CHECK: scf.if
// CHECK-NEXT: simt.notify
// CHECK: simt.sync "cta"
// CHECK-NEXT: tile.load
// CHECK-NOT: simt.sync
// CHECK: return
func.func @met(%x: !v, %t: !v, %i: index, %cell: index, %maybe: i1) {
  %a = tile.load %x[%i] : !v -> tensor<1024xf32, #wide>
  tile.store %a, %t[%i] : tensor<1024xf32, #wide>, !v
  simt.notify %cell "add" %i scope "gpu"
  %b = tile.load %t[%i] : !v -> tensor<64xf32, #narrow>
  tile.store %b, %t[%i] : tensor<64xf32, #narrow>, !v
  scf.if %maybe {
    simt.notify %cell "add" %i scope "gpu"
  }
  %c = tile.load %t[%i] : !v -> tensor<1024xf32, #wide>
  tile.store %c, %x[%i] : tensor<1024xf32, #wide>, !v
  return
}

// What is written last stays. Rows of one view and layout are written by the same threads.
// CHECK-LABEL: func.func @written_twice
// CHECK: tile.store
// CHECK-NEXT: simt.sync "cta"
// CHECK-NEXT: tile.store
// CHECK-NEXT: tile.store
// CHECK-NEXT: return
func.func @written_twice(%zeros: tensor<1024xf32, #wide>, %some: tensor<64xf32, #narrow>, %y: !v, %i: index, %j: index) {
  tile.store %zeros, %y[%i] : tensor<1024xf32, #wide>, !v
  tile.store %some, %y[%i] : tensor<64xf32, #narrow>, !v
  tile.store %some, %y[%j] : tensor<64xf32, #narrow>, !v
  return
}

// Sums of other threads are read behind them; atomic additions are in no order.
// CHECK-LABEL: func.func @added
// CHECK: tile.atomic_add
// CHECK-NEXT: tile.atomic_add
// CHECK-NEXT: simt.sync "cta"
// CHECK-NEXT: tile.load
func.func @added(%some: tensor<64xf32, #narrow>, %y: !v, %z: !v, %i: index) {
  tile.atomic_add %some, %y[%i] : tensor<64xf32, #narrow>, !v
  tile.atomic_add %some, %y[%i] : tensor<64xf32, #narrow>, !v
  %a = tile.load %y[%i] : !v -> tensor<64xf32, #narrow>
  tile.store %a, %z[%i] : tensor<64xf32, #narrow>, !v
  return
}
