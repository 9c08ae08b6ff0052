// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-dist-to-device | FileCheck %s

// A kernel that asks for ranks takes all of a launch's words, and begins and ends it.
// CHECK-LABEL: func.func @places(
// CHECK-SAME: %[[STATUS:[a-z0-9]+]]: !llvm.ptr, %[[RANK:[a-z0-9]+]]: index, %[[RANKS:[a-z0-9]+]]: index, %[[STRIDE:[a-z0-9]+]]: index, %[[HEAD:[a-z0-9]+]]: index
// CHECK-SAME: simt.distributed
// CHECK: nvvm.read.ptx.sreg.ctaid.x
// CHECK: nvvm.read.ptx.sreg.nctaid.x
// CHECK: simt.begin(%[[STATUS]], %[[RANK]], %[[RANKS]], %[[STRIDE]], %[[HEAD]]
// CHECK: simt.epoch %[[HEAD]]
// CHECK: simt.end(%[[STATUS]]
// CHECK: return %{{.*}}, %{{.*}}, %[[RANK]], %[[RANKS]]
func.func @places() -> (index, index, index, index) {
  %c = dist.core
  %n = dist.num_cores
  %r = dist.rank
  %s = dist.num_ranks
  return %c, %n, %r, %s : index, index, index, index
}

// -----

// CHECK-LABEL: func.func @requirement(
// CHECK-SAME: %[[OK:.*]]: i1, %[[N:.*]]: index, %[[STATUS:.*]]: !llvm.ptr
// CHECK-SAME: simt.requirements = [{file = "dist-to-device.mlir{{.*}}", line = {{[0-9]+}} : i64, message = "takes {} rows"}]
// CHECK: %[[FAILS:.*]] = arith.xori %[[OK]]
// CHECK: scf.if %[[FAILS]]
// CHECK: llvm.cmpxchg %[[STATUS]]
// CHECK: scf.if
// CHECK: llvm.inline_asm {{.*}} "st.global.b64 [$0+8], 0;{{.*}}st.global.b64 [$0+16], $1;"
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "exit;"
func.func @requirement(%ok: i1, %n: index) {
  tile.require %ok, "takes {} rows"(%n)
  return
}

// -----

// Verbs: a peer's memory lies a number of strides further; counters are 8 bytes, row-major, in the
// page of this launch.
// CHECK-LABEL: func.func @verbs(
// CHECK-SAME: %[[I:[a-z0-9]+]]: index, %[[BUFFER:[a-z0-9]+]]: memref<?xf32, {{.*}}>, %[[COUNTERS:[a-z0-9]+]]: memref<?xi64,
// CHECK-SAME: simt.sites = [{{.*}}role = "send", what = "waits for"}, {{.*}}role = "send", what = "meets all ranks at"}]
// CHECK: simt.begin
// CHECK: %[[MINE:.*]] = arith.cmpi ult
// CHECK: scf.if %[[MINE]]
// CHECK: %[[BASE:.*]] = memref.extract_aligned_pointer_as_index %[[COUNTERS]]
// CHECK: %[[PAGED:.*]] = arith.addi %[[BASE]]
// CHECK: simt.wait %{{.*}} for %[[I]] site 1 scope "sys"
// CHECK: simt.shift %{{.*}} by
// CHECK: simt.move %{{.*}} to %{{.*}} :
// CHECK: simt.notify %{{.*}} "add" %[[I]] scope "sys"
// CHECK: simt.notify %{{.*}} "add" %[[I]] scope "gpu"
// CHECK: simt.sync "sys"
// CHECK: simt.meet %{{.*}} of %[[I]] ranks site
// CHECK: simt.end
func.func @verbs(%i: index, %buffer: memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>,
                 %counters: memref<?xi64, strided<[?], offset: ?>, #dist.space<symmetric>>)
    attributes {dist.symmetric = [{element_bytes = 4 : i64, extents = ["8"], kind = "buffer", name = "buffer"},
                                  {element_bytes = 8 : i64, extents = ["8"], kind = "signals", name = "ready"}]} {
  %c0 = arith.constant 0 : index
  %ready = builtin.unrealized_conversion_cast %counters : memref<?xi64, strided<[?], offset: ?>, #dist.space<symmetric>> to !dist.signals<1>
  dist.role "send" cores %c0 for %i {
    dist.wait %ready[%i] >= %i : !dist.signals<1>
    dist.put %buffer, %buffer on %i : memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>, memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>
    dist.notify %ready[%i] on %i add %i : !dist.signals<1>
    dist.notify %ready[%i] add %i : !dist.signals<1>
    dist.quiet
    dist.barrier ranks
  }
  return
}

// -----

// A wait reaches as far as who notifies its signals: the GPU, where this rank alone does; all GPUs, where a peer does.
// CHECK-LABEL: func.func @reach(
// CHECK: simt.wait %{{.*}} site {{[0-9]+}} scope "gpu"
// CHECK: simt.notify %{{.*}} scope "gpu"
// CHECK: simt.wait %{{.*}} site {{[0-9]+}} scope "sys"
// CHECK: simt.notify %{{.*}} scope "sys"
func.func @reach(%i: index, %near: memref<?xi64, strided<[?], offset: ?>, #dist.space<symmetric>>,
                 %far: memref<?xi64, strided<[?], offset: ?>, #dist.space<symmetric>>)
    attributes {dist.symmetric = [{element_bytes = 8 : i64, extents = ["8"], kind = "signals", name = "near"},
                                  {element_bytes = 8 : i64, extents = ["8"], kind = "signals", name = "far"}]} {
  %mine = builtin.unrealized_conversion_cast %near : memref<?xi64, strided<[?], offset: ?>, #dist.space<symmetric>> to !dist.signals<1>
  %theirs = builtin.unrealized_conversion_cast %far : memref<?xi64, strided<[?], offset: ?>, #dist.space<symmetric>> to !dist.signals<1>
  dist.wait %mine[%i] >= %i : !dist.signals<1>
  dist.notify %mine[%i] add %i : !dist.signals<1>
  dist.wait %theirs[%i] >= %i : !dist.signals<1>
  dist.notify %theirs[%i] on %i add %i : !dist.signals<1>
  return
}

// -----

// A load of memory that says what is there is a site of waits. A notify that nobody waits for says nothing of memory.
// CHECK-LABEL: func.func @elements(
// CHECK-SAME: !llvm.ptr {simt.launch_word = 0 : i64}
// CHECK-SAME: simt.sites = [{{.*}}what = "begins a launch"}, {{.*}}what = "waits for"}]
// CHECK: simt.notify %{{.*}} "add" %{{.*}} scope "gpu" unordered
// CHECK: tile.load %{{.*}} {simt.site = 1 : i64}
func.func @elements(%i: index, %x: memref<?xf32, strided<[?], offset: ?>> {tile.self_signaling},
                    %near: memref<?xi64, strided<[?], offset: ?>, #dist.space<symmetric>>)
    attributes {dist.symmetric = [{element_bytes = 8 : i64, extents = ["8"], kind = "signals", name = "near"}]} {
  %mine = builtin.unrealized_conversion_cast %near : memref<?xi64, strided<[?], offset: ?>, #dist.space<symmetric>> to !dist.signals<1>
  dist.notify %mine[%i] add %i {dist.unordered} : !dist.signals<1>
  %t = tile.load %x[%i] : memref<?xf32, strided<[?], offset: ?>> -> tensor<64xf32>
  tile.store %t, %x[%i] : tensor<64xf32>, memref<?xf32, strided<[?], offset: ?>>
  return
}
