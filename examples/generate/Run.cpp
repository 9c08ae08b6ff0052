// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Run.h"
#include "batch/Batch.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>

namespace generate {

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

namespace {

/// The prompts of a run, those that are in the batch, and what they have come to.
class Runs {
public:
  Runs(Decoder &decoder, const Tokenizer &tokenizer, const SamplerOptions &sampling, int64_t most)
      : batch_(decoder), tokenizer_(tokenizer), sampling_(sampling), most_(most) {}

  std::vector<Generated> all(const std::vector<std::vector<Token>> &prompts,
                             const std::function<void(size_t, const Generated &)> &report) {
    results_.resize(prompts.size());
    while (next_ < prompts.size() || batch_.size() > 0) {
      join(prompts);
      for (const Made &made : batch_.step())
        take(made, report);
    }
    return std::move(results_);
  }

private:
  void join(const std::vector<std::vector<Token>> &prompts) {
    while (next_ < prompts.size()) {
      std::optional<int64_t> place = batch_.join(prompts[next_], most_, Sampler(sampling_));
      if (!place)
        return;
      running_[*place] = {next_++, Clock::now()};
    }
  }

  void take(const Made &made, const std::function<void(size_t, const Generated &)> &report) {
    auto &[number, start] = running_.at(made.place);
    Generated &result = results_[number];
    if (result.tokens.empty()) {
      result.promptSeconds = secondsSince(start);
      start = Clock::now();
    }
    bool isAnother = made.token && !tokenizer_.isEnd(*made.token);
    if (isAnother) {
      result.tokens.push_back(*made.token);
      result.seconds = secondsSince(start);
    } else if (!made.token)
      result.error = made.fault;
    result.isDone = !isAnother || std::ssize(result.tokens) == most_;
    report(number, result);
    if (result.isDone)
      batch_.leave(made.place);
  }

  struct Running {
    size_t number;
    Clock::time_point start; ///< of the prompt, then of its answer
  };
  Batch batch_;
  const Tokenizer &tokenizer_;
  SamplerOptions sampling_;
  int64_t most_;
  size_t next_ = 0; ///< the first prompt that was in no batch
  std::map<int64_t, Running> running_;
  std::vector<Generated> results_;
};

} // namespace

std::vector<Generated>
generateTokens(Decoder &decoder, const Tokenizer &tokenizer, const SamplerOptions &sampling,
               const std::vector<std::vector<Token>> &prompts, int64_t most,
               const std::function<void(size_t, const Generated &)> &report) {
  auto longest = std::ranges::max_element(prompts, {}, &std::vector<Token>::size);
  for (int64_t rows : {int64_t(1), std::min(std::ssize(*longest), DecoderSize::kRows),
                       std::min(std::ssize(prompts), decoder.size().sequences)})
    decoder.prepare(rows);
  return Runs(decoder, tokenizer, sampling, most).all(prompts, report);
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
  int64_t count = std::ssize(tokens) - 1;
  std::vector<int64_t> pages(size_t(decoder.size().allPages()));
  std::iota(pages.begin(), pages.end(), 0);
  decoder.setPages(0, pages);
  for (int64_t first = 0; first < count; first += DecoderSize::kRows) {
    std::vector<Row> rows;
    for (int64_t n = first; n < std::min(count, first + DecoderSize::kRows); ++n)
      rows.push_back({tokens[size_t(n)], n, 0, true});
    decoder.step(rows);
    for (int64_t n = 0; n < std::ssize(rows); ++n) {
      std::optional<std::vector<float>> logits = decoder.logits(n);
      if (!logits)
        throw ditron::RuntimeError(decoder.faultOf(n));
      total += negativeLogLikelihood(*logits, tokens[size_t(first + n + 1)]);
    }
    report(first + std::ssize(rows));
  }
  return std::exp(total / double(count));
}

} // namespace generate
