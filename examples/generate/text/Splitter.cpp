// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/Splitter.h"
#include "ditron/support/Error.h"
#include <fmt/format.h>
#include <pcre2.h>

namespace generate {

const char *const kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

static constexpr const char *kQwen2Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
static constexpr const char *kLlamaWords =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

std::vector<std::string> splitExpressions(std::string_view name) {
  if (name == "gpt-2")
    return {kGpt2Words};
  if (name == "smollm")
    return {R"(\p{N})", kGpt2Words};
  if (name == "qwen2")
    return {kQwen2Words};
  if (name == "llama-bpe")
    return {kLlamaWords};
  return {};
}

static std::string errorText(int code) {
  PCRE2_UCHAR text[256] = {};
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char *>(text);
}

/// The expression with \\s and \\S as Unicode's White_Space, without U+180E, which PCRE2 has among
/// them for its history.
static std::string withUnicodeSpaces(std::string_view expression) {
  constexpr std::string_view spaces =
      R"(\t-\r\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
  std::string result;
  bool isInClass = false;
  for (size_t n = 0; n < expression.size(); ++n) {
    std::string_view two = expression.substr(n, 2);
    bool isSpace = two == "\\s", isOther = two == "\\S" && !isInClass;
    if (isSpace || isOther)
      result += isInClass ? std::string(spaces) : fmt::format("[{}{}]", isOther ? "^" : "", spaces);
    else if (two.front() == '\\')
      result += two;
    else
      result += two.front();
    isInClass = two.front() == '[' || (isInClass && two.front() != ']');
    n += two.front() == '\\' ? 1 : 0;
  }
  return result;
}

/// Whether there is a number of repetitions, "{1,3", at the end of an expression, and no \x{12 or the like.
static bool endsInCount(std::string_view expression) {
  size_t open = expression.find_last_not_of("0123456789,");
  bool isCount = open != expression.npos && expression[open] == '{';
  return isCount && (open < 2 || expression[open - 2] != '\\');
}

/// "(?im" of an expression that begins with "(?im:" or "(?im)"; empty if it begins with a group of another kind.
static std::string_view flagsAt(std::string_view expression) {
  size_t end = expression.find_first_not_of("imx-", 2);
  bool areFlags = end != expression.npos && (expression[end] == ':' || expression[end] == ')');
  return areFlags ? expression.substr(0, end) : "";
}

/// What of an expression Oniguruma, for which tokenizers write them, takes for something else than PCRE2;
/// empty if there is nothing such.
static std::string_view otherMeaning(std::string_view expression) {
  constexpr std::string_view kEscapes = "hHvVwWbB";
  bool isInClass = false;
  for (size_t n = 0; n < expression.size(); ++n) {
    std::string_view two = expression.substr(n, 2);
    bool isEscape = two.front() == '\\';
    if (isEscape && two.size() == 2 && kEscapes.find(two.back()) != kEscapes.npos)
      return two;
    if (isInClass && (two == "&&" || two == "[:"))
      return two;
    if (!isInClass && two == "}+" && endsInCount(expression.substr(0, n)))
      return two;
    std::string_view flags = two == "(?" && !isInClass ? flagsAt(expression.substr(n)) : "";
    if (flags.find('m') != flags.npos)
      return flags;
    isInClass = two.front() == '[' || (isInClass && two.front() != ']');
    n += isEscape ? 1 : 0;
  }
  return {};
}

Splitter::Splitter(const std::string &expression, const std::string &path) {
  if (std::string_view other = otherMeaning(expression); !other.empty())
    throw ditron::RuntimeError(
        fmt::format("'{}': the expression {} of the pre-tokenizer has {}, expected one without it",
                    path, expression, other));
  std::string translated = withUnicodeSpaces(expression);
  int error = 0;
  size_t place = 0;
  pcre2_code *code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error, &place, nullptr);
  if (!code)
    throw ditron::RuntimeError(
        fmt::format("'{}': the expression {} of the pre-tokenizer: {} at byte {}", path, expression,
                    errorText(error), place));
  code_ = {code, [](const void *owned) {
             pcre2_code_free(static_cast<pcre2_code *>(const_cast<void *>(owned)));
           }};
}

std::vector<std::string_view> Splitter::split(std::string_view text) const {
  const auto *code = static_cast<const pcre2_code *>(code_.get());
  std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match(
      pcre2_match_data_create_from_pattern(code, nullptr), &pcre2_match_data_free);
  std::vector<std::string_view> words;
  size_t done = 0;
  auto add = [&](size_t first, size_t end) {
    if (end > first)
      words.push_back(text.substr(first, end - first));
  };
  for (size_t at = 0; at < text.size();) {
    int found = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at,
                            PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, match.get(), nullptr);
    if (found == PCRE2_ERROR_NOMATCH)
      break;
    if (found < 0)
      throw ditron::RuntimeError("the pre-tokenizer gave up: " + errorText(found));
    const size_t *ends = pcre2_get_ovector_pointer(match.get());
    add(done, ends[0]);
    add(ends[0], ends[1]);
    at = done = ends[1];
  }
  add(done, text.size());
  return words;
}

std::vector<std::string_view> splitByAll(const std::vector<Splitter> &splitters,
                                         std::string_view text) {
  std::vector<std::string_view> words = {text};
  for (const Splitter &splitter : splitters) {
    std::vector<std::string_view> smaller;
    for (std::string_view word : words)
      for (std::string_view part : splitter.split(word))
        smaller.push_back(part);
    words = std::move(smaller);
  }
  return words;
}

} // namespace generate
