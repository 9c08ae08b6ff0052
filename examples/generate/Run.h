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
  std::string error;        ///< why there are no more of them; empty: nothing has failed
  double promptSeconds = 0; ///< from the beginning to the first token
  double seconds = 0;       ///< from the first to the last token
  bool isDone = false;      ///< nothing comes behind it
  double tokensPerSecond() const { return seconds > 0 ? double(tokens.size() - 1) / seconds : 0; }
};

/// Takes in the prompts and generates up to `most` tokens behind each, fewer where a text ends; as
/// many sequences at a time as the decoder has places for. `report` is called with the number of a
/// prompt and what there is after each of its tokens, the one that ends it included.
std::vector<Generated>
generateTokens(Decoder &decoder, const Tokenizer &tokenizer, const SamplerOptions &sampling,
               const std::vector<std::vector<Token>> &prompts, int64_t most,
               const std::function<void(size_t prompt, const Generated &)> &report);

/// exp of the mean of the tokens' negative log-likelihoods, of each given those before it.
double perplexity(Decoder &decoder, const std::vector<Token> &tokens,
                  const std::function<void(int64_t)> &report);

} // namespace generate
