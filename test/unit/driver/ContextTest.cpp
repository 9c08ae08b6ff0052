// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What contexts promise on every backend: asynchronous launches, streams, events, graphs, errors,
// several host threads, tensors without elements. The backend is the one that DITRON_BACKEND names.
#include "ditron/driver/Context.h"
#include "ditron/kernels/kernels.h"
#include "ditron/support/Error.h"
#include "ditron/support/Sanitizer.h"
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <numeric>
#include <optional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace ditron {
namespace {

constexpr int64_t kCount = 300;

/// y = x + step, in tiles of 64.
Kernel addStep() {
  return Kernel("add-step(x[N], step) -> y[N]",
                [](In<f32, 1> x, Scalar<f32> step, Out<f32, 1> y) {
                  auto xs = x.tiled(64);
                  auto ys = y.tiled(64);
                  for (auto [i] : ys.tiles())
                    ys(i) = xs(i) + step;
                })
      .inPlace("y", "x");
}

/// Waits for what nobody notifies.
Kernel stuck() {
  return Kernel("stuck(x[N]) -> y[N]", [](In<f32, 1> x, Out<f32, 1> y) {
    auto ready = signals(1, "ready");
    when(rank() < 0, [&] { notify(ready.on(rank())(0)); });
    wait(ready(0), 1);
  });
}

template <class E> std::string errorOf(const std::function<void()> &fn) {
  try {
    fn();
  } catch (const E &error) {
    return error.what();
  }
  return "no error";
}

class Contexts : public testing::Test {
protected:
  static Options options() {
    Options options;
    options.cores = 2;
    options.waitTimeout = std::chrono::milliseconds(100);
    return options;
  }

  Tensor ramp(int64_t count = kCount) const {
    Tensor host = Tensor::own(DType::f32, {count});
    for (int64_t n = 0; n < count; ++n)
      host.set({n}, double(n));
    return ctx.tensorFrom(host);
  }
  Tensor empty(int64_t count = kCount) const { return ctx.tensor<f32>({count}); }
  static void expectRamp(const Tensor &tensor, double more) {
    Tensor host = tensor.toHost();
    for (int64_t n = 0; n < host.shape()[0]; ++n)
      ASSERT_EQ(host.at({n}), double(n) + more) << n;
  }

