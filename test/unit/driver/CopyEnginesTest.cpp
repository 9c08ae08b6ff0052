// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Roles of copy engines: many launches back to back, and graphs that are replayed with data that
// changes, on the backend that DITRON_BACKEND names.
#include "ditron/driver/Context.h"
#include <gtest/gtest.h>

namespace ditron {
namespace {

constexpr int64_t kCount = 100;

/// y is what the rank before has in x, plus 1. The cores write it to where copy engines, which wait
/// for them, send it to all ranks from; nobody waits for what the others have sent.
Kernel step() {
  return Kernel("step(x[N]) -> y[N]", [](In<f32, 1> x, Out<f32, 1> y) {
    auto staged = symmetric<f32>({x.size()}, "staged");
    auto parts = symmetric<f32>({numRanks(), x.size()}, "parts");
    auto done = signals(1, "done"), arrived = signals(numRanks(), "arrived");
    auto xs = x.tiled(64);
    auto ys = y.tiled(64);
    auto sent = staged.tiled(64);
    auto before = (rank() + numRanks() - 1) % numRanks();
    auto received = parts.at(before).tiled(64);

    copyEngines().run("send", [&] {
      wait(done(0), xs.cols());
      for (auto peer : ranks()) {
        put(staged, parts.on(peer).at(rank()));
        notify(arrived.on(peer)(rank()));
      }
    });
    for (auto [i] : xs.tiles()) {
      sent(i) = xs(i) + 1.0f;
      notify(done(0));
    }
    for (auto [i] : ys.tiles()) {
      wait(arrived(before), 1);
      ys(i) = received(i);
    }
  });
}

Tensor numbersOf(const Context &ctx) {
  Tensor host = Tensor::own(DType::f32, {kCount});
  for (int64_t n = 0; n < kCount; ++n)
    host.set({n}, double(1000 * ctx.rank() + n));
  return ctx.tensorFrom(host);
}

/// What x was `steps` steps ago on the rank so far before this one.
void expectAfter(const Context &ctx, const Tensor &x, int64_t steps) {
  int64_t from = ((ctx.rank() - steps) % ctx.ranks() + ctx.ranks()) % ctx.ranks();
  Tensor host = x.toHost();
  for (int64_t n = 0; n < kCount; ++n)
    ASSERT_EQ(host.at({n}), double(1000 * from + n + steps)) << n;
}

Options ranksOf(int count) {
  Options options;
  options.ranks = count;
  options.cores = 2;
  return options;
}

TEST(CopyEngines, LaunchBackToBack) {
  for (int count : {1, 2, 3})
    runRanks(ranksOf(count), [](Context &ctx) {
      Tensor x = numbersOf(ctx), y = ctx.tensor<f32>({kCount});
      Program run = ctx.compile(step());
      constexpr int kPairs = 10;
      for (int n = 0; n < kPairs; ++n) {
        run(x, y);
        run(y, x);
      }
      expectAfter(ctx, x, 2 * kPairs);
    });
}

TEST(CopyEngines, GraphsReplayWithOtherData) {
  for (int count : {1, 3})
    runRanks(ranksOf(count), [](Context &ctx) {
      Tensor x = numbersOf(ctx), y = ctx.tensor<f32>({kCount});
      Program run = ctx.compile(step());
      run.prepare({x, y});
      run.prepare({y, x});
      Graph graph = ctx.record([&](const Stream &stream) {
        run.on(stream)(x, y);
        run.on(stream)(y, x);
      });
      constexpr int kReplays = 6;
      for (int n = 0; n < kReplays; ++n) {
        graph.launch();
        run(x, y); // between the replays
        run(y, x);
      }
      expectAfter(ctx, x, 4 * kReplays);
    });
}

/// On a GPU they clear a counter as they see it.
TEST(CopyEngines, WaitOnceForACounter) {
  Context ctx = Context::init();
  if (ctx.backend() != "nvidia")
    GTEST_SKIP() << "counters stay as they are on backend " << ctx.backend();
  Program run = ctx.compile(Kernel("twice(x[N]) -> y[N]", [](In<f32, 1> x, Out<f32, 1> y) {
    auto done = signals(1, "done");
    copyEngines().run("wait", [&] {
      wait(done(0), 1);
      wait(done(0), 2);
    });
    auto xs = x.tiled(64);
    auto ys = y.tiled(64);
    for (auto [i] : ys.tiles()) {
      ys(i) = xs(i);
      notify(done(0));
    }
  }));
  try {
    run.prepare({numbersOf(ctx), ctx.tensor<f32>({kCount})});
    FAIL() << "no error";
  } catch (const CompileError &error) {
    EXPECT_NE(std::string(error.what()).find("wait twice for counter 0 of signal 'done'"),
              std::string::npos)
        << error.what();
  }
}

} // namespace
} // namespace ditron
