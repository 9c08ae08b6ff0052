// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace ditron::fuzz {

/// Changes texts token by token, so that most of what a text says stays in order: a number becomes
/// one at a limit, a word one of another text, a line comes twice, not at all or from elsewhere.
class Mutator {
public:
  /// `texts` are where words and lines come from.
  explicit Mutator(const std::vector<std::string> &texts);

  /// The text of a number: the same each time. The first ones are the texts as they are.
  std::string text(uint64_t number) const;
  /// `text` with one to six changes.
  std::string mutate(std::string_view text, uint64_t seed) const;

private:
  using Random = std::mt19937_64;
  using Tokens = std::vector<std::string>;

  void change(Tokens &tokens, Random &random) const;
  void changeLines(Tokens &tokens, Random &random) const;
  const std::string &word(Random &random) const;

  std::vector<std::string> texts_, words_, lines_;
};

/// Words, numbers, strings, blanks and single characters, in order; together they are the text.
std::vector<std::string> tokensOf(std::string_view text);

} // namespace ditron::fuzz
