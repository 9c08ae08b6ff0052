// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --verify-diagnostics
// Every message of a verifier of `dist`.

// expected-error @+1 {{signals have 5 dimensions, expected 0 to 4}}
func.func @signals_rank(%s: !dist.signals<5>) { return }

// -----

func.func @order(%n: index) {
  // expected-error-re @+1 {{unknown order 'spiral', known are row-major, {{.*}}}}
  dist.tiles (%i) of (%n) order <"spiral"> {}
  return
}

// -----

func.func @order_parameter(%n: index) {
  // expected-error @+1 {{order 'grouped' has parameter 0, expected 1 or more}}
  dist.tiles (%i) of (%n) order <"grouped", 0> {}
  return
}

// -----

func.func @symmetric_type(%n: index) {
  // expected-error @+1 {{'dist.symmetric' op buffer is 'memref<4xf32>', expected 'memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>' of 1 extents}}
  %0 = dist.symmetric "b"(%n) : memref<4xf32>
  return
}

// -----

func.func @symmetric_extents(%n: index) {
  // expected-error @+1 {{expected 'memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>' of 2 extents}}
  %0 = dist.symmetric "b"(%n, %n) : memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>
  return
}

// -----

func.func @symmetric_name(%n: index) {
  // expected-error @+1 {{'dist.symmetric' op name is empty, expected one for messages and traces}}
  %0 = dist.symmetric ""(%n) : memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>
  return
}

// -----

func.func @symmetric_in_role(%n: index) {
  dist.role "r" cores %n for %n {
    // expected-error @+1 {{'dist.symmetric' op must stand outside of loops, branches and roles: every rank allocates it before the launch}}
    %0 = dist.symmetric "b"(%n) : memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>
  }
  return
}

// -----

func.func @signals_extents(%n: index) {
  // expected-error @+1 {{'dist.signals' op has 1 extents but '!dist.signals<2>' has 2 dimensions}}
  %0 = dist.signals "s"(%n) : !dist.signals<2>
  return
}

// -----

func.func @signals_name(%n: index) {
  // expected-error @+1 {{'dist.signals' op name is empty}}
  %0 = dist.signals ""(%n) : !dist.signals<1>
  return
}

// -----

func.func @signals_in_loop(%n: index) {
  scf.for %i = %n to %n step %n {
    // expected-error @+1 {{'dist.signals' op must stand outside of loops, branches and roles}}
    %0 = dist.signals "s"(%n) : !dist.signals<1>
  }
  return
}

// -----

// expected-error @+2 {{expected ::ditron::device::SpaceKind to be one of: symmetric}}
// expected-error @+1 {{failed to parse Dist_SpaceAttr parameter 'kind'}}
func.func @remote_memory(%a: memref<?xf32, #dist.space<remote>>) {
  return
}

// -----

// expected-error @+1 {{expected '>'}}
func.func @remote_signals(%s: !dist.signals<1, remote>) {
  return
}

// -----

func.func @put_peer(%a: memref<?xf32>, %b: memref<?xf32, #dist.space<symmetric>>) {
  // expected-error @+1 {{expected 'on'}}
  dist.put %a, %b : memref<?xf32>, memref<?xf32, #dist.space<symmetric>>
  return
}

// -----

func.func @get_peer(%a: memref<?xf32>, %b: memref<?xf32, #dist.space<symmetric>>) {
  // expected-error @+1 {{expected 'on'}}
  dist.get %b, %a : memref<?xf32, #dist.space<symmetric>>, memref<?xf32>
  return
}

// -----

func.func @notify_peer(%s: !dist.signals<1>, %i: index, %peer: i64) {
  // expected-error @+2 {{expects different type than prior uses: 'index' vs 'i64'}}
  // expected-note @-2 {{prior use here}}
  dist.notify %s[%i] on %peer add %i : !dist.signals<1>
  return
}

// -----

func.func @put_destination(%a: memref<?xf32>, %i: index) {
  // expected-error @+1 {{'dist.put' op destination is 'memref<?xf32>', expected symmetric memory, which a peer has too}}
  dist.put %a, %a on %i : memref<?xf32>, memref<?xf32>
  return
}

// -----

func.func @put_element(%a: memref<?xf32>, %b: memref<?xf16, #dist.space<symmetric>>, %i: index) {
  // expected-error @+1 {{'dist.put' op source has elements of 'f32' but destination has 'f16'}}
  dist.put %a, %b on %i : memref<?xf32>, memref<?xf16, #dist.space<symmetric>>
  return
}

// -----

