// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-dist-to-device | FileCheck %s
// RUN: %opt %s --simt-dist-to-device --simt-assign-layouts --simt-tiles-to-threads --cse | FileCheck %s --check-prefix=THREADS

!words = memref<?x?xi32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
!view = memref<?x?xf32, strided<[?, ?], offset: ?>>

// Nothing but inboxes: the launch is opened and closed, and the CTA counted where it first receives.
// CHECK-LABEL: func.func @alone(
// CHECK-SAME: %[[WORDS:[a-z0-9]+]]: memref<?x?xi32, {{.*}}>, %[[STATUS:[a-z0-9]+]]: !llvm.ptr
// CHECK-SAME: simt.sites = [{{.*}}what = "waits for"}
// CHECK: %[[EPOCH:.*]] = simt.epoch
// CHECK: %[[NOTES:.*]] = simt.open %[[EPOCH]] in(%[[STATUS]]
// CHECK-NOT: simt.begin
// CHECK-NOT: simt.sync
// CHECK: simt.send %{{.*}} to %{{.*}} epoch %[[EPOCH]] notes %[[NOTES]] in(%[[STATUS]]
// CHECK: %[[BEFORE:.*]] = simt.arrive %[[EPOCH]] boxes(%{{.*}}, %{{.*}}) in(%[[STATUS]]
// CHECK-NEXT: simt.receive %{{.*}} epoch %[[EPOCH]] site 1 in(%[[STATUS]]
// CHECK: simt.close %[[EPOCH]] after %[[BEFORE]] in(%[[STATUS]]
// CHECK-NOT: simt.end

// A group of 8 words takes 3 packets. The loop reads them until all have the flag, which is made of all words of a
// packet, so that the assembler reads it as a whole.
// THREADS-LABEL: func.func @alone(
// THREADS: llvm.inline_asm has_side_effects {{.*}}"@$2 ld.relaxed.sys.global.u64 $0, [$3];"
// THREADS: "vote.sync.all.pred $0, $1, 0xffffffff;"
// THREADS-COUNT-3: "{ .reg .b128 packet; {{.*}}st.relaxed.sys.global.b128 [$0], packet; }"
// THREADS-NOT: fence
// THREADS: nvvm.barrier0
// THREADS: "@$2 atom.relaxed.gpu.global.inc.u32 $0, [$3], $4;"
// THREADS: scf.while
// THREADS-COUNT-3: "{ .reg .b128 packet; {{.*}}ld.relaxed.sys.global.b128 packet, [$4]; {{.*}}or.b32 $3, flag, all; }"
// THREADS: scf.condition
func.func @alone(%i: index, %p: index, %x: !view, %y: !view, %words: !words)
    attributes {dist.symmetric = [{element_bytes = 4 : i64, extents = ["n", "1536"], kind = "inbox", name = "box"}]} {
  %box = builtin.unrealized_conversion_cast %words : !words to !dist.inbox<1 of tensor<1x1024xf32>>
  %t = tile.load %x[%i, %i] : !view -> tensor<1x1024xf32>
  dist.send %t to %box[%i] on %p : tensor<1x1024xf32>, !dist.inbox<1 of tensor<1x1024xf32>>
  %u = dist.receive %box[%i] : !dist.inbox<1 of tensor<1x1024xf32>> -> tensor<1x1024xf32>
  tile.store %u, %y[%i, %i] : tensor<1x1024xf32>, !view
  return
}

// -----

!words = memref<?x?xi32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
!cells = memref<?xi64, strided<[?], offset: ?>, #dist.space<symmetric>>

// Beside signals, the launch begins and ends as others do, and its end knows the inboxes. Nothing has been
// done that the message could order.
// CHECK-LABEL: func.func @mixed(
// CHECK: simt.begin
// CHECK-NOT: simt.sync
// CHECK: simt.send %{{.*}} to %{{.*}} epoch %{{[^ ]*}} :
// CHECK: simt.end({{.*}}) boxes(%{{.*}}, %{{.*}})
func.func @mixed(%i: index, %x: memref<?xf32, strided<[?], offset: ?>>, %words: !words, %cells: !cells)
    attributes {dist.symmetric = [{element_bytes = 4 : i64, extents = ["n", "8"], kind = "inbox", name = "box"},
                                  {element_bytes = 8 : i64, extents = ["n"], kind = "signals", name = "s"}]} {
  %box = builtin.unrealized_conversion_cast %words : !words to !dist.inbox<1 of tensor<4xf32>>
  %s = builtin.unrealized_conversion_cast %cells : !cells to !dist.signals<1>
  %t = tile.load %x[%i] : memref<?xf32, strided<[?], offset: ?>> -> tensor<4xf32>
  dist.send %t to %box[%i] on %i : tensor<4xf32>, !dist.inbox<1 of tensor<4xf32>>
  dist.wait %s[%i] >= %i : !dist.signals<1>
  return
}

