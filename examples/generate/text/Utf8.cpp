// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "text/Utf8.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utf8proc.h>

namespace generate {

/// The bytes of the character that a text begins with; 0 where it is none.
static size_t characterBytes(std::string_view text) {
  utf8proc_int32_t character = 0;
  utf8proc_ssize_t bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t *>(text.data()),
                                            static_cast<utf8proc_ssize_t>(text.size()), &character);
  return bytes > 0 ? size_t(bytes) : 0;
}

std::optional<size_t> findInvalidUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    size_t bytes = characterBytes(text.substr(at));
    if (bytes == 0)
      return at;
    at += bytes;
  }
  return std::nullopt;
}

size_t incompleteBytes(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    auto byte = static_cast<uint8_t>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80)
      continue;
    size_t needed = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return needed > back ? back : 0;
  }
  return 0;
}

std::string repairUtf8(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    size_t bytes = characterBytes(text);
    result += bytes ? text.substr(0, bytes) : std::string_view("\xEF\xBF\xBD");
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return result;
}

void appendUtf8(std::string &text, uint32_t character) {
  utf8proc_uint8_t bytes[4];
  utf8proc_ssize_t count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(character), bytes);
  text.append(reinterpret_cast<const char *>(bytes), size_t(count));
}

std::string composeUtf8(std::string_view text) {
  utf8proc_uint8_t *composed = nullptr;
  utf8proc_ssize_t bytes =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t *>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &composed,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(composed, &std::free);
  if (bytes < 0)
    throw ditron::RuntimeError(utf8proc_errmsg(bytes));
  return {reinterpret_cast<const char *>(composed), size_t(bytes)};
}

} // namespace generate
