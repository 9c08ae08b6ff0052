// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/lsp/Frames.h"
#include <charconv>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace ditron::tools {

/// The length that a header states; kMostBytes + 1 where it states none.
static size_t lengthIn(std::string_view header) {
  constexpr std::string_view kField = "Content-Length:";
  size_t at = header.find(kField);
  if (at == std::string_view::npos)
    return Frames::kMostBytes + 1;
  std::string_view digits = header.substr(at + kField.size());
  digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
  size_t length = Frames::kMostBytes + 1;
  std::from_chars(digits.data(), digits.data() + digits.size(), length);
  return length;
}

std::optional<std::string> Frames::next() {
  constexpr std::string_view kEnd = "\r\n\r\n";
  for (;;) {
    size_t end = bytes_.find(kEnd);
    if (end == std::string::npos)
      return std::nullopt;
    size_t start = end + kEnd.size(), length = lengthIn(std::string_view(bytes_).substr(0, end));
    if (length > kMostBytes) {
      bytes_.erase(0, start);
      continue;
    }
    if (bytes_.size() - start < length)
      return std::nullopt;
    std::string message = bytes_.substr(start, length);
    bytes_.erase(0, start + length);
    return message;
  }
}

bool isTooDeep(std::string_view message) {
  using Json = nlohmann::json;
  constexpr int kDeepest = 256;
  bool isBeyond = false;
  auto look = [&](int depth, Json::parse_event_t event, Json &) {
    bool begins =
        event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    isBeyond |= begins && depth >= kDeepest;
    return !isBeyond; // nothing is kept of deeper values
  };
  (void)Json::parse(message, look, /*allow_exceptions=*/false);
  return isBeyond;
}

std::string framed(std::string_view message) {
  return fmt::format("Content-Length: {}\r\n\r\n{}", message.size(), message);
}

} // namespace ditron::tools
