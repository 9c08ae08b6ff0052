// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Mutate.h"
#include <algorithm>
#include <cctype>
#include <set>

namespace ditron::fuzz {

namespace {

bool isWordPart(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$';
}

bool isNumber(const std::string &token) {
  return !token.empty() && std::isdigit(static_cast<unsigned char>(token[0]));
}

size_t pick(std::mt19937_64 &random, size_t count) { return count ? random() % count : 0; }

/// Numbers at which something changes.
constexpr const char *kNumbers[] = {"0",
                                    "1",
                                    "2",
                                    "3",
                                    "7",
                                    "-1",
                                    "16",
                                    "255",
                                    "1024",
                                    "65536",
                                    "1048576",
                                    "1048577",
                                    "2147483647",
                                    "2147483648",
                                    "4294967296",
                                    "4611686018427387904",
                                    "9223372036854775807",
                                    "-9223372036854775808",
                                    "18446744073709551615",
                                    "99999999999999999999",
                                    "0x7FC00000",
                                    "1.0",
                                    "-0.0",
                                    "1e400"};

/// The range of the line that a token stands in, its end included.
std::pair<size_t, size_t> lineAt(const std::vector<std::string> &tokens, size_t at) {
  size_t first = at, last = at;
  while (first > 0 && tokens[first - 1] != "\n")
    --first;
  while (last < tokens.size() && tokens[last] != "\n")
    ++last;
  return {first, std::min(last + 1, tokens.size())};
}

} // namespace

std::vector<std::string> tokensOf(std::string_view text) {
  std::vector<std::string> tokens;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (isWordPart(text[at]) || text[at] == '%' || text[at] == '@' || text[at] == '#')
      while (end < text.size() && isWordPart(text[end]))
        ++end;
    else if (text[at] == ' ')
      while (end < text.size() && text[end] == ' ')
        ++end;
    tokens.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

Mutator::Mutator(const std::vector<std::string> &texts) : texts_(texts) {
  std::set<std::string> words, lines;
  for (const std::string &text : texts) {
    for (std::string &token : tokensOf(text))
      if (token.find_first_not_of(" \n") != std::string::npos)
        words.insert(std::move(token));
    for (size_t at = 0, end; at < text.size(); at = end) {
      end = std::min(text.find('\n', at), text.size() - 1) + 1;
      lines.insert(text.substr(at, end - at));
    }
  }
  if (words.empty())
    words.insert("0");
  if (lines.empty())
    lines.insert("\n");
  words_.assign(words.begin(), words.end());
  lines_.assign(lines.begin(), lines.end());
}

std::string Mutator::text(uint64_t number) const {
  if (texts_.empty())
    return "";
  if (number < texts_.size())
    return texts_[number];
  Random random(number);
  return mutate(texts_[pick(random, texts_.size())], random());
}

const std::string &Mutator::word(Random &random) const {
  return words_[pick(random, words_.size())];
}

void Mutator::changeLines(Tokens &tokens, Random &random) const {
  auto [first, last] = lineAt(tokens, pick(random, tokens.size()));
  Tokens line(tokens.begin() + first, tokens.begin() + last);
  switch (pick(random, 4)) {
  case 0: // not at all
    tokens.erase(tokens.begin() + first, tokens.begin() + last);
    return;
  case 1: // elsewhere too
    first = lineAt(tokens, pick(random, tokens.size())).first;
    tokens.insert(tokens.begin() + first, line.begin(), line.end());
    return;
  case 2: { // many times
    constexpr size_t kMostTokens = 1 << 16;
    Tokens many;
    for (size_t n = 0, count = pick(random, 40); n < count && many.size() < kMostTokens; ++n)
      many.insert(many.end(), line.begin(), line.end());
    tokens.insert(tokens.begin() + first, many.begin(), many.end());
    return;
  }
  default: // one of another text
    Tokens other = tokensOf(lines_[pick(random, lines_.size())]);
    tokens.insert(tokens.begin() + first, other.begin(), other.end());
  }
}

void Mutator::change(Tokens &tokens, Random &random) const {
  if (tokens.empty())
    return tokens.push_back(word(random));
  size_t at = pick(random, tokens.size());
  std::string &token = tokens[at];
  switch (pick(random, 6)) {
  case 0:
    tokens.erase(tokens.begin() + at);
    return;
  case 1:
    tokens.insert(tokens.begin() + at, word(random));
    return;
  case 2:
    token = tokens[pick(random, tokens.size())];
    return;
  case 3: // a number, if there is one ahead
    while (at + 1 < tokens.size() && !isNumber(tokens[at]))
      ++at;
    tokens[at] = kNumbers[pick(random, std::size(kNumbers))];
    return;
  case 4:
    return changeLines(tokens, random);
  default:
    token = word(random);
  }
}

std::string Mutator::mutate(std::string_view text, uint64_t seed) const {
  constexpr size_t kMostBytes = 1 << 16;
  Random random(seed);
  Tokens tokens = tokensOf(text);
  for (size_t n = 0, count = 1 + pick(random, 6); n < count && tokens.size() < kMostBytes; ++n)
    change(tokens, random);
  std::string result;
  for (const std::string &token : tokens)
    result += token;
  result.resize(std::min(result.size(), kMostBytes));
  return result;
}

} // namespace ditron::fuzz
