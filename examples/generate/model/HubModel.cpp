// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model/HubModel.h"
#include "formats/Json.h"
#include "model/HubRope.h"
#include "text/Splitter.h"
#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <string_view>

namespace generate {

namespace {

/// A JSON file, for reading fields with errors that name it.
struct File {
  explicit File(const std::string &name) : path(name), json(readJson(name)) {}
  template <class T> T get(const std::string &key) const { return field<T>(path, json, key); }
  template <class T> T get(const std::string &key, T otherwise) const {
    return field<T>(path, json, key, std::move(otherwise));
  }
  [[noreturn]] void fail(const std::string &problem) const { failJson(path, problem); }

  std::string path;
  Json json;
};

//===-- Architecture --------------------------------------------------------------------------===//

std::string familyOf(const File &file) {
  auto names = file.get<std::vector<std::string>>("architectures");
  std::string name = names.empty() ? "nothing" : names.front();
  if (name != "LlamaForCausalLM" && name != "Qwen3ForCausalLM")
    file.fail(
        fmt::format("the architecture is {}, expected LlamaForCausalLM or Qwen3ForCausalLM", name));
  return name;
}

/// Settings of which a step has one alone.
void refuseOtherSteps(const File &file) {
  for (const char *key : {"attention_bias", "mlp_bias", "use_sliding_window"})
    if (file.get<bool>(key, false))
      file.fail(fmt::format("{} is true, expected false", key));
  auto activation = file.get<std::string>("hidden_act", "silu");
  if (activation != "silu" && activation != "swish")
    file.fail(fmt::format("hidden_act is '{}', expected silu or swish", activation));
  if (double share = file.get<double>("partial_rotary_factor", 1); share != 1)
    file.fail(fmt::format("partial_rotary_factor is {}, expected 1", share));
  for (const auto &kind : file.get<std::vector<std::string>>("layer_types", {}))
    if (kind != "full_attention")
      file.fail(fmt::format("layer_types has '{}', expected full_attention", kind));
}

} // namespace

Architecture readHubArchitecture(const std::string &config) {
  File file(config);
  std::string family = familyOf(file);
  Architecture result;
  result.layers = file.get<int64_t>("num_hidden_layers");
  result.width = file.get<int64_t>("hidden_size");
  result.feedForward = file.get<int64_t>("intermediate_size");
  result.heads = file.get<int64_t>("num_attention_heads");
  result.keyHeads = file.get<int64_t>("num_key_value_heads", result.heads);
  if (result.heads < 1)
    file.fail(fmt::format("num_attention_heads is {}, expected 1 or more", result.heads));
  result.headSize = file.get<int64_t>("head_dim", result.width / result.heads);
  result.vocabulary = file.get<int64_t>("vocab_size");
  result.context = file.get<int64_t>("max_position_embeddings");
  result.epsilon = file.get<double>("rms_norm_eps");
  result.ropeBase = readHubRopeBase(file.path, file.json);
  result.check(config);
  result.ropeFactors = readHubRopeFactors(file.path, file.json, result);
  result.ropePairs = RopePairs::halves;
  result.hasHeadNorms = family == "Qwen3ForCausalLM";
  if (constexpr const char *kTied = "tie_word_embeddings"; !file.get<Json>(kTied, Json()).is_null())
    result.isTied = file.get<bool>(kTied);
  refuseOtherSteps(file);
  return result;
}

//===-- Tokenizer -----------------------------------------------------------------------------===//

namespace {

/// The steps of a pre-tokenizer or normaliser: those of a sequence, or the one that it is.
std::vector<Json> stepsOf(const File &file, const Json &step, const char *listKey) {
  if (step.is_null())
    return {};
  if (field<std::string>(file.path, step, "type") != "Sequence")
    return {step};
  return field<std::vector<Json>>(file.path, step, listKey);
}

std::string readSplit(const File &file, const Json &step) {
  auto behavior = field<std::string>(file.path, step, "behavior");
  if (behavior != "Isolated" || field<bool>(file.path, step, "invert", false))
    file.fail(fmt::format("a Split of the pre-tokenizer is {}, expected Isolated, not inverted",
                          behavior));
  auto pattern = field<Json>(file.path, step, "pattern");
  return field<std::string>(file.path, pattern, "Regex");
}

/// The expression of a step that cuts texts; none of one that only says which bytes there are.
std::optional<std::string> readExpression(const File &file, const Json &step) {
  auto type = field<std::string>(file.path, step, "type");
  if (type == "Digits")
    return field<bool>(file.path, step, "individual_digits") ? R"(\p{N})" : R"(\p{N}+)";
  if (type == "Split")
    return readSplit(file, step);
  if (type != "ByteLevel")
    file.fail(fmt::format("the pre-tokenizer has a {}, expected Digits, Split or ByteLevel", type));
  if (field<bool>(file.path, step, "add_prefix_space", true))
    file.fail("add_prefix_space of the pre-tokenizer is true, expected false");
  return field<bool>(file.path, step, "use_regex", true) ? std::optional(kGpt2Words) : std::nullopt;
}

std::vector<std::string> readExpressions(const File &file) {
  std::vector<std::string> expressions;
  bool endsInBytes = false;
  for (const Json &step : stepsOf(file, file.get<Json>("pre_tokenizer"), "pretokenizers")) {
    if (endsInBytes) // it would cut what stands for bytes
      file.fail("the pre-tokenizer has a step behind ByteLevel, expected that at the end");
    if (std::optional<std::string> expression = readExpression(file, step))
      expressions.push_back(std::move(*expression));
    endsInBytes = field<std::string>(file.path, step, "type") == "ByteLevel";
  }
  if (!endsInBytes)
    file.fail("the pre-tokenizer does not end in ByteLevel");
  return expressions;
}

bool readComposes(const File &file) {
  bool composes = false;
  for (const Json &step : stepsOf(file, file.get<Json>("normalizer", Json()), "normalizers")) {
    auto type = field<std::string>(file.path, step, "type");
    if (type != "NFC")
      file.fail(fmt::format("the normalizer is {}, expected none or NFC", type));
    composes = true;
  }
  return composes;
}

std::pair<std::string, std::string> readMerge(const File &file, const Json &merge) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  std::string text = merge.is_string() ? merge.get<std::string>() : merge.dump();
  size_t space = text.find(' ', 1);
  if (!merge.is_string() || text.empty() || space == std::string::npos)
    file.fail(fmt::format("a merge is {}, expected two tokens", text));
  return {text.substr(0, space), text.substr(space + 1)};
}

/// The place of a token in the vocabulary, which is made large enough.
std::string &placeOf(const File &file, std::vector<std::string> &tokens, int64_t id) {
  constexpr int64_t kMost = 1 << 22;
  if (id < 0 || id >= kMost)
    file.fail(fmt::format("a token has the id {}, expected 0 to {}", id, kMost - 1));
  if (id >= std::ssize(tokens))
    tokens.resize(size_t(id) + 1);
  return tokens[size_t(id)];
}

/// Settings of byte pairs that would give other tokens.
void refuseOtherPairs(const File &file, const Json &model) {
  if (auto type = field<std::string>(file.path, model, "type", "BPE"); type != "BPE")
    file.fail(fmt::format("the tokenizer is {}, expected BPE", type));
  for (const char *key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (auto mark = field<std::string>(file.path, model, key, ""); !mark.empty())
      file.fail(fmt::format("{} is '{}', expected none", key, mark));
  if (double share = field<double>(file.path, model, "dropout", 0); share != 0)
    file.fail(fmt::format("dropout is {}, expected none", share));
}

bool isAscii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 128; });
}

