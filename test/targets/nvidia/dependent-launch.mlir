// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --nvidia-dependent-launch | FileCheck %s
// RUN: %opt %s --nvidia-dependent-launch=chip=sm_89 | FileCheck %s --check-prefix=OLD
// RUN: %opt %s --nvidia-dependent-launch=in-graph=true | FileCheck %s --check-prefix=GRAPH
// OLD-NOT: nvidia.grid_dependency_wait

!v = memref<?xf32, strided<[?], offset: ?>>
!m = memref<?x?xf32, strided<[?, ?], offset: ?>>
#l = #tile.layout<"(2 : 1@reg, 32 : 1@lane)">
#rows = #tile.layout<"(4 : 1@warp, 2 : 4@reg, 32 : 1@lane, 4 : 1@reg)">
#wide = #tile.layout<"(64 : 1@reg, 32 : 1@lane)">

// A launch waits for the one before when its barriers are made.
// CHECK-LABEL: func.func @roles
// CHECK-SAME: attributes {simt.dependent_launch}
// CHECK: nvidia.pipe
// CHECK-NEXT: nvidia.grid_dependency_wait
// CHECK-NEXT: nvidia.roles
// CHECK-NOT: nvidia.grid_dependency_wait
func.func @roles(%A: !v) {
  %c0 = arith.constant 0 : index
  %pipe = nvidia.pipe : <4 of tensor<64xf32>>
  nvidia.roles producer {
    nvidia.acquire %pipe : <4 of tensor<64xf32>>
  } consumer {
    %t = nvidia.receive %pipe : <4 of tensor<64xf32>> -> tensor<64xf32>
    tile.store %t, %A[%c0] : tensor<64xf32>, !v
  }
  return
}

// A kernel without roles lets the next launch begin at once, and waits in all its threads: also where a CTA has no tile.
// CHECK-LABEL: func.func @elements
// CHECK-SAME: attributes {simt.dependent_launch}
// CHECK-NEXT: nvidia.grid_dependency_release
// CHECK-NEXT: arith.constant
// CHECK-NEXT: arith.constant
// CHECK-NEXT: nvidia.grid_dependency_wait only
// CHECK-NEXT: scf.if
// CHECK-NOT: nvidia.grid_dependency
func.func @elements(%x: !v, %y: !v, %exists: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.if %exists {
    %t = tile.load %x[%c0] : !v -> tensor<64xf32, #l>
    tile.store %t, %y[%c1] : tensor<64xf32, #l>, !v
  }
  return
}

// A kernel whose CTAs have nothing to do waits as well.
// CHECK-LABEL: func.func @nothing
// CHECK-NEXT: nvidia.grid_dependency_release
// CHECK-NEXT: nvidia.grid_dependency_wait only
// CHECK-NEXT: return
func.func @nothing(%x: !v) {
  return
}

// What the assembler may read at any time is not to be written meanwhile.
// CHECK-LABEL: func.func @anywhere
// CHECK-NOT: nvidia.grid_dependency
func.func @anywhere(%x: !v {tile.readonly}, %y: !v) {
  %c0 = arith.constant 0 : index
  scf.for %i = %c0 to %c0 step %c0 {
    %t = tile.load %x[%i] {simt.deferred} : !v -> tensor<2048xf32, #wide>
    tile.store %t, %y[%i] : tensor<2048xf32, #wide>, !v
  }
  return
}

// Without roles, a kernel of several ranks is launched as ever, unless each rank launches it from a graph, on a GPU of
// its own: then it lets the next launch begin at once.
// CHECK-LABEL: func.func @plain_ranks
// CHECK-NOT: nvidia.grid_dependency
// GRAPH-LABEL: func.func @plain_ranks
// GRAPH-NEXT: nvidia.grid_dependency_release
// GRAPH-NEXT: nvidia.grid_dependency_wait only
// GRAPH-NEXT: simt.begin
func.func @plain_ranks(%status: !llvm.ptr, %rank: index) attributes {simt.distributed} {
  simt.begin(%status, %rank) : !llvm.ptr, index
  simt.end(%status, %rank) : !llvm.ptr, index
  return
}

// And before it reads a number that it begins with.
// CHECK-LABEL: func.func @reads
// CHECK: nvidia.grid_dependency_wait
// CHECK-NEXT: memref.load
// CHECK-NOT: nvidia.grid_dependency_wait
func.func @reads(%A: !v) {
  %c0 = arith.constant 0 : index
  %x = memref.load %A[%c0] : !v
  nvidia.roles producer {
    simt.commit
  } consumer {
    memref.store %x, %A[%c0] : !v
  }
  return
}