func.func @put_rank(%a: memref<?xf32>, %b: memref<?x?xf32, #dist.space<symmetric>>, %i: index) {
  // expected-error @+1 {{'dist.put' op source has 1 dimensions but destination has 2}}
  dist.put %a, %b on %i : memref<?xf32>, memref<?x?xf32, #dist.space<symmetric>>
  return
}

// -----

func.func @get_source(%a: memref<?xf32>, %i: index) {
  // expected-error @+1 {{'dist.get' op source is 'memref<?xf32>', expected symmetric memory, which a peer has too}}
  dist.get %a on %i, %a : memref<?xf32>, memref<?xf32>
  return
}

// -----

func.func @get_element(%a: memref<?xf32, #dist.space<symmetric>>, %b: memref<?xf16>, %i: index) {
  // expected-error @+1 {{'dist.get' op source has elements of 'f32' but destination has 'f16'}}
  dist.get %a on %i, %b : memref<?xf32, #dist.space<symmetric>>, memref<?xf16>
  return
}

// -----

func.func @notify_indices(%s: !dist.signals<2>, %i: index) {
  // expected-error @+1 {{'dist.notify' op has 1 indices but signals have 2 dimensions}}
  dist.notify %s[%i] add %i : !dist.signals<2>
  return
}

// -----

func.func @put_notify_destination(%a: memref<?xf32>, %s: !dist.signals<1>, %i: index) {
  // expected-error @+1 {{'dist.put_notify' op destination is 'memref<?xf32>', expected symmetric memory, which a peer has too}}
  dist.put_notify %a, %a, %s[%i] on %i add %i : memref<?xf32>, memref<?xf32>, !dist.signals<1>
  return
}

// -----

func.func @put_notify_indices(%a: memref<?xf32>, %b: memref<?xf32, #dist.space<symmetric>>, %s: !dist.signals<1>, %i: index) {
  // expected-error @+1 {{'dist.put_notify' op has 0 indices but signals have 1 dimensions}}
  dist.put_notify %a, %b, %s[] on %i add %i : memref<?xf32>, memref<?xf32, #dist.space<symmetric>>, !dist.signals<1>
  return
}

// -----

func.func @put_notify_mode(%a: memref<?xf32>, %b: memref<?xf32, #dist.space<symmetric>>, %s: !dist.signals<1>, %i: index) {
  // expected-error @+1 {{'dist.put_notify' op mode is 'subtract', expected 'add' or 'set': other modes stand in dist.notify alone}}
  dist.put_notify %a, %b, %s[%i] on %i subtract %i : memref<?xf32>, memref<?xf32, #dist.space<symmetric>>, !dist.signals<1>
  return
}

// -----

func.func @notify_mode(%s: !dist.signals<1>, %i: index) {
  // expected-error @+1 {{enum values for attribute 'mode' [add, set, subtract, store]}}
  dist.notify %s[%i] multiply %i : !dist.signals<1>
  return
}

// -----

func.func @notify_scope(%s: !dist.signals<1>, %i: index) {
  // expected-error @+1 {{enum values for attribute 'scope' [core, device, system, network]}}
  dist.notify %s[%i] add %i scope warp : !dist.signals<1>
  return
}

// -----

func.func @wait_test(%s: !dist.signals<1>, %i: index) {
  // expected-error @+1 {{expected '>=' or '=='}}
  dist.wait %s[%i] <= %i : !dist.signals<1>
  return
}

// -----

func.func @wait_indices(%s: !dist.signals<1>, %i: index) {
  // expected-error @+1 {{'dist.wait' op has 2 indices but signals have 1 dimensions}}
  dist.wait %s[%i, %i] >= %i : !dist.signals<1>
  return
}

// -----

func.func @role_name(%n: index) {
  // expected-error @+1 {{'dist.role' op name is empty}}
  dist.role "" cores %n for %n {}
  return
}

// -----

func.func @barrier_in_tiles(%n: index) {
  dist.tiles (%i) of (%n) order <"row-major"> {
    // expected-error @+1 {{'dist.barrier' op stands inside of dist.tiles: cores run different numbers of tiles, and would not all meet}}
    dist.barrier cores
  }
  return
}

// -----

func.func @tiles_in_tiles(%n: index) {
  dist.tiles (%i) of (%n) order <"row-major"> {
    scf.for %k = %n to %n step %n {
      // expected-error @+1 {{'dist.tiles' op stands inside of another dist.tiles, whose tiles run on different cores; expected a loop of scf.for}}
      dist.tiles (%j) of (%n) order <"row-major"> {}
    }
  }
  return
}

// -----

func.func @tiles_extents(%n: index) {
  // expected-error @+1 {{'dist.tiles' op has 5 extents, expected 1 to 4}}
  dist.tiles (%a, %b, %c, %d, %e) of (%n, %n, %n, %n, %n) order <"row-major"> {}
  return
}

