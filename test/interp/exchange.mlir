// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ditron-interpret %s | FileCheck %s
// Symmetric memory, one-sided movement, signals and barriers.

!sym = memref<?x?xi32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>

// CHECK-LABEL: kernel rotate
// Each rank puts its memory on the next one and waits for the previous one's. Run again and again:
// signals begin at 0 in every launch.
// CHECK-NEXT: rank 0 argument 1
// CHECK-NEXT: {{^}}  200 201 202
// CHECK-NEXT: rank 1 argument 1
// CHECK-NEXT: {{^}}  0 1 2
// CHECK-NEXT: rank 2 argument 1
// CHECK-NEXT: {{^}}  100 101 102
// CHECK-NOT: warning
func.func @rotate(%A: memref<1x3xi32> {tile.readonly}, %C: memref<1x3xi32>)
    attributes {tile.kernel, ranks = 3, launches = 5, seed = 1} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = dist.num_ranks
  %me = dist.rank
  %in = dist.symmetric "in"(%c1, %c3) : !sym
  %full = dist.signals "full"() : !dist.signals<0>
  %next = arith.addi %me, %c1 : index
  %peer = arith.remsi %next, %r : index
  dist.put %A, %in on %peer : memref<1x3xi32>, !sym
  dist.fence
  dist.quiet
  dist.notify %full[] on %peer add %c1 : !dist.signals<0>
  dist.wait %full[] >= %c1 : !dist.signals<0>
  %x = tile.load %in[%c0, %c0] : !sym -> tensor<1x3xi32>
  tile.store %x, %C[%c0, %c0] : tensor<1x3xi32>, memref<1x3xi32>
  return
}

// CHECK-LABEL: kernel put_notify
// Chunks at the edge, of equal extents. The rest stays as it was, poison.
// CHECK-NEXT: rank 0 argument 1
// CHECK-NEXT: {{^}}  102 -1
// CHECK-NEXT: {{^}}  105 -1
// CHECK-NEXT: rank 1 argument 1
// CHECK-NEXT: {{^}}  2 -1
// CHECK-NEXT: {{^}}  5 -1
func.func @put_notify(%A: memref<2x3xi32> {tile.readonly}, %C: memref<2x2xi32>)
    attributes {tile.kernel, ranks = 2, cores = 2} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %me = dist.rank
  %peer = arith.subi %c1, %me : index
  %in = dist.symmetric "in"(%c2, %c2) : !sym
  %full = dist.signals "full"(%c2) : !dist.signals<1>
  dist.role "send" cores %c0 for %c1 {
    %part = tile.chunk %A[%c0, %c1] shape [2, 2]
        : memref<2x3xi32> -> memref<?x?xi32, strided<[?, ?], offset: ?>>
    %place = memref.subview %in[0, 0] [%c2, %c1] [1, 1] : !sym to !sym
    dist.put_notify %part, %place, %full[%me] on %peer set %c2
        : memref<?x?xi32, strided<[?, ?], offset: ?>>, !sym, !dist.signals<1>
  }
  dist.role "receive" cores %c1 for %c1 {
    dist.wait %full[%peer] >= %c2 : !dist.signals<1>
    %x = tile.load %in[%c0, %c0] : !sym -> tensor<2x2xi32>
    tile.store %x, %C[%c0, %c0] : tensor<2x2xi32>, memref<2x2xi32>
  }
  return
}

// CHECK-LABEL: kernel get
// Every rank gets what rank 1 wrote before the barrier of all ranks.
// CHECK-NEXT: rank 0 argument 1
// CHECK-NEXT: {{^}}  100 101
// CHECK-NEXT: rank 1 argument 1
// CHECK-NEXT: {{^}}  100 101
func.func @get(%A: memref<1x2xi32> {tile.readonly}, %C: memref<1x2xi32>)
    attributes {tile.kernel, ranks = 2, cores = 3, seed = 11} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %out = dist.symmetric "out"(%c1, %c2) : !sym
  dist.role "write" cores %c2 for %c1 {
    %x = tile.load %A[%c0, %c0] : memref<1x2xi32> -> tensor<1x2xi32>
    tile.store %x, %out[%c0, %c0] : tensor<1x2xi32>, !sym
  }
  dist.barrier ranks
  dist.role "read" cores %c0 for %c1 {
    dist.get %out on %c1, %C : !sym, memref<1x2xi32>
  }
  return
}

