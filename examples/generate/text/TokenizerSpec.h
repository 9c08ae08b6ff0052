// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace generate {

using Token = int32_t;

/// A token that stands for itself in a text and is cut out before anything else.
struct SpecialToken {
  std::string text;
  Token id = 0;
  bool isControl = true; ///< no part of what is shown
};

/// What a model's files say of its tokenizer: byte-level byte-pair encoding.
struct TokenizerSpec {
  std::string path; ///< the file that says it, for messages
  /// By id, in the alphabet of byte-level vocabularies; empty where there is no token.
  std::vector<std::string> tokens;
  /// Pairs of tokens, the one to merge first in front.
  std::vector<std::pair<std::string, std::string>> merges;
  std::vector<SpecialToken> specials;
  std::vector<std::string> splitExpressions;
  bool composes = false;        ///< texts are brought into normal form C
  bool takesWholeWords = false; ///< a word that is a token is not merged from its bytes
  bool addsBegin = false;       ///< a text begins with `begin`
  std::optional<Token> begin;
  std::vector<Token> ends; ///< any of which ends a text
};

} // namespace generate
