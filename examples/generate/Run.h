// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "Sampler.h"
#include "model/Decoder.h"
#include "text/Tokenizer.h"
#include <functional>
#include <string>

namespace generate {

/// What was generated behind a prompt.
struct Generated {
  std::vector<Token> tokens;
  double seconds = 0; ///< from the first to the last token
  double tokensPerSecond() const { return seconds > 0 ? double(tokens.size()) / seconds : 0; }
};

/// Takes in the prompt, then generates up to `most` tokens, fewer where the text ends. `report` is
/// called with what there is after each token.
Generated generateTokens(Decoder &decoder, const Tokenizer &tokenizer, Sampler &sampler,
                         const std::vector<Token> &prompt, int64_t most,
                         const std::function<void(const Generated &)> &report);

/// exp of the mean of the tokens' negative log-likelihoods, of each given those before it.
double perplexity(Decoder &decoder, const std::vector<Token> &tokens,
                  const std::function<void(int64_t)> &report);

} // namespace generate
