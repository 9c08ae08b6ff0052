// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A vocabulary has 150,000 tokens, and a step a few milliseconds: no choice sorts them. Which tokens may
// be taken follows from the least likely of them, which partitions of the logits find. The sums that a
// point falls among are then those of the tokens in the order of their numbers.
#include "Sampler.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
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

namespace {

/// The `count` largest logits, in any order; 0: all of them.
std::vector<float> likeliest(std::span<const float> logits, size_t count) {
  constexpr size_t kFew = 64; // a heap of few is faster than partitions
  if (count == 0 || count > logits.size() / kFew) {
    std::vector<float> found(logits.begin(), logits.end());
    if (count > 0 && count < found.size()) {
      std::ranges::nth_element(found, found.begin() + std::ptrdiff_t(count), std::greater());
      found.resize(count);
    }
    return found;
  }
  std::vector<float> found(count);
  std::ranges::partial_sort_copy(logits, found, std::greater());
  return found;
}

/// The logits of the tokens that may be taken, in any order.
class Candidates {
public:
  Candidates(std::span<const float> logits, const SamplerOptions &options)
      : logits_(likeliest(logits, size_t(options.topK))), top_(std::ranges::max(logits_)),
        temperature_(options.temperature) {}

  /// Of a token among those that may be taken; the likeliest has 1.
  double weightOf(float logit) const { return std::exp((double(logit) - top_) / temperature_); }

  /// Keeps the likeliest that have this share of the weight together, no more than it takes.
  void keepShare(double share) {
    double all = weightOf(logits_.begin(), logits_.end()), wanted = share * all;
    // Those of less than an equal part of what is left out are not needed, even if they are all.
    double least = (1 - share) * all / double(logits_.size());
    double border = top_ + temperature_ * std::log(least);
    std::erase_if(logits_, [&](float logit) { return double(logit) < border; });
    // The last that is kept is one of [first, end); `wanted` is of the weight from first on.
    auto first = logits_.begin(), end = logits_.end();
    while (end - first > 1) {
      auto middle = first + (end - first) / 2;
      std::nth_element(first, middle, end, std::greater());
      double weight = weightOf(first, middle);
      if (weight >= wanted) {
        end = middle;
      } else {
        wanted -= weight;
        first = middle;
      }
    }
    logits_.erase(end, logits_.end());
  }

  /// The tokens that are kept, in the order of their numbers; of equally likely ones the first. `all`:
  /// the logits, by token.
  std::vector<Token> tokens(std::span<const float> all) const {
    float least = std::ranges::min(logits_);
    auto equal = std::ranges::count(logits_, least);
    std::vector<Token> tokens;
    tokens.reserve(logits_.size());
    for (size_t n = 0; n < all.size(); ++n)
      if (all[n] >= least && (all[n] > least || equal-- > 0))
        tokens.push_back(Token(n));
    return tokens;
  }

private:
  using Iterator = std::vector<float>::iterator;
  double weightOf(Iterator first, Iterator end) const {
    return std::accumulate(first, end, 0.0,
                           [&](double sum, float logit) { return sum + weightOf(logit); });
  }

  std::vector<float> logits_;
  double top_, temperature_;
};

} // namespace

Token Sampler::choose(std::span<const float> logits) {
  if (isGreedy())
    return Token(std::ranges::max_element(logits) - logits.begin());
  Candidates candidates(logits, options_);
  if (options_.topP < 1)
    candidates.keepShare(options_.topP);
  std::vector<Token> tokens = candidates.tokens(logits);
  std::vector<double> sums; // of the weights so far
  sums.reserve(tokens.size());
  double total = 0;
  for (Token token : tokens)
    sums.push_back(total += candidates.weightOf(logits[size_t(token)]));
  // The top 53 bits: the same number on every machine. The product may be rounded up to the whole sum.
  double share = double(random_() >> 11) * 0x1p-53;
  double point = std::min(share * total, std::nextafter(total, 0));
  return tokens[size_t(std::ranges::upper_bound(sums, point) - sums.begin())];
}

} // namespace generate