// A kernel of several ranks waits for others, whose place the next launch is not to take before this one ends.
// CHECK-LABEL: func.func @ranks
// CHECK: nvidia.grid_dependency_wait only
// CHECK-NEXT: simt.begin
// CHECK: simt.await
// CHECK-NEXT: nvidia.grid_dependency_release
// CHECK-NEXT: simt.end
// GRAPH-LABEL: func.func @ranks
// GRAPH-NEXT: nvidia.grid_dependency_wait
// GRAPH-NEXT: simt.begin
// GRAPH: simt.await
// GRAPH-NEXT: simt.end
func.func @ranks(%status: !llvm.ptr, %rank: index) attributes {simt.distributed} {
  simt.begin(%status, %rank) : !llvm.ptr, index
  nvidia.roles producer {
    simt.commit
  } consumer {
    simt.await 0
    simt.end(%status, %rank) : !llvm.ptr, index
  }
  return
}

// Where the end waits for copy engines, nobody begins before it.
// CHECK-LABEL: func.func @copies
// CHECK-NOT: nvidia.grid_dependency
// GRAPH-LABEL: func.func @copies
// GRAPH-NOT: nvidia.grid_dependency
func.func @copies(%status: !llvm.ptr, %rank: index) attributes {simt.distributed} {
  nvidia.roles producer {
    simt.commit
  } consumer {
    simt.end(%status, %rank) copies(3) : !llvm.ptr, index
  }
  return
}

// The same where they exchange tiles in inboxes alone.
// CHECK-LABEL: func.func @inboxes
// GRAPH-LABEL: func.func @inboxes
// CHECK: nvidia.grid_dependency_wait only
// CHECK-NEXT: simt.epoch
// CHECK: nvidia.grid_dependency_release
// CHECK-NEXT: simt.close
func.func @inboxes(%status: !llvm.ptr, %rank: index, %head: index) attributes {simt.distributed} {
  %e = simt.epoch %head
  %notes = simt.open %e in (%status, %rank) : !llvm.ptr, index
  nvidia.roles producer {
    simt.commit
  } consumer {
    simt.await 0
    %before = simt.arrive %e in (%status, %rank) : !llvm.ptr, index
    simt.close %e after %before in (%status, %rank) : !llvm.ptr, index
  }
  return
}

// The first CTAs ask for weights before they wait, for 64 KiB an SM: of 4 KB tiles 16. Not for x, which launches before may
// write; nor where a number says that is read from memory.
// CHECK-LABEL: func.func @weights
// CHECK: nvidia.grid_dependency_release
// CHECK: %[[CTA:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK: %[[MOST:.*]] = arith.constant 132 : i32
// CHECK: %[[FIRST:.*]] = arith.cmpi ult, %[[CTA]], %[[MOST]]
// CHECK: scf.if %[[FIRST]] {
// CHECK-NEXT: scf.if %{{.*}} {
// CHECK-NEXT: %[[COUNT:.*]] = arith.constant 16 : index
// CHECK: %[[END:.*]] = arith.minsi
// CHECK-NEXT: scf.for %[[K:.*]] = %{{.*}} to %[[END]]
// CHECK-NEXT: simt.prefetch %arg1[%{{.*}}, %[[K]]] {{.*}} -> tensor<4x256xf32>
// CHECK-NOT: simt.prefetch
// CHECK: nvidia.grid_dependency_wait only
// CHECK-NOT: simt.prefetch
func.func @weights(%x: !v {tile.readonly}, %W: !m {tile.readonly, tile.constant}, %y: !v, %exists: i1, %j: index, %steps: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<4x256xf32, #rows>
  scf.if %exists {
    %sum = scf.for %k = %c0 to %steps step %c1 iter_args(%s = %zero) -> (tensor<4x256xf32, #rows>) {
      %a = tile.load %x[%k] : !v -> tensor<64xf32, #l>
      %w = tile.load %W[%j, %k] : !m -> tensor<4x256xf32, #rows>
      %n = arith.addf %s, %w : tensor<4x256xf32, #rows>
      scf.yield %n : tensor<4x256xf32, #rows>
    }
    %place = memref.load %x[%c0] : !v
    %number = arith.fptosi %place : f32 to i64
    %at = arith.index_cast %number : i64 to index
    %other = tile.load %W[%at, %c0] : !m -> tensor<4x256xf32, #rows>
    %t = tile.load %x[%c0] : !v -> tensor<64xf32, #l>
    tile.store %t, %y[%c1] : tensor<64xf32, #l>, !v
  }
  return
}