/// A token that is cut out of texts wherever it stands, as it is written.
SpecialToken readAdded(const File &file, const Json &added, bool composes) {
  SpecialToken special{field<std::string>(file.path, added, "content"), 0,
                       field<bool>(file.path, added, "special", false)};
  auto refuse = [&](const char *key) {
    file.fail(fmt::format("{} of the added token '{}' is true, expected false", key, special.text));
  };
  for (const char *key : {"lstrip", "rstrip", "single_word"})
    if (field<bool>(file.path, added, key, false))
      refuse(key);
  // Such a token is looked for in the composed text.
  if (composes && !isAscii(special.text) && field<bool>(file.path, added, "normalized", false))
    refuse("normalized");
  special.id = static_cast<Token>(field<int64_t>(file.path, added, "id"));
  return special;
}

void readVocabulary(const File &file, TokenizerSpec &spec) {
  auto model = file.get<Json>("model");
  refuseOtherPairs(file, model);
  for (const auto &[token, id] : field<std::map<std::string, int64_t>>(file.path, model, "vocab"))
    placeOf(file, spec.tokens, id) = token;
  for (const Json &merge : field<std::vector<Json>>(file.path, model, "merges"))
    spec.merges.push_back(readMerge(file, merge));
  spec.takesWholeWords = field<bool>(file.path, model, "ignore_merges", false);
  for (const Json &added : file.get<std::vector<Json>>("added_tokens", {})) {
    SpecialToken special = readAdded(file, added, spec.composes);
    placeOf(file, spec.tokens, field<int64_t>(file.path, added, "id")) = special.text;
    if (!special.text.empty())
      spec.specials.push_back(std::move(special));
  }
}

