// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --lower-hoist-symmetric --lower-outline-copy-roles --simt-dist-to-device | FileCheck %s
// RUN: %opt %s --lower-hoist-symmetric --lower-outline-copy-roles --simt-dist-to-device --simt-assign-layouts --simt-tiles-to-threads | FileCheck %s --check-prefix=THREADS

// A kernel of one rank that fails ends those of all ranks, and what its own copy engines wait for is
// released: by the thread that notes the failure, and at the end of a launch that has failed elsewhere.
// CHECK-LABEL: func.func @gather(
// CHECK: llvm.cmpxchg
// CHECK: scf.if
// CHECK: simt.abort
// CHECK-NEXT: simt.release_copies failed(
// CHECK: "exit;"
// CHECK: simt.end({{.*}}) copies(1) counters(
// CHECK-NEXT: simt.release_copies(

// Who knows of the failure reads no flag.
// THREADS-LABEL: func.func @gather(
// THREADS: llvm.cmpxchg
// THREADS: scf.if
// THREADS-NOT: ld.relaxed
// THREADS: "exit;"
!v = memref<?x?xf32, strided<[?, ?], offset: ?>>
!sym = memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>, #dist.space<symmetric>>
!slot = memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
func.func @gather(%A: !v {tile.name = "A"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = dist.num_ranks
  %r = dist.rank
  %m = memref.dim %A, %c0 : !v
  %k = memref.dim %A, %c1 : !v
  %ok = arith.cmpi eq, %m, %n : index
  tile.require %ok, "M is {}"(%m)
  %full = dist.symmetric "full"(%n, %m, %k) : !sym
  %arrived = dist.signals "arrived"(%n) : !dist.signals<1>
  dist.role "gather" cores %c0 for %c1 on copy {
    %next = arith.addi %r, %c1 : index
    %peer = arith.remsi %next, %n : index
    %slot = memref.subview %full[%r, 0, 0] [1, %m, %k] [1, 1, 1] : !sym to !slot
    dist.put %A, %slot on %peer : !v, !slot
    dist.notify %arrived[%r] on %peer add %c1 : !dist.signals<1>
  }
  dist.wait %arrived[%c0] >= %c1 : !dist.signals<1>
  return
}
