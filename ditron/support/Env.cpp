// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/Env.h"
#include "ditron/support/Error.h"
#include <charconv>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ditron {
namespace {
[[noreturn]] void reject(const char *variable, std::string_view found, std::string_view expected) {
  throw UsageError(fmt::format("{} is '{}': expected {}", variable, found, expected));
}
} // namespace

std::optional<std::string> envString(const char *variable) {
  const char *text = std::getenv(variable);
  if (!text || !*text)
    return std::nullopt;
  return text;
}

std::optional<int64_t> envInteger(const char *variable, int64_t least, int64_t most) {
  auto text = envString(variable);
  if (!text)
    return std::nullopt;
  int64_t value = 0;
  const char *end = text->data() + text->size();
  auto [rest, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc() || rest != end || value < least || value > most)
    reject(variable, *text, fmt::format("an integer from {} to {}", least, most));
  return value;
}

std::optional<bool> envFlag(const char *variable) {
  auto text = envString(variable);
  if (!text)
    return std::nullopt;
  for (std::string_view yes : {"1", "on", "true", "yes"})
    if (*text == yes)
      return true;
  for (std::string_view no : {"0", "off", "false", "no"})
    if (*text == no)
      return false;
  reject(variable, *text, "1, on, true, yes, 0, off, false or no");
}

std::optional<std::string> envChoice(const char *variable,
                                     std::initializer_list<std::string_view> choices) {
  auto text = envString(variable);
  if (!text)
    return std::nullopt;
  for (std::string_view choice : choices)
    if (*text == choice)
      return text;
  reject(variable, *text, fmt::format("one of {}", fmt::join(choices, ", ")));
}

} // namespace ditron
