// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/Presets.h"
#include "ditron/support/Error.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <ranges>

namespace generate {

/// A model of the Qwen3 family.
static Architecture qwen3(int64_t layers, int64_t width, int64_t feedForward, int64_t heads) {
  Architecture result;
  result.layers = layers;
  result.width = width;
  result.feedForward = feedForward;
  result.heads = heads;
  result.keyHeads = 8;
  result.headSize = 128;
  result.vocabulary = 151936;
  result.context = 40960;
  result.epsilon = 1e-6;
  result.ropeBase = 1e6;
  result.hasHeadNorms = true;
  return result;
}

static Architecture smollm2() {
  Architecture result;
  result.layers = 30;
  result.width = 576;
  result.feedForward = 1536;
  result.heads = 9;
  result.keyHeads = 3;
  result.headSize = 64;
  result.vocabulary = 49152;
  result.context = 8192;
  result.epsilon = 1e-5;
  result.ropeBase = 1e5;
  return result;
}

/// One that the interpreter and an emulated GPU are fast enough for.
static Architecture tiny() {
  Architecture result = qwen3(2, 64, 96, 4);
  result.keyHeads = 2;
  result.headSize = 16;
  result.vocabulary = 320;
  return result;
}

static const std::map<std::string, Preset> &presets() {
  static const std::map<std::string, Preset> all = {
      {"qwen3-0.6b", {qwen3(28, 1024, 3072, 16), true}},
      {"qwen3-8b", {qwen3(36, 4096, 12288, 32), false}},
      {"smollm2-135m", {smollm2(), true}},
      {"tiny", {tiny(), false}}};
  return all;
}

std::string presetNames() {
  return fmt::format("{}", fmt::join(std::views::keys(presets()), ", "));
}

Preset presetOf(const std::string &name) {
  auto found = presets().find(name);
  if (found == presets().end())
    throw ditron::UsageError(
        fmt::format("the model is '{}', expected one of {}", name, presetNames()));
  return found->second;
}

} // namespace generate
