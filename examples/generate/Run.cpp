// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Run.h"
#include <algorithm>
#include <chrono>
#include <cmath>

namespace generate {

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Generated generateTokens(Decoder &decoder, const Tokenizer &tokenizer, Sampler &sampler,
                         const std::vector<Token> &prompt, int64_t most,
                         const std::function<void(const Generated &)> &report) {
  for (size_t n = 0; n + 1 < prompt.size(); ++n)
    decoder.step(prompt[n]);
  if (prompt.size() > 1)
    decoder.best(); // the prompt's time is its own
  Generated result;
  Clock::time_point start = Clock::now();
  Token token = prompt.back();
  while (std::ssize(result.tokens) < most) {
    decoder.step(token);
    token = sampler.isGreedy() ? decoder.best() : sampler.choose(decoder.logits());
    if (tokenizer.isEnd(token))
      break;
    result.tokens.push_back(token);
    result.seconds = secondsSince(start);
    report(result);
  }
  return result;
}

/// -log of the probability that logits give a token.
static double negativeLogLikelihood(const std::vector<float> &logits, Token token) {
  double top = *std::ranges::max_element(logits), total = 0;
  for (float logit : logits)
    total += std::exp(double(logit) - top);
  return top + std::log(total) - double(logits[size_t(token)]);
}

double perplexity(Decoder &decoder, const std::vector<Token> &tokens,
                  const std::function<void(int64_t)> &report) {
  double total = 0;
  for (size_t n = 0; n + 1 < tokens.size(); ++n) {
    decoder.step(tokens[n]);
    total += negativeLogLikelihood(decoder.logits(), tokens[n + 1]);
    report(int64_t(n) + 1);
  }
  return std::exp(total / double(tokens.size() - 1));
}

} // namespace generate