// -----

!words = memref<?x?xi32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
!cells = memref<?xi64, strided<[?], offset: ?>, #dist.space<symmetric>>

// Tiles that are handed over alone release nothing, whatever else the kernel tells.
// CHECK-LABEL: func.func @unordered(
// CHECK-NOT: simt.sync
// CHECK: simt.send
// CHECK: simt.receive
// CHECK-NOT: simt.sync
// CHECK: simt.end
func.func @unordered(%i: index, %x: memref<?xf32, strided<[?], offset: ?>>, %words: !words, %cells: !cells)
    attributes {dist.symmetric = [{element_bytes = 4 : i64, extents = ["n", "8"], kind = "inbox", name = "box"},
                                  {element_bytes = 8 : i64, extents = ["n"], kind = "signals", name = "s"}]} {
  %box = builtin.unrealized_conversion_cast %words : !words to !dist.inbox<1 of tensor<4xf32>>
  %s = builtin.unrealized_conversion_cast %cells : !cells to !dist.signals<1>
  %t = tile.load %x[%i] : memref<?xf32, strided<[?], offset: ?>> -> tensor<4xf32>
  dist.send %t to %box[%i] on %i {dist.unordered} : tensor<4xf32>, !dist.inbox<1 of tensor<4xf32>>
  %u = dist.receive %box[%i] {dist.unordered} : !dist.inbox<1 of tensor<4xf32>> -> tensor<4xf32>
  tile.store %u, %x[%i] : tensor<4xf32>, memref<?xf32, strided<[?], offset: ?>>
  dist.wait %s[%i] >= %i : !dist.signals<1>
  return
}

// -----

!words = memref<?x?xi32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
!view = memref<?xf32, strided<[?], offset: ?>>

// So it does where the kernel reads what it writes.
// CHECK-LABEL: func.func @in_place(
// CHECK: simt.open
// CHECK: simt.sync "sys"
// CHECK-NEXT: simt.send
// CHECK: simt.receive
// CHECK-NEXT: simt.sync "sys"
// CHECK: tile.store
func.func @in_place(%i: index, %x: !view, %words: !words)
    attributes {dist.symmetric = [{element_bytes = 4 : i64, extents = ["n", "8"], kind = "inbox", name = "box"}]} {
  %box = builtin.unrealized_conversion_cast %words : !words to !dist.inbox<1 of tensor<4xf32>>
  %t = tile.load %x[%i] : !view -> tensor<4xf32>
  dist.send %t to %box[%i] on %i : tensor<4xf32>, !dist.inbox<1 of tensor<4xf32>>
  %u = dist.receive %box[%i] : !dist.inbox<1 of tensor<4xf32>> -> tensor<4xf32>
  tile.store %u, %x[%i] : tensor<4xf32>, !view
  return
}

// -----

!words = memref<?x?xi32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
!rows = memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>
!view = memref<?xf32, strided<[?], offset: ?>>

