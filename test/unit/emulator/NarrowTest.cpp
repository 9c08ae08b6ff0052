// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalars of narrow floats, which compute in f32 and are rounded once, as elements of tiles do.
#include "Emulator.h"
#include "ditron/driver/Compile.h"
#include "ditron/lang/Kernel.h"
#include "ditron/support/DType.h"
#include <cmath>
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>

namespace ditron {
namespace {

using Function = std::function<Tile(Tile)>;
constexpr int64_t kElements = 64;

/// A tensor [kElements] of any type, all of whose elements are one number at first.
class Elements {
public:
  Elements(DType type, double value = 0) : type_(type), memory_(kElements) {
    for (int64_t n = 0; n < kElements; ++n)
      set(n, value);
  }
  void set(int64_t n, double value) { storeElement(type_, at(n), value); }
  double operator[](int64_t n) { return loadElement(type_, at(n)); }
  /// What a launch is told of it: where it is, its extent and its stride.
  std::vector<int64_t> words() { return {reinterpret_cast<int64_t>(memory_.data()), kElements, 1}; }

private:
  std::byte *at(int64_t n) {
    return reinterpret_cast<std::byte *>(memory_.data()) + n * int64_t(byteSize(type_));
  }
  DType type_;
  std::vector<uint32_t> memory_;
};

void execute(const Kernel &kernel, const std::vector<std::vector<int64_t>> &words) {
  setenv("DITRON_CACHE", "0", 1);
  BuiltKernel code = buildKernel(kernel, requestFor(kernel, "sm_90a", {}));
  emulator::Launch launch{{}, {}, 0, int(code.info.threads), int(code.info.sharedBytes), 1};
  for (const std::vector<int64_t> &argument : words)
    launch.words.insert(launch.words.end(), argument.begin(), argument.end());
  launch.blocks = int(code.info.cores({launch.words, 1}));
  int64_t status[32] = {};
  launch.words.push_back(reinterpret_cast<int64_t>(status));
  emulator::execute(code.code, launch);
}

double rounded(DType type, double value) {
  uint64_t element = 0;
  storeElement(type, &element, value);
  return loadElement(type, &element);
}

/// f of an argument of the kernel.
template <class T> double ofArgument(const Function &f, double scalar) {
  Kernel kernel("k(x[N], s) -> y[N]", [&](In<T, 1> x, Scalar<T> s, Out<T, 1> y) {
    for (auto [i] : y.tiled(16).tiles())
      y.tiled(16)(i) = x.tiled(16)(i) * f(s);
  });
  Elements x(kDType<T>, 1), y(kDType<T>);
  int64_t word = 0;
  storeElement(kDType<T>, &word, scalar);
  execute(kernel, {x.words(), {word}, y.words()});
  return y[3];
}

/// f of elements that are read one by one is f of tiles with these elements.
template <class T> void expectAsOfTiles(const Function &f, const char *name) {
  Kernel kernel("k(x[N]) -> y[N], w[N]", [&](In<T, 1> x, Out<T, 1> y, Out<T, 1> w) {
    for (auto [i] : y.tiled(1).tiles()) {
      y.tiled(1)(i) = f(x.read({i}));
      w.tiled(1)(i) = f(Tile(x.tiled(1)(i)));
    }
  });
  Elements x(kDType<T>), y(kDType<T>, -1), w(kDType<T>, -2);
  for (int64_t n = 0; n < kElements; ++n)
    x.set(n, double(n + 1) * 0.37);
  execute(kernel, {x.words(), y.words(), w.words()});
  for (int64_t n = 0; n < kElements; ++n)
    if (!std::isnan(y[n]) || !std::isnan(w[n]))
      EXPECT_EQ(y[n], w[n]) << name << " of " << x[n];
}

template <class T> void expectFunctions() {
  DType type = kDType<T>;
  EXPECT_EQ(ofArgument<T>([](Tile s) { return s * 2; }, 0.5), 1);
  EXPECT_EQ(ofArgument<T>([](Tile s) { return exp2(s); }, 2), 4);
  EXPECT_EQ(ofArgument<T>([](Tile s) { return maximum(s, s + 1) - 0.5; }, 1.5), 2);
  EXPECT_EQ(ofArgument<T>([](Tile s) { return rsqrt(s); }, 3),
            rounded(type, 1 / std::sqrt(rounded(type, 3))));
  expectAsOfTiles<T>([](Tile x) { return rsqrt(x); }, "rsqrt");
  expectAsOfTiles<T>([](Tile x) { return x * x + x; }, "x * x + x");
  expectAsOfTiles<T>([](Tile x) { return sigmoid(tanh(x)); }, "sigmoid(tanh)");
}

TEST(Narrow, ScalarsOfF16) { expectFunctions<f16>(); }
TEST(Narrow, ScalarsOfBf16) { expectFunctions<bf16>(); }
TEST(Narrow, ScalarsOfF8e4m3) { expectFunctions<f8e4m3>(); }
TEST(Narrow, ScalarsOfF8e5m2) { expectFunctions<f8e5m2>(); }

} // namespace
} // namespace ditron
