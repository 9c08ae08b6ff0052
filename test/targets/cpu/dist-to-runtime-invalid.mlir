// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --cpu-dist-to-runtime --verify-diagnostics

func.func @copies(%n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  // expected-error @below {{runs on engine nic, but the CPU target has cores and copy engines only}}
  dist.role "gather" cores %c0 for %n on nic {
    dist.fence
  }
  return
}

// -----

func.func @subtracts(%n: index, %s: !dist.signals<1>) attributes {tile.kernel} {
  // expected-error @below {{dist.notify 'subtract' is a form for programs to be checked: the CPU backend runs counters that only grow, with the order that the compiler picks}}
  dist.notify %s[%n] subtract %n : !dist.signals<1>
  return
}

// -----

func.func @stores(%n: index, %s: !dist.signals<1>) attributes {tile.kernel} {
  // expected-error @below {{dist.notify 'store' is a form for programs to be checked: the CPU backend runs counters that only grow, with the order that the compiler picks}}
  dist.notify %s[%n] store %n : !dist.signals<1>
  return
}

// -----

func.func @takes(%n: index, %s: !dist.signals<1>) attributes {tile.kernel} {
  // expected-error @below {{dist.wait 'take' is a form for programs to be checked: the CPU backend runs counters that only grow, with the order that the compiler picks}}
  dist.wait %s[%n] >= %n take : !dist.signals<1>
  return
}

// -----

func.func @exactly(%n: index, %s: !dist.signals<1>) attributes {tile.kernel} {
  // expected-error @below {{dist.wait '==' is a form for programs to be checked: the CPU backend runs counters that only grow, with the order that the compiler picks}}
  dist.wait %s[%n] == %n : !dist.signals<1>
  return
}

// -----

func.func @relaxed(%n: index, %s: !dist.signals<1>) attributes {tile.kernel} {
  // expected-error @below {{dist.notify 'relaxed' is a form for programs to be checked: the CPU backend runs counters that only grow, with the order that the compiler picks}}
  dist.notify %s[%n] add %n relaxed : !dist.signals<1>
  return
}

// -----

func.func @narrow(%n: index, %s: !dist.signals<1>) attributes {tile.kernel} {
  // expected-error @below {{dist.fence 'scope' is a form for programs to be checked: the CPU backend runs counters that only grow, with the order that the compiler picks}}
  dist.fence scope device
  return
}

// -----

func.func @symmetric(%n: index) attributes {tile.kernel} {
  // expected-error @+1 {{'dist.symmetric' op is no argument of its function, as this pass expects: --lower-hoist-symmetric makes it one}}
  %inbox = dist.symmetric "inbox"(%n) : memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>
  return
}

// -----

func.func @signals(%n: index) attributes {tile.kernel} {
  // expected-error @+1 {{'dist.signals' op is no argument of its function, as this pass expects}}
  %ready = dist.signals "ready"(%n) : !dist.signals<1>
  dist.notify %ready[%n] add %n : !dist.signals<1>
  return
}

// -----

func.func @undeclared(%n: index, %s: !dist.signals<1>) attributes {tile.kernel} {
  // expected-error @+1 {{'dist.notify' op takes signals without memory; expected those that --lower-hoist-symmetric makes arguments}}
  dist.notify %s[%n] add %n : !dist.signals<1>
  return
}

// -----

func.func @inboxes(%n: index) attributes {tile.kernel} {
  // expected-error@+1 {{'dist.inbox' op has no lowering here; expected --dist-expand-inboxes before}}
  %box = dist.inbox "box"(%n) : !dist.inbox<1 of tensor<4xf32>>
  return
}