// -----

func.func @tiles_no_extent() {
  // expected-error @+1 {{'dist.tiles' op has 0 extents, expected 1 to 4}}
  dist.tiles () of () order <"row-major"> {}
  return
}

// -----

func.func @tiles_coordinates(%n: index) {
  // expected-error @+1 {{'dist.tiles' op has 2 extents but its body takes 1 coordinates}}
  dist.tiles (%i) of (%n, %n) order <"row-major"> {}
  return
}

// -----

func.func @tiles_height(%n: index) {
  // expected-error @+1 {{'dist.tiles' op height is 0, expected 1 or more}}
  dist.tiles (%i) of (%n) order <"row-major"> elements %n height 0 {}
  return
}

// -----

func.func @tiles_coordinate_type(%n: index) {
  // expected-error @+1 {{'dist.tiles' op coordinate 0 is 'i32', expected index}}
  "dist.tiles"(%n) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, order = #dist.order<"row-major">, height = 1 : i64}> ({
  ^bb0(%i: i32):
  }) : (index) -> ()
  return
}

// -----

func.func @tiles_range(%n: index) {
  // expected-error @+1 {{'dist.tiles' op has one end of a range of tiles, expected both or none}}
  "dist.tiles"(%n, %n) <{operandSegmentSizes = array<i32: 1, 0, 1, 0>, order = #dist.order<"row-major">, height = 1 : i64}> ({
  ^bb0(%i: index):
  }) : (index, index) -> ()
  return
}

// -----

func.func @tiles_order() {
  // expected-error @+1 {{requires attribute 'order'}}
  "dist.tiles"() <{operandSegmentSizes = array<i32: 0, 0, 0, 0>, height = 1 : i64}> ({
  ^bb0:
  }) : () -> ()
  return
}

// -----

func.func @mark_tile_coordinates(%n: index) {
  // expected-error @+1 {{'dist.mark_tile' op has 5 coordinates, expected at most 4}}
  dist.mark_tile(%n, %n, %n, %n, %n)
  return
}

// -----

!v1 = memref<?xf32, strided<[?], offset: ?>>

