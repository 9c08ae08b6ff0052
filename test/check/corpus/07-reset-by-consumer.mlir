// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The consumer clears the counter after each batch. What the producer has added for the next batch by
// then is lost.
// Fixed by taking off what was consumed, in one step with the wait; best by waiting for the sum of all
// batches so far, on a counter that only grows.

func.func @broken() attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batches = arith.constant 2 : index
  %full = dist.signals "full"() : !dist.signals<0>
  %me = dist.rank
  %produces = arith.cmpi eq, %me, %c0 : index
  scf.for %batch = %c0 to %batches step %c1 {
    scf.if %produces {
      dist.notify %full[] on %c1 add %c1 : !dist.signals<0>
    } else {
      dist.wait %full[] >= %c1 : !dist.signals<0> // EXPECT: lost-signal
      dist.notify %full[] store %c0 : !dist.signals<0>
    }
  }
  return
}

func.func @fixed_taking() attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batches = arith.constant 2 : index
  %full = dist.signals "full"() : !dist.signals<0>
  %me = dist.rank
  %produces = arith.cmpi eq, %me, %c0 : index
  scf.for %batch = %c0 to %batches step %c1 {
    scf.if %produces {
      dist.notify %full[] on %c1 add %c1 : !dist.signals<0>
    } else {
      dist.wait %full[] >= %c1 take : !dist.signals<0>
    }
  }
  return
}

func.func @fixed() attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batches = arith.constant 2 : index
  %full = dist.signals "full"() : !dist.signals<0>
  %me = dist.rank
  %produces = arith.cmpi eq, %me, %c0 : index
  scf.for %batch = %c0 to %batches step %c1 {
    scf.if %produces {
      dist.notify %full[] on %c1 add %c1 : !dist.signals<0>
    } else {
      %sum = arith.addi %batch, %c1 : index
      dist.wait %full[] >= %sum : !dist.signals<0>
    }
  }
  return
}
