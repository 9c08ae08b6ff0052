// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/Measure.h"
#include "StepTrace.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <chrono>
#include <numeric>

using namespace ditron;

namespace generate {

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

static double medianOf(std::vector<double> times) {
  auto middle = times.begin() + std::ssize(times) / 2;
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

/// What a decoder gives, which is nothing where its logits are no numbers.
template <class T> static T numbers(std::optional<T> given) {
  if (!given)
    throw RuntimeError(kNoNumbers);
  return std::move(*given);
}

namespace {

/// Sequences that have random keys and values, and decode token by token.
class Batch {
public:
  Batch(const Context &ctx, const BenchOptions &line, const Architecture &model,
        const Weights &weights, Mode mode)
      : ctx_(ctx), line_(line), decoder_(ctx, model, weights, line.size(), mode) {}

  /// Gives the sequences their keys and values, and compiles the step.
  void prepare() {
    const DecoderSize &size = decoder_.size();
    std::vector<int64_t> pages(size_t(size.pagesOf(size.positions)));
    for (int64_t sequence = 0; sequence < line_.batch; ++sequence) {
      std::iota(pages.begin(), pages.end(), sequence * std::ssize(pages));
      decoder_.setPages(sequence, pages);
      tokens_.push_back(Token(1 + sequence));
    }
    RandomFill fill(ctx_);
    for (const LayerCache &cache : decoder_.caches()) {
      fill(cache.keys, 1);
      fill(cache.values, 1);
    }
    decoder_.prepare(line_.batch);
  }

  Decoder &decoder() { return decoder_; }
  const std::vector<Token> &tokens() const { return tokens_; }

  /// A step at this position; the tokens behind it are the sequences' then.
  void step(int64_t position) {
    std::vector<Row> rows;
    for (int64_t n = 0; n < line_.batch; ++n)
      rows.push_back({tokens_[size_t(n)], position, n, true});
    decoder_.step(rows);
    decoder_.wait();
    for (int64_t n = 0; n < line_.batch; ++n)
      tokens_[size_t(n)] = numbers(decoder_.best(n));
  }

  /// Seconds of the last step again, of `count` that are enqueued together.
  double timeSteps(int64_t count) {
    ctx_.barrier();
    ctx_.sync();
    auto start = Clock::now();
    for (int64_t n = 0; n < count; ++n)
      decoder_.again();
    decoder_.wait();
    return secondsSince(start) / double(count);
  }

private:
  const Context &ctx_;
  const BenchOptions &line_;
  Decoder decoder_;
  std::vector<Token> tokens_; ///< the last of each sequence
};

/// How often steps are taken for the seconds that there are, of which one takes `each`. All ranks
/// have to come to the same numbers, so they follow from rank 0's time.
struct Rounds {
  int64_t count, steps;
};

Rounds roundsFor(const Context &ctx, double seconds, double each) {
  constexpr double kRound = 0.04;
  constexpr int64_t kMostSteps = 32, kMostRounds = 200, kLeastRounds = 3;
  if (ctx.ranks() > 1)
    return {kLeastRounds * 5, 8};
  auto steps = std::clamp(int64_t(kRound / each), int64_t(1), kMostSteps);
  return {std::clamp(int64_t(seconds / each / double(steps)), kLeastRounds, kMostRounds), steps};
}

} // namespace

static void timeInto(Measured &result, const Context &ctx, const BenchOptions &line, Batch &batch) {
  Rounds rounds = roundsFor(ctx, line.seconds, batch.timeSteps(1));
  std::vector<double> times, roundTrips;
  for (int64_t round = 0; round < rounds.count; ++round)
    times.push_back(batch.timeSteps(rounds.steps));
  for (int64_t n = 0; n < rounds.count; ++n) {
    auto start = Clock::now();
    batch.step(line.context);
    roundTrips.push_back(secondsSince(start));
  }
  result.median = medianOf(times);
  result.min = *std::ranges::min_element(times);
  result.roundTrip = medianOf(roundTrips);
  result.steps = rounds.count * rounds.steps;
}

Measured measure(const Context &ctx, const BenchOptions &line, const Architecture &model,
                 const Weights &weights, Mode mode) {
  Measured result;
  auto start = Clock::now();
  Batch batch(ctx, line, model, weights, mode);
  batch.prepare();
  ctx.sync();
  result.prepareSeconds = secondsSince(start);
  for (int64_t n = 0; n < line.checked; ++n) {
    batch.step(line.context + n);
    result.tokens.insert(result.tokens.end(), batch.tokens().begin(), batch.tokens().end());
  }
  result.logits = numbers(batch.decoder().logits(0));
  int64_t elements = 2 * model.layers * model.keyHeads * model.headSize;
  int64_t perPosition = elements * int64_t(byteSize(batch.decoder().caches().front().keys.dtype()));
  result.cacheBytes = perPosition * line.batch * (line.context + 1);
  timeInto(result, ctx, line, batch);
  return result;
}

void recordStep(Context &ctx, const BenchOptions &line, const Architecture &model,
                const Weights &weights, Mode mode) {
  constexpr int kSteps = 3; // the first ones find nothing in caches
  Batch batch(ctx, line, model, weights, mode);
  StepTrace trace(ctx, line.traceFile, line.model, batch.decoder());
  batch.prepare();
  for (int n = 0; n < kSteps; ++n)
    batch.step(line.context);
  trace.finish();
}

} // namespace generate
