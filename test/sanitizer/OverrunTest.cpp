// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that are told more memory than there is: the address sanitizer stops each at the access.
#include "ditron/driver/Context.h"
#include "ditron/lang/Kernel.h"
#include <gtest/gtest.h>
#include <string>

namespace ditron {
namespace {

/// y = x + 1, x and y being `elements` floats `stride` apart, in memory for one too few where
/// `isShort` says so: a block of the heap, whose bounds the sanitizer guards.
struct Setup {
  int64_t elements;
  int64_t stride = 1;
  int tile = 64;
};

void launch(const Setup &setup, bool xIsShort, bool yIsShort) {
  Kernel kernel("increment(x[N]) -> y[N]", [&](In<f32, 1> x, Out<f32, 1> y) {
    auto xs = x.tiled(setup.tile);
    auto ys = y.tiled(setup.tile);
    for (auto [i] : ys.tiles())
      ys(i) = xs(i) + 1;
  });
  int64_t needed = (setup.elements - 1) * setup.stride + 1;
  Tensor x = Tensor::own(DType::f32, {needed - (xIsShort ? 1 : 0)});
  Tensor y = Tensor::own(DType::f32, {needed - (yIsShort ? 1 : 0)});
  auto tensor = [&](const Tensor &memory) {
    return Tensor::borrow(memory.data(), DType::f32, {setup.elements}, {setup.stride});
  };
  runRanks({}, [&](Context &context) { context.compile(kernel).launch({tensor(x), tensor(y)}); });
}

class Overrun : public testing::TestWithParam<Setup> {
protected:
  Overrun() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_P(Overrun, OfARead) {
  EXPECT_DEATH(launch(GetParam(), true, false), "heap-buffer-overflow(.|\n)*READ of size");
}
TEST_P(Overrun, OfAWrite) {
  EXPECT_DEATH(launch(GetParam(), false, true), "heap-buffer-overflow(.|\n)*WRITE of size");
}
TEST_P(Overrun, NoneWhereAllIsThere) { launch(GetParam(), false, false); }

INSTANTIATE_TEST_SUITE_P(Accesses, Overrun,
                         testing::Values(Setup{128},                        // whole vectors
                                         Setup{67},                         // and a masked one
                                         Setup{3},                          // a masked one
                                         Setup{9, 1, 1},                    // single elements
                                         Setup{67, 3},                      // lanes apart
                                         Setup{int64_t(1) << 23, 1, 4096}), // past the caches
                         [](auto &info) { return "n" + std::to_string(info.index); });

} // namespace
} // namespace ditron
