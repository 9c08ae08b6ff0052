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
