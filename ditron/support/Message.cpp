// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/Message.h"
#include <algorithm>
#include <fmt/format.h>

namespace ditron {

std::string fillIn(std::string_view text, std::span<const int64_t> values) {
  std::string result;
  for (int64_t value : values) {
    size_t place = text.find("{}");
    if (place == text.npos)
      break;
    result += text.substr(0, place);
    result += std::to_string(value);
    text.remove_prefix(place + 2);
  }
  return result += text;
}

std::string withoutControls(std::string text) {
  auto isControl = [](char c) { return (c >= 0 && c < ' ' && c != '\n' && c != '\t') || c == 127; };
  std::ranges::replace_if(text, isControl, ' ');
  return text;
}

std::string formatSeconds(double seconds) {
  // Four digits, and no finer than a tenth of a microsecond.
  if (seconds >= 0.99995)
    return seconds < 999.95 ? fmt::format("{:#.4g} s", seconds) : fmt::format("{:.0f} s", seconds);
  if (seconds >= 0.99995e-3)
    return fmt::format("{:#.4g} ms", seconds * 1e3);
  return seconds > 0 ? fmt::format("{:.1f} us", seconds * 1e6) : "0";
}

} // namespace ditron
