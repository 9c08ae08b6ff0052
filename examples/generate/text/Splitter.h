// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The regular expressions that cut a text into words before byte pairs are merged.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace generate {

/// One expression. Its matches are words, and so is what lies between them.
class Splitter {
public:
  /// RuntimeError naming the place where the expression, which stands in this file, is wrong.
  Splitter(const std::string &expression, const std::string &path);
  /// The words of a text in UTF-8; together they are the text.
  std::vector<std::string_view> split(std::string_view text) const;

private:
  std::shared_ptr<const void> code_;
};

/// The words of a text which expression after expression cuts smaller.
std::vector<std::string_view> splitByAll(const std::vector<Splitter> &splitters,
                                         std::string_view text);

/// The expressions of a pre-tokenizer by the name that GGUF gives it: gpt-2, smollm, qwen2 or
/// llama-bpe. None for another name.
std::vector<std::string> splitExpressions(std::string_view name);

/// Of GPT-2: words with the space in front of them, digits, the rest.
extern const char *const kGpt2Words;

} // namespace generate
