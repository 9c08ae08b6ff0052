// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "text/Utf8.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <utf8proc.h>
#include <vector>

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

static constexpr auto kCompose = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);

/// The characters of a text, each in its parts.
static std::vector<utf8proc_int32_t> decompose(std::string_view text) {
  constexpr utf8proc_ssize_t kMostParts = 32;
  std::vector<utf8proc_int32_t> parts;
  utf8proc_int32_t character = 0, partsOfOne[kMostParts];
  for (size_t at = 0; at < text.size();) {
    utf8proc_ssize_t bytes =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t *>(text.data()) + at,
                         static_cast<utf8proc_ssize_t>(text.size() - at), &character);
    utf8proc_ssize_t count =
        bytes < 0 ? bytes
                  : utf8proc_decompose_char(character, partsOfOne, kMostParts, kCompose, nullptr);
    if (count < 0 || count > kMostParts)
      throw ditron::RuntimeError(utf8proc_errmsg(count < 0 ? count : UTF8PROC_ERROR_OVERFLOW));
    parts.insert(parts.end(), partsOfOne, partsOfOne + count);
    at += size_t(bytes);
  }
  return parts;
}

/// Sorts the marks behind each letter by their classes. utf8proc_decompose would take the square of their
/// number in time: minutes for a text of 100,000 marks.
static void orderMarks(std::vector<utf8proc_int32_t> &parts) {
  auto classOf = [](utf8proc_int32_t part) { return utf8proc_get_property(part)->combining_class; };
  auto isMark = [&](utf8proc_int32_t part) { return classOf(part) > 0; };
  for (auto first = parts.begin(); first != parts.end();) {
    first = std::find_if(first, parts.end(), isMark);
    auto end = std::find_if_not(first, parts.end(), isMark);
    std::ranges::stable_sort(first, end, {}, classOf);
    first = end;
  }
}

std::string composeUtf8(std::string_view text) {
  std::vector<utf8proc_int32_t> characters = decompose(text);
  orderMarks(characters);
  utf8proc_ssize_t count = utf8proc_normalize_utf32(
      characters.data(), static_cast<utf8proc_ssize_t>(characters.size()), kCompose);
  if (count < 0)
    throw ditron::RuntimeError(utf8proc_errmsg(count));
  characters.resize(size_t(count));
  std::string composed;
  composed.reserve(text.size());
  for (utf8proc_int32_t character : characters)
    appendUtf8(composed, uint32_t(character));
  return composed;
}

} // namespace generate
