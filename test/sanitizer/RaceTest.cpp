// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that race: the thread sanitizer reports each, and nothing where signals order the cores.
#include "ditron/driver/Context.h"
#include "ditron/lang/Kernel.h"
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>

namespace ditron {
namespace {

/// The sanitizer's exit status where it has reported something.
constexpr int kReported = 66;

/// Launches a kernel x[N] -> y[N] of f32.
void launch(const Kernel &kernel, int64_t elements, int64_t stride = 1,
            Options options = {.ranks = 1, .cores = 2}) {
  runRanks(options, [&](Context &context) {
    Tensor memory = Tensor::own(DType::f32, {2, elements * stride});
    auto tensor = [&](int64_t n) {
      return Tensor::borrow(memory.as<float>() + n * elements * stride, DType::f32, {elements},
                            {stride});
    };
    context.compile(kernel).launch({tensor(0), tensor(1)});
  });
}

/// A death test, run in a process of its own: `launch` ends with a report of a data race.
#define EXPECT_RACE(launch)                                                                        \
  EXPECT_EXIT((launch, std::exit(0)), testing::ExitedWithCode(kReported), "data race")

class Race : public testing::Test {
protected:
  Race() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

/// Every core stores every tile.
Kernel storeTwice(int tile) {
  return {"storeTwice(x[N]) -> y[N]", [=](In<f32, 1> x, Out<f32, 1> y) {
            auto xs = x.tiled(tile);
            auto ys = y.tiled(tile);
            for (auto i : range(xs.cols()))
              ys(i) = xs(i) + 1;
          }};
}

TEST_F(Race, WholeVectors) { EXPECT_RACE(launch(storeTwice(64), 128)); }
TEST_F(Race, MaskedVectors) { EXPECT_RACE(launch(storeTwice(64), 3)); }
TEST_F(Race, OneElement) { EXPECT_RACE(launch(storeTwice(1), 1)); }
TEST_F(Race, LanesApart) { EXPECT_RACE(launch(storeTwice(64), 64, /*stride=*/3)); }
TEST_F(Race, StoresPastTheCaches) { EXPECT_RACE(launch(storeTwice(4096), int64_t(1) << 23)); }

TEST_F(Race, ReadAndWrite) {
  Kernel kernel("readAndWrite(x[N]) -> y[N]", [](In<f32, 1> x, InOut<f32, 1> y) {
    auto xs = x.tiled(16);
    auto ys = y.tiled(16);
    when(coreId() == 0, [&] { ys(0) = xs(0); }, [&] { ys(1) = ys(0) + 1; });
  });
  EXPECT_RACE(launch(kernel, 32));
}

TEST_F(Race, AtomicAdditionAndStore) {
  Kernel kernel("addAndStore(x[N]) -> y[N]", [](In<f32, 1> x, InOut<f32, 1> y) {
    auto xs = x.tiled(16);
    auto ys = y.tiled(16);
    when(coreId() == 0, [&] { ys(0) = xs(0); }, [&] { atomicAdd(ys(0), xs(0)); });
  });
  EXPECT_RACE(launch(kernel, 16));
}

/// Rank 0 puts x into a buffer of rank 1, which reads it: after a wait, or at once.
Kernel putAndRead(bool waits) {
  return {"putAndRead(x[N]) -> y[N]", [=](In<f32, 1> x, Out<f32, 1> y) {
            auto xs = x.tiled(16);
            auto ys = y.tiled(16);
            auto buffer = symmetric<f32>({x.size()}, "buffer");
            auto ready = signals(1, "ready");
            when(
                rank() == 0,
                [&] {
                  put(xs(0), buffer.on(1).tiled(16)(0));
                  notify(ready.on(1)(0));
                },
                [&] {
                  if (waits)
                    wait(ready(0), 1);
                  ys(0) = buffer.tiled(16)(0);
                  if (!waits)
                    wait(ready(0), 1);
                });
          }};
}

TEST_F(Race, PutAndReadBeforeTheWait) {
  // Rank 1 begins first: the start of a launch looks at whether the peers have ended theirs.
  Options options{.ranks = 2, .cores = 1};
  options.straggler = {.rank = 0, .delay = std::chrono::milliseconds(50)};
  EXPECT_RACE(launch(putAndRead(false), 16, 1, options));
}

TEST_F(Race, NoneAfterTheWait) {
  for (int repeat = 0; repeat < 20; ++repeat)
    launch(putAndRead(true), 16, 1, {.ranks = 2, .cores = 1});
}

TEST_F(Race, NoneBetweenAtomicAdditions) {
  Kernel kernel("add(x[N]) -> y[N]",
                [](In<f32, 1> x, InOut<f32, 1> y) { atomicAdd(y.tiled(16)(0), x.tiled(16)(0)); });
  for (int repeat = 0; repeat < 20; ++repeat)
    launch(kernel, 16);
}

TEST_F(Race, NoneBetweenTilesThatAreDealt) {
  Kernel kernel("dealt(x[N]) -> y[N]", [](In<f32, 1> x, Out<f32, 1> y) {
    auto xs = x.tiled(7);
    auto ys = y.tiled(7);
    for (auto [i] : ys.tiles())
      ys(i) = xs(i) + 1;
  });
  launch(kernel, 1000);
  launch(kernel, 1000, /*stride=*/3);
}

} // namespace
} // namespace ditron
