// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model/ModelFile.h"
#include "ditron/support/Error.h"
#include "formats/Gguf.h"
#include "formats/Safetensors.h"
#include "model/GgufModel.h"
#include "model/HubModel.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <ranges>
#include <set>

namespace generate {

namespace {

struct RoleNames {
  const char *gguf, *hub;
};

/// The names of a role's tensor, but for .weight behind them and the layer in front.
RoleNames namesOf(Role role) {
  switch (role) {
  case Role::embedding:
    return {"token_embd", "model.embed_tokens"};
  case Role::finalNorm:
    return {"output_norm", "model.norm"};
  case Role::head:
    return {"output", "lm_head"};
  case Role::attentionNorm:
    return {"attn_norm", "input_layernorm"};
  case Role::queries:
    return {"attn_q", "self_attn.q_proj"};
  case Role::keys:
    return {"attn_k", "self_attn.k_proj"};
  case Role::values:
    return {"attn_v", "self_attn.v_proj"};
  case Role::queryNorm:
    return {"attn_q_norm", "self_attn.q_norm"};
  case Role::keyNorm:
    return {"attn_k_norm", "self_attn.k_norm"};
  case Role::attentionOutput:
    return {"attn_output", "self_attn.o_proj"};
  case Role::feedForwardNorm:
    return {"ffn_norm", "post_attention_layernorm"};
  case Role::gate:
    return {"ffn_gate", "mlp.gate_proj"};
  case Role::up:
    return {"ffn_up", "mlp.up_proj"};
  case Role::down:
    return {"ffn_down", "mlp.down_proj"};
  }
  throw ditron::InternalError("a role without names");
}

/// A name without .weight or .bias.
std::string stemOf(const std::string &name) {
  for (std::string_view end : {".weight", ".bias"})
    if (name.ends_with(end))
      return name.substr(0, name.size() - end.size());
  return "";
}

bool isSame(const StoredTensor &a, const StoredTensor &b) {
  return a.format == b.format && a.shape == b.shape && std::ranges::equal(a.bytes, b.bytes);
}

/// The file that holds a folder's weights, or names those that do.
std::string findWeights(const std::string &folder) {
  for (const char *name : {"model.safetensors.index.json", "model.safetensors"})
    if (std::filesystem::path path = std::filesystem::path(folder) / name; exists(path))
      return path.string();
  throw ditron::RuntimeError(
      fmt::format("'{}' has neither model.safetensors nor model.safetensors.index.json", folder));
}

} // namespace

ModelFile ModelFile::open(const std::string &path) {
  ModelFile model;
  model.path_ = path;
  if (std::filesystem::is_directory(path))
    model.readSafetensors(findWeights(path));
  else if (path.ends_with(".safetensors") || path.ends_with(".json"))
    model.readSafetensors(path);
  else
    model.readGguf(path);
  model.architecture_.check(path);
  model.checkTensors();
  auto tokens = std::ssize(model.tokenizer_.tokens);
  if (tokens > model.architecture_.vocabulary)
    throw ditron::RuntimeError(
        fmt::format("'{}': the tokenizer has {} tokens, expected at most {}, the vocabulary's",
                    model.tokenizer_.path, tokens, model.architecture_.vocabulary));
  return model;
}

void ModelFile::take(std::shared_ptr<const void> owner, const std::vector<StoredTensor> &tensors) {
  owner_ = std::move(owner);
  for (const StoredTensor &tensor : tensors)
    tensors_.emplace(tensor.name, tensor);
}

void ModelFile::readGguf(const std::string &path) {
  isGguf_ = true;
  auto file = std::make_shared<Gguf>(path);
  architecture_ = architectureOf(*file);
  tokenizer_ = tokenizerOf(*file);
  take(file, file->tensors());
}

void ModelFile::readSafetensors(const std::string &path) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::string config = (folder / "config.json").string();
  architecture_ = readHubArchitecture(config);
  tokenizer_ = readHubTokenizer((folder / "tokenizer.json").string(), config);
  auto file = std::make_shared<Safetensors>(path);
  take(file, file->tensors());
  checkHead(config);
}

/// A head beside embeddings that are said to be its weights: programs differ in which they take.
void ModelFile::checkHead(const std::string &config) const {
  if (!architecture_.isTied)
    return;
  std::string head = nameOf(Role::head, 0), embedding = nameOf(Role::embedding, 0);
  auto fail = [&](const std::string &problem) {
    throw ditron::RuntimeError(fmt::format("'{}': tie_word_embeddings is {}, expected {}", config,
                                           *architecture_.isTied, problem));
  };
  if (!*architecture_.isTied && !has(Role::head))
    fail(fmt::format("a tensor '{}' in the weights", head));
  if (*architecture_.isTied && has(Role::head) && has(Role::embedding) &&
      !isSame(tensors_.at(head), tensors_.at(embedding)))
    fail(fmt::format("false, or the same numbers in '{}' and '{}'", head, embedding));
}

std::string ModelFile::nameOf(Role role, int64_t layer) const {
  RoleNames names = namesOf(role);
  if (role < Role::attentionNorm)
    return fmt::format("{}.weight", isGguf_ ? names.gguf : names.hub);
  return isGguf_ ? fmt::format("blk.{}.{}.weight", layer, names.gguf)
                 : fmt::format("model.layers.{}.{}.weight", layer, names.hub);
}

/// Tensors of GGUF that no role has, and that change nothing here: rope's factors are read elsewhere, and
/// what classifies texts is beside the head.
static bool isKnownInGguf(const std::string &name) {
  return name == "rope_freqs.weight" || name.starts_with("cls.");
}

/// A tensor beside those of the roles is one more thing that the model computes: in GGUF every one, and
/// in safetensors, where others stand too, a second one of a product or a norm, and one of a layer behind the last.
void ModelFile::checkTensors() const {
  std::set<std::string> used, stems;
  auto isUsed = [&](Role role, int64_t layer) {
    return layer < architecture_.layers &&
           (architecture_.hasHeadNorms || (role != Role::queryNorm && role != Role::keyNorm));
  };
  // There are no more layers than tensors.
  for (int number = 0; number <= int(Role::down); ++number)
    for (auto role = Role(number);
         int64_t layer : std::views::iota(int64_t(0), std::ssize(tensors_))) {
      std::string name = nameOf(role, layer);
      stems.insert(stemOf(name));
      if (isUsed(role, layer))
        used.insert(std::move(name));
    }
  for (const auto &[name, tensor] : tensors_) {
    bool isLayers = isGguf_ ? !isKnownInGguf(name) : stems.contains(stemOf(name));
    if (isLayers && !used.contains(name))
      throw ditron::RuntimeError(
          fmt::format("'{}': tensor '{}' has no part in this architecture, expected a file without "
                      "it",
                      path_, name));
  }
}

bool ModelFile::has(Role role, int64_t layer) const {
  return tensors_.contains(nameOf(role, layer));
}

const StoredTensor &ModelFile::tensor(Role role, std::vector<int64_t> shape, int64_t layer) const {
  std::string name = nameOf(role, layer);
  auto found = tensors_.find(name);
  if (found == tensors_.end())
    throw ditron::RuntimeError(fmt::format("'{}': tensor '{}' is missing", path_, name));
  if (found->second.shape != shape) {
    StoredTensor wanted;
    wanted.shape = std::move(shape);
    throw ditron::RuntimeError(fmt::format("'{}': tensor '{}' is {}, expected {}", path_, name,
                                           found->second.describeShape(), wanted.describeShape()));
  }
  return found->second;
}

} // namespace generate
