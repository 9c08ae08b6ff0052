// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens are a sample of the distribution that the options say, and of no other tokens.
#include "Sampler.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

using namespace generate;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Some of them are equal.
std::vector<float> randomLogits(size_t count, double deviation) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(0, deviation);
  std::vector<float> logits(count);
  std::ranges::generate(logits, [&] { return float(std::round(normal(random) * 8) / 8); });
  return logits;
}

/// What each token has of the probability, by all that is said of the options: with sorted tokens.
std::vector<double> probabilities(const std::vector<float> &logits, const SamplerOptions &options) {
  std::vector<size_t> tokens(logits.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  std::ranges::stable_sort(tokens, [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  if (options.topK > 0)
    tokens.resize(std::min(tokens.size(), size_t(options.topK)));
  std::vector<double> weights(logits.size());
  double all = 0, kept = 0;
  for (size_t token : tokens)
    all += weights[token] =
        std::exp((double(logits[token]) - logits[tokens.front()]) / options.temperature);
  for (size_t token : tokens)
    if (kept >= options.topP * all && options.topP < 1)
      weights[token] = 0;
    else
      kept += weights[token];
  for (double &weight : weights)
    weight /= kept;
  return weights;
}

/// Each token is as frequent as it has to be, up to five standard deviations.
void compare(const std::vector<float> &logits, SamplerOptions options, int64_t draws) {
  options.seed = 3;
  Sampler sampler(options);
  std::vector<double> expected = probabilities(logits, options);
  std::vector<int64_t> found(logits.size());
  for (int64_t n = 0; n < draws; ++n)
    ++found[size_t(sampler.choose(logits))];
  for (size_t token = 0; token < logits.size(); ++token) {
    double mean = expected[token] * double(draws);
    if (mean == 0)
      EXPECT_EQ(found[token], 0) << "token " << token;
    EXPECT_NEAR(double(found[token]), mean, 5 * std::sqrt(mean) + 1) << "token " << token;
  }
}

TEST(Sampler, DrawsFromTheWholeDistribution) {
  compare(randomLogits(40, 1), {.temperature = 1}, 20000);
  compare(randomLogits(40, 1), {.temperature = 0.5}, 20000);
  compare({0.25F}, {.temperature = 1}, 10);
}

TEST(Sampler, DrawsFromTheLikeliest) {
  for (int64_t topK : {1, 2, 7, 39, 40, 1000})
    compare(randomLogits(40, 1), {.temperature = 2, .topK = topK}, 10000);
  // Of few among many, and of many.
  for (int64_t topK : {5, 300})
    compare(randomLogits(1000, 1), {.temperature = 1, .topK = topK}, 10000);
}

TEST(Sampler, DrawsFromThoseThatHaveAShare) {
  for (double topP : {1e-9, 0.1, 0.5, 0.9, 0.999, 0.999999})
    for (double deviation : {0.01, 1.0, 6.0})
      compare(randomLogits(200, deviation), {.temperature = 1, .topP = topP}, 5000);
  compare(randomLogits(20000, 3), {.temperature = 1, .topP = 0.9}, 2000);
  compare(randomLogits(200, 1), {.temperature = 1, .topK = 20, .topP = 0.7}, 10000);
}

TEST(Sampler, TakesTheFirstOfEqualTokens) {
  std::vector<float> equal(100, 1.5F);
  EXPECT_EQ(Sampler({}).choose(equal), 0);
  compare(equal, {.temperature = 1, .topP = 0.25}, 5000);
  compare(equal, {.temperature = 1, .topK = 30}, 5000);
  // Their weights are the same, but not their order.
  compare({1, 2, 3, 4}, {.temperature = 1e300, .topP = 0.5}, 1000);
  compare({1, 2, 3, 4}, {.temperature = 1e300, .topK = 3}, 1000);
}

TEST(Sampler, NeverTakesWhatHasNoProbability) {
  std::vector<float> logits = {-kInfinity, 2, -kInfinity, 1, -kInfinity};
  compare(logits, {.temperature = 1}, 2000);
  compare(logits, {.temperature = 1, .topP = 0.999}, 2000);
  compare(logits, {.temperature = 1, .topK = 4}, 2000);
  Sampler cold({.temperature = 1e-300});
  for (int n = 0; n < 100; ++n)
    EXPECT_EQ(cold.choose(logits), 1);
}

TEST(Sampler, FollowsFromItsSeed) {
  std::vector<float> logits = randomLogits(5000, 1);
  auto draws = [&](uint64_t seed) {
    Sampler sampler({.temperature = 1, .topP = 0.95, .seed = seed});
    std::vector<Token> tokens(20);
    std::ranges::generate(tokens, [&] { return sampler.choose(logits); });
    return tokens;
  };
  EXPECT_EQ(draws(1), draws(1));
  EXPECT_NE(draws(1), draws(2));
}

} // namespace
