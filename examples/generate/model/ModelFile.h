// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model as its files have it: architecture, tokenizer and weights, whatever the format.
#pragma once
#include "formats/Blocks.h"
#include "model/Architecture.h"
#include "text/TokenizerSpec.h"
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace generate {

/// The weights of a decoder. Those in front of `attentionNorm` are the model's, the others a layer's.
enum class Role {
  embedding,
  finalNorm,
  head,
  attentionNorm,
  queries,
  keys,
  values,
  queryNorm,
  keyNorm,
  attentionOutput,
  feedForwardNorm,
  gate,
  up,
  down
};

class ModelFile {
public:
  /// A GGUF file, a safetensors file or its index, or the folder that has it. Beside safetensors
  /// stand config.json and tokenizer.json. RuntimeError naming the file and what is wrong in it, also
  /// where it has a setting or a tensor that a step leaves out.
  static ModelFile open(const std::string &path);

  const std::string &path() const { return path_; }
  const Architecture &architecture() const { return architecture_; }
  const TokenizerSpec &tokenizer() const { return tokenizer_; }

  /// The weights with this role, which have this shape. RuntimeError naming the tensor where it is
  /// missing or has another shape.
  const StoredTensor &tensor(Role role, std::vector<int64_t> shape, int64_t layer = 0) const;
  bool has(Role role, int64_t layer = 0) const;
  /// Every tensor of the files, by name.
  const std::map<std::string, StoredTensor> &tensors() const { return tensors_; }

private:
  ModelFile() = default;
  void take(std::shared_ptr<const void> owner, const std::vector<StoredTensor> &tensors);
  std::string nameOf(Role role, int64_t layer) const;
  void checkTensors() const;
  void checkHead(const std::string &config) const;
  void readGguf(const std::string &path);
  void readSafetensors(const std::string &path);

  std::string path_;
  bool isGguf_ = false;
  Architecture architecture_;
  TokenizerSpec tokenizer_;
  std::map<std::string, StoredTensor> tensors_;
  std::shared_ptr<const void> owner_; ///< of the tensors' bytes
};

} // namespace generate
