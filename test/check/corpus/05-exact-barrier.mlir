// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A barrier that waits for exactly as many signals as there are others, and then subtracts them. A
// fast rank signals the next round before the slow one has looked: that one sees 2, never again 1.
// Fixed by a wait for `>=`; best on a counter that only grows.

func.func @broken() attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rounds = arith.constant 2 : index
  %arrived = dist.signals "arrived"() : !dist.signals<0>
  %me = dist.rank
  %other = arith.subi %c1, %me : index
  scf.for %round = %c0 to %rounds step %c1 {
    dist.notify %arrived[] on %other add %c1 : !dist.signals<0>
    dist.wait %arrived[] == %c1 : !dist.signals<0> // EXPECT: deadlock
    dist.notify %arrived[] subtract %c1 : !dist.signals<0>
  }
  return
}

func.func @fixed_subtracting() attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rounds = arith.constant 2 : index
  %arrived = dist.signals "arrived"() : !dist.signals<0>
  %me = dist.rank
  %other = arith.subi %c1, %me : index
  scf.for %round = %c0 to %rounds step %c1 {
    dist.notify %arrived[] on %other add %c1 : !dist.signals<0>
    dist.wait %arrived[] >= %c1 : !dist.signals<0>
    dist.notify %arrived[] subtract %c1 : !dist.signals<0>
  }
  return
}

func.func @fixed() attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rounds = arith.constant 2 : index
  %arrived = dist.signals "arrived"() : !dist.signals<0>
  %me = dist.rank
  %other = arith.subi %c1, %me : index
  scf.for %round = %c0 to %rounds step %c1 {
    dist.notify %arrived[] on %other add %c1 : !dist.signals<0>
    %n = arith.addi %round, %c1 : index
    dist.wait %arrived[] >= %n : !dist.signals<0>
  }
  return
}
