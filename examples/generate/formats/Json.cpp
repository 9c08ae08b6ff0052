// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "formats/Json.h"
#include "ditron/support/Error.h"
#include "ditron/support/File.h"
#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <set>
#include <vector>

namespace generate {

void failJson(const std::string &path, const std::string &problem) {
  throw ditron::RuntimeError(fmt::format("'{}': {}", path, problem));
}

std::string reasonOf(const Json::exception &error) {
  std::string_view text = error.what();
  size_t end = text.starts_with("[json.exception.") ? text.find("] ") : text.npos;
  return std::string(end == text.npos ? text : text.substr(end + 2));
}

bool hasReals(const Json &value) {
  return value.is_number_float() || (value.is_structured() && std::ranges::any_of(value, hasReals));
}

/// Deeper texts would take the parser's stack; no file of a model is.
static constexpr int kDeepest = 64;

/// `see`: is told of what the parser finds.
static Json parse(const std::string &path, std::string_view text,
                  const std::function<void(Json::parse_event_t, const Json &)> &see) {
  auto limit = [&](int depth, Json::parse_event_t event, const Json &found) {
    if (depth > kDeepest)
      failJson(path, fmt::format("more than {} levels of JSON", kDeepest));
    see(event, found);
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), limit);
  } catch (const Json::exception &error) {
    failJson(path, fmt::format("no JSON that can be read: {}", reasonOf(error)));
  }
}

Json parseJson(const std::string &path, std::string_view text) {
  return parse(path, text, [](Json::parse_event_t, const Json &) {});
}

Json parseJsonOnce(const std::string &path, std::string_view text) {
  std::vector<std::set<std::string>> keys; // of the objects that are open
  return parse(path, text, [&](Json::parse_event_t event, const Json &found) {
    if (event == Json::parse_event_t::object_start)
      keys.emplace_back();
    else if (event == Json::parse_event_t::object_end)
      keys.pop_back();
    else if (event == Json::parse_event_t::key &&
             !keys.back().insert(found.get<std::string>()).second)
      failJson(path, fmt::format("\"{}\" is there twice", found.get<std::string>()));
  });
}

Json readJson(const std::string &path) {
  constexpr size_t kMost = size_t(1) << 30;
  return parseJson(path, ditron::readFile(path, kMost));
}

} // namespace generate
