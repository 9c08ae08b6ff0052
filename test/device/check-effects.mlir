// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --dist-check-effects --verify-diagnostics
// What the check finds; kernels that it lets pass stand at the end.

!view = memref<?x?xf32, strided<[?, ?], offset: ?>>
!shared = memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>

func.func @writes_inputs(%A: !view {tile.name = "A", tile.readonly}, %B: !view {tile.readonly},
                         %t: tensor<4x4xf32>, %rows: tensor<4xi32>, %i: index) attributes {tile.kernel} {
  // expected-error @+1 {{tile.store writes argument 'A', which is an input}}
  tile.store %t, %A[%i, %i] : tensor<4x4xf32>, !view
  // expected-error @+1 {{tile.store writes argument 1, which is an input}}
  tile.store %t, %B[%i, %i] : tensor<4x4xf32>, !view
  // expected-error @+1 {{tile.scatter writes argument 'A', which is an input}}
  tile.scatter %t, %A[%rows, %i] : tensor<4x4xf32>, !view, tensor<4xi32>
  scf.for %k = %i to %i step %i {
    // expected-error @+1 {{tile.atomic_add writes argument 'A', which is an input}}
    %0 = tile.atomic_add %t, %A[%i, %i] : tensor<4x4xf32>, !view
  }
  return
}

// -----

!view = memref<?x?xf32, strided<[?, ?], offset: ?>>
!shared = memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>

func.func @moves_into_inputs(%A: !view {tile.name = "A", tile.readonly}, %S: !shared {tile.name = "S", tile.readonly}, %i: index) {
  %to = tile.chunk %A[%i, %i] shape [4, 4] : !view -> !view
  // expected-error @+1 {{dist.get writes argument 'A', which is an input}}
  dist.get %S on %i, %to : !shared, !view
  %part = tile.chunk %S[%i, %i] shape [4, 4] : !shared -> !shared
  // expected-error @+1 {{dist.put writes argument 'S', which is an input}}
  dist.put %A, %part on %i : !view, !shared
  %s = dist.signals "s"() : !dist.signals<0>
  // expected-error @+1 {{dist.put_notify writes argument 'S', which is an input}}
  dist.put_notify %A, %S, %s[] on %i add %i : !view, !shared, !dist.signals<0>
  return
}

// -----

func.func @writes_part_of_input(%A: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.name = "A", tile.readonly}, %t: tensor<4x4xf32>, %i: index) {
  %part = memref.subview %A[%i, 0] [%i, %i] [1, 1] : memref<?x?xf32, strided<[?, ?], offset: ?>> to memref<?x?xf32, strided<[?, ?], offset: ?>>
  // expected-error @+1 {{tile.store writes argument 'A', which is an input}}
  tile.store %t, %part[%i, %i] : tensor<4x4xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}

// -----

func.func @waits_in_vain(%n: index) {
  // expected-note @+1 {{declared here}}
  %ready = dist.signals "ready"(%n) : !dist.signals<1>
  %other = dist.signals "other"(%n) : !dist.signals<1>
  dist.notify %other[%n] add %n : !dist.signals<1>
  // expected-error @+1 {{signal 'ready' is waited on but nothing notifies it}}
  dist.wait %ready[%n] >= %n : !dist.signals<1>
  return
}

// -----

func.func @two_modes(%n: index) {
  %s = dist.signals "s"(%n) : !dist.signals<1>
  // expected-note @+1 {{the other one is here}}
  dist.notify %s[%n] set %n : !dist.signals<1>
  // expected-error @+1 {{signal 's' is notified by add and by set, expected one of them}}
  dist.notify %s[%n] on %n add %n : !dist.signals<1>
  return
}

// -----

!shared = memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>
func.func @size_of_rank(%n: index) {
  // expected-note @+1 {{found here}}
  %r = dist.rank
  %m = arith.addi %n, %r : index
  // expected-error @+1 {{the size of 'b' depends on dist.rank: two ranks could allocate different sizes; expected arguments' extents, integer arguments and dist.num_ranks only}}
  %b = dist.symmetric "b"(%m) : !shared
  return
}

// -----

func.func @size_of_cores() {
  // expected-note @+1 {{found here}}
  %c = dist.num_cores
  // expected-error @+1 {{the size of 's' depends on dist.num_cores}}
  %s = dist.signals "s"(%c) : !dist.signals<1>
  return
}

// -----

func.func @size_of_loaded(%A: memref<?xindex>, %n: index) {
  // expected-note @+1 {{found here}}
  %c = memref.load %A[%n] : memref<?xindex>
  // expected-error @+1 {{the size of 's' depends on memref.load}}
  %s = dist.signals "s"(%c) : !dist.signals<1>
  return
}

// -----

func.func @size_of_float(%x: f32 {tile.name = "scale"}) {
  %i = tile.cast %x : f32 to i64
  %c = arith.index_cast %i : i64 to index
  // expected-error @+1 {{the size of 's' depends on argument 'scale' of type 'f32'}}
  %s = dist.signals "s"(%c) : !dist.signals<1>
  return
}

// -----

func.func @same_name(%n: index) {
  // expected-note @+1 {{the first one is here}}
  %a = dist.symmetric "x"(%n) : memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>
  // expected-error @+1 {{two symmetric buffers, signals or inboxes are named 'x'}}
  %s = dist.signals "x"(%n) : !dist.signals<1>
  return
}

// -----

!view = memref<?x?xf32, strided<[?, ?], offset: ?>>
!shared = memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>

func.func @fine(%A: !view {tile.name = "A", tile.readonly}, %C: !view {tile.name = "C"}, %k: i32, %given: !dist.signals<1>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %ranks = dist.num_ranks
  %m = memref.dim %A, %c0 : !view
  %size = arith.index_cast %k : i32 to index
  %rows = arith.muli %m, %ranks : index
  %full = dist.symmetric "full"(%rows, %size) : !shared
  %again = memref.dim %full, %c0 : !shared
  %tiles = arith.ceildivui %again, %c128 : index
  %ready = dist.signals "ready"(%tiles) : !dist.signals<1>
  %me = dist.rank
  dist.put %A, %full on %me : !view, !shared
  dist.notify %ready[%c0] on %me add %c1 : !dist.signals<1>
  dist.wait %ready[%c0] >= %c1 : !dist.signals<1>
  dist.wait %given[%c0] >= %c1 : !dist.signals<1>
  // Subtract and store go with either mode.
  dist.notify %ready[%c0] subtract %c1 : !dist.signals<1>
  dist.notify %ready[%c0] store %c0 : !dist.signals<1>
  %t = tile.load %full[%c0, %c0] : !shared -> tensor<8x8xf32>
  tile.store %t, %C[%c0, %c0] : tensor<8x8xf32>, !view
  return
}

// -----

func.func @inboxes(%n: index, %t: tensor<4xf32>) attributes {tile.kernel} {
  // expected-error @+1 {{inbox 'sent' is sent to but nothing receives from it}}
  %sent = dist.inbox "sent"(%n) : !dist.inbox<1 of tensor<4xf32>>
  // expected-error @+1 {{inbox 'received' is received from but nothing sends to it}}
  %received = dist.inbox "received"(%n) : !dist.inbox<1 of tensor<4xf32>>
  %me = dist.rank
  dist.send %t to %sent[%n] on %me : tensor<4xf32>, !dist.inbox<1 of tensor<4xf32>>
  %u = dist.receive %received[%n] : !dist.inbox<1 of tensor<4xf32>> -> tensor<4xf32>
  return
}
