// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Roles of copy engines: many launches back to back, of one size and of many, with ranks that come
// late or never, and graphs that are replayed with data that changes, on the backend that
// DITRON_BACKEND names. Launches with arguments that were launched before go as graphs on a GPU.
#include "ditron/driver/Context.h"
#include "ditron/support/Error.h"
#include <chrono>
#include <gtest/gtest.h>
#include <latch>
#include <random>
#include <thread>

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

Tensor numbersOf(const Context &ctx, int64_t count = kCount, double first = 0) {
  Tensor host = Tensor::own(DType::f32, {count});
  for (int64_t n = 0; n < count; ++n)
    host.set({n}, first + double(1000 * ctx.rank() + n));
  return ctx.tensorFrom(host);
}

/// What numbersOf gave the rank before this one, after a step.
void expectStep(const Context &ctx, const Tensor &host, double first = 0) {
  double from = 1000 * ((ctx.rank() + ctx.ranks() - 1) % ctx.ranks());
  for (int64_t n = 0; n < host.shape()[0]; ++n)
    ASSERT_EQ(host.at({n}), first + from + double(n) + 1) << n;
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

/// Executes a thousand steps of a kernel in a minute.
bool isEmulated(const Context &ctx) { return ctx.deviceName() == "Emulated GPU"; }

TEST(CopyEngines, GraphsReplayAThousandTimes) {
  runRanks(ranksOf(2), [](Context &ctx) {
    const int64_t replays = isEmulated(ctx) || ctx.backend() == "reference" ? 100 : 1000;
    constexpr int64_t kInputs = 4;
    std::vector<Tensor> inputs;
    for (int64_t n = 0; n < kInputs; ++n)
      inputs.push_back(numbersOf(ctx, kCount, double(10'000 * n)));
    Tensor x = ctx.tensor<f32>({kCount}), y = ctx.tensor<f32>({kCount});
    Tensor results = ctx.tensor<f32>({replays, kCount});
    auto result = [&](const Tensor &all, int64_t n) {
      return Tensor::borrow(ctx.device(), all.address({n, 0}), DType::f32, {kCount});
    };
    Program run = ctx.compile(step());
    run.prepare({x, y});
    Graph graph = ctx.record([&](const Stream &stream) { run.on(stream)(x, y); });
    for (int64_t n = 0; n < replays; ++n) { // nothing waits for the host
      ctx.stream().copy(x, inputs[size_t(n % kInputs)]);
      graph.launch();
      ctx.stream().copy(result(results, n), y);
    }
    for (int64_t n = 0; n < replays; ++n)
      expectStep(ctx, result(results, n).toHost(), double(10'000 * (n % kInputs)));
  });
}

/// Of few sizes, so that most have been there before.
TEST(CopyEngines, LaunchSizesAtRandomWithStragglers) {
  for (int count : {2, 3})
    runRanks(ranksOf(count), [](Context &ctx) {
      constexpr int kLaunches = 100;
      std::vector<int64_t> sizes{1, 63, 64, 65, 100, 127, 129, 200};
      std::vector<Tensor> inputs, results;
      for (int64_t size : sizes)
        inputs.push_back(numbersOf(ctx, size));
      for (int64_t size : sizes)
        results.push_back(ctx.tensor<f32>({size}));
      Program run = ctx.compile(step());
      std::mt19937 random(7); // the same on all ranks
      for (int n = 0; n < kLaunches; ++n) {
        size_t which = random() % sizes.size();
        int late = int(random() % 10), delay = int(random() % 4000);
        if (late == ctx.rank())
          std::this_thread::sleep_for(std::chrono::microseconds(delay));
        if (random() % 4 == 0) // memory that has not been there before
          results[which] = ctx.tensor<f32>({sizes[which]});
        run(inputs[which], results[which]);
      }
      for (size_t n = 0; n < sizes.size(); ++n)
        if (Tensor host = results[n].toHost(); host.shape()[0] > 0)
          expectStep(ctx, host);
    });
}

/// All others end within the bound, and no stream of theirs goes on waiting: the next launches run.
TEST(CopyEngines, GoOnAfterARankThatNeverLaunches) {
  Options options = ranksOf(2);
  bool emulated = isEmulated(Context::init());
  options.waitTimeout = std::chrono::milliseconds(emulated ? 20 : 1000);
  std::latch ended(1);
  runRanks(options, [&](Context &ctx) {
    if (ctx.backend() != "nvidia" || ctx.cores() < Context::init().cores())
      GTEST_SKIP() << "ranks that share a device meet before they launch";
    Tensor x = numbersOf(ctx), y = ctx.tensor<f32>({kCount});
    Program run = ctx.compile(step());
    for (int turn = 0; turn < 3; ++turn) {
      for (int n = 0; n <= turn; ++n) // from the second time on as a graph
        run(x, y);
      ctx.sync();
      expectStep(ctx, y.toHost());
    }
    if (ctx.rank() == 0) {
      run(x, y);
      std::string error = "no error";
      try {
        ctx.sync();
      } catch (const RuntimeError &late) {
        error = late.what();
      }
      EXPECT_NE(error.find("a wait outlived its bound"), std::string::npos) << error;
      EXPECT_NE(error.find("signal 'arrived'[1]"), std::string::npos) << error;
      ended.count_down();
    }
    ended.wait();
    for (int n = 0; n < 3; ++n)
      run(x, y);
    ctx.sync();
    expectStep(ctx, y.toHost());
  });
}

/// The next launch finds their counters as this one did, whoever waited for them and how often.
TEST(CopyEngines, WaitForWhatCoresWaitForToo) {
  Context ctx = Context::init();
  Program run = ctx.compile(Kernel("twice(x[N]) -> y[N]", [](In<f32, 1> x, Out<f32, 1> y) {
    auto xs = x.tiled(64);
    auto ys = y.tiled(64);
    auto copy = symmetric<f32>({x.size()}, "copy");
    auto done = signals(1, "done"), moved = signals(1, "moved"), seen = signals(1, "seen");
    copyEngines().run("wait", [&] {
      wait(done(0), 1);
      wait(done(0), xs.cols());
      put(x, copy.on(rank()));
      notify(moved.on(rank())(0));
      wait(moved(0), 1);
      notify(seen.on(rank())(0));
    });
    for ([[maybe_unused]] auto [i] : ys.tiles())
      notify(done(0));
    for (auto [i] : ys.tiles()) {
      wait(moved(0), 1);
      wait(seen(0), 1);
      ys(i) = copy.tiled(64)(i);
    }
  }));
  Tensor x = numbersOf(ctx), y = ctx.tensor<f32>({kCount});
  for (int n = 0; n < 5; ++n)
    run(x, y);
  ctx.sync();
  Tensor host = y.toHost();
  for (int64_t n = 0; n < kCount; ++n)
    ASSERT_EQ(host.at({n}), double(n));
}

/// A copy engine that waits for more than cores notify, in front of the second chunk.
Kernel stuck() {
  return Kernel("stuck(x[N]) -> y[N]", [](In<f32, 1> x, Out<f32, 1> y) {
    auto parts = symmetric<f32>({numRanks(), x.size()}, "parts");
    auto done = signals({2, 3}, "done");
    auto arrived = signals(numRanks(), "arrived");
    auto ys = y.tiled(64);
    copyEngines().run("send", [&] {
      for (auto half : range(2)) {
        wait(done(half, 1), 1 + half);
        for (auto peer : ranks()) {
          put(x, parts.on(peer).at(rank()));
          notify(arrived.on(peer)(rank()));
        }
      }
    });
    when(coreId() == 0, [&] {
      notify(done(0, 1));
      notify(done(1, 1));
    });
    for (auto [i] : ys.tiles()) {
      wait(arrived(0), 2);
      ys(i) = parts.at(0).tiled(64)(i);
    }
  });
}

TEST(CopyEngines, AreNamedWithTheirWaitsInReports) {
  Options options = ranksOf(2);
  options.waitTimeout = std::chrono::milliseconds(isEmulated(Context::init()) ? 30 : 1000);
  std::string error;
  try {
    runRanks(options, [](Context &ctx) {
      Tensor x = numbersOf(ctx), y = ctx.tensor<f32>({kCount});
      Program program = ctx.compile(stuck());
      ctx.assemble(); // one may have compiled it long before the other
      program(x, y);
      ctx.sync();
    });
  } catch (const RuntimeError &failure) {
    error = failure.what();
  }
  EXPECT_NE(error.find("signal 'arrived'[0]: expected 2, seen 1"), std::string::npos) << error;
  std::string onGpus =
      "\n  rank 0: copy engines have not notified signal 'arrived'[0] of rank 0, before "
      "which they wait for signal 'done'[1, 1] (expected 2)";
  std::string elsewhere = "waits for signal 'done'[1, 1]: expected 2, seen 1";
  EXPECT_NE(error.find(options.backend == "nvidia" ? onGpus : elsewhere), std::string::npos)
      << error;
}

} // namespace
} // namespace ditron
