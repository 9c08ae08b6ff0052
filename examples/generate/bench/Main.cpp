// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// decode-bench: times a decoding step of a model whose weights are random. The decoder is that of
// generate; each mode is a line of JSON on stdout.
#include "Program.h"
#include "bench/Bandwidth.h"
#include "bench/Measure.h"
#include "ditron/support/Error.h"
#include "ditron/task/GraphText.h"
#include "formats/Json.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>

namespace generate {

namespace {

/// The largest difference of logits between two modes.
double difference(const std::vector<float> &x, const std::vector<float> &y) {
  double most = 0;
  for (size_t n = 0; n < x.size(); ++n)
    most = std::max(most, std::abs(double(x[n]) - double(y[n])));
  return most;
}

/// What is the same for all modes.
struct Bench {
  const ditron::Context &ctx;
  const BenchOptions &line;
  Architecture model; ///< this rank's part
  int64_t weightBytes = 0;
  double bandwidth = 0;

  Json jsonOf(const std::string &mode, const Measured &found, const Measured &first) const {
    int64_t bytes = weightBytes + found.cacheBytes;
    double floor = double(bytes) / bandwidth;
    return {{"model", line.model},
            {"layers", model.layers},
            {"dtype", line.dtypeName},
            {"backend", ctx.backend()},
            {"device", ctx.deviceName()},
            {"ranks", ctx.ranks()},
            {"cores", ctx.cores()},
            {"mode", mode},
            {"batch", line.batch},
            {"context", line.context},
            {"median_s", found.median},
            {"min_s", found.min},
            {"round_trip_s", found.roundTrip},
            {"steps", found.steps},
            {"tokens_per_second", double(line.batch) / found.median},
            {"weight_bytes", weightBytes},
            {"cache_bytes", found.cacheBytes},
            {"bandwidth", bandwidth},
            {"floor_s", floor},
            {"over_floor", found.median / floor},
            {"prepare_s", found.prepareSeconds},
            {"checked", line.checked},
            {"tokens", found.tokens},
            {"same_tokens", found.tokens == first.tokens},
            {"logit_difference", difference(found.logits, first.logits)}};
  }
};

Preset modelOf(const BenchOptions &line) {
  Preset preset = presetOf(line.model);
  if (line.layers > 0)
    preset.architecture.layers = line.layers;
  return preset;
}

/// The graph does not depend on what the weights are.
void printText(const ditron::Context &ctx, const BenchOptions &line) {
  Preset preset = modelOf(line);
  int64_t positions = line.context + line.checked;
  Weights weights = randomWeights(ctx, preset, line.weightType(), positions, Contents::undefined);
  arrange(ctx, weights, line.size(), line.modes().front(), /*copies=*/false);
  Decoder decoder(ctx, preset.architecture.shard(ctx.ranks()), weights, line.size(),
                  line.modes().front());
  if (ctx.rank() == 0)
    std::fputs(ditron::toText(decoder.graph(line.batch)).c_str(), stdout);
}

void run(ditron::Context &ctx, const BenchOptions &line) {
  if (line.isText)
    return printText(ctx, line);
  Preset preset = modelOf(line);
  bool isFirst = ctx.rank() == 0;
  auto start = std::chrono::steady_clock::now();
  Weights weights = randomWeights(ctx, preset, line.weightType(), line.context + line.checked);
  ctx.sync();
  std::chrono::duration<double> filled = std::chrono::steady_clock::now() - start;
  Bench bench{ctx, line, preset.architecture.shard(ctx.ranks()), bytesOf(weights)};
  bench.bandwidth = line.bandwidth ? *line.bandwidth : readBandwidth(ctx, weights.head);
  if (isFirst)
    std::fprintf(stderr, "%.2f GB of weights in %.1f s, read at %.0f GB/s\n",
                 double(bench.weightBytes) * 1e-9, filled.count(), bench.bandwidth * 1e-9);
  weights = arranged(ctx, std::move(weights), line.size(), line.modes().front());
  bench.weightBytes = bytesOf(weights.forRows(line.batch)); // which may be in bf16 now
  std::vector<Measured> all;
  for (size_t n = 0; n < line.modeNames.size(); ++n) {
    all.push_back(measure(ctx, line, bench.model, weights, line.modes()[n]));
    if (isFirst)
      std::printf("%s\n", bench.jsonOf(line.modeNames[n], all.back(), all.front()).dump().c_str());
    flushOutput();
    if (all.back().tokens != all.front().tokens)
      throw ditron::RuntimeError(
          fmt::format("{} gives other tokens than {}", line.modeNames[n], line.modeNames.front()));
  }
  if (!line.traceFile.empty())
    recordStep(ctx, line, bench.model, weights, line.modes().back());
}

} // namespace

} // namespace generate

int main(int argc, char **argv) {
  return generate::runProgram("decode-bench", [&] {
    generate::BenchOptions line = generate::parseBenchOptions(argc, argv);
    if (!line.help.empty()) {
      std::fputs(line.help.c_str(), stdout);
      return;
    }
    ditron::runRanks(line.options, [&](ditron::Context &ctx) { generate::run(ctx, line); });
  });
}
