// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A flag released at device scope and read by another device: the release holds among the cores of
// its own rank only.
// Fixed by leaving the scope to the compiler, or by one that reaches: `system` on one node, `network`
// between nodes.

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
    dist.put %x, %inbox on %c1 : !mem, !own
    dist.notify %flag[] on %c1 add %c1 scope device : !dist.signals<0> // EXPECT: narrow-scope
  } else {
    dist.wait %flag[] >= %c1 : !dist.signals<0> // EXPECT: narrow-scope
    %t = tile.load %inbox[%c0] : !own -> tensor<4xi32>
    tile.store %t, %y[%c0] : tensor<4xi32>, !mem
  }
  return
}

func.func @broken_between_nodes(%x: !mem {tile.name = "x"}, %y: !mem {tile.name = "y"}) attributes {tile.kernel, nodes = 2} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %inbox = dist.symmetric "inbox"(%c4) : !own
  %flag = dist.signals "flag"() : !dist.signals<0>
  %me = dist.rank
  %sends = arith.cmpi eq, %me, %c0 : index
  scf.if %sends {
    dist.put %x, %inbox on %c1 : !mem, !own
    dist.notify %flag[] on %c1 add %c1 scope system : !dist.signals<0> // EXPECT: narrow-scope
  } else {
    dist.wait %flag[] >= %c1 : !dist.signals<0> // EXPECT: narrow-scope
    %t = tile.load %inbox[%c0] : !own -> tensor<4xi32>
    tile.store %t, %y[%c0] : tensor<4xi32>, !mem
  }
  return
}

func.func @broken_wait(%x: !mem {tile.name = "x"}, %y: !mem {tile.name = "y"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %inbox = dist.symmetric "inbox"(%c4) : !own
  %flag = dist.signals "flag"() : !dist.signals<0>
  %me = dist.rank
  %sends = arith.cmpi eq, %me, %c0 : index
  scf.if %sends {
    dist.put %x, %inbox on %c1 : !mem, !own
    dist.notify %flag[] on %c1 add %c1 : !dist.signals<0> // EXPECT: narrow-scope
  } else {
    dist.wait %flag[] >= %c1 scope device : !dist.signals<0> // EXPECT: narrow-scope
    %t = tile.load %inbox[%c0] : !own -> tensor<4xi32>
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

func.func @fixed_by_scope(%x: !mem {tile.name = "x"}, %y: !mem {tile.name = "y"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %inbox = dist.symmetric "inbox"(%c4) : !own
  %flag = dist.signals "flag"() : !dist.signals<0>
  %me = dist.rank
  %sends = arith.cmpi eq, %me, %c0 : index
  scf.if %sends {
    dist.put %x, %inbox on %c1 : !mem, !own
    dist.notify %flag[] on %c1 add %c1 scope system : !dist.signals<0>
  } else {
    dist.wait %flag[] >= %c1 scope system : !dist.signals<0>
    %t = tile.load %inbox[%c0] : !own -> tensor<4xi32>
    tile.store %t, %y[%c0] : tensor<4xi32>, !mem
  }
  return
}