// expected-error @+1 {{argument 0 is placed along dimension 1 but has 1 dimensions}}
func.func @placement_dimension(%x: !v1 {dist.placement = #dist.placement<gathered dim 1>}) {
  return
}

// -----

// expected-error @+1 {{argument 0 is placed but is of 'index', expected a memref}}
func.func @placement_of_index(%n: index {dist.placement = #dist.placement<all_reduced>}) {
  return
}

// -----

// expected-error @+1 {{dist.placement of argument 0 is 1 : i64, expected #dist.placement}}
func.func @placement_kind(%n: index {dist.placement = 1}) {
  return
}

// -----

// expected-error @+1 {{placement gathered names no dimension}}
func.func private @placement_without_dimension() attributes {x = #dist.placement<gathered>}

// -----

// expected-error @+1 {{placement all_reduced names dimension 0, expected none}}
func.func private @placement_with_dimension() attributes {x = #dist.placement<all_reduced dim 0>}

// -----

// expected-error @+1 {{placement has -1 cores, expected 0 or more}}
func.func private @placement_cores() attributes {x = #dist.placement<gathered dim 0 cores -1>}

// -----

// expected-error @+1 {{placement on nic, expected core or copy}}
func.func private @placement_engine() attributes {x = #dist.placement<reduce_scattered dim 0 on nic>}

// -----

// expected-error @+1 {{placement has 0 chunks, expected 1 or more}}
func.func private @placement_no_chunks() attributes {x = #dist.placement<all_reduced on copy chunks 0>}

// -----

// expected-error @+1 {{placement reduce_scattered on core has 2 chunks, expected 1, or a sum on copy}}
func.func private @placement_chunks() attributes {x = #dist.placement<reduce_scattered dim 0 chunks 2>}

// -----

// expected-error @+1 {{placement reduce_scattered on copy has waves of 132 tiles, expected 0 (all_reduced on copy may have more)}}
func.func private @placement_wave() attributes {x = #dist.placement<reduce_scattered dim 0 on copy chunks 2 wave 132>}

// -----

// expected-error @+1 {{placement on copy has 2 rounds, 3 chunks and waves of 0, expected 2 rounds, which are its 2 chunks, without waves}}
func.func private @placement_rounds() attributes {x = #dist.placement<all_reduced on copy chunks 3 rounds 2>}

// -----

// expected-error @+1 {{placement reduce_scattered has 2 rounds, expected 1 (all_reduced may have more)}}
func.func private @placement_rounds_scattered() attributes {x = #dist.placement<reduce_scattered dim 0 rounds 2>}

// -----

// expected-error @+1 {{order 'grouped' has 2 rounds, expected 1 (next-rank-first and others-ahead may have more)}}
func.func private @order_rounds() attributes {x = #dist.order<"grouped", 2 rounds 2>}

// -----

// expected-error @+1 {{placement all_reduced goes round a ring, expected gathered}}
func.func private @placement_ring() attributes {x = #dist.placement<all_reduced ring true>}

// -----

// expected-error @+1 {{placement gathered is rounded, expected a sum}}
func.func private @placement_rounded() attributes {x = #dist.placement<gathered dim 0 rounded true>}

// -----

// expected-error @+1 {{an inbox has 5 dimensions, expected 0 to 4}}
func.func @inbox_rank(%s: !dist.inbox<5 of tensor<4xf32>>) { return }

// -----

// expected-error @+1 {{an inbox has slots for 'tensor<2x2x2xf32>', expected tiles of 1 or 2 dimensions}}
func.func @inbox_tile(%s: !dist.inbox<1 of tensor<2x2x2xf32>>) { return }

// -----

// expected-error @+1 {{an inbox has slots for 'tensor<4xi1>', expected no layout and no i1}}
func.func @inbox_bits(%s: !dist.inbox<1 of tensor<4xi1>>) { return }

// -----

func.func @inbox_extents(%n: index) {
  // expected-error @+1 {{'dist.inbox' op has 1 extents but '!dist.inbox<2 of tensor<4xf32>>' has 2 dimensions}}
  %0 = dist.inbox "b"(%n) : !dist.inbox<2 of tensor<4xf32>>
  return
}

// -----

func.func @inbox_in_role(%n: index) {
  dist.role "r" cores %n for %n {
    // expected-error @+1 {{'dist.inbox' op must stand outside of loops, branches and roles: every rank allocates it before the launch}}
    %0 = dist.inbox "b"(%n) : !dist.inbox<1 of tensor<4xf32>>
  }
  return
}

// -----

func.func @send_indices(%t: tensor<4xf32>, %b: !dist.inbox<2 of tensor<4xf32>>, %i: index) {
  // expected-error @+1 {{'dist.send' op has 1 indices but '!dist.inbox<2 of tensor<4xf32>>' has 2 dimensions}}
  dist.send %t to %b[%i] on %i : tensor<4xf32>, !dist.inbox<2 of tensor<4xf32>>
  return
}

// -----

func.func @send_tile(%t: tensor<8xf32>, %b: !dist.inbox<1 of tensor<4xf32>>, %i: index) {
  // expected-error @+1 {{'dist.send' op has 'tensor<8xf32>' but the slots are for 'tensor<4xf32>'}}
  dist.send %t to %b[%i] on %i : tensor<8xf32>, !dist.inbox<1 of tensor<4xf32>>
  return
}

// -----

func.func @receive_tile(%b: !dist.inbox<1 of tensor<4xf32>>, %i: index) {
  // expected-error @+1 {{'dist.receive' op has 'tensor<4xf16>' but the slots are for 'tensor<4xf32>'}}
  %t = dist.receive %b[%i] : !dist.inbox<1 of tensor<4xf32>> -> tensor<4xf16>
  return
}

// -----

!view = memref<?x?xf32, strided<[?, ?], offset: ?>>
func.func @put_tile_to_own_memory(%t: tensor<8x8xf32>, %view: !view, %i: index) {
  // expected-error @+1 {{destination is 'memref<?x?xf32, strided<[?, ?], offset: ?>>', expected symmetric memory, which a peer has too}}
  dist.put_tile %t, %view[%i, %i] on %i : tensor<8x8xf32>, !view
  return
}

// -----

!shared = memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
func.func @put_tile_of_another_type(%t: tensor<8x8xf16>, %i: index) {
  %buffer = dist.symmetric "b"(%i, %i) : !shared
  // expected-error @+1 {{tile has elements of 'f16' but destination has 'f32'}}
  dist.put_tile %t, %buffer[%i, %i] on %i : tensor<8x8xf16>, !shared
  return
}

// -----

!shared = memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
func.func @put_tile_at_one_coordinate(%t: tensor<8x8xf32>, %i: index) {
  %buffer = dist.symmetric "b"(%i, %i) : !shared
  // expected-error @+1 {{has 1 coordinates and 'tensor<8x8xf32>', expected 2 coordinates and dimensions of}}
  dist.put_tile %t, %buffer[%i] on %i : tensor<8x8xf32>, !shared
  return
}
