// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --lower-hoist-symmetric --simt-describe-symmetric --verify-diagnostics | FileCheck %s

// Extents become text that a launch evaluates; the plan goes.
// CHECK-LABEL: func.func @extents(
// CHECK-SAME: simt.symmetric = [
// CHECK-SAME: {bytes = 4 : i64, extents = ["n", "a0.1 c16 ceildiv"], kind = "buffer", name = "full"}
// CHECK-SAME: {bytes = 8 : i64, extents = ["s1 c3 max"], kind = "signals", name = "ready"}
// CHECK-NOT: dist.plan
func.func @extents(%A: memref<?x?xf32, strided<[?, ?], offset: ?>>, %n: index) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %ranks = dist.num_ranks
  %width = memref.dim %A, %c1 : memref<?x?xf32, strided<[?, ?], offset: ?>>
  %chunks = arith.ceildivsi %width, %c16 : index
  %count = arith.maxsi %n, %c3 : index
  %full = dist.symmetric "full"(%ranks, %chunks) : memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
  %ready = dist.signals "ready"(%count) : !dist.signals<1>
  return
}

// -----

func.func @read(%A: memref<?xi32, strided<[?], offset: ?>>, %n: index) attributes {tile.kernel} {
  // expected-error @+1 {{the extents of symmetric memory are computed by memref.load, which launches on GPUs cannot evaluate; expected arithmetic of extents of arguments, integer arguments and the number of ranks}}
  %value = memref.load %A[%n] : memref<?xi32, strided<[?], offset: ?>>
  %count = arith.index_cast %value : i32 to index
  %full = dist.symmetric "full"(%count) : memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>
  return
}
