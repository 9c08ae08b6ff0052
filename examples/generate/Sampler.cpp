// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Sampler.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace generate {

Sampler::Sampler(const SamplerOptions &options) : options_(options), random_(options.seed) {
  if (!(options.temperature >= 0 && std::isfinite(options.temperature)))
    throw ditron::UsageError(
        fmt::format("--temperature is {}, expected 0 or more", options.temperature));
  if (options.topK < 0)
    throw ditron::UsageError(fmt::format("--top-k is {}, expected 0 or more", options.topK));
  if (!(options.topP > 0 && options.topP <= 1))
    throw ditron::UsageError(
        fmt::format("--top-p is {}, expected more than 0, up to 1", options.topP));
}

/// The tokens that may be taken, the likeliest first; of equal ones the first.
static std::vector<Token> candidates(std::span<const float> logits, int64_t topK) {
  std::vector<Token> tokens(logits.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  auto isLikelier = [&](Token a, Token b) {
    float x = logits[size_t(a)], y = logits[size_t(b)];
    return x != y ? x > y : a < b;
  };
  size_t count = topK > 0 ? std::min(size_t(topK), tokens.size()) : tokens.size();
  std::partial_sort(tokens.begin(), tokens.begin() + std::ptrdiff_t(count), tokens.end(),
                    isLikelier);
  tokens.resize(count);
  return tokens;
}

Token Sampler::choose(std::span<const float> logits) {
  if (isGreedy())
    return candidates(logits, 1).front();
  std::vector<Token> tokens = candidates(logits, options_.topK);
  std::vector<double> sums; // of the weights so far
  double total = 0, top = logits[size_t(tokens.front())];
  for (Token token : tokens)
    sums.push_back(total += std::exp((logits[size_t(token)] - top) / options_.temperature));
  auto kept = std::ranges::find_if(sums, [&](double sum) { return sum >= options_.topP * total; });
  total = kept == sums.end() ? total : *kept;
  // The top 53 bits: the same number on every machine.
  double point = double(random_() >> 11) * 0x1p-53 * total;
  auto chosen = std::ranges::find_if(sums, [&](double sum) { return sum > point; });
  return tokens[std::min(size_t(chosen - sums.begin()), tokens.size() - 1)];
}

} // namespace generate
