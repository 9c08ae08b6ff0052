// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --split-input-file --verify-diagnostics --simt-select-views | FileCheck %s

!v = memref<?x?xf32, strided<[?, ?], offset: ?>>

// What is only selected leaves. The words of %b come first, then those of %a: 5 each.
// CHECK-LABEL: func.func @two(
// CHECK-SAME: %[[N:[^:]*]]: index, %[[TABLE:[^:]*]]: !llvm.ptr)
// CHECK-SAME: simt.tabled = array<i64: 0, 2>, simt.view_table = array<i64: 2, 0>
func.func @two(%a: !v {tile.alignment = 16 : i64, tile.unit_stride}, %n: index,
               %b: !v {tile.alignment = 8 : i64, tile.unit_stride}) attributes {tile.kernel} {
  // CHECK: %[[WORD:.*]] = arith.muli %[[N]], %c5
  // CHECK: %[[VIEW:.*]] = simt.view_at %[[TABLE]][%[[WORD]]] {tile.alignment = 8 : i64, tile.unit_stride}
  // CHECK: memref.store %{{.*}}, %[[VIEW]]
  %x = tile.select_view %n of (%b, %a) : !v
  %zero = arith.constant 0.0 : f32
  memref.store %zero, %x[%n, %n] : !v
  return
}

// -----

!v = memref<?xf32, strided<[?], offset: ?>>

// An argument that is used by itself too stays one. Nothing is known of a choice that is not known of
// all. The table stands in front of symmetric memory. What may be the same argument has a number in common.
// CHECK-LABEL: func.func @more(
// CHECK-SAME: %[[A:[^:]*]]: memref<{{[^)]*}} {tile.in_place = [[NUMBER:[0-9]+]] : i64, tile.unit_stride}, %[[N:[^:]*]]: index, %[[TABLE:[^:]*]]: !llvm.ptr, %[[S:[^:]*]]: memref<?xf32, strided<[?], offset: ?>>)
// CHECK-SAME: simt.tabled = array<i64: 1>, simt.view_table = array<i64: 0, 1, 1, 0>
func.func @more(%a: !v {tile.unit_stride}, %b: !v, %n: index, %s: !v)
    attributes {tile.kernel, dist.symmetric = [{}]} {
  // CHECK: simt.view_at %[[TABLE]][%{{.*}}] {tile.in_place = [[NUMBER]] : i64} : !llvm.ptr
  // CHECK: %[[WORD:.*]] = arith.addi %{{.*}}, %c6
  // CHECK: simt.view_at %[[TABLE]][%[[WORD]]] {tile.in_place = [[NUMBER]] : i64} : !llvm.ptr
  %x = tile.select_view %n of (%a, %b) : !v
  %y = tile.select_view %n of (%b, %a) : !v
  %one = memref.load %y[%n] : !v
  memref.store %one, %x[%n] : !v
  memref.store %one, %a[%n] : !v
  memref.store %one, %s[%n] : !v
  return
}

// -----

!u = memref<?x?xf32, strided<[?, ?], offset: ?>>

// The extents that all choices have are known of the chosen one.
// CHECK-LABEL: func.func @extents(
// CHECK: simt.view_at {{.*}} {tile.dense, tile.in_place = [[NUMBER:[0-9]+]] : i64, tile.known_extents = array<i64: 4, -1>}
// CHECK: simt.view_at {{.*}} {tile.dense, tile.in_place = [[NUMBER]] : i64} :
func.func @extents(%a: !u {tile.known_extents = array<i64: 4, 8>, tile.dense}, %n: index,
                   %b: !u {tile.known_extents = array<i64: 4, 16>, tile.dense},
                   %c: !u {tile.dense}) attributes {tile.kernel} {
  %x = tile.select_view %n of (%a, %b) : !u
  %y = tile.select_view %n of (%a, %c) : !u
  %one = memref.load %y[%n, %n] : !u
  memref.store %one, %x[%n, %n] : !u
  return
}

// -----

!w = memref<?xf32, strided<[?], offset: ?>>

func.func @parts(%a: !w, %n: index) attributes {tile.kernel} {
  %part = memref.subview %a[%n] [%n] [1] : !w to !w
  // expected-error @+1 {{selects among views that are no arguments of the kernel}}
  %x = tile.select_view %n of (%a, %part) : !w
  %zero = arith.constant 0.0 : f32
  memref.store %zero, %x[%n] : !w
  return
}

// -----

!w = memref<?xf32, strided<[?], offset: ?>>

// Views of other arguments have none, nor have those of other tasks.
// CHECK-LABEL: func.func @apart(
// CHECK-NOT: tile.in_place
// CHECK: return
func.func @apart(%a: !w, %b: !w, %c: !w, %d: !w, %n: index, %is: i1) attributes {tile.kernel} {
  scf.if %is {
    %x = tile.select_view %n of (%a, %b) : !w
    %y = tile.select_view %n of (%c, %d) : !w
    %one = memref.load %y[%n] : !w
    memref.store %one, %x[%n] : !w
  }
  scf.if %is {
    %z = tile.select_view %n of (%b, %c) : !w
    %one = memref.load %z[%n] : !w
    memref.store %one, %z[%n] : !w
  }
  return
}
