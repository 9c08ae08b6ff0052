// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model/GgufModel.h"
#include "ditron/support/Error.h"
#include "text/Splitter.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace generate {

[[noreturn]] static void fail(const Gguf &file, const std::string &problem) {
  throw ditron::RuntimeError(fmt::format("'{}': {}", file.path(), problem));
}

//===-- Architecture --------------------------------------------------------------------------===//

static bool isFactor(double value) { return value > 0 && std::isfinite(value); }

/// What all angles are divided by.
static double linearFactorOf(const Gguf &file, const std::string &prefix) {
  std::string key = prefix + "rope.scaling.factor", old = prefix + "rope.scale_linear";
  if (!file.has(key) && file.has(old))
    key = old;
  std::string_view kind =
      file.text(prefix + "rope.scaling.type", file.has(key) ? "linear" : "none");
  if (kind == "none")
    return 1;
  if (kind != "linear")
    fail(file, fmt::format("{}rope.scaling.type is '{}', expected none or linear", prefix, kind));
  double factor = file.real(key);
  if (!isFactor(factor))
    fail(file, fmt::format("{} is {}, expected more than 0", key, factor));
  return factor;
}

/// Factors that the file has for each pair, and one for all of them.
static std::vector<double> ropeFactorsOf(const Gguf &file, const std::string &prefix,
                                         int64_t pairs) {
  double linear = linearFactorOf(file, prefix);
  constexpr const char *kFactors = "rope_freqs.weight";
  auto found = std::ranges::find(file.tensors(), kFactors, &StoredTensor::name);
  if (found == file.tensors().end())
    return std::vector<double>(size_t(pairs), linear);
  std::vector<float> stored(size_t(found->elements()));
  dequantise(found->format, found->bytes, stored);
  std::vector<double> factors;
  for (float factor : stored) {
    if (!isFactor(factor))
      fail(file,
           fmt::format("{} has {} at {}, expected more than 0", kFactors, factor, factors.size()));
    factors.push_back(factor * linear);
  }
  return factors;
}

static std::string familyOf(const Gguf &file) {
  std::string name(file.text("general.architecture"));
  if (name != "llama" && name != "qwen3")
    fail(file, fmt::format("general.architecture is '{}', expected llama or qwen3", name));
  return name;
}

Architecture architectureOf(const Gguf &file) {
  std::string family = familyOf(file), prefix = family + ".";
  Architecture result;
  result.layers = file.integer(prefix + "block_count");
  result.width = file.integer(prefix + "embedding_length");
  result.feedForward = file.integer(prefix + "feed_forward_length");
  result.heads = file.integer(prefix + "attention.head_count");
  result.keyHeads = file.integer(prefix + "attention.head_count_kv", result.heads);
  if (result.heads < 1)
    fail(file,
         fmt::format("{}attention.head_count is {}, expected 1 or more", prefix, result.heads));
  result.headSize = file.integer(prefix + "attention.key_length", result.width / result.heads);
  result.context = file.integer(prefix + "context_length");
  result.epsilon = file.real(prefix + "attention.layer_norm_rms_epsilon");
  result.ropeBase = file.real(prefix + "rope.freq_base", 10000);
  result.vocabulary = std::ssize(file.texts("tokenizer.ggml.tokens"));
  // The rows of Llama's queries and keys have been reordered for neighbours to turn together.
  result.ropePairs = family == "llama" ? RopePairs::adjacent : RopePairs::halves;
  result.hasHeadNorms = family == "qwen3";
  for (const char *key : {"attention.value_length", "rope.dimension_count"})
    if (int64_t size = file.integer(prefix + key, result.headSize); size != result.headSize)
      fail(file, fmt::format("{}{} is {}, expected {}", prefix, key, size, result.headSize));
  result.check(file.path());
  result.ropeFactors = ropeFactorsOf(file, prefix, result.headSize / 2);
  if (file.integer(prefix + "expert_count", 0) > 0)
    fail(file, fmt::format("{}expert_count is {}: mixtures of experts are not supported", prefix,
                           file.integer(prefix + "expert_count")));
  return result;
}

