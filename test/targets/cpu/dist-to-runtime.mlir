// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --lower-hoist-symmetric --cpu-dist-to-runtime | FileCheck %s

!v = memref<?x?xf16, strided<[?, ?], offset: ?>>
!sym = memref<?x?xf16, strided<[?, ?], offset: ?>, #dist.space<symmetric>>

// Roles become branches on the core's number; puts, waits and notifies name file and line, waits
// also the mode (1 is add, 0 is set) that the signal's notifies have.
// CHECK-DAG: llvm.mlir.global internal constant @[[GATHER:.*]]("gather\00")
// CHECK-DAG: llvm.mlir.global internal constant @[[MULTIPLY:.*]]("multiply\00")
// CHECK-DAG: llvm.mlir.global internal constant @[[PUT:.*]]("dist-to-runtime.mlir:{{.*}}[[@LINE+41]]\00")
// CHECK-DAG: llvm.mlir.global internal constant @[[NOTIFIED:.*]]("dist-to-runtime.mlir:{{.*}}[[@LINE+41]]\00")
// CHECK-DAG: llvm.mlir.global internal constant @[[AWAITED:.*]]("dist-to-runtime.mlir:{{.*}}[[@LINE+43]]\00")

// CHECK-LABEL: func.func @roles(
// CHECK-SAME: %[[N:[a-z0-9]+]]: index
// CHECK-SAME: %[[CELLS:[a-z0-9]+]]: memref<?x?xi64, strided<[?, ?], offset: ?>, #dist.space<symmetric>> {tile.dense, tile.name = "ready"
// CHECK-SAME: %[[CONTEXT:[a-z0-9]+]]: !llvm.ptr
// CHECK: %[[CORE:.*]] = arith.index_cast
// CHECK: %[[MINE:.*]] = arith.cmpi ult, %[[CORE]], %c1
// CHECK: scf.if %[[MINE]] {
// CHECK: %[[NAME:.*]] = llvm.mlir.addressof @[[GATHER]]
// CHECK: llvm.call @ditron_role_enter(%[[CONTEXT]], %[[NAME]], %{{.*}}, %{{.*}})
// CHECK: %[[PEER:.*]] = arith.index_cast %[[N]] : index to i64
// CHECK: %[[TEXT:.*]] = llvm.mlir.addressof @[[PUT]]
// CHECK: llvm.call @ditron_put(%[[CONTEXT]], %[[PEER]]{{.*}}, %[[TEXT]])
// CHECK: %[[PEER:.*]] = arith.index_cast %[[N]] : index to i64
// CHECK: %[[CELL:.*]] = llvm.inttoptr
// CHECK: %[[TEXT:.*]] = llvm.mlir.addressof @[[NOTIFIED]]
// CHECK: llvm.call @ditron_notify(%[[CONTEXT]], %[[PEER]], %[[CELL]], %{{.*}}, %{{.*}}, %[[TEXT]])
// CHECK: llvm.call @ditron_role_leave(%[[CONTEXT]])
// CHECK: %[[NUMBER:.*]] = arith.subi %[[CORE]], %c1
// CHECK: %[[MINE:.*]] = arith.cmpi ult, %[[NUMBER]], %c1
// CHECK: scf.if %[[MINE]] {
// CHECK: llvm.call @ditron_role_enter
// CHECK: %[[WAIT:.*]] = llvm.mlir.addressof @[[AWAITED]]
// CHECK: llvm.call @ditron_wait(%[[CONTEXT]], %{{.*}}, %{{.*}}, %{{.*}}, %[[WAIT]])
// CHECK: llvm.call @ditron_role_leave
// CHECK-NOT: dist.{{[a-z_]+}} %
// CHECK: return
func.func @roles(%A: !v {tile.name = "A"}, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %A, %c0 : !v
  %R = dist.num_ranks
  %full = dist.symmetric "full"(%m, %m) : !sym
  %ready = dist.signals "ready"(%R, %m) : !dist.signals<2>
  %me = dist.rank
  dist.role "gather" cores %c0 for %c1 {
    %x = tile.chunk %A[%c0, %c0] shape [8, 16] : !v -> !v
    %y = tile.chunk %full[%me, %c0] shape [8, 16] : !sym -> !sym
    dist.put %x, %y on %n : !v, !sym
    dist.notify %ready[%me, %c0] on %n add %c1 : !dist.signals<2>
  }
  dist.role "multiply" cores %c1 for %c1 {
    dist.wait %ready[%n, %c0] >= %c1 : !dist.signals<2>
  }
  return
}

// -----

