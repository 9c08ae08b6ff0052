// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "formats/Json.h"
#include "ditron/support/Error.h"
#include "ditron/support/File.h"
#include <algorithm>
#include <fmt/format.h>

namespace generate {

void failJson(const std::string &path, const std::string &problem) {
  throw ditron::RuntimeError(fmt::format("'{}': {}", path, problem));
}

bool hasReals(const Json &value) {
  return value.is_number_float() || (value.is_structured() && std::ranges::any_of(value, hasReals));
}

/// Deeper texts would take the parser's stack; no file of a model is.
static constexpr int kDeepest = 64;

Json parseJson(const std::string &path, std::string_view text) {
  auto limit = [&](int depth, Json::parse_event_t, Json &) {
    if (depth > kDeepest)
      failJson(path, fmt::format("more than {} levels of JSON", kDeepest));
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), limit);
  } catch (const Json::exception &error) {
    failJson(path, fmt::format("no JSON that can be read: {}", error.what()));
  }
}

Json readJson(const std::string &path) {
  constexpr size_t kMost = size_t(1) << 30;
  return parseJson(path, ditron::readFile(path, kMost));
}

} // namespace generate