//===-- Tokenizer -----------------------------------------------------------------------------===//

/// Kinds of tokens, by their numbers in the file.
static constexpr int64_t kControl = 3, kUserDefined = 4;

static std::vector<SpecialToken> specialsOf(const Gguf &file) {
  const std::vector<std::string_view> &tokens = file.texts("tokenizer.ggml.tokens");
  std::vector<SpecialToken> specials;
  if (!file.has("tokenizer.ggml.token_type"))
    return specials;
  const std::vector<int64_t> &kinds = file.integers("tokenizer.ggml.token_type");
  if (kinds.size() != tokens.size())
    fail(file, fmt::format("{} tokens have {} types", tokens.size(), kinds.size()));
  for (size_t n = 0; n < tokens.size(); ++n)
    if ((kinds[n] == kControl || kinds[n] == kUserDefined) && !tokens[n].empty())
      specials.push_back({std::string(tokens[n]), static_cast<Token>(n), kinds[n] == kControl});
  return specials;
}

static std::vector<std::pair<std::string, std::string>> mergesOf(const Gguf &file) {
  std::vector<std::pair<std::string, std::string>> merges;
  for (std::string_view merge : file.texts("tokenizer.ggml.merges")) {
    size_t space = merge.find(' ', 1);
    if (merge.empty() || space == std::string_view::npos)
      fail(file, fmt::format("tokenizer.ggml.merges has '{}', expected two tokens", merge));
    merges.emplace_back(merge.substr(0, space), merge.substr(space + 1));
  }
  return merges;
}

static std::optional<Token> tokenAt(const Gguf &file, const char *key, size_t count) {
  if (!file.has(key))
    return std::nullopt;
  int64_t id = file.integer(key);
  if (id < 0 || id >= int64_t(count))
    fail(file, fmt::format("{} is {}, expected 0 to {}", key, id, count - 1));
  return static_cast<Token>(id);
}

TokenizerSpec tokenizerOf(const Gguf &file) {
  std::string_view model = file.text("tokenizer.ggml.model");
  if (model != "gpt2")
    fail(file,
         fmt::format("tokenizer.ggml.model is '{}', expected gpt2 (byte-level pairs)", model));
  const std::vector<std::string_view> &tokens = file.texts("tokenizer.ggml.tokens");
  std::string_view words = file.text("tokenizer.ggml.pre", "gpt-2");
  TokenizerSpec spec;
  spec.tokens.assign(tokens.begin(), tokens.end());
  spec.merges = mergesOf(file);
  spec.specials = specialsOf(file);
  spec.path = file.path();
  spec.splitExpressions = splitExpressions(words);
  if (spec.splitExpressions.empty())
    fail(file, fmt::format("tokenizer.ggml.pre is '{}', expected gpt-2, smollm, qwen2 or llama-bpe",
                           words));
  spec.composes = words == "qwen2";
  spec.takesWholeWords = words == "llama-bpe";
  spec.addsBegin = file.flag("tokenizer.ggml.add_bos_token", words == "llama-bpe");
  if (constexpr const char *kEnd = "tokenizer.ggml.add_eos_token"; file.flag(kEnd, false))
    fail(file, fmt::format("{} is true, expected false: texts go on", kEnd));
  spec.begin = tokenAt(file, "tokenizer.ggml.bos_token_id", tokens.size());
  if (spec.addsBegin && !spec.begin)
    fail(file, "texts begin with a token, but key tokenizer.ggml.bos_token_id is missing");
  for (const char *key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"})
    if (std::optional<Token> end = tokenAt(file, key, tokens.size()))
      spec.ends.push_back(*end);
  return spec;
}

} // namespace generate
