// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "text/BytePairs.h"
#include "text/Splitter.h"
#include <span>
#include <string>
#include <string_view>

namespace generate {

/// Texts as tokens and back. Threads may share one.
class Tokenizer {
public:
  /// RuntimeError where the parts do not fit one another.
  explicit Tokenizer(TokenizerSpec spec);
  Tokenizer(Tokenizer &&) = default;
  Tokenizer(const Tokenizer &) = delete; // others point into the specification

  /// The tokens of a text, in which special tokens stand for themselves. RuntimeError naming the
  /// byte where the text is not UTF-8.
  std::vector<Token> encode(std::string_view text) const;
  /// The same of a text in which nothing is special, and that does not begin with `begin`.
  std::vector<Token> encodePlain(std::string_view text) const;
  /// The bytes that tokens stand for, control tokens left out, and numbers that are no tokens. They
  /// may end within a character.
  std::string decode(std::span<const Token> tokens) const;

  /// Whether there are the tokens that encodeChat() takes.
  bool takesChats() const;
  /// The special token with this text. RuntimeError where there is none.
  Token special(std::string_view text) const;
  const std::optional<Token> &begin() const { return spec_.begin; }
  bool addsBegin() const { return spec_.addsBegin && spec_.begin; }
  bool isEnd(Token token) const;
  int64_t size() const { return std::ssize(spec_.tokens); }

private:
  void appendPlain(std::string_view text, std::vector<Token> &tokens) const;

  TokenizerSpec spec_;
  BytePairs pairs_;
  std::vector<Splitter> splitters_;
  std::unordered_map<Token, const SpecialToken *> specialOf_;
  std::vector<const SpecialToken *> found_; ///< those that texts can have in them
};

/// A message of an exchange: whose it is (system, user or assistant), and its text.
struct ChatMessage {
  std::string role, text;
};
/// How an exchange is written for models that follow ChatML: the messages, then the beginning of an
/// answer. RuntimeError where the model has no tokens for it.
std::vector<Token> encodeChat(const Tokenizer &tokenizer, std::span<const ChatMessage> messages);
/// The same of an instruction to the model (none if empty) and a user's text.
std::vector<Token> encodeChat(const Tokenizer &tokenizer, std::string_view instruction,
                              std::string_view prompt);

} // namespace generate
