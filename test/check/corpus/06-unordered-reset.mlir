// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every rank clears its flag at the start, and then signals the other. A rank that starts late wipes
// out a signal that is already there, and waits for it for good.
// Fixed by a barrier of the ranks behind the reset; best without a reset: counters start at 0.

func.func @broken() attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %flag = dist.signals "flag"() : !dist.signals<0>
  %me = dist.rank
  %other = arith.subi %c1, %me : index
  dist.notify %flag[] store %c0 : !dist.signals<0>
  dist.notify %flag[] on %other add %c1 : !dist.signals<0>
  dist.wait %flag[] >= %c1 : !dist.signals<0> // EXPECT: lost-signal
  return
}

func.func @fixed() attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %flag = dist.signals "flag"() : !dist.signals<0>
  %me = dist.rank
  %other = arith.subi %c1, %me : index
  dist.notify %flag[] store %c0 : !dist.signals<0>
  dist.barrier ranks
  dist.notify %flag[] on %other add %c1 : !dist.signals<0>
  dist.wait %flag[] >= %c1 : !dist.signals<0>
  return
}

func.func @fixed_without_reset() attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %flag = dist.signals "flag"() : !dist.signals<0>
  %me = dist.rank
  %other = arith.subi %c1, %me : index
  dist.notify %flag[] on %other add %c1 : !dist.signals<0>
  dist.wait %flag[] >= %c1 : !dist.signals<0>
  return
}
