// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/text/Text.h"
#include "ditron/support/Child.h"
#include "ditron/support/Error.h"
#include "ditron/support/SystemMemory.h"
#include <algorithm>
#include <fmt/format.h>
#include <vector>

namespace ditron::text {

//===-- Limits --------------------------------------------------------------------------------===//

namespace {

/// Walks over a text as the parser's lexer does, as far as brackets, strings and comments go.
class Brackets {
public:
  explicit Brackets(std::string_view text) : text_(text) {}

  /// The line on which the brackets nest too deep; 0 where they never do.
  size_t findTooDeep() {
    while (at_ < text_.size()) {
      step();
      if (depth_ > kDeepestNesting)
        return line_;
    }
    return 0;
  }

private:
  char next() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\0'; }

  void step() {
    char c = text_[at_];
    if (c == '\n')
      ++line_;
    else if (c == '"')
      return skipString();
    else if (c == '/' && next() == '/')
      return skipLine();
    else if ((c == '-' && next() == '>') || (c == '<' && next() == '=') ||
             (c == '>' && next() == '='))
      ++at_; // arrows and comparisons
    else if (c == '(' || c == '[' || c == '{' || c == '<')
      ++depth_;
    else if (c == ')' || c == ']' || c == '}' || c == '>')
      depth_ = std::max(depth_ - 1, 0);
    ++at_;
  }

  /// To behind the string's end: its quote, or, where it has none, the end of the line.
  void skipString() {
    for (++at_; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      if (text_[at_] == '"')
        return void(++at_);
      if (text_[at_] == '\\')
        ++at_;
    }
  }

  void skipLine() { at_ = std::min(text_.find('\n', at_), text_.size()); }

  std::string_view text_;
  size_t at_ = 0, line_ = 1;
  int depth_ = 0;
};

size_t lineOf(std::string_view text, size_t position) {
  return 1 + static_cast<size_t>(std::count(text.begin(), text.begin() + position, '\n'));
}

} // namespace

std::optional<Hazard> findExcess(std::string_view text) {
  if (text.size() > kMostBytes)
    return Hazard{0, fmt::format("has {} bytes, expected at most {}", text.size(), kMostBytes)};
  if (size_t zero = text.find('\0'); zero != std::string_view::npos)
    return Hazard{lineOf(text, zero), "holds a byte of value 0, expected text"};
  if (size_t line = Brackets(text).findTooDeep())
    return Hazard{line, fmt::format("brackets nest more than {} deep, expected at most that",
                                    kDeepestNesting)};
  return std::nullopt;
}

/// A limit on memory with which the parser would crash on any text.
static std::optional<Hazard> findLack() {
  constexpr size_t kToParse = size_t(16) << 20;
  try {
    requireAddressSpace(kToParse, "parsing a text");
    return std::nullopt;
  } catch (const RuntimeError &error) {
    return Hazard{0, error.what()};
  }
}

//===-- Verdict of a child --------------------------------------------------------------------===//

namespace {

/// The number of the first line with which the reader crashes, by halving; 0 where that takes long.
size_t findLine(std::string_view text, const Reader &reader) {
  constexpr std::chrono::seconds kLongest{10};
  auto deadline = std::chrono::steady_clock::now() + kLongest;
  std::vector<size_t> ends; // of the lines
  for (size_t at = 0; at < text.size(); at = ends.back()) {
    size_t end = text.find('\n', at);
    ends.push_back(end == std::string_view::npos ? text.size() : end + 1);
  }
  size_t least = 0, most = ends.empty() ? 0 : ends.size() - 1;
  while (least < most) {
    if (std::chrono::steady_clock::now() > deadline)
      return 0;
    size_t middle = least + (most - least) / 2;
    std::string part(text.substr(0, ends[middle]));
    bool crashes = inChild([&] { return reader(part); }).kind == ChildEnd::Kind::crashed;
    (crashes ? most : least) = crashes ? middle : middle + 1;
  }
  return most + 1;
}

} // namespace

Verdict judge(std::string_view text, const Reader &reader) {
  if (std::optional<Hazard> excess = findExcess(text))
    return {excess, ""};
  if (std::optional<Hazard> lack = findLack())
    return {lack, ""};
  ChildEnd end = inChild([&] { return reader(text); });
  if (end.kind == ChildEnd::Kind::answered)
    return {std::nullopt, end.answer};
  if (end.kind == ChildEnd::Kind::late)
    return {Hazard{0, fmt::format("is not parsed within {} s, the limit",
                                  ChildLimits().time.count() / 1000)},
            ""};
  if (end.kind == ChildEnd::Kind::starved)
    return {Hazard{0, "takes more memory to parse than there is: the limit of this process "
                      "(ulimit -v), its control group or 4 GiB"},
            ""};
  size_t line = findLine(text, reader);
  return {Hazard{line, fmt::format("cannot be parsed: MLIR's parser or a verifier crashes on {}, "
                                   "with {}",
                                   line ? "what ends in this line" : "it", end.text())},
          ""};
}

void requireReadable(std::string_view text, std::string_view file, const Reader &reader) {
  Verdict verdict = judge(text, reader);
  if (verdict.hazard)
    throw CompileError(describe(*verdict.hazard, file));
  if (!verdict.error.empty())
    throw CompileError(verdict.error);
}

std::string describe(const Hazard &hazard, std::string_view file) {
  return hazard.line ? fmt::format("{}:{}: {}", file, hazard.line, hazard.message)
                     : fmt::format("{}: {}", file, hazard.message);
}

} // namespace ditron::text
