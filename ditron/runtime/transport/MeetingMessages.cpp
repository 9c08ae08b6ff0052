// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/transport/MeetingMessages.h"
#include "ditron/support/Error.h"
#include <cstdint>
#include <cstring>
#include <fmt/format.h>

namespace ditron::runtime {

namespace {

constexpr uint64_t kProtocol =
    0x6469747268656c35; // its last byte changes with the control block and the messages

/// In front of the key of the job.
struct HelloWords {
  uint64_t protocol = kProtocol;
  int32_t rank = 0, size = 0, cores = 0;
  int32_t zero = 0;
};

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

/// RuntimeError where a rank of this run cannot take part in it.
void requireAgreement(const HelloWords &hello, const Membership &membership, int cores) {
  if (hello.protocol != kProtocol)
    throw RuntimeError("the ranks run different versions of ditron");
  if (hello.size != membership.size)
    throw RuntimeError(fmt::format("rank {} says that there are {} ranks, but rank 0 says {}",
                                   hello.rank, hello.size, membership.size));
  if (hello.cores != cores)
    throw RuntimeError(
        fmt::format("rank {} has {} cores but rank 0 has {}", hello.rank, hello.cores, cores));
}

} // namespace

std::string helloOf(const Membership &membership, int cores) {
  HelloWords hello;
  hello.rank = membership.rank, hello.size = membership.size, hello.cores = cores;
  return bytesOf(hello) + membership.job;
}

size_t Roster::helloBytes() const { return sizeof(HelloWords) + membership_.job.size(); }

std::optional<int> Roster::admit(std::string_view message) {
  if (message.size() != helloBytes() || message.substr(sizeof(HelloWords)) != membership_.job)
    return std::nullopt;
  HelloWords hello = wordsOf<HelloWords>(message);
  bool isHello = (hello.protocol ^ kProtocol) < 256 && hello.zero == 0 && hello.rank > 0 &&
                 hello.rank < hello.size;
  if (!isHello)
    return std::nullopt;
  requireAgreement(hello, membership_, cores_);
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
  if (message.size() != kBytes)
    return std::nullopt;
  auto words = wordsOf<AnswerWords>(message);
  bool isAnswer = words.protocol == kProtocol && words.accepted <= 1 && words.zero == 0 &&
                  words.heapBytes <= kMostHeapBytes;
  if (!isAnswer)
    return std::nullopt;
  return Answer{words.accepted == 1, words.heapBytes,
                std::string(words.refusal, strnlen(words.refusal, sizeof(words.refusal)))};
}

} // namespace ditron::runtime
