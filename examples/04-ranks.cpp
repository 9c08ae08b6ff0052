// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lesson 4: ranks. Symmetric memory, put, notify, wait.
//
// A rank is one device; all ranks run the same kernel. They share no tensors: a rank sees its own
// arguments, and memory that it asks for on all ranks at once, which is called symmetric.
#include "Lesson.h"
using namespace ditron;

// Every rank passes its x to the next rank of a ring.
Kernel shift() {
  return Kernel("shift(x[N]) -> y[N]", [](In<f32, 1> x, Out<f32, 1> y) {
    auto inbox = symmetric<f32>({x.size()}, "inbox"); // on every rank: N elements...
    auto xs = x.tiled(64);
    auto mailbox = inbox.tiled(64);
    auto ys = y.tiled(64);
    auto arrived = signals(ys.cols(), "arrived"); // ...and one counter for each tile

    auto next = (rank() + 1) % numRanks();
    auto theirs = inbox.on(next).tiled(64); // the same buffer, as the next rank has it

    // put starts a copy into the memory of another rank and does not wait for it. notify adds 1 to
    // a counter there, after everything that this core has put or written before: who sees the
    // counter change sees the data.
    for (auto [i] : xs.tiles()) {
      put(xs(i), theirs(i));
      notify(arrived.on(next)(i));
    }

    // wait returns when a counter of this rank is at least 1. Both loops deal tiles to the cores in
    // the same way, but nothing depends on it: the counters alone say what is ready.
    for (auto [i] : ys.tiles()) {
      wait(arrived(i), 1);
      ys(i) = mailbox(i);
    }
  });
}

// Every rank gets the sum of all x: each puts its x into its own row of everybody's `parts`. The
// sum is taken in the order of the ranks, so that it is the same bit by bit on all of them.
Kernel sumAll() {
  return Kernel("sum-all(x[N]) -> y[N]", [](In<f32, 1> x, Out<f32, 1> y) {
    auto parts = symmetric<f32>({numRanks(), x.size()}, "parts");
    auto xs = x.tiled(64);
    auto ys = y.tiled(64);
    auto arrived = signals(ys.cols(), "arrived");

    for (auto peer : ranks()) // this rank, the next one, ...
      for (auto [i] : xs.tiles()) {
        put(xs(i), parts.on(peer).at(rank()).tiled(64)(i));
        notify(arrived.on(peer)(i));
      }
    for (auto [i] : ys.tiles()) {
      wait(arrived(i), numRanks()); // one notify of every rank
      Var total = zeros<f32>(64);
      for (auto r : range(numRanks()))
        total += parts.at(r).tiled(64)(i);
      ys(i) = total;
    }
  });
}

int main() {
  return lesson::run("04-ranks", [] {
    // runRanks calls the function once for every rank, here as 3 threads of this process. Started
    // by torchrun or mpirun, with one process a rank, it calls it once, as the rank that it is.
    runRanks({.ranks = 3, .cores = 2}, [](Context &ctx) {
      const int64_t n = 1000;
      Tensor x = ctx.tensor<f32>({n}), y = ctx.tensor<f32>({n});
      lesson::fill(x, [&](int64_t, int64_t j) { return 1000 * ctx.rank() + j; });

      ctx.compile(shift())(x, y);
      int before = (ctx.rank() + ctx.ranks() - 1) % ctx.ranks();
      lesson::check(y, "y", [&](int64_t, int64_t j) { return 1000 * before + j; });

      ctx.compile(sumAll())(x, y);
      lesson::check(y, "y", [&](int64_t, int64_t j) { return 3000 + 3 * j; });
    });
  });
}