// Within a role the core counts from the role's first one; outside from the rank's.
// CHECK-LABEL: func.func @core_numbers(
// CHECK: %[[CORE:.*]] = arith.index_cast %{{.*}} : i64 to index
// CHECK: %[[CORES:.*]] = arith.index_cast %{{.*}} : i64 to index
// CHECK: memref.store %[[CORE]], %[[OUT:[a-z0-9]+]][%[[CORES]]]
// CHECK: %[[NUMBER:.*]] = arith.subi %[[CORE]], %[[FIRST:[a-z0-9]+]]
// CHECK: memref.store %[[NUMBER]], %[[OUT]][%[[COUNT:[a-z0-9]+]]]
// CHECK: %[[INNER:.*]] = arith.subi %[[NUMBER]], %c1
// CHECK: memref.store %[[INNER]], %[[OUT]][%c1]
// CHECK: return
func.func @core_numbers(%out: memref<?xindex, strided<[?], offset: ?>>, %first: index, %count: index) {
  %c1 = arith.constant 1 : index
  %core = dist.core
  %cores = dist.num_cores
  memref.store %core, %out[%cores] : memref<?xindex, strided<[?], offset: ?>>
  dist.role "outer" cores %first for %count {
    %mine = dist.core
    %all = dist.num_cores
    memref.store %mine, %out[%all] : memref<?xindex, strided<[?], offset: ?>>
    dist.role "inner" cores %c1 for %c1 {
      %inner = dist.core
      %one = dist.num_cores
      memref.store %inner, %out[%one] : memref<?xindex, strided<[?], offset: ?>>
    }
  }
  return
}

// -----
!v = memref<?xf32, strided<[?], offset: ?>>

// The other verbs.
// CHECK-LABEL: func.func @verbs(
// CHECK: llvm.call @ditron_fence
// CHECK: llvm.call @ditron_quiet
// CHECK: llvm.call @ditron_barrier
// CHECK: llvm.call @ditron_barrier
// CHECK: return
func.func @verbs(%x: !v, %y: !v) {
  dist.fence
  dist.quiet
  dist.barrier ranks
  dist.barrier cores
  return
}

// -----

// Marks of tiles, which kernels have that are recorded: written in place, and where the log is full
// to a place behind it; without a call, for which what the loop has in vector registers would have
// to be saved.
// CHECK-DAG: llvm.mlir.global internal constant @[[LOOP:.*]]("A.cpp:2\00")
// CHECK-LABEL: func.func @marks(
// CHECK-SAME: %[[CONTEXT:[a-z0-9]+]]: !llvm.ptr
// CHECK: %[[TEXT:.*]] = llvm.mlir.addressof @[[LOOP]]
// CHECK: %[[LOG:.*]] = llvm.load {{.*}} invariant
// CHECK: %[[EVENTS:.*]] = llvm.load {{.*}} invariant
// CHECK: %[[LAST:.*]] = llvm.load {{.*}} invariant
// CHECK: %[[COUNT:.*]] = llvm.load
// CHECK: %[[NUMBER:.*]] = llvm.intr.umin(%[[COUNT]], %[[LAST]])
// CHECK: %[[BYTES:.*]] = llvm.mul %[[NUMBER]]
// CHECK: %[[EVENT:.*]] = llvm.getelementptr %[[EVENTS]][%[[BYTES]]]
// CHECK: %[[TICKS:.*]] = llvm.call_intrinsic "llvm.readcyclecounter"
// CHECK: llvm.store %[[TICKS]]
// CHECK: llvm.store %[[TEXT]]
// CHECK: %[[NEXT:.*]] = llvm.add %[[COUNT]]
// CHECK: llvm.store %[[NEXT]]
// CHECK: llvm.call_intrinsic "llvm.readcyclecounter"
// CHECK-NOT: llvm.call @
// CHECK: return
func.func @marks(%n: index) {
  dist.mark_tile(%n, %n) loc("dir/A.cpp":2:1)
  dist.mark_tile() loc("dir/A.cpp":2:1)
  return
}

// -----

// A wait right behind a mark has its time, if it holds at once; what is required in between does
// not part them, what has effects does.
// CHECK-LABEL: func.func @first_waits(
// CHECK: llvm.call @ditron_first_wait(
// CHECK: llvm.call @ditron_wait(
// CHECK: llvm.call @ditron_fence(
// CHECK: llvm.call @ditron_wait(
// CHECK: return
func.func @first_waits(%n: index, %ok: i1) attributes {tile.kernel} {
  %ready = dist.signals "ready"(%n) : !dist.signals<1>
  dist.mark_tile(%n)
  tile.require %ok, "has {} tiles"(%n)
  %more = arith.addi %n, %n : index
  dist.wait %ready[%n] >= %more : !dist.signals<1>
  dist.wait %ready[%n] >= %n : !dist.signals<1>
  dist.mark_tile(%n)
  dist.fence
  dist.wait %ready[%n] >= %more : !dist.signals<1>
  return
}

// -----

// What is required: a branch, never taken, to what ends the launch.
// CHECK-DAG: llvm.func @ditron_fail(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) attributes {passthrough = ["noreturn", "cold"]}
// CHECK-DAG: llvm.mlir.global internal constant @[[REQUIRED:[a-z_0-9]+]]("dist-to-runtime.mlir{{.*}}: takes {} of 3\00")
// CHECK-LABEL: func.func @require(
// CHECK-SAME: %[[OK:.*]]: i1, %[[N:.*]]: index
// CHECK: %[[ROOM:.*]] = llvm.alloca
// CHECK: %[[FAILS:.*]] = arith.xori %[[OK]], %true
// CHECK: scf.if %[[FAILS]] {
// CHECK: llvm.mlir.addressof @[[REQUIRED]]
// CHECK: llvm.store
// CHECK: llvm.call @ditron_fail(
// CHECK: return
func.func @require(%ok: i1, %n: index) {
  tile.require %ok, "takes {} of 3"(%n)
  return
}