Token readToken(const File &file, const Json &value, const TokenizerSpec &spec) {
  int64_t id = value.is_number_integer() ? value.get<int64_t>() : -1;
  if (id < 0 || id >= std::ssize(spec.tokens))
    file.fail(fmt::format("a token that begins or ends texts is {}, expected an id up to {}",
                          value.dump(), spec.tokens.size() - 1));
  return static_cast<Token>(id);
}

/// The token that a template puts in front of a text, if any.
std::optional<Token> readTemplate(const File &file, const Json &step, const TokenizerSpec &spec) {
  auto parts = field<std::vector<Json>>(file.path, step, "single");
  auto isText = [](const Json &part) { return part.contains("Sequence"); };
  if (parts.size() == 1 && isText(parts[0]))
    return std::nullopt;
  if (parts.size() != 2 || isText(parts[0]) || !isText(parts[1]))
    file.fail(
        fmt::format("the post_processor makes {} of a text, expected one token in front of it "
                    "or none",
                    Json(parts).dump()));
  auto name = field<std::string>(file.path, field<Json>(file.path, parts[0], "SpecialToken"), "id");
  auto known = field<Json>(file.path, step, "special_tokens");
  auto ids = field<std::vector<Json>>(file.path, field<Json>(file.path, known, name), "ids");
  if (ids.size() != 1)
    file.fail(
        fmt::format("'{}' of the post_processor is {} tokens, expected one", name, ids.size()));
  return readToken(file, ids[0], spec);
}

/// What is done to finished texts: a token may be put in front of them.
void readBegin(const File &file, TokenizerSpec &spec) {
  for (const Json &step : stepsOf(file, file.get<Json>("post_processor", Json()), "processors")) {
    auto type = field<std::string>(file.path, step, "type");
    if (type == "ByteLevel")
      continue; // which bytes of the text a token is of
    if (type != "TemplateProcessing")
      file.fail(fmt::format("the post_processor has a {}, expected TemplateProcessing or ByteLevel",
                            type));
    if (std::optional<Token> begin = readTemplate(file, step, spec)) {
      if (spec.addsBegin)
        file.fail("the post_processor puts two tokens in front of a text, expected one or none");
      spec.begin = begin;
      spec.addsBegin = true;
    }
  }
}

} // namespace

TokenizerSpec readHubTokenizer(const std::string &tokenizer, const std::string &config) {
  File file(tokenizer), model(config);
  TokenizerSpec spec;
  spec.path = tokenizer;
  spec.composes = readComposes(file);
  readVocabulary(file, spec);
  spec.splitExpressions = readExpressions(file);
  if (auto begin = model.get<Json>("bos_token_id", Json()); !begin.is_null())
    spec.begin = readToken(model, begin, spec);
  auto ends = model.get<Json>("eos_token_id", Json());
  for (const Json &end : ends.is_array() ? ends : ends.is_null() ? Json::array() : Json{ends})
    spec.ends.push_back(readToken(model, end, spec));
  readBegin(file, spec);
  return spec;
}

} // namespace generate
