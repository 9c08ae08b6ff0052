// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of narrow floats, of every value that the type has, on the backend that DITRON_BACKEND names.
#include "ditron/driver/Context.h"
#include <cmath>
#include <gtest/gtest.h>

namespace ditron {
namespace {

constexpr int kTile = 128;

template <class T> Tensor sigmoidOf(const Tensor &values) {
  Context ctx = Context::init();
  Tensor y = ctx.tensor<T>(values.shape());
  Kernel kernel("sigmoid(x[N]) -> y[N]", [](In<T, 1> x, Out<T, 1> y) {
    auto xs = x.tiled(kTile);
    auto ys = y.tiled(kTile);
    for (auto [i] : ys.tiles())
      ys(i) = sigmoid(xs(i));
  });
  ctx.compile(kernel)(ctx.tensorFrom(values), y);
  return y.toHost();
}

/// The exponential in it is beyond the range of f8e4m3 from -6.5 down, and of f16 from -11.1 down.
template <class T> void expectSigmoid(double mostSteps) {
  constexpr int64_t kValues = int64_t(1) << (8 * sizeof(T));
  Tensor x = Tensor::own(kDType<T>, {kValues}), expected = x.clone();
  for (int64_t n = 0; n < kValues; ++n) {
    x.as<T>()[n].bits = static_cast<decltype(T::bits)>(n);
    expected.set({n}, 1 / (1 + std::exp(-x.at({n}))));
  }
  Tensor found = sigmoidOf<T>(x);
  for (int64_t n = 0; n < kValues; ++n) {
    bool isNumber = !std::isnan(expected.at({n}));
    ASSERT_EQ(!std::isnan(found.at({n})), isNumber) << x.at({n});
    if (isNumber)
      ASSERT_NEAR(found.as<T>()[n].bits, expected.as<T>()[n].bits, mostSteps) << x.at({n});
  }
}

TEST(Functions, SigmoidOfF16) { expectSigmoid<f16>(1); }
TEST(Functions, SigmoidOfF8e4m3) { expectSigmoid<f8e4m3>(1); }
TEST(Functions, SigmoidOfF8e5m2) { expectSigmoid<f8e5m2>(1); }

} // namespace
} // namespace ditron
