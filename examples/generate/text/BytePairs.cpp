// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "text/BytePairs.h"
#include "ditron/support/Error.h"
#include "text/Utf8.h"
#include <algorithm>
#include <fmt/format.h>
#include <queue>

namespace generate {

static constexpr Token kNone = -1;

/// The character that stands for a byte in byte-level vocabularies: itself where it can be seen, one
/// from U+0100 on otherwise.
static std::array<std::string, 256> byteAlphabet() {
  std::array<std::string, 256> alphabet;
  uint32_t next = 256;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    bool isSeen = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    appendUtf8(alphabet[byte], isSeen ? byte : next++);
  }
  return alphabet;
}

/// The bytes that a token in the alphabet stands for; what is not in the alphabet stands for itself.
static std::string decodeAlphabet(const std::unordered_map<std::string, char> &bytes,
                                  const std::string &token) {
  std::string result;
  for (size_t at = 0; at < token.size();) {
    size_t length = 1;
    while (at + length < token.size() && (static_cast<uint8_t>(token[at + length]) & 0xC0) == 0x80)
      ++length;
    std::string character = token.substr(at, length);
    auto found = bytes.find(character);
    result += found == bytes.end() ? character : std::string(1, found->second);
    at += length;
  }
  return result;
}

static uint64_t keyOf(Token left, Token right) {
  return uint64_t(uint32_t(left)) << 32 | uint32_t(right);
}

BytePairs::BytePairs(const TokenizerSpec &spec) : takesWholeWords_(spec.takesWholeWords) {
  std::array<std::string, 256> alphabet = byteAlphabet();
  std::unordered_map<std::string, char> bytes;
  for (size_t byte = 0; byte < 256; ++byte)
    bytes[alphabet[byte]] = static_cast<char>(byte);
  std::unordered_map<std::string, Token> ids;
  for (const std::string &token : spec.tokens) {
    ids.emplace(token, static_cast<Token>(bytes_.size()));
    bytes_.push_back(decodeAlphabet(bytes, token));
    whole_.emplace(bytes_.back(), static_cast<Token>(bytes_.size() - 1));
  }
  auto idOf = [&](const std::string &token) {
    auto found = ids.find(token);
    return found == ids.end() ? kNone : found->second;
  };
  for (size_t byte = 0; byte < 256; ++byte)
    ofByte_[byte] = idOf(alphabet[byte]);
  for (const auto &[left, right] : spec.merges) {
    Token l = idOf(left), r = idOf(right), both = idOf(left + right);
    if (l == kNone || r == kNone || both == kNone)
      throw ditron::RuntimeError(fmt::format("'{}': the merge of '{}' and '{}': '{}' is no token",
                                             spec.path, left, right,
                                             l == kNone   ? left
                                             : r == kNone ? right
                                                          : left + right));
    merges_.emplace(keyOf(l, r), Merge{static_cast<int32_t>(merges_.size()), both});
  }
}

const BytePairs::Merge *BytePairs::find(Token left, Token right) const {
  auto found = merges_.find(keyOf(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

std::vector<Token> BytePairs::singleBytes(std::string_view word) const {
  std::vector<Token> tokens;
  for (char byte : word)
    if (Token token = ofByte_[static_cast<uint8_t>(byte)]; token != kNone)
      tokens.push_back(token);
  return tokens;
}

namespace {

/// A pair of neighbours that can be merged; the lowest rank comes first, then the leftmost.
struct Candidate {
  int32_t rank;
  size_t left, right;
  Token leftToken, rightToken, result;
  bool operator<(const Candidate &other) const {
    return rank != other.rank ? rank > other.rank : left > other.left;
  }
};

/// The tokens of a word in a list from which merged ones are taken.
struct Chain {
  explicit Chain(std::vector<Token> start) : tokens(std::move(start)) {
    for (size_t n = 0; n < tokens.size(); ++n) {
      next.push_back(n + 1);
      before.push_back(n - 1);
    }
  }
  /// Merges the right one into the left one.
  void merge(const Candidate &pair) {
    tokens[pair.left] = pair.result;
    tokens[pair.right] = kNone;
    next[pair.left] = next[pair.right];
    if (next[pair.right] < tokens.size())
      before[next[pair.right]] = pair.left;
  }
  bool has(const Candidate &pair) const {
    return tokens[pair.left] == pair.leftToken && next[pair.left] == pair.right &&
           tokens[pair.right] == pair.rightToken;
  }

  std::vector<Token> tokens;
  std::vector<size_t> next, before;
};

} // namespace

void BytePairs::encode(std::string_view word, std::vector<Token> &tokens) const {
  if (takesWholeWords_)
    if (auto found = whole_.find(std::string(word)); found != whole_.end()) {
      tokens.push_back(found->second);
      return;
    }
  Chain chain(singleBytes(word));
  std::priority_queue<Candidate> candidates;
  auto consider = [&](size_t left) {
    size_t right = left < chain.tokens.size() ? chain.next[left] : left;
    if (left >= chain.tokens.size() || right >= chain.tokens.size())
      return;
    Token l = chain.tokens[left], r = chain.tokens[right];
    if (const Merge *merge = find(l, r))
      candidates.push({merge->rank, left, right, l, r, merge->result});
  };
  for (size_t n = 0; n < chain.tokens.size(); ++n)
    consider(n);
  while (!candidates.empty()) {
    Candidate best = candidates.top();
    candidates.pop();
    if (!chain.has(best))
      continue;
    chain.merge(best);
    consider(best.left);
    consider(chain.before[best.left]);
  }
  for (Token token : chain.tokens)
    if (token != kNone)
      tokens.push_back(token);
}

} // namespace generate
