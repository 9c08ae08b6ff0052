// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A spin on a flag that does not acquire, before plain reads: they may be done before the flag is
// seen.
// Fixed by a wait, which acquires.

!own = memref<?xi32, strided<[?], offset: ?>, #dist.space<symmetric>>
!mem = memref<4xi32>

func.func @broken(%x: !mem {tile.name = "x"}, %y: !mem {tile.name = "y"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %inbox = dist.symmetric "inbox"(%c4) : !own
  %flag = dist.signals "flag"() : !dist.signals<0>
  %me = dist.rank
  %sends = arith.cmpi eq, %me, %c0 : index
  scf.if %sends {
    dist.put %x, %inbox on %c1 : !mem, !own // EXPECT: data-race
    dist.notify %flag[] on %c1 add %c1 : !dist.signals<0>
  } else {
    dist.wait %flag[] >= %c1 relaxed : !dist.signals<0>
    %t = tile.load %inbox[%c0] : !own -> tensor<4xi32> // EXPECT: data-race
    tile.store %t, %y[%c0] : tensor<4xi32>, !mem
  }
  return
}

func.func @fixed(%x: !mem {tile.name = "x"}, %y: !mem {tile.name = "y"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %inbox = dist.symmetric "inbox"(%c4) : !own
  %flag = dist.signals "flag"() : !dist.signals<0>
  %me = dist.rank
  %sends = arith.cmpi eq, %me, %c0 : index
  scf.if %sends {
    dist.put %x, %inbox on %c1 : !mem, !own
    dist.notify %flag[] on %c1 add %c1 : !dist.signals<0>
  } else {
    dist.wait %flag[] >= %c1 : !dist.signals<0>
    %t = tile.load %inbox[%c0] : !own -> tensor<4xi32>
    tile.store %t, %y[%c0] : tensor<4xi32>, !mem
  }
  return
}
