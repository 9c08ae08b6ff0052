// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "text/Tokenizer.h"
#include "ditron/support/Error.h"
#include "text/Utf8.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace generate {

Tokenizer::Tokenizer(TokenizerSpec spec) : spec_(std::move(spec)), pairs_(spec_) {
  for (const std::string &expression : spec_.splitExpressions)
    splitters_.emplace_back(expression, spec_.path);
  for (const SpecialToken &special : spec_.specials) {
    specialOf_[special.id] = &special;
    if (!special.text.empty() && !findInvalidUtf8(special.text)) // of which no text has others
      found_.push_back(&special);
  }
  // Of two that begin at the same place the longer one is meant.
  std::ranges::sort(found_, [](const SpecialToken *a, const SpecialToken *b) {
    return a->text.size() != b->text.size() ? a->text.size() > b->text.size() : a->text < b->text;
  });
}

static void requireUtf8(std::string_view text) {
  if (std::optional<size_t> byte = findInvalidUtf8(text))
    throw ditron::RuntimeError(fmt::format("the text is not UTF-8 at byte {}", *byte));
}

void Tokenizer::appendPlain(std::string_view text, std::vector<Token> &tokens) const {
  if (text.empty())
    return;
  std::string composed;
  if (spec_.composes)
    text = composed = composeUtf8(text);
  for (std::string_view word : splitByAll(splitters_, text))
    pairs_.encode(word, tokens);
}

std::vector<Token> Tokenizer::encodePlain(std::string_view text) const {
  requireUtf8(text);
  std::vector<Token> tokens;
  appendPlain(text, tokens);
  return tokens;
}

std::vector<Token> Tokenizer::encode(std::string_view text) const {
  requireUtf8(text);
  std::vector<Token> tokens;
  if (addsBegin())
    tokens.push_back(*spec_.begin);
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    auto here = std::ranges::find_if(found_, [&](const SpecialToken *special) {
      return text.substr(at).starts_with(special->text);
    });
    if (here == found_.end()) {
      ++at;
      continue;
    }
    appendPlain(text.substr(done, at - done), tokens);
    tokens.push_back((*here)->id);
    done = at += (*here)->text.size();
  }
  appendPlain(text.substr(done), tokens);
  return tokens;
}

std::string Tokenizer::decode(std::span<const Token> tokens) const {
  std::string text;
  for (Token token : tokens) {
    if (token < 0 || token >= size())
      continue; // models have more logits than there are tokens
    auto special = specialOf_.find(token);
    if (special == specialOf_.end())
      text += pairs_.bytesOf(token);
    else if (!special->second->isControl)
      text += special->second->text;
  }
  return text;
}

Token Tokenizer::special(std::string_view text) const {
  for (const SpecialToken &special : spec_.specials)
    if (special.text == text)
      return special.id;
  throw ditron::RuntimeError(fmt::format("the model has no token {}", text));
}

static constexpr std::string_view kBegin = "<|im_start|>", kEnd = "<|im_end|>";

bool Tokenizer::takesChats() const {
  return std::ranges::all_of(std::array{kBegin, kEnd}, [&](std::string_view text) {
    return std::ranges::count(spec_.specials, text, &SpecialToken::text) > 0;
  });
}

bool Tokenizer::isEnd(Token token) const {
  return std::ranges::find(spec_.ends, token) != spec_.ends.end();
}

std::vector<Token> encodeChat(const Tokenizer &tokenizer, std::span<const ChatMessage> messages) {
  Token begin = tokenizer.special(kBegin), end = tokenizer.special(kEnd);
  std::vector<Token> tokens;
  auto append = [&](std::string_view text) {
    std::ranges::copy(tokenizer.encodePlain(text), std::back_inserter(tokens));
  };
  if (tokenizer.addsBegin())
    tokens.push_back(*tokenizer.begin());
  for (const ChatMessage &message : messages) {
    tokens.push_back(begin);
    append(fmt::format("{}\n{}", message.role, message.text));
    tokens.push_back(end);
    append("\n");
  }
  tokens.push_back(begin);
  append("assistant\n");
  return tokens;
}

std::vector<Token> encodeChat(const Tokenizer &tokenizer, std::string_view instruction,
                              std::string_view prompt) {
  std::vector<ChatMessage> messages;
  if (!instruction.empty())
    messages.push_back({"system", std::string(instruction)});
  messages.push_back({"user", std::string(prompt)});
  return encodeChat(tokenizer, messages);
}

} // namespace generate
