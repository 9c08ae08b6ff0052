// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --dist-place-exchanges --verify-diagnostics

!v1 = memref<?xi32, strided<[?], offset: ?>>
!f1 = memref<?xf32, strided<[?], offset: ?>>
!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

// expected-error @+1 {{'A' is exchanged by 'counts': expected an input of i32 with one named dimension}}
func.func @no_counts(%A: !v2 {tile.name = "A", tile.readonly, dist.placement = #dist.placement<exchanged dim 0 counts "counts">},
                     %counts: !f1 {tile.name = "counts", tile.readonly})
    attributes {tile.kernel, tile.extents = [["T", "K"], ["G"]]} {
  return
}

// -----

!v1 = memref<?xi32, strided<[?], offset: ?>>
!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

func.func @counts_by_tiles(%A: !v2 {tile.name = "A", tile.readonly, dist.placement = #dist.placement<exchanged dim 0 counts "counts">},
                           %counts: !v1 {tile.name = "counts", tile.readonly})
    attributes {tile.kernel, tile.extents = [["T", "K"], ["G"]]} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{'A' is exchanged by 'counts', which is read here other than element by element}}
  %t = tile.load %counts[%c0] : !v1 -> tensor<8xi32>
  return
}

// -----

!v1 = memref<?xi32, strided<[?], offset: ?>>
!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

// expected-error @+1 {{'A' and 'B' are exchanged in two ways: expected the same counts, rows and axis}}
func.func @two_counts(%A: !v2 {tile.name = "A", tile.readonly, dist.placement = #dist.placement<exchanged dim 0 counts "counts">},
                      %B: !v2 {tile.name = "B", tile.readonly, dist.placement = #dist.placement<exchanged dim 0 counts "others">},
                      %counts: !v1 {tile.name = "counts", tile.readonly}, %others: !v1 {tile.name = "others", tile.readonly})
    attributes {tile.kernel, tile.extents = [["T", "K"], ["T", "K"], ["G"], ["G"]]} {
  return
}

// -----

!v1 = memref<?xi32, strided<[?], offset: ?>>
!v2 = memref<?x?xf32, strided<[?, ?], offset: ?>>

// expected-error @+1 {{'A' is exchanged, but the kernel writes it: expected an input}}
func.func @an_output(%A: !v2 {tile.name = "A", dist.placement = #dist.placement<exchanged dim 0 counts "counts">},
                     %counts: !v1 {tile.name = "counts", tile.readonly})
    attributes {tile.kernel, tile.extents = [["T", "K"], ["G"]]} {
  return
}
