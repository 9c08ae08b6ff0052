// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --dist-check-copy-roles --verify-diagnostics
// What copy engines cannot execute; a kernel that passes stands at the end.

!view = memref<?x?xf32, strided<[?, ?], offset: ?>>
!shared = memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>

func.func @in_a_loop(%n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = dist.signals "s"(%n) : !dist.signals<1>
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @below {{role 'send' runs on copy engines and stands in scf.for, expected the top of the kernel: they begin when the launch does}}
    dist.role "send" cores %c0 for %c1 on copy {
      dist.notify %s[%c0] add %c1 : !dist.signals<1>
    }
  }
  return
}

// -----

!view = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @computes(%A: !view, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  dist.role "send" cores %c0 for %c1 on copy {
    // expected-error @below {{role 'send' runs on copy engines, which put, notify and wait: they do not execute tile.load}}
    %t = tile.load %A[%c0, %c0] : !view -> tensor<4x4xf32>
  }
  return
}

// -----

!shared = memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
!view = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @fetches(%A: !view, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %full = dist.symmetric "full"(%n, %n) : !shared
  dist.role "fetch" cores %c0 for %c1 on copy {
    // expected-error @below {{role 'fetch' runs on copy engines, which put, notify and wait: they do not execute dist.get}}
    dist.get %full on %c0, %A : !shared, !view
  }
  return
}

// -----

!view = memref<?xi32, strided<[?], offset: ?>>

func.func @reads(%A: !view, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = dist.signals "s"(%n) : !dist.signals<1>
  // expected-note @below {{found here}}
  %count = memref.load %A[%c0] : !view
  %many = arith.index_cast %count : i32 to index
  dist.role "send" cores %c0 for %c1 on copy {
    // expected-error @below {{role 'send' runs on copy engines, and what they do depends on memref.load; expected extents, integer arguments and ranks only}}
    dist.notify %s[%c0] add %many : !dist.signals<1>
  }
  return
}

// -----

func.func @carries(%n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = dist.signals "s"(%n) : !dist.signals<1>
  dist.role "send" cores %c0 for %c1 on copy {
    // expected-error @below {{role 'send' runs on copy engines, whose loops and branches carry no values}}
    %x = scf.for %i = %c0 to %n step %c1 iter_args(%y = %c0) -> (index) {
      %z = arith.addi %y, %c1 : index
      scf.yield %z : index
    }
    dist.notify %s[%x] add %c1 : !dist.signals<1>
  }
  return
}

// -----

func.func @shares_notifies(%n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = dist.signals "s"(%n) : !dist.signals<1>
  dist.role "send" cores %c0 for %c1 on copy {
    // expected-note @below {{copy engines do it here}}
    dist.notify %s[%c0] on %c0 add %c1 : !dist.signals<1>
  }
  // expected-error @below {{signal 's' is notified by copy engines and by cores, expected signals of their own}}
  dist.notify %s[%c0] on %c0 add %c1 : !dist.signals<1>
  dist.wait %s[%c0] >= %c1 : !dist.signals<1>
  return
}

// -----

!shared = memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
!view = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @passes(%A: !view, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %full = dist.symmetric "full"(%n, %n) : !shared
  %s = dist.signals "s"(%n) : !dist.signals<1>
  %ready = dist.signals "ready"(%n) : !dist.signals<1>
  dist.role "send" cores %c0 for %c1 on copy {
    dist.wait %ready[%c0] >= %n : !dist.signals<1>
    scf.for %i = %c0 to %n step %c1 {
      %part = tile.chunk %A[%i, %c0] shape [4, 4] : !view -> !view
      %there = tile.chunk %full[%i, %c0] shape [4, 4] : !shared -> !shared
      dist.put %part, %there on %c0 : !view, !shared
      dist.notify %s[%i] on %c0 add %c1 : !dist.signals<1>
    }
  }
  dist.notify %ready[%c0] add %n : !dist.signals<1>
  dist.wait %s[%c0] >= %c1 : !dist.signals<1>
  return
}
