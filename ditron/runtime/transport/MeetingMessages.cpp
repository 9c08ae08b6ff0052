// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/transport/MeetingMessages.h"
#include "ditron/support/Error.h"
#include "ditron/support/Hash.h"
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fmt/format.h>

namespace ditron::runtime {

namespace {

constexpr uint64_t kProtocol =
    0x6469747268656c36; // its last byte changes with the control block and the messages

constexpr const char *kOtherVersion = "the ranks run different versions of ditron";

/// In front of the key of the job. What stands before the texts is the same in every version.
struct HelloWords {
  uint64_t protocol = kProtocol;
  int32_t rank = 0, size = 0, cores = 0;
  int32_t zero = 0;
  char backend[32] = {}, mesh[160] = {};
};

constexpr size_t kOldestHello = offsetof(HelloWords, backend);

struct AnswerWords {
  uint64_t protocol = kProtocol;
  uint32_t accepted = 0, zero = 0;
  uint64_t heapBytes = 0;
  char refusal[512] = {};
};
static_assert(sizeof(AnswerWords) == Answer::kBytes);

template <class T> std::string bytesOf(const T &words) {
  return std::string(reinterpret_cast<const char *>(&words), sizeof(words));
}

/// The words in front of a message that is long enough.
template <class T> T wordsOf(std::string_view message) {
  T words;
  std::memcpy(&words, message.data(), sizeof(words));
  return words;
}

/// Other texts have other bytes, however long they are.
template <size_t N> void writeText(char (&to)[N], const std::string &text) {
  constexpr size_t kDigest = 32;
  bool fits = text.size() < N;
  (fits ? text : text.substr(0, N - 1 - kDigest) + hexDigest(text)).copy(to, N - 1);
}

template <size_t N> std::string_view textOf(const char (&text)[N]) {
  return {text, strnlen(text, N)};
}

/// Whether the word is this protocol's, of any version.
bool isOfProtocol(uint64_t word) { return (word ^ kProtocol) < 256; }

/// RuntimeError where a rank of this run cannot take part in it, as rank 0 says `own`.
void requireAgreement(const HelloWords &hello, const Membership &membership,
                      const HelloWords &own) {
  if (hello.size != membership.size)
    throw RuntimeError(fmt::format("rank {} says that there are {} ranks, but rank 0 says {}",
                                   hello.rank, hello.size, membership.size));
  if (textOf(hello.backend) != textOf(own.backend))
    throw RuntimeError(fmt::format("rank {} runs on backend '{}' but rank 0 on '{}'", hello.rank,
                                   textOf(hello.backend), textOf(own.backend)));
  if (hello.cores != own.cores)
    throw RuntimeError(
        fmt::format("rank {} has {} cores but rank 0 has {}", hello.rank, hello.cores, own.cores));
  if (textOf(hello.mesh) != textOf(own.mesh))
    throw RuntimeError(fmt::format("rank {} has the mesh {} but rank 0 has {}", hello.rank,
                                   textOf(hello.mesh), textOf(own.mesh)));
}

HelloWords helloWordsOf(const Membership &membership, const Terms &terms) {
  HelloWords hello;
  hello.rank = membership.rank, hello.size = membership.size, hello.cores = terms.cores;
  writeText(hello.backend, terms.backend);
  writeText(hello.mesh, terms.mesh);
  return hello;
}

} // namespace

std::string helloOf(const Membership &membership, const Terms &terms) {
  return bytesOf(helloWordsOf(membership, terms)) + membership.job;
}

size_t Roster::mostHelloBytes() const {
  constexpr size_t kOtherVersions = 4096;
  return sizeof(HelloWords) + kOtherVersions + membership_.job.size();
}

std::optional<int> Roster::speaker(std::string_view message) const {
  if (message.size() < kOldestHello + membership_.job.size() || !message.ends_with(membership_.job))
    return std::nullopt;
  HelloWords hello;
  std::memcpy(&hello, message.data(), kOldestHello);
  if (!isOfProtocol(hello.protocol) || hello.rank <= 0 || hello.rank >= hello.size ||
      hello.zero != 0)
    return std::nullopt;
  bool isOfAnotherSize = message.size() != sizeof(HelloWords) + membership_.job.size();
  if (hello.protocol == kProtocol && isOfAnotherSize)
    return std::nullopt;
  return hello.rank;
}

std::optional<int> Roster::admit(std::string_view message) {
  if (!speaker(message))
    return std::nullopt;
  if (wordsOf<uint64_t>(message) != kProtocol)
    throw RuntimeError(kOtherVersion);
  auto hello = wordsOf<HelloWords>(message);
  requireAgreement(hello, membership_, helloWordsOf(membership_, terms_));
  if (isThere_[size_t(hello.rank)])
    throw RuntimeError(fmt::format("two processes say that they are rank {}", hello.rank));
  isThere_[size_t(hello.rank)] = true;
  return hello.rank;
}

std::vector<int> Roster::absent() const {
  std::vector<int> ranks;
  for (int rank = 1; rank < membership_.size; ++rank)
    if (!isThere_[size_t(rank)])
      ranks.push_back(rank);
  return ranks;
}

std::string Answer::bytes() const {
  AnswerWords words;
  words.accepted = isAccepted;
  words.heapBytes = heapBytes;
  refusal.copy(words.refusal, sizeof(words.refusal) - 1);
  return bytesOf(words);
}

std::optional<Answer> Answer::parse(std::string_view message) {
  bool hasProtocol = message.size() >= sizeof(uint64_t) && isOfProtocol(wordsOf<uint64_t>(message));
  if (hasProtocol && wordsOf<uint64_t>(message) != kProtocol)
    return Answer{false, 0, kOtherVersion};
  if (message.size() != kBytes)
    return std::nullopt;
  auto words = wordsOf<AnswerWords>(message);
  bool isAnswer = words.protocol == kProtocol && words.accepted <= 1 && words.zero == 0 &&
                  words.heapBytes <= kMostHeapBytes;
  if (!isAnswer)
    return std::nullopt;
  return Answer{words.accepted == 1, words.heapBytes, std::string(textOf(words.refusal))};
}

} // namespace ditron::runtime
