// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits of graphs that outlive their bound: the report names the tasks.
#include "ditron/driver/Compile.h"
#include "ditron/driver/Context.h"
#include "ditron/kernels/kernels.h"
#include "ditron/support/Error.h"
#include "test/unit/task/GraphKernels.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

using namespace ditron;
using namespace ditron::testing_graphs;
using testing::AnyOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

namespace {

/// y = x + 1; core 0 waits for `count` notifies, of which there is one.
Kernel stuck() {
  return Kernel("stuck(x[M,N], count[1]) -> y[M,N]", [](In<f32> X, In<i32, 1> count, Out<f32> Y) {
    auto late = signals({2}, "late");
    auto x = X.tiled(1, kTile);
    auto y = Y.tiled(1, kTile);
    when(coreId() == 1, [&] { notify(late.on(rank())(1)); });
    when(coreId() == 0, [&] { wait(late(1), toIndex(count.read({0}))); });
    for (auto round : range(ceilDiv(x.rows(), numCores()))) {
      Index i = round * numCores() + coreId();
      when(i < x.rows(), [&] {
        for (auto j : range(x.cols()))
          y(i, j) = x(i, j) + 1;
      });
    }
  });
}

Options bounded(int ranks) {
  Options options{.ranks = ranks, .cores = 2};
  // An emulated GPU has a clock of its own, and takes long for a while of it.
  options.waitTimeout = std::chrono::milliseconds(options.backend == "nvidia" ? 20 : 300);
  return options;
}

Tensor ones(const Context &ctx, std::vector<int64_t> shape) {
  Tensor host = Tensor::own(DType::f32, std::move(shape));
  std::fill_n(host.as<f32>(), host.elements(), 1.0f);
  return ctx.tensorFrom(host);
}

/// The error of work that waits.
std::string hangOf(const std::function<void()> &work) {
  try {
    work();
  } catch (const RuntimeError &error) {
    return error.what();
  }
  return "";
}

/// What is said of a step in which a notify is lost, behind two in which it is not.
std::string lostNotify(Mode mode) {
  std::string error;
  runRanks(bounded(1), [&](Context &ctx) {
    TaskGraph g("lost");
    Value x = g.input("x[M,N]"), count = g.input("count[1]", DType::i32);
    g.label("first");
    Value a = g.task(affine(), x, 1.0);
    g.label("second");
    Value b = g.task(stuck(), a, count);
    g.label("third");
    g.output(g.task(affine(), b, 1.0));
    Tensor in = ones(ctx, {64, 8}), out = ctx.tensor<f32>({64, 8}), notifies = ctx.tensor<i32>({1});
    TaskProgram step = ctx.compile(g, {.mode = mode});
    auto launch = [&](int32_t expected) {
      Tensor host = Tensor::own(DType::i32, {1});
      host.as<i32>()[0] = expected;
      notifies.copyFrom(host);
      step(in, notifies, out);
      ctx.sync();
      EXPECT_EQ(out.toHost().as<f32>()[0], 9);
    };
    error = hangOf([&] {
      for (int32_t expected : {1, 1, 2})
        launch(expected);
    });
    for (int n = 0; n < 2; ++n) // behind an error is a new start
      launch(1);
  });
  return error;
}

/// What rank 0 is told of a launch that the others do not make.
void tellOfMissing(Context &ctx, const std::function<void()> &launch, std::string &error) {
  std::string mine = hangOf([&] {
    if (ctx.rank() == 0)
      launch();
    else
      std::this_thread::sleep_for(std::chrono::milliseconds(700));
    ctx.sync();
  });
  if (ctx.rank() == 0)
    error = mine;
}

/// What is said of a step that one of two ranks never launches; before it both have launched others.
std::string missingRank(Mode mode, int before) {
  std::string error;
  runRanks(bounded(2), [&](Context &ctx) {
    TaskGraph g("sums");
    Value x = g.input("x[M,N]");
    for (const char *label : {"upper", "lower"}) {
      g.label(label);
      x = g.task(kernels::allReduce(DType::f32), g.task(affine(), x, 1.0));
    }
    g.output(x);
    Tensor in = ones(ctx, {9, 10}), out = ctx.tensor<f32>({9, 10});
    TaskProgram step = ctx.compile(g, {.mode = mode});
    step.prepare({in, out});
    for (int n = 0; n < before; ++n)
      step(in, out);
    ctx.sync();
    tellOfMissing(ctx, [&] { step(in, out); }, error);
  });
  return error;
}

/// What is said of a step that one of two ranks never launches, behind a step of the same kernels.
std::string missingInSecond() {
  std::string error;
  runRanks(bounded(2), [&](Context &ctx) {
    Tensor in = ones(ctx, {2, 8}), out = ctx.tensor<f32>({2, 8});
    kernels::AllReduceConfig config; // by inboxes
    config.protocol = kernels::Protocol::ll, config.rows = 2, config.columns = 8;
    auto stepOf = [&](const char *label) {
      TaskGraph g("sums");
      g.label(label);
      g.output(g.task(kernels::allReduce(DType::f32, config), g.input("x[M,N]")));
      TaskProgram step = ctx.compile(g, {.mode = Mode::stream});
      step.prepare({in, out});
      return step;
    };
    TaskProgram first = stepOf("first"), second = stepOf("second");
    first(in, out);
    ctx.sync();
    tellOfMissing(ctx, [&] { second(in, out); }, error);
  });
  return error;
}

/// What is said of a step whose last tasks wait for elements (task/SelfSignaling.h), as a notify is lost in front of
/// who writes them.
std::string lostElements() {
  std::string error;
  runRanks(bounded(1), [&](Context &ctx) {
    TaskGraph g("lost");
    Value x = g.input("x[8,4]"), count = g.input("count[1]", DType::i32);
    Value w = g.constant(ones(ctx, {16, 4}));
    Value a = g.task(heavy(2), g.task(stuck(), x, count), w);
    g.label("short");
    Value b = g.task(affine(), a, 1.0);
    g.label("");
    g.output(g.task(heavy(3), b, w));
    Tensor notifies = Tensor::own(DType::i32, {1});
    notifies.as<i32>()[0] = 2;
    Tensor in = ones(ctx, {8, 4}), out = ctx.tensor<f32>({8, 4}), lost = ctx.tensorFrom(notifies);
    TaskProgram step = ctx.compile(g, {.mode = Mode::megakernel});
    error = hangOf([&] {
      step(in, lost, out);
      ctx.sync();
    });
  });
  return error;
}

bool isOnGpu() {
  Context ctx = Context::init({.cores = 1});
  return traitsOf(targetFor(ctx.device()->target())).isGpu();
}

constexpr Mode kModes[] = {Mode::stream, Mode::graph, Mode::megakernel};

TEST(HangingGraphs, ALostNotifyNamesTheTasks) {
  for (Mode mode : kModes) {
    std::string error = lostNotify(mode);
    EXPECT_THAT(error, HasSubstr("a wait outlived its bound of "));
    EXPECT_THAT(error, ContainsRegex(
                           "rank 0, core 0, task 'second stuck', .*HangTest.cpp:[0-9]+: waits for "
                           "signal '(stuck.1.)?late'.(0, )?1.: expected 2, seen 1"));
    if (mode == Mode::megakernel)
      EXPECT_THAT(
          error,
          ContainsRegex(
              "rank 0, cores? [0-9]+.*, task 'third affine' \\(tiles? [0-9]+.*\\): waits for "
              "task 'second stuck' of (core 0|all cores): signal 'done'.[0-9]+.: "
              "expected [0-9]+, seen [0-9]+"));
    else
      EXPECT_THAT(error, Not(HasSubstr("third")));
  }
}

TEST(HangingGraphs, ALostNotifyInFrontOfElements) {
  // Whichever of these waits came to the bound first.
  EXPECT_THAT(lostElements(),
              AnyOf(ContainsRegex("waits for signal '[^:]*: expected 2, seen 1"),
                    ContainsRegex("GraphKernels.h:[0-9]+: waits for elements that another "
                                  "task writes: expected 1, seen 0")));
}

TEST(HangingGraphs, ARankThatIsMissing) {
  for (Mode mode : kModes) {
    std::string error = missingRank(mode, 3);
    auto waits = ContainsRegex("rank 0, cores? .*, task 'upper all-reduce'.*: waits for "
                               "signal '(all-reduce.1.)?[a-z]+'.*: expected");
    if (isOnGpu()) { // launches of ranks that share a GPU begin together: no task has begun
      EXPECT_THAT(error, AnyOf(waits, ContainsRegex("rank 0: launches kernel '.*' with all ranks: "
                                                    "expected 2, seen 1; rank 1 is missing")));
      continue;
    }
    EXPECT_THAT(error, waits);
    EXPECT_THAT(error, Not(HasSubstr("task 'lower all-reduce'")));
  }
}

/// Where ranks share no GPU: else none has begun.
TEST(HangingGraphs, ARankThatIsMissingInASecondStep) {
  std::string error = missingInSecond();
  if (isOnGpu() && error.find("with all ranks") != std::string::npos)
    GTEST_SKIP() << "ranks share a GPU";
  EXPECT_THAT(error, ContainsRegex("rank 0, cores? .*, task 'second all-reduce'"));
  EXPECT_THAT(error, Not(HasSubstr("first all-reduce")));
}

} // namespace
