// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ditron-trace dist | FileCheck %s
#include "Groups.h"
#include "ditron/lang/Inbox.h"

using namespace ditron;

// clang-format off: CHECK lines stay whole
static std::vector<Kernel> kernels() {
  return {
      // CHECK-LABEL: func.func @gather
      // CHECK: %[[R:.*]] = dist.num_ranks
      // CHECK: %[[FULL:.*]] = dist.symmetric "full"(%{{.*}}, %{{.*}}) : memref<?x?xf16, strided<[?, ?], offset: ?>, #dist.space<symmetric>> {{.*}}Dist.cpp:[[#@LINE+19]]:
      // CHECK: %[[READY:.*]] = dist.signals "ready"(%{{.*}}) : !dist.signals<1>
      // CHECK: dist.role "gather" cores %{{.*}} for %{{.*}} {
      // The ranks in ring order, the own one first.
      // CHECK: scf.for
      // CHECK: dist.tiles
      // CHECK-DAG: %[[MINE:.*]] = tile.chunk %arg0[{{.*}}] shape [8, 16]
      // CHECK-DAG: %[[THEIRS:.*]] = tile.chunk %[[FULL]]
      // CHECK: dist.put %[[MINE]], %[[THEIRS]] on %[[PEER:[0-9a-z_]+]] :
      // CHECK: dist.notify %[[READY]][%{{.*}}] on %[[PEER]] add %{{.*}} : !dist.signals<1>
      // CHECK: dist.role "copy" cores
      // CHECK: dist.tiles {{.*}}order <"own-shard-first"{{.*}}>
      // CHECK: dist.wait %[[READY]][%{{.*}}] >= %{{.*}} : !dist.signals<1>
      // CHECK: tile.load %[[FULL]]
      // CHECK: dist.barrier ranks
      Kernel("gather(x[M,N]) -> y[R*M,N]",
             [](In<f16> x, Out<f16> y) {
               auto xs = x.tiled(8, 16);
               auto ys = y.tiled(8, 16);
               auto full = symmetric<f16>({numRanks() * x.rows(), x.cols()}, "full");
               auto ready = signals(ys.rows(), "ready");
               auto [comm, rest] = splitCores(1);
               comm.run("gather", [&] {
                 for (auto peer : ranks())
                   for (auto [i, j] : xs.tiles()) {
                     Index row = rank() * xs.rows() + i;
                     put(xs(i, j), full.on(peer).tiled(8, 16)(row, j));
                     notify(ready.on(peer)(row));
                   }
               });
               auto parts = full.tiled(8, 16);
               rest.run("copy", [&] {
                 for (auto [i, j] : ys.tiles(order::ownShardFirst)) {
                   wait(ready(i), xs.cols());
                   ys(i, j) = parts(i, j);
                 }
               });
               barrierAll();
             }),

      // CHECK-LABEL: func.func @swap
      // CHECK: %[[BOX:.*]] = dist.inbox "box"(%{{.*}}, %{{.*}}) : !dist.inbox<2 of tensor<8x16xf16>> {{.*}}Dist.cpp:[[#@LINE+7]]:
      // CHECK: %[[TILE:.*]] = tile.load %arg0
      // CHECK: dist.send %[[TILE]] to %[[BOX]][%{{.*}}, %{{.*}}] on %{{.*}} : tensor<8x16xf16>
      // CHECK: %[[OTHER:.*]] = dist.receive %[[BOX]][%{{.*}}, %{{.*}}] : !dist.inbox<2 of tensor<8x16xf16>> -> tensor<8x16xf16>
      // CHECK: tile.store %[[OTHER]], %arg1
      Kernel("swap(x[M,N]) -> y[M,N]", [](In<f16> x, Out<f16> y) {
        auto xs = x.tiled(8, 16);
        auto box = inbox<f16>({xs.rows(), xs.cols()}, {8, 16}, "box");
        for (auto [i, j] : xs.tiles()) {
          send(xs(i, j), box.on((rank() + 1) % numRanks())(i, j));
          y.tiled(8, 16)(i, j) = receive(box(i, j));
        }
      }),
  };
}

// clang-format on

static tests::Group group("dist", kernels);
