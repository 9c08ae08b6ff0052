// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "text/TokenizerSpec.h"
#include <cstdint>
#include <random>
#include <span>

namespace generate {

struct SamplerOptions {
  double temperature = 0; ///< 0: always the likeliest token
  int64_t topK = 0;       ///< of which the next one is taken; 0: of all
  double topP = 1;   ///< what the tokens it is taken from have of the whole probability, at least
  uint64_t seed = 0; ///< what the choices follow from
};

/// Chooses tokens.
class Sampler {
public:
  /// UsageError naming the option that is out of range.
  explicit Sampler(const SamplerOptions &options);
  bool isGreedy() const { return options_.temperature == 0; }
  /// Of one logit or more, none of which is NaN, and whose largest is finite.
  Token choose(std::span<const float> logits);

private:
  SamplerOptions options_;
  std::mt19937_64 random_;
};

} // namespace generate
