// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What results are judged by: wide enough for the arithmetic that tile.dot allows, and no wider
// than it takes to see that a term is missing.
#include "ditron/kernels/ReferenceSums.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace ditron::kernels {
namespace {

constexpr int kStep = 32, kRun = 128; // terms of one addition; between promotions

/// Terms added to a sum in one addition, each with 13 bits behind the binary point of the largest.
double accumulate(double sum, const double *terms) {
  double largest = std::abs(sum), result = 0;
  for (int n = 0; n < kStep; ++n)
    largest = std::max(largest, std::abs(terms[n]));
  double unit = largest == 0 ? 1 : std::ldexp(1.0, std::ilogb(largest) - 13);
  for (int n = 0; n < kStep; ++n)
    result += std::trunc(terms[n] / unit) * unit;
  return result + std::trunc(sum / unit) * unit;
}

struct Judged {
  double error, allowed;
};

/// A product of K random terms with fast accumulation.
Judged fastAccum(int K, std::mt19937 &random) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  auto draw = [&] { return roundTo(DType::f8e4m3, uniform(random)); };
  ReferenceSum sum;
  std::vector<double> terms;
  for (int k = 0; k < K; ++k) {
    double a = draw(), b = draw();
    sum.addProduct(a, b);
    terms.push_back(a * b);
  }
  float found = 0;
  for (int run = 0; run < K; run += kRun) {
    double part = 0;
    for (int k = run; k < std::min(K, run + kRun); k += kStep)
      part = accumulate(part, terms.data() + k);
    found += static_cast<float>(part);
  }
  sum.allowFastAccum();
  Expected expected = expectedSum(sum, DType::f32);
  return {std::abs(double(found) - expected.value), tolerance(expected, DType::f32)};
}

TEST(Criterion, FastAccum) {
  std::mt19937 random(1);
  constexpr int kTerms = 4'000'000;
  for (int K : {32, 128, 512, 4096}) {
    double worst = 0, mostAllowed = 0;
    for (int n = 0; n < kTerms / K; ++n) {
      Judged one = fastAccum(K, random);
      worst = std::max(worst, one.error / one.allowed);
      mostAllowed = std::max(mostAllowed, one.allowed);
    }
    EXPECT_LT(worst, 1) << K << " terms";
    EXPECT_LT(mostAllowed, 0.25) << K << " terms: that of an average term";
  }
}

} // namespace
} // namespace ditron::kernels
