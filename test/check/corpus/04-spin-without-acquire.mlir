// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A spin on a flag that does not acquire, before plain reads: they may be done before the flag is
// seen.
// Fixed by a wait, which acquires.

!own = memref<?xi32, strided<[?], offset: ?>, #dist.space<symmetric>>
!far = memref<?xi32, strided<[?], offset: ?>, #dist.space<remote>>
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
    %there = dist.on %inbox, %c1 : !own -> !far
    %their = dist.on %flag, %c1 : !dist.signals<0> -> !dist.signals<0, remote>
    dist.put %x, %there : !mem, !far // EXPECT: data-race
    dist.notify %their[] add %c1 : !dist.signals<0, remote>
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
    %there = dist.on %inbox, %c1 : !own -> !far
    %their = dist.on %flag, %c1 : !dist.signals<0> -> !dist.signals<0, remote>
    dist.put %x, %there : !mem, !far
    dist.notify %their[] add %c1 : !dist.signals<0, remote>
  } else {
    dist.wait %flag[] >= %c1 : !dist.signals<0>
    %t = tile.load %inbox[%c0] : !own -> tensor<4xi32>
    tile.store %t, %y[%c0] : tensor<4xi32>, !mem
  }
  return
}
