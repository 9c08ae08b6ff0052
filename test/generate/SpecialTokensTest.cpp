// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What no tokenizer of a library is asked: files whose special tokens are no texts.
#include "text/Tokenizer.h"
#include <gtest/gtest.h>

namespace generate {
namespace {

/// Of "a", "b" and the two bytes of "é", each of which is a token.
TokenizerSpec bytesOf(std::vector<SpecialToken> specials) {
  TokenizerSpec spec;
  spec.path = "model";
  spec.tokens = {"a", "b", "Ã", "©"};
  spec.splitExpressions = {"\\p{L}+"};
  for (SpecialToken &special : specials) {
    special.id = Token(spec.tokens.size());
    spec.tokens.push_back(special.text);
  }
  spec.specials = std::move(specials);
  return spec;
}

TEST(Tokenizer, FindsSpecialTokensThatAreTexts) {
  Tokenizer tokenizer(bytesOf({{"<a>"}, {"<a>b"}}));
  EXPECT_EQ(tokenizer.encode("a<a>é"), (std::vector<Token>{0, 4, 2, 3}));
  EXPECT_EQ(tokenizer.encode("<a>b<a>a"), (std::vector<Token>{5, 4, 0}));
}

TEST(Tokenizer, FindsNoneWithinACharacterOrOfNoLength) {
  Tokenizer tokenizer(bytesOf({{"\xC3"}, {"\xA9"}, {""}}));
  EXPECT_EQ(tokenizer.encode("aéb"), (std::vector<Token>{0, 2, 3, 1}));
  EXPECT_EQ(tokenizer.encode(""), std::vector<Token>());
}

} // namespace
} // namespace generate