// The first messages come from senders that have done nothing before: whoever receives them relies on nothing
// else. What is received is kept where cores read it, and the sums of these are handed on within the rank.
// CHECK-LABEL: func.func @gathered(
// CHECK-NOT: simt.sync
// CHECK: simt.send
// CHECK-NOT: simt.sync
// CHECK: simt.receive
// CHECK-NOT: simt.sync
// CHECK: simt.sync "gpu"
// CHECK-NEXT: simt.send
// CHECK: simt.receive
// CHECK-NEXT: simt.sync "gpu"
func.func @gathered(%i: index, %p: index, %x: !view, %y: !view, %first: !words, %second: !words, %kept: !rows)
    attributes {dist.symmetric = [{element_bytes = 4 : i64, extents = ["n", "8"], kind = "inbox", name = "first"},
                                  {element_bytes = 4 : i64, extents = ["n", "8"], kind = "inbox", name = "second"},
                                  {element_bytes = 4 : i64, extents = ["n"], kind = "buffer", name = "kept"}]} {
  %box = builtin.unrealized_conversion_cast %first : !words to !dist.inbox<1 of tensor<4xf32>>
  %sums = builtin.unrealized_conversion_cast %second : !words to !dist.inbox<1 of tensor<4xf32>>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %n = %c0 to %i step %c1 {
    %t = tile.load %x[%n] : !view -> tensor<4xf32>
    dist.send %t to %box[%n] on %p : tensor<4xf32>, !dist.inbox<1 of tensor<4xf32>>
  }
  %u = dist.receive %box[%i] : !dist.inbox<1 of tensor<4xf32>> -> tensor<4xf32>
  tile.store %u, %kept[%i] : tensor<4xf32>, !rows
  %v = tile.load %kept[%c0] : !rows -> tensor<4xf32>
  %rank = dist.rank
  dist.send %v to %sums[%i] on %rank : tensor<4xf32>, !dist.inbox<1 of tensor<4xf32>>
  %w = dist.receive %sums[%i] : !dist.inbox<1 of tensor<4xf32>> -> tensor<4xf32>
  tile.store %w, %y[%i] : tensor<4xf32>, !view
  return
}

// -----

!words = memref<?x?xi32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
!view = memref<?xf32, strided<[?], offset: ?>>

// What a message brings is handed on by the next one, which goes further.
// CHECK-LABEL: func.func @handed_on(
// CHECK: simt.sync "sys"
// CHECK-NEXT: simt.send
// CHECK: simt.receive
// CHECK-NEXT: simt.sync "sys"
// CHECK: simt.sync "gpu"
// CHECK-NEXT: simt.send
// CHECK: simt.receive
// CHECK-NEXT: simt.sync "gpu"
func.func @handed_on(%i: index, %p: index, %x: !view, %first: !words, %second: !words)
    attributes {dist.symmetric = [{element_bytes = 4 : i64, extents = ["n", "8"], kind = "inbox", name = "first"},
                                  {element_bytes = 4 : i64, extents = ["n", "8"], kind = "inbox", name = "second"}]} {
  %box = builtin.unrealized_conversion_cast %first : !words to !dist.inbox<1 of tensor<4xf32>>
  %next = builtin.unrealized_conversion_cast %second : !words to !dist.inbox<1 of tensor<4xf32>>
  %rank = dist.rank
  %isFirst = arith.cmpi eq, %i, %p : index
  scf.if %isFirst {
    %t = tile.load %x[%i] : !view -> tensor<4xf32>
    dist.send %t to %box[%i] on %p : tensor<4xf32>, !dist.inbox<1 of tensor<4xf32>>
  }
  %u = dist.receive %box[%i] : !dist.inbox<1 of tensor<4xf32>> -> tensor<4xf32>
  dist.send %u to %next[%i] on %rank : tensor<4xf32>, !dist.inbox<1 of tensor<4xf32>>
  %v = dist.receive %next[%i] : !dist.inbox<1 of tensor<4xf32>> -> tensor<4xf32>
  tile.store %v, %x[%i] : tensor<4xf32>, !view
  return
}

// -----

!words = memref<?x?xi32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
!view = memref<?xf32, strided<[?], offset: ?>>

// Results that are only written order nothing: those of an all-gather.
// CHECK-LABEL: func.func @results(
// CHECK-NOT: simt.sync
// CHECK: simt.close
func.func @results(%n: index, %p: index, %x: !view, %y: !view, %words: !words)
    attributes {dist.symmetric = [{element_bytes = 4 : i64, extents = ["n", "8"], kind = "inbox", name = "box"}]} {
  %box = builtin.unrealized_conversion_cast %words : !words to !dist.inbox<1 of tensor<4xf32>>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %t = tile.load %x[%i] : !view -> tensor<4xf32>
    dist.send %t to %box[%i] on %p : tensor<4xf32>, !dist.inbox<1 of tensor<4xf32>>
    tile.store %t, %y[%i] : tensor<4xf32>, !view
  }
  %u = dist.receive %box[%c0] : !dist.inbox<1 of tensor<4xf32>> -> tensor<4xf32>
  tile.store %u, %y[%n] : tensor<4xf32>, !view
  return
}
