// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "formats/Gguf.h"
#include "ditron/support/Error.h"
#include "formats/GgufParser.h"
#include <bit>
#include <fmt/format.h>
#include <set>

namespace generate {

static constexpr std::string_view kAlignment = "general.alignment";

Gguf::Gguf(const std::string &path) : file_(path) {
  GgufParser parser(file_);
  GgufParser::Counts counts = parser.header();
  for (uint64_t n = 0; n < counts.values; ++n) {
    auto [key, value] = parser.keyAndValue();
    if (!values_.emplace(key, std::move(value)).second)
      parser.fail(fmt::format("key '{}' is there twice", key));
  }
  int64_t alignment = integer(kAlignment, 32);
  if (alignment < 1 || alignment > 1 << 20 || !std::has_single_bit(uint64_t(alignment)))
    fail(fmt::format("{} is {}, expected a power of two up to 2^20", kAlignment, alignment));
  std::vector<GgufParser::Placed> placed;
  std::set<std::string> names;
  for (uint64_t n = 0; n < counts.tensors; ++n) {
    placed.push_back(parser.tensor());
    if (!names.insert(placed.back().tensor.name).second)
      parser.fail(fmt::format("tensor '{}' is there twice", placed.back().tensor.name));
  }
  for (GgufParser::Placed &tensor : placed) {
    parser.place(tensor, parser.dataStart(alignment), alignment);
    tensors_.push_back(std::move(tensor.tensor));
  }
}

void Gguf::fail(const std::string &problem) const {
  throw ditron::RuntimeError(fmt::format("'{}': {}", path(), problem));
}

template <class T> const T &Gguf::get(std::string_view key, const char *kind) const {
  auto found = values_.find(key);
  if (found == values_.end())
    fail(fmt::format("key {} is missing", key));
  const T *value = std::get_if<T>(&found->second);
  if (!value)
    fail(fmt::format("key {} is not {}", key, kind));
  return *value;
}

int64_t Gguf::integer(std::string_view key) const { return get<int64_t>(key, "an integer"); }
double Gguf::real(std::string_view key) const { return get<double>(key, "a number with a point"); }
std::string_view Gguf::text(std::string_view key) const {
  return get<std::string_view>(key, "a text");
}
const std::vector<int64_t> &Gguf::integers(std::string_view key) const {
  return get<std::vector<int64_t>>(key, "a list of integers");
}
const std::vector<std::string_view> &Gguf::texts(std::string_view key) const {
  return get<std::vector<std::string_view>>(key, "a list of texts");
}

int64_t Gguf::integer(std::string_view key, int64_t otherwise) const {
  return has(key) ? integer(key) : otherwise;
}
double Gguf::real(std::string_view key, double otherwise) const {
  return has(key) ? real(key) : otherwise;
}
std::string_view Gguf::text(std::string_view key, std::string_view otherwise) const {
  return has(key) ? text(key) : otherwise;
}
bool Gguf::flag(std::string_view key, bool otherwise) const {
  return has(key) ? get<bool>(key, "true or false") : otherwise;
}

} // namespace generate
