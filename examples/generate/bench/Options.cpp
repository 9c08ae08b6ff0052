// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/Options.h"
#include "Program.h"
#include "StepTrace.h"
#include "bench/Presets.h"
#include "ditron/support/Error.h"
#include "model/Decoder.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <ranges>

namespace generate {

using ditron::UsageError;

static constexpr const char *kFooter =
    "Exit status: 0 done and checked, 1 modes differ or a launch failed, 2 wrong usage, 3 the "
    "machine or this build lacks what was asked for.";

static void addOptions(CLI::App &app, BenchOptions &line) {
  constexpr int64_t kMost = 4096;
  app.add_option("model", line.model, presetNames() + " (default qwen3-0.6b)");
  addInteger(app, "--layers", line.layers, "so many layers (default: the model's)", 1, kMost);
  app.add_option("--dtype", line.dtypeName,
                 "of the matrices: bf16 (default), f16, f32, or packed: q8-0 or q4-1");
  addInteger(app, "--batch", line.batch, "sequences, which have a row each (1 to 64; default 1)", 1,
             DecoderSize::kRows);
  addInteger(app, "--context", line.context, "tokens in front of a step's (default 512)", 1);
  app.add_option("--mode", line.modeNames, "stream (default), graph, megakernel: one or several");
  addInteger(app, "--checked", line.checked,
             "steps whose tokens are compared between the modes (default 4)", 1, kMost);
  addReal(app, "--seconds", line.seconds, "measure each mode for so long (default 2)");
  addReal(app, "--bandwidth", line.bandwidth,
          "bytes a second that a device reads (default: as measured)");
  app.add_option("--trace", line.traceFile,
                 "record a step of the last mode into this file, a page if it is called .html, and "
                 "say where its time goes");
  app.add_flag("--text", line.isText,
               "print the graph of a step, for ditron compile and check, and measure nothing");
  addDevices(app, line.options);
}

/// The names of lists with commas, empty ones too.
static std::vector<std::string> splitNames(const std::vector<std::string> &lists) {
  std::vector<std::string> names;
  for (const std::string &list : lists)
    for (auto name : std::views::split(list, ','))
      names.emplace_back(name.begin(), name.end());
  return names;
}

static void check(const BenchOptions &line) {
  if (line.isText && !line.traceFile.empty())
    throw UsageError("--text measures nothing: expected no --trace with it");
  const Architecture model = presetOf(line.model).architecture;
  expect("--context", line.context, 1, model.context - line.checked);
  if (!(line.seconds >= 0 && line.seconds <= 3600))
    throw UsageError(fmt::format("--seconds is {}, expected 0 to 3600", line.seconds));
  if (line.bandwidth && !(*line.bandwidth > 0 && std::isfinite(*line.bandwidth)))
    throw UsageError(
        fmt::format("--bandwidth is {}, expected bytes a second, more than 0", *line.bandwidth));
  if (!line.traceFile.empty())
    requireTraceFile(line.traceFile);
  model.shard(line.options.ranks);
  line.weightType();
  line.modes();
}

WeightType BenchOptions::weightType() const {
  for (ditron::DType type : {ditron::DType::bf16, ditron::DType::f16, ditron::DType::f32})
    if (name(type) == dtypeName)
      return {type};
  if (dtypeName == "q8-0")
    return {ditron::DType::f32, Storage::q80};
  if (dtypeName == "q4-1")
    return {ditron::DType::f32, Storage::q41};
  throw UsageError(
      fmt::format("--dtype is '{}', expected bf16, f16, f32, q8-0 or q4-1", dtypeName));
}

std::vector<ditron::Mode> BenchOptions::modes() const {
  std::vector<ditron::Mode> result;
  for (const std::string &name : modeNames)
    result.push_back(parseMode(name));
  return result;
}

DecoderSize BenchOptions::size() const {
  std::vector<ditron::Mode> all = modes();
  return {.positions = context + checked,
          .sequences = batch,
          .streams = std::ranges::find(all, ditron::Mode::megakernel) != all.end()};
}

BenchOptions parseBenchOptions(int argc, char **argv) {
  BenchOptions line;
  CLI::App app("decode-bench times a decoding step of a model of random weights, which it makes "
               "in memory.",
               "decode-bench");
  app.footer(kFooter);
  addOptions(app, line);
  line.help = parse(app, argc, argv);
  line.modeNames = splitNames(line.modeNames);
  if (line.help.empty())
    check(line);
  return line;
}

} // namespace generate