  Context ctx = Context::init(options());
};

TEST_F(Contexts, LaunchInOrder) {
  Program add = ctx.compile(addStep());
  Tensor x = ramp(), y = empty();
  add(x, 1.0, y);
  for (int n = 0; n < 10; ++n)
    add(y, 2.0, y); // in place
  expectRamp(y, 21);
  LaunchStats stats = add.timed(y, 4.0, y);
  EXPECT_GT(stats.seconds, 0);
  expectRamp(y, 25);
}

TEST_F(Contexts, StreamsAreOrderedByEvents) {
  Program add = ctx.compile(addStep());
  Tensor x = ramp(), y = empty(), z = empty();
  Stream first = ctx.makeStream(), second = ctx.makeStream();
  add.on(first)(x, 1.0, y);
  Event done = first.record();
  second.wait(done);
  add.on(second)(y, 1.0, z);
  Event end = second.record();
  // Whoever asks waits for both, of which the later one may be there first.
  EXPECT_NO_THROW(ctx.makeStream().record().secondsSince(done));
  second.wait();
  expectRamp(z, 2);
  EXPECT_GE(end.secondsSince(done), 0);
  second.copy(x, z);
  second.wait();
  expectRamp(x, 2);
}

TEST_F(Contexts, GraphsReplay) {
  Program add = ctx.compile(addStep());
  Tensor x = ramp(), y = empty();
  add.prepare({x, 1.0, y});
  Graph graph = ctx.record([&](const Stream &stream) {
    add.on(stream)(x, 1.0, y);
    add.on(stream)(y, 1.0, x);
  });
  expectRamp(x, 0); // nothing ran
  for (int n = 0; n < 5; ++n)
    graph.launch();
  graph.launch(ctx.stream());
  expectRamp(x, 12);
  EXPECT_NE(errorOf<RuntimeError>([&] {
              ctx.record([](const Stream &stream) { stream.wait(); });
            }).find("graph"),
            std::string::npos);
}

TEST_F(Contexts, LaunchesOnNoStreamAreNotRecorded) {
  Program add = ctx.compile(addStep());
  Tensor x = ramp(), y = empty();
  EXPECT_NE(errorOf<RuntimeError>([&] {
              ctx.record([&](const Stream &) { add(x, 1.0, y); });
            }).find("name the stream that is recorded"),
            std::string::npos);
  add(x, 1.0, y);
  expectRamp(y, 1);
}

TEST_F(Contexts, AStreamThatIsRecordedTakesNothingElse) {
  if (ctx.backend() == "nvidia")
    GTEST_SKIP() << "a graph of the driver has its stream to itself";
  Program add = ctx.compile(addStep());
  Tensor x = ramp(), y = ramp();
  std::optional<Stream> kept;
  std::optional<Event> event;
  Graph graph = ctx.record([&](const Stream &stream) {
    kept = stream;
    event = stream.record();
    add.on(stream)(x, 1.0, y);
  });
  EXPECT_NE(errorOf<RuntimeError>([&] { add.on (*kept)(x, 5.0, y); }).find("recorded already"),
            std::string::npos);
  EXPECT_NE(errorOf<RuntimeError>([&] {
              ctx.record([&](const Stream &) { graph.launch(); });
            }).find("name the stream that is recorded"),
            std::string::npos);
  expectRamp(y, 0);
  EXPECT_NE(
      errorOf<RuntimeError>([&] { ctx.stream().record().secondsSince(*event); }).find("no time"),
      std::string::npos);
  graph.launch();
  EXPECT_GE(ctx.stream().record().secondsSince(*event), 0);
  expectRamp(y, 1);
}

TEST_F(Contexts, RefuseStreamsOfOthers) {
  Context other = Context::init(options());
  Program add = ctx.compile(addStep());
  Tensor x = ramp(), y = empty();
  Graph graph = ctx.record([&](const Stream &stream) { add.on(stream)(x, 1.0, y); });
  for (const std::function<void()> &launch :
       {std::function<void()>([&] { add.on(other.stream())(x, 1.0, y); }),
        std::function<void()>([&] { graph.launch(other.stream()); })})
    EXPECT_NE(errorOf<UsageError>(launch).find("stream of another context"), std::string::npos);
}

TEST_F(Contexts, RefuseBodiesThatAreEmpty) {
  EXPECT_EQ(errorOf<UsageError>([&] { ctx.record({}); }),
            "Context::record: the body is an empty std::function");
  EXPECT_EQ(errorOf<UsageError>([] { runRanks(options(), {}); }),
            "runRanks: the body is an empty std::function");
}

TEST_F(Contexts, RefuseBoundsThatAreNoTime) {
  using std::chrono::milliseconds;
  auto errorWith = [](auto Options::*bound, milliseconds time) {
    Options wrong = options();
    wrong.*bound = time;
    return errorOf<UsageError>([&] { Context::init(wrong); });
  };
  EXPECT_EQ(errorWith(&Options::waitTimeout, milliseconds(0)),
            "waitTimeout is 0 ms: expected 1 to 86400000 ms");
  EXPECT_EQ(errorWith(&Options::launchTimeout, milliseconds(-5)),
            "launchTimeout is -5 ms: expected 1 to 86400000 ms");
  EXPECT_EQ(errorWith(&Options::connectTimeout, milliseconds(86'400'001)),
            "connectTimeout is 86400001 ms: expected 1 to 86400000 ms");
  Options wrong = options();
  wrong.straggler = {0, milliseconds(-3)};
  EXPECT_EQ(errorOf<UsageError>([&] { runRanks(wrong, [](const Context &) {}); }),
            "straggler.delay is -3 ms: expected 0 to 86400000 ms");
}

TEST_F(Contexts, HandlesOutliveTheirContext) {
  std::optional<Program> add;
  std::optional<Stream> stream;
  std::optional<Graph> graph;
  Tensor x = ramp(), y = ramp();
  {
    Context gone = Context::init(options());
    x = gone.tensorFrom(x), y = gone.tensorFrom(y);
    add = gone.compile(addStep());
    stream = gone.makeStream();
    graph = gone.record([&](const Stream &recorded) { add->on(recorded)(x, 1.0, y); });
    (*add)(x, 1.0, y);
  }
  if (ctx.backend() != "nvidia") {
    for (const std::function<void()> &use : {std::function<void()>([&] { (*add)(x, 2.0, y); }),
                                             std::function<void()>([&] { add->timed(x, 2.0, y); }),
                                             std::function<void()>([&] { graph->launch(); }),
                                             std::function<void()>([&] { stream->record(); })})
      EXPECT_NE(errorOf<RuntimeError>(use).find("the context has ended"), std::string::npos);
    EXPECT_EQ(add->cores(), 2);
  }
  expectRamp(y, 1);
  graph.reset(), add.reset();
  stream->wait(); // has the last of the device
}

/// Returns what `body` does in a child of this process: whether it returned true in time.
bool isTrueInChild(const std::function<bool()> &body) {
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    bool isTrue = false;
    std::string problem = errorOf<std::exception>([&] { isTrue = body(); });
    if (!isTrue)
      std::fprintf(stderr, "in a child: %s\n", problem.c_str());
    _exit(isTrue ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status == 0;
}

TEST_F(Contexts, AForkHasItsOwn) {
  if (ctx.backend() == "nvidia" || kSanitizer == Sanitizer::thread)
    GTEST_SKIP() << "neither CUDA nor the sanitizer of threads is for children of fork";
  Program add = ctx.compile(addStep());
  Tensor x = ramp(), y = empty();
  auto parents = std::make_unique<Context>(Context::init(options()));
  Program theirs = parents->compile(addStep());
  theirs(x, 1.0, y);
  parents->sync();
  auto isRefused = [](const std::function<void()> &use) {
    return errorOf<RuntimeError>(use).find("forked this one") != std::string::npos;
  };
  EXPECT_TRUE(isTrueInChild([&] {
    bool areRefused = isRefused([&] { theirs(x, 2.0, y); }) &&
                      isRefused([&] { theirs.timed(x, 2.0, y); }) &&
                      isRefused([&] { parents->sync(); });
    parents.reset();
    Context own = Context::init(options());
    own.compile(addStep())(x, 3.0, y);
    own.sync();
    return areRefused && y.at({0}) == 3;
  }));
  theirs(x, 1.0, y);
  parents->sync();
  expectRamp(y, 1);
}

TEST_F(Contexts, ThreadsLaunchOnOneContext) {
  Program add = ctx.compile(addStep());
  constexpr int kThreads = 4, kLaunches = 25;
  std::vector<Tensor> tensors;
  for (int n = 0; n < kThreads; ++n)
    tensors.push_back(ramp());
  std::vector<std::thread> threads;
  for (int n = 0; n < kThreads; ++n)
    threads.emplace_back([&, n] {
      for (int launch = 0; launch < kLaunches; ++launch) {
        add(tensors[size_t(n)], 1.0, tensors[size_t(n)]);
        if (launch % 10 == n)
          ctx.sync();
        if (launch % 7 == n)
          ctx.barrier();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const Tensor &tensor : tensors)
    expectRamp(tensor, kLaunches);
}

TEST_F(Contexts, ErrorsComeToWhoWaits) {
  Program late = ctx.compile(stuck()), add = ctx.compile(addStep());
  Tensor x = ramp(), y = empty(), z = empty();
  late(x, y);
  std::string error = errorOf<RuntimeError>([&] { ctx.sync(); });
  EXPECT_NE(error.find("ready"), std::string::npos) << error;
  ctx.sync(); // it was thrown, once
  add(x, 1.0, z);
  expectRamp(z, 1);
  EXPECT_NE(errorOf<RuntimeError>([&] { late.timed(x, y); }), "no error");
  add(x, 3.0, z);
  expectRamp(z, 3);
}

TEST_F(Contexts, RefuseWhatDoesNotFit) {
  Program add = ctx.compile(addStep());
  Tensor x = ramp(), y = empty(kCount - 1);
  EXPECT_NE(errorOf<CompileError>([&] { add(x, 1.0, y); }).find("N is 300 in x but 299 in y"),
            std::string::npos);
  EXPECT_NE(errorOf<CompileError>([&] { add(x, 1.0); }).find("launched with 2 arguments"),
            std::string::npos);
  EXPECT_NE(errorOf<CompileError>([&] { x.copyFrom(y); }).find("expected equal ones"),
            std::string::npos);
  Context other = Context::init(options());
  EXPECT_NE(errorOf<UsageError>([&] { add.on(other.stream())(x, 1.0, x); }).find("another context"),
            std::string::npos);
}

TEST_F(Contexts, RefuseTensorsThatOverlapWhereOneIsWritten) {
  Program add = ctx.compile(addStep());
  Tensor whole = ramp(2 * kCount);
  Tensor begin = whole.slice(0, 0, kCount), end = whole.slice(0, kCount, kCount);
  add(begin, 1.0, end); // side by side
  add(begin, 1.0, begin);
  std::string error = errorOf<CompileError>([&] { add(begin, 1.0, whole.slice(0, 1, kCount)); });
  EXPECT_NE(error.find("x and y overlap in memory, and y is written: expected the same elements, "
                       "as for work in place, or none"),
            std::string::npos)
      << error;
  Program gemm = ctx.compile(kernels::gemm(DType::f32, {}));
  Tensor square = ctx.tensor<f32>({8, 8});
  error = errorOf<CompileError>([&] { gemm(square, square, square); });
  EXPECT_NE(error.find("A and C overlap in memory, and C is written: expected tensors apart"),
            std::string::npos)
      << error;
  ctx.sync();
}

TEST_F(Contexts, TensorsMayHaveNoElements) {
  Tensor none = ctx.tensor<f32>({0});
  EXPECT_EQ(none.elements(), 0);
  EXPECT_EQ(none.toHost().bytes(), 0u);
  Program add = ctx.compile(addStep());
  add(none, 1.0, ctx.tensor<f32>({0}));
  Program gemm = ctx.compile(kernels::gemm(DType::f32, {}));
  for (auto [M, N, K] : {std::array<int64_t, 3>{0, 5, 7}, {5, 0, 7}, {0, 0, 0}})
    gemm(ctx.tensor<f32>({M, K}), ctx.tensor<f32>({K, N}), ctx.tensor<f32>({M, N}));
  ctx.sync();
  // A sum of nothing is 0.
  Tensor C = ctx.tensor<f32>({3, 4});
  gemm(ctx.tensor<f32>({3, 0}), ctx.tensor<f32>({0, 4}), C);
  Tensor host = C.toHost();
  for (int64_t n = 0; n < 12; ++n)
    EXPECT_EQ(host.at({n / 4, n % 4}), 0);
  EXPECT_THROW(ctx.tensor<f32>({-1}), CompileError);
  // Strides of 0, as others give matrices without columns, leave no element without a place.
  float word = 0;
  Tensor rows = Tensor::borrow(ctx.device(), &word, DType::f32, {5, 0}, {0, 1});
  gemm(ctx.tensor<f32>({5, 2}), ctx.tensor<f32>({2, 0}), rows);
  ctx.sync();
}

TEST_F(Contexts, StridedTensorsAreCopied) {
  Tensor matrix = ctx.tensor<f32>({6, 10});
  Tensor host = Tensor::own(DType::f32, {6, 10});
  for (int64_t n = 0; n < 60; ++n)
    host.set({n / 10, n % 10}, double(n));
  matrix.copyFrom(host);
  Tensor part = matrix.slice(1, 3, 4).slice(0, 1, 3).toHost();
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 4; ++j)
      EXPECT_EQ(part.at({i, j}), double((i + 1) * 10 + j + 3));
  Tensor zeros = Tensor::own(DType::f32, {6, 1});
  for (int64_t i = 0; i < 6; ++i)
    zeros.set({i, 0}, -1);
  matrix.slice(1, 9, 1).copyFrom(zeros);
  EXPECT_EQ(matrix.toHost().at({4, 9}), -1);
  EXPECT_EQ(matrix.toHost().at({4, 8}), 48);
}

TEST_F(Contexts, PermutedTensorsAreCopied) {
  Tensor host = Tensor::own(DType::f32, {4, 6, 10});
  auto valueAt = [](int64_t i, int64_t j, int64_t k) { return double(100 * i + 10 * j + k); };
  for (int64_t n = 0; n < 240; ++n)
    host.set({n / 60, n / 10 % 6, n % 10}, valueAt(n / 60, n / 10 % 6, n % 10));
  auto permuted = [&](const Tensor &of) {
    return Tensor::borrow(ctx.device(), of.data(), DType::f32, {10, 4, 6}, {1, 60, 10});
  };
  auto expectPermuted = [&](const Tensor &found) {
    for (int64_t k = 0; k < 10; ++k)
      for (int64_t i = 0; i < 4; ++i)
        for (int64_t j = 0; j < 6; ++j)
          ASSERT_EQ(found.at({k, i, j}), valueAt(i, j, k)) << k << " " << i << " " << j;
  };
  Tensor tensor = ctx.tensorFrom(host), dense = ctx.tensor<f32>({10, 4, 6}),
         back = ctx.tensor<f32>({4, 6, 10});
  Tensor toHost = permuted(tensor).toHost();
  expectPermuted(toHost);
  dense.copyFrom(permuted(tensor)); // within the device
  expectPermuted(dense.toHost());
  permuted(back).copyFrom(toHost);
  expectPermuted(permuted(back).toHost());
  Tensor row = Tensor::borrow(ctx.device(), tensor.data(), DType::f32, {5, 10}, {0, 1});
  Tensor rows = ctx.tensor<f32>({5, 10});
  rows.copyFrom(row);
  EXPECT_EQ(rows.toHost().at({4, 7}), 7);
}

TEST_F(Contexts, FillsTensors) {
  Tensor matrix = ctx.tensor<bf16>({5, 7});
  matrix.fill(2.5);
  matrix.slice(1, 2, 3).fill(-1);
  Tensor host = matrix.toHost();
  for (int64_t i = 0; i < 5; ++i)
    for (int64_t j = 0; j < 7; ++j)
      EXPECT_EQ(host.at({i, j}), j >= 2 && j < 5 ? -1 : 2.5) << i << " " << j;
  ctx.tensor<f32>({0, 3}).fill(1);
}

TEST_F(Contexts, WaitsForStreamsThatNobodyHas) {
  Program add = ctx.compile(addStep());
  Tensor x = ramp(), y = empty();
  for (int n = 0; n < 3; ++n)
    add.on(ctx.makeStream())(x, 1.0, y);
  ctx.sync();
  expectRamp(y, 1);
}

TEST(Backends, AProcessIsOneRank) {
  Options options;
  options.ranks = 3;
  EXPECT_NE(errorOf<UsageError>([&] { Context::init(options); }).find("runRanks"),
            std::string::npos);
}

TEST(Backends, AreNamed) {
  Options options;
  options.backend = "abacus";
  EXPECT_NE(errorOf<UsageError>([&] { Context::init(options); }).find("backend is 'abacus'"),
            std::string::npos);
  EXPECT_GE(availableBackends().size(), 3u);
}

/// Every rank gets what the one before it has.
Kernel shift() {
  return Kernel("shift(x[N]) -> y[N]", [](In<f32, 1> x, Out<f32, 1> y) {
    auto inbox = symmetric<f32>({x.size()}, "inbox");
    auto arrived = signals(1, "arrived");
    auto next = (rank() + 1) % numRanks();
    when(coreId() == 0, [&] {
      put(x, inbox.on(next));
      notify(arrived.on(next)(0));
      wait(arrived(0), 1);
      for (auto i : range(y.tiled(64).cols()))
        y.tiled(64)(i) = inbox.tiled(64)(i);
    });
  });
}

Tensor numbersOf(Context &ctx, int rank) {
  Tensor x = Tensor::own(DType::f32, {100});
  for (int64_t n = 0; n < 100; ++n)
    x.set({n}, double(1000 * rank + n));
  return ctx.tensorFrom(x);
}

void expectNumbersOf(const Tensor &found, int rank) {
  Tensor host = found.toHost();
  for (int64_t n = 0; n < 100; ++n)
    ASSERT_EQ(host.at({n}), double(1000 * rank + n));
}

int before(const Context &ctx) { return (ctx.rank() + ctx.ranks() - 1) % ctx.ranks(); }

Options threeRanks() {
  Options options;
  options.ranks = 3;
  options.cores = 2;
  return options;
}

TEST(Backends, RunRanks) {
  runRanks(threeRanks(), [](Context &ctx) {
    Tensor input = numbersOf(ctx, ctx.rank()), y = ctx.tensor<f32>({100});
    Program run = ctx.compile(shift());
    for (int n = 0; n < 3; ++n)
      run(input, y);
    expectNumbersOf(y, before(ctx));
    ctx.barrier();
  });
}

/// Waits for so many numbers of the rank before; it sends one.
Kernel expects() {
  return Kernel("expects(x[N], count) -> y[N]", [](In<f32, 1> x, Index count, Out<f32, 1> y) {
    auto inbox = symmetric<f32>({x.size()}, "inbox");
    auto arrived = signals(1, "arrived");
    auto next = (rank() + 1) % numRanks();
    when(coreId() == 0, [&] {
      put(x, inbox.on(next));
      notify(arrived.on(next)(0));
      wait(arrived(0), count);
      for (auto i : range(y.tiled(64).cols()))
        y.tiled(64)(i) = inbox.tiled(64)(i);
    });
  });
}

TEST(Backends, RanksGoOnAfterAWaitThatFailed) {
  bool isOneProcess = !std::getenv("WORLD_SIZE");
  if (isOneProcess && Context::init().deviceName() == "Emulated GPU")
    GTEST_SKIP() << "a second of the emulator's clock is a minute where it executes all ranks";
  Options options = threeRanks();
  options.waitTimeout = std::chrono::milliseconds(1000);
  runRanks(options, [](Context &ctx) {
    Tensor input = numbersOf(ctx, ctx.rank()), y = ctx.tensor<f32>({100});
    Program run = ctx.compile(expects());
    for (int n = 0; n < 2; ++n) {
      run(input, 2, y);
      std::string error = errorOf<RuntimeError>([&] { ctx.sync(); });
      EXPECT_NE(error.find("waits for signal 'arrived'[0]: expected 2, seen 1"), std::string::npos)
          << error;
      run(input, 1, y);
      expectNumbersOf(y, before(ctx));
    }
  });
}

/// Ranks that share a GPU load code and free memory while kernels of the others wait for them.
TEST(Backends, RanksLoadAndFreeBetweenLaunches) {
  runRanks(threeRanks(), [](Context &ctx) {
    Tensor input = numbersOf(ctx, ctx.rank()), y = ctx.tensor<f32>({100});
    Program run = ctx.compile(shift());
    for (int n = 0; n < 6; ++n) {
      if (n % ctx.ranks() == ctx.rank()) {
        Tensor doubled = ctx.tensor<f32>({100});
        ctx.compile(Kernel("times(x[N]) -> y[N]", [n](In<f32, 1> x, Out<f32, 1> out) {
          auto xs = x.tiled(64);
          auto ys = out.tiled(64);
          for (auto [i] : ys.tiles())
            ys(i) = xs(i) * float(n + 2);
        }))(input, doubled);
      }
      run(input, y);
    }
    expectNumbersOf(y, before(ctx));
  });
}

TEST(Backends, GraphsOfRanks) {
  runRanks(threeRanks(), [](Context &ctx) {
    Tensor input = numbersOf(ctx, ctx.rank()), y = ctx.tensor<f32>({100}),
           z = ctx.tensor<f32>({100});
    Program first = ctx.compile(shift()), second = ctx.compile(shift());
    first.prepare({input, y});
    second.prepare({y, z});
    Graph graph = ctx.record([&](const Stream &stream) {
      first.on(stream)(input, y);
      second.on(stream)(y, z);
    });
    for (int n = 0; n < 3; ++n)
      graph.launch();
    expectNumbersOf(z, (ctx.rank() + 1) % ctx.ranks()); // the one before the one before
  });
}

} // namespace
} // namespace ditron
