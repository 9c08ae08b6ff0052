// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A generation counter that returns to zero: the leader opens generation 1, then closes it again by
// 0, the value that it had at the start. Who looks late sees 0 and takes it for the old one.
// Fixed by generations that only grow, and a wait for at least the one meant.

func.func @broken() attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %generation = dist.signals "generation"() : !dist.signals<0>
  %me = dist.rank
  %leads = arith.cmpi eq, %me, %c0 : index
  scf.if %leads {
    dist.notify %generation[] on %c1 store %c1 : !dist.signals<0>
    dist.notify %generation[] on %c1 store %c0 : !dist.signals<0>
  } else {
    dist.wait %generation[] == %c1 : !dist.signals<0> // EXPECT: lost-signal
    dist.wait %generation[] == %c0 : !dist.signals<0>
  }
  return
}

func.func @fixed() attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %generation = dist.signals "generation"() : !dist.signals<0>
  %me = dist.rank
  %leads = arith.cmpi eq, %me, %c0 : index
  scf.if %leads {
    dist.notify %generation[] on %c1 set %c1 : !dist.signals<0>
    dist.notify %generation[] on %c1 set %c2 : !dist.signals<0>
  } else {
    dist.wait %generation[] >= %c1 : !dist.signals<0>
    dist.wait %generation[] >= %c2 : !dist.signals<0>
  }
  return
}
