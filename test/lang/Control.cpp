// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ditron-trace control | FileCheck %s
#include "Groups.h"

using namespace ditron;

// clang-format off: CHECK lines stay whole
static std::vector<Kernel> kernels() {
  return {
      // A loop's body is traced once; what changes is a variable.
      // CHECK-LABEL: func.func @loop
      // CHECK: %[[VAR:.*]] = tile.var %{{.*}} : tensor<4xf32> {{.*}}Control.cpp:[[#@LINE+10]]:
      // CHECK: scf.for %[[K:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
      // CHECK: %[[NOW:.*]] = tile.get %[[VAR]]
      // CHECK: %[[X:.*]] = tile.load %arg0[%[[K]]]
      // CHECK: %[[SUM:.*]] = arith.addf %[[NOW]], %[[X]]
      // CHECK: tile.set %[[VAR]], %[[SUM]]
      // CHECK: tile.get %[[VAR]]
      Kernel("loop(x[N]) -> y[M]",
             [](In<f32, 1> x, Out<f32, 1> y) {
               auto xs = x.tiled(4);
               Var acc = full<f32>({4}, 0);
               for (auto k : range(1, xs.cols(), 2))
                 acc += xs(k);
               y.tiled(4)(0) = acc;
             }),

      // A range may be walked over again.
      // CHECK-LABEL: func.func @again
      // CHECK: scf.for
      // CHECK-NEXT: arith.constant dense<1.0
      // CHECK-NEXT: tile.store
      // CHECK-NEXT: }
      // CHECK: scf.for
      // CHECK-NEXT: arith.constant dense<2.0
      // CHECK-NEXT: tile.store
      // CHECK-NEXT: }
      Kernel("again() -> y[M]",
             [](Out<f32, 1> y) {
               auto tiles = range(3);
               for (auto k : tiles)
                 y.tiled(4)(k) = 1;
               for (auto k : tiles)
                 y.tiled(4)(k) = 2;
             }),

      // A native loop over native numbers is unrolled; Index arithmetic on constants is folded.
      // CHECK-LABEL: func.func @unrolled
      // CHECK-NOT: scf.for
      // CHECK-NOT: arith.addi
      // CHECK-COUNT-3: tile.store
      // CHECK: return
      Kernel("unrolled() -> y[M]",
             [](Out<f32, 1> y) {
               for (int k = 0; k < 3; ++k)
                 y.tiled(4)(Index(k) + 1) = k;
             }),

      // Both sides of a branch are traced.
      // CHECK-LABEL: func.func @branch
      // CHECK: %[[LESS:.*]] = arith.cmpi slt, %arg0, %{{.*}} : index
      // CHECK: %[[EVEN:.*]] = arith.cmpi eq
      // CHECK: %[[BOTH:.*]] = arith.andi %[[LESS]], %[[EVEN]] : i1
      // CHECK: scf.if %[[BOTH]] {
      // CHECK: tile.set
      // CHECK: } else {
      // CHECK: tile.store
      // CHECK: arith.select %{{.*}}, %arg0, %{{.*}} : index
      Kernel("branch(n) -> y[M]",
             [](Index n, Out<i32, 1> y) {
               Var count = Index(0);
               when(n < 5 && n % 2 == 0, [&] { count += n; }, [&] { y.tiled(1)(0) = 7; });
               y.tiled(1)(select(n > 2, n, count.get())) = toTile(count);
             }),
  };
}

// clang-format on

static tests::Group group("control", kernels);
