// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --dist-mark-tiles | FileCheck %s
// RUN: %opt %s --dist-mark-tiles --dist-deal-tiles --canonicalize --cse | FileCheck %s --check-prefix=DEALT

// CHECK-LABEL: @marks
// DEALT-LABEL: @marks
func.func @marks(%s: !dist.signals<2>, %n: index) {
  dist.role "r" cores %n for %n {
    // CHECK: dist.tiles (%[[I:.*]], %[[J:.*]]) of
    // CHECK-NEXT: dist.mark_tile(%[[I]], %[[J]])
    // CHECK-NEXT: dist.notify
    // CHECK-NEXT: }
    // CHECK-NEXT: dist.mark_tile()
    // DEALT: scf.for
    // DEALT: dist.mark_tile(%[[I:.*]], %[[J:.*]])
    // DEALT: dist.notify %{{.*}}[%[[I]], %[[J]]]
    // DEALT: }
    // DEALT-NEXT: dist.mark_tile()
    dist.tiles (%i, %j) of (%n, %n) order <"row-major"> {
      dist.notify %s[%i, %j] add %n : !dist.signals<2>
    }
  }
  // CHECK: dist.tiles
  // CHECK-NEXT: dist.mark_tile(%{{.*}})
  // CHECK-NEXT: }
  // CHECK-NEXT: dist.mark_tile()
  dist.tiles (%i) of (%n) order <"row-major"> {
  }
  return
}
