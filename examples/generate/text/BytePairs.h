// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Byte-pair encoding (Sennrich et al., arXiv 1508.07909) on bytes, as GPT-2 has it: each byte is a
// token, and pairs of neighbours are merged, the pair with the lowest rank first.
#pragma once
#include "text/TokenizerSpec.h"
#include <array>
#include <string_view>
#include <unordered_map>

namespace generate {

class BytePairs {
public:
  /// RuntimeError naming a merge whose parts or result are no tokens.
  explicit BytePairs(const TokenizerSpec &spec);

  /// Appends the tokens of a word. Bytes that the vocabulary lacks are left out.
  void encode(std::string_view word, std::vector<Token> &tokens) const;
  /// The bytes of a token of the vocabulary.
  const std::string &bytesOf(Token token) const { return bytes_[size_t(token)]; }

private:
  struct Merge {
    int32_t rank;
    Token result;
  };
  const Merge *find(Token left, Token right) const;
  std::vector<Token> singleBytes(std::string_view word) const;

  std::vector<std::string> bytes_; ///< by token
  std::unordered_map<std::string, Token> whole_;
  std::unordered_map<uint64_t, Merge> merges_;
  std::array<Token, 256> ofByte_;
  bool takesWholeWords_;
};

} // namespace generate