// CHECK-LABEL: kernel copy_engines
// Copy engines put while the one core waits for what they put; the store at the top is the core's.
// CHECK-NEXT: rank 0 argument 1
// CHECK-NEXT: {{^}}  100 101
// CHECK-NEXT: rank 1 argument 1
// CHECK-NEXT: {{^}}  0 1
// CHECK-NOT: warning
func.func @copy_engines(%A: memref<1x2xi32> {tile.readonly}, %C: memref<1x2xi32>)
    attributes {tile.kernel, ranks = 2, cores = 1, seed = 11} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %in = dist.symmetric "in"(%c1, %c2) : !sym
  %out = dist.symmetric "out"(%c1, %c2) : !sym
  %ready = dist.signals "ready"(%c1) : !dist.signals<1>
  %arrived = dist.signals "arrived"(%c1) : !dist.signals<1>
  %x = tile.load %A[%c0, %c0] : memref<1x2xi32> -> tensor<1x2xi32>
  tile.store %x, %out[%c0, %c0] : tensor<1x2xi32>, !sym
  dist.role "send" cores %c0 for %c1 on copy {
    %me = dist.rank
    %peer = arith.subi %c1, %me : index
    %core = dist.core
    dist.wait %ready[%core] >= %c1 : !dist.signals<1>
    dist.put %out, %in on %peer : !sym, !sym
    dist.notify %arrived[%core] on %peer add %c1 : !dist.signals<1>
  }
  dist.notify %ready[%c0] add %c1 : !dist.signals<1>
  dist.wait %arrived[%c0] >= %c1 : !dist.signals<1>
  %y = tile.load %in[%c0, %c0] : !sym -> tensor<1x2xi32>
  tile.store %y, %C[%c0, %c0] : tensor<1x2xi32>, memref<1x2xi32>
  return
}

// CHECK-LABEL: kernel barrier
// Between barriers of a role all its cores add; the first core reads 3, 6, 9.
// CHECK-NEXT: rank 0 argument 0
// CHECK-NEXT: {{^}}  3 6 9
func.func @barrier(%C: memref<3xi32>, %S: memref<1xi32>) attributes {tile.kernel, cores = 4, seed = 5} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %one = arith.constant dense<1> : tensor<1xi32>
  dist.role "count" cores %c1 for %c3 {
    scf.for %i = %c0 to %c3 step %c1 {
      %old = tile.atomic_add %one, %S[%c0] : tensor<1xi32>, memref<1xi32>
      dist.barrier cores
      dist.role "read" cores %c0 for %c1 {
        %x = memref.load %S[%c0] : memref<1xi32>
        memref.store %x, %C[%i] : memref<3xi32>
      }
      dist.barrier cores
    }
  }
  return
}

// CHECK-LABEL: kernel set
// `set` raises a counter: a smaller value leaves it.
// CHECK-NEXT: rank 0 argument 0
// CHECK-NEXT: {{^}}  0 1
// CHECK-NOT: warning
func.func @set(%C: memref<2xi32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %s = dist.signals "s"(%c1, %c1) : !dist.signals<2>
  dist.notify %s[%c0, %c0] set %c3 : !dist.signals<2>
  dist.notify %s[%c0, %c0] set %c1 : !dist.signals<2>
  dist.wait %s[%c0, %c0] >= %c3 : !dist.signals<2>
  return
}

// CHECK-LABEL: kernel consumed
// A counter of 5: the wait takes 3, subtract 1, `==` sees the 1 that is left; store makes it 9, and
// the last wait for 9 sees it. Such counters have no base, so nothing is warned of.
// CHECK-NEXT: rank 0 argument 0
// CHECK-NOT: warning
func.func @consumed(%C: memref<1xi32>) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %c9 = arith.constant 9 : index
  %s = dist.signals "s"() : !dist.signals<0>
  dist.notify %s[] add %c5 : !dist.signals<0>
  dist.wait %s[] >= %c3 take : !dist.signals<0>
  dist.notify %s[] subtract %c1 : !dist.signals<0>
  dist.wait %s[] == %c1 : !dist.signals<0>
  dist.notify %s[] store %c9 relaxed : !dist.signals<0>
  dist.wait %s[] == %c9 take relaxed : !dist.signals<0>
  dist.fence scope device
  return
}

// CHECK-LABEL: kernel unconsumed
// CHECK: warning: signal 's'[1] of rank 0: notifies add up to 3 (the last at exchange.mlir:[[@LINE+10]]) but the largest wait asks for 2 (exchange.mlir:[[@LINE+12]]): in the next launch a wait would pass early
// CHECK: warning: signal 's'[2] of rank 0: notifies add up to 1 (the last at exchange.mlir:[[@LINE+12]]) but nobody waits for it: in the next launch a wait would pass early
func.func @unconsumed() attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %s = dist.signals "s"(%c3) : !dist.signals<1>
  dist.notify %s[%c1] add %c2 : !dist.signals<1>
  // One more than anybody asks for.
  dist.notify %s[%c1] add %c1 : !dist.signals<1>
  dist.wait %s[%c1] >= %c1 : !dist.signals<1>
  dist.wait %s[%c1] >= %c2 : !dist.signals<1>
  dist.notify %s[%c2] add %c1 : !dist.signals<1>
  return
}
