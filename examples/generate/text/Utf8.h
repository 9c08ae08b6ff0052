// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace generate {

/// The byte at which a text stops being UTF-8, or none.
std::optional<size_t> findInvalidUtf8(std::string_view text);
/// How many bytes at the end of a text begin a character that is not complete.
size_t incompleteBytes(std::string_view text);
/// The text with what is no UTF-8 replaced by U+FFFD.
std::string repairUtf8(std::string_view text);
void appendUtf8(std::string &text, uint32_t character);
/// The text in Unicode's normal form C. It must be UTF-8.
std::string composeUtf8(std::string_view text);

} // namespace generate
