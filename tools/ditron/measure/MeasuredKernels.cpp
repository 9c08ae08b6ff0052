// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ditron/measure/MeasuredKernels.h"
#include "ditron/ditron.h"

namespace ditron::tools {

/// Launches have an output.
static void writeOnes(const Out<i32, 1> &y) {
  auto ys = y.tiled(8);
  for (auto [i] : ys.tiles())
    ys(i) = full<i32>({8}, 1);
}

Kernel pingPong() {
  return {"ping-pong(rounds) -> y[N]", [](Index rounds, Out<i32, 1> y) {
            auto ball = signals(1, "ball");
            auto [player, others] = splitCores(1);
            player.run("play", [&] {
              for (auto n : range(rounds)) {
                when(rank() == 0, [&] { notify(ball.on(1)(0)); });
                when(rank() < 2, [&] { wait(ball(0), n + 1); });
                when(rank() == 1, [&] { notify(ball.on(0)(0)); });
              }
            });
            writeOnes(y);
          }};
}

Kernel putToNext(int rows, int columns, int cores) {
  return {"put-to-next(x[M,N]) -> y[L]", [=](In<bf16> x, Out<i32, 1> y) {
            auto shared = symmetric<bf16>({x.rows(), x.cols()}, "shared");
            auto mine = x.tiled(rows, columns);
            auto arrived = signals({mine.rows(), mine.cols()}, "arrived");
            Index next = (rank() + 1) % numRanks();
            auto theirs = shared.on(next).tiled(rows, columns);
            auto send = [&] {
              for (auto [i, j] : mine.tiles()) {
                put(mine(i, j), theirs(i, j));
                notify(arrived.on(next)(i, j));
              }
              for (auto [i, j] : mine.tiles())
                wait(arrived(i, j), 1);
            };
            if (cores == 0) {
              send();
            } else {
              auto [senders, others] = splitCores(cores);
              senders.run("send", send);
            }
            writeOnes(y);
          }};
}

} // namespace ditron::tools
