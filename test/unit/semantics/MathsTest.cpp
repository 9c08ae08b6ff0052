// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The accuracy of the mathematical functions, in units of the last place, against double precision:
// over wide ranges, at special values and in every element type.
#include "Differential.h"
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <limits>

namespace ditron::differential {
namespace {

struct MathFunction {
  const char *name;
  Tile (*apply)(detail::Operand);
  double (*exact)(double);
  double bound; ///< in ulp
};

constexpr double kBoundOfGpus = 2; ///< for what they approximate, as docs/nvidia.md says

double rsqrtOf(double x) { return 1 / std::sqrt(x); }

const MathFunction kFunctions[] = {{"exp", exp, std::exp, 1.5},    {"exp2", exp2, std::exp2, 1.5},
                                   {"log", log, std::log, 1},      {"log2", log2, std::log2, 1},
                                   {"sqrt", sqrt, std::sqrt, 0.5}, {"rsqrt", rsqrt, rsqrtOf, 1.5},
                                   {"tanh", tanh, std::tanh, 4},   {"erf", erf, std::erf, 4},
                                   {"sin", sin, std::sin, 1},      {"cos", cos, std::cos, 1}};

const int kWidth = isOnCpu() ? 509 : 512; // no multiple of a vector; of a thread, a few

template <class T> Kernel mathsKernel() {
  return {"maths(x[N]) -> o[P,N]", [](In<T, 1> x, Out<T, 2> o) {
            auto xs = x.tiled(kWidth);
            auto os = o.tiled(kWidth);
            for (auto [j] : xs.tiles())
              for (int p = 0; const MathFunction &function : kFunctions)
                os(p++, j) = function.apply(xs(j));
          }};
}

/// The expected value in the type: rounded, or beyond its range infinite (a NaN in f8e4m3).
double inType(DType type, double value) {
  char bits[8];
  storeElement(type, bits, value);
  return loadElement(type, bits);
}

template <class T> void expectAccurate(const Block &x, double slack) {
  constexpr DType type = kDType<T>;
  SCOPED_TRACE(name(type));
  auto functions = static_cast<int64_t>(std::size(kFunctions));
  std::vector<Argument> arguments =
      runCompiled(mathsKernel<T>(), {x, Block(type, {functions, x.elements()})});
  auto &in = std::get<Block>(arguments[0]), &out = std::get<Block>(arguments[1]);
  for (int64_t p = 0; p < functions; ++p) {
    const MathFunction &function = kFunctions[p];
    double worst = 0, worstAt = 0, worstFound = 0;
    for (int64_t n = 0; n < in.elements(); ++n) {
      double exact = function.exact(in.at(n)), found = out.at(p * in.elements() + n);
      double rounded = inType(type, exact);
      double error = 0;
      if (std::isnan(rounded) || std::isinf(rounded) || std::isinf(found) || std::isnan(found)) {
        bool same = std::isnan(rounded) ? std::isnan(found) : rounded == found;
        double largest = inType(type, std::numeric_limits<double>::max());
        bool atTheEdge = std::fabs(exact) > 0.999 * largest; // unused where largest is infinite
        error = same || (std::isinf(found) && std::fabs(exact) > 3.4028e38) || atTheEdge ? 0 : 1e9;
      } else {
        error = std::fabs(found - exact) / ulpOf(type, exact);
      }
      if (error > worst)
        worst = error, worstAt = in.at(n), worstFound = found;
    }
    testing::Test::RecordProperty(fmt::format("{}_{}", function.name, name(type)),
                                  fmt::format("{:.3f}", worst));
    EXPECT_LE(worst, (isOnCpu() ? function.bound : std::max(function.bound, kBoundOfGpus)) + slack)
        << function.name << "(" << fmt::format("{:.9g}", worstAt) << ") is "
        << fmt::format("{:.9g}, expected {:.9g}", worstFound, function.exact(worstAt));
    if (std::getenv("DITRON_TEST_VERBOSE"))
      fmt::print("{:8} {:8} {:.3f} ulp at {:.9g}\n", function.name, name(type), worst, worstAt);
  }
}

/// Every exponent, both signs, and what is delicate: edges of ranges, multiples of pi, next to 1.
Block wideRange() {
  std::vector<float> values;
  for (double value : delicateFloats(DType::f32))
    values.push_back(static_cast<float>(value));
  for (uint64_t bits = 0; bits < 0xff800000; bits += 99991) {
    auto word = static_cast<uint32_t>(bits);
    float value;
    std::memcpy(&value, &word, 4);
    values.push_back(value);
  }
  auto around = [&](double centre, int steps = 3) {
    float up = static_cast<float>(centre), down = up;
    for (int n = 0; n < steps; ++n) {
      values.insert(values.end(), {up, down, -up, -down});
      up = std::nextafter(up, INFINITY), down = std::nextafter(down, -INFINITY);
    }
  };
  for (int n = 1; n < 4000; ++n)
    around(n * M_PI_4, 1);
  for (int n = 1; n < 127; ++n)
    around(std::ldexp(M_PI, n), 2);
  for (double edge : {1.0, 0.5, 2.0, M_SQRT1_2, M_SQRT2, 88.72284, 103.9721, 87.33655, 127.0, 128.0,
                      126.0, 149.0, 150.0, 1e5, 1e10, 9.0, 4.0, 0.625})
    around(edge, 100);
  for (int n = -2000; n < 2000; ++n)
    values.push_back(static_cast<float>(n) * 0.0637f);
  Block block(DType::f32, {static_cast<int64_t>(values.size())});
  std::memcpy(block.element(0), values.data(), values.size() * sizeof(float));
  return block;
}

TEST(Maths, f32) { expectAccurate<f32>(wideRange(), 0); }

/// All values of a narrow type; its own rounding adds half a unit.
template <class T> Block everyValue() {
  Block all(kDType<T>, {int64_t(1) << (8 * sizeof(T))});
  for (int64_t n = 0; n < all.elements(); ++n)
    std::memcpy(all.element(n), &n, sizeof(T));
  return all;
}

TEST(Maths, f16) { expectAccurate<f16>(everyValue<f16>(), 0.01); }
TEST(Maths, bf16) { expectAccurate<bf16>(everyValue<bf16>(), 0.01); }
TEST(Maths, f8e4m3) { expectAccurate<f8e4m3>(everyValue<f8e4m3>(), 0.01); }
TEST(Maths, f8e5m2) { expectAccurate<f8e5m2>(everyValue<f8e5m2>(), 0.01); }

/// Scalars take the same way as tiles.
TEST(Maths, scalars) {
  Kernel kernel("scalars(x[N]) -> y[N,P]", [](In<f32, 1> x, Out<f32> y) {
    auto ys = y.tiled(1, 1);
    for (auto n : range(x.size()))
      for (int p = 0; const MathFunction &function : kFunctions) {
        Tile e = x.read({n});
        ys(n, p++) = reshape(function.apply(e), {1, 1});
      }
  });
  Block x(DType::f32, {30});
  x.fill([](int64_t n) { return 0.1 + static_cast<double>(n) * 0.37; });
  expectSame(kernel, {x, Block(DType::f32, {30, int64_t(std::size(kFunctions))})}, {.ulps = 3});
}

} // namespace
} // namespace ditron::differential
