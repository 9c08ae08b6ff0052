// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/Message.h"

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

} // namespace ditron
