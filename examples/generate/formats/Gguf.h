// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GGUF files: what a model is told by, as keys with values, and its tensors.
#pragma once
#include "formats/Blocks.h"
#include "formats/MappedFile.h"
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace generate {

/// A value of the metadata. Texts are the file's.
using GgufValue = std::variant<int64_t, double, bool, std::string_view, std::vector<int64_t>,
                               std::vector<double>, std::vector<std::string_view>>;

/// A GGUF file of version 2 or 3, all offsets and counts of which have been checked.
class Gguf {
public:
  /// RuntimeError naming the file and what is wrong in it.
  explicit Gguf(const std::string &path);

  const std::string &path() const { return file_.path(); }
  const std::vector<StoredTensor> &tensors() const { return tensors_; }

  bool has(std::string_view key) const { return values_.contains(key); }
  /// The value of a key. RuntimeError where there is none, or it has another type.
  int64_t integer(std::string_view key) const;
  double real(std::string_view key) const;
  std::string_view text(std::string_view key) const;
  const std::vector<int64_t> &integers(std::string_view key) const;
  const std::vector<std::string_view> &texts(std::string_view key) const;
  /// The same, or a default where there is no such key.
  int64_t integer(std::string_view key, int64_t otherwise) const;
  double real(std::string_view key, double otherwise) const;
  std::string_view text(std::string_view key, std::string_view otherwise) const;
  bool flag(std::string_view key, bool otherwise) const;

private:
  template <class T> const T &get(std::string_view key, const char *kind) const;
  [[noreturn]] void fail(const std::string &problem) const;

  MappedFile file_;
  std::map<std::string, GgufValue, std::less<>> values_;
  std::vector<StoredTensor> tensors_;
};

} // namespace generate
