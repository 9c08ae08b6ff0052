// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What comes to the meeting of a run, as rank 0 and as another rank read it. A text is a list of
// messages, one a line, so that changes of its tokens are changes of fields:
//
//   hello RANK SIZE CORES MESH KEY    what a rank says
//   answer ACCEPTED BYTES TEXT        what rank 0 says
//   byte POSITION VALUE               changes a byte of the message before
//   cut BYTES                         shortens it
//
// and what is none of these is a message of its own bytes.
#include "FuzzTargets.h"
#include "ditron/runtime/transport/MeetingMessages.h"
#include <cstdlib>
#include <sstream>

namespace ditron::fuzz {

namespace {

using runtime::Answer;
using runtime::Membership;
using runtime::Roster;

constexpr int kRanks = 5, kCores = 2;

struct Line {
  explicit Line(const std::string &text) : words(text) { words >> kind; }
  int64_t number() {
    int64_t value = 0;
    words >> value;
    return value;
  }
  std::string rest() {
    std::string text;
    std::getline(words >> std::ws, text);
    return text;
  }
  std::istringstream words;
  std::string kind;
};

std::string helloOf(Line &line) {
  Membership membership;
  membership.rank = int(line.number()), membership.size = int(line.number());
  runtime::Terms terms{.cores = int(line.number()), .backend = "cpu"};
  line.words >> terms.mesh;
  membership.job = line.rest();
  return runtime::helloOf(membership, terms);
}

std::string answerOf(Line &line) {
  Answer answer;
  answer.isAccepted = line.number() != 0;
  answer.heapBytes = size_t(line.number());
  answer.refusal = line.rest();
  return answer.bytes();
}

std::vector<std::string> messagesOf(const std::string &text) {
  std::vector<std::string> messages{""};
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    Line words(line);
    std::string &last = messages.back();
    if (words.kind == "hello")
      messages.push_back(helloOf(words));
    else if (words.kind == "answer")
      messages.push_back(answerOf(words));
    else if (words.kind == "byte" && !last.empty())
      last[size_t(words.number()) % last.size()] = char(words.number());
    else if (words.kind == "cut")
      last.resize(std::min(last.size(), size_t(words.number())));
    else
      messages.push_back(line);
  }
  return messages;
}

/// No rank is there that was absent already, or that there is none of.
void admit(Roster &roster, const std::string &message) {
  size_t absent = roster.absent().size();
  bool isOver = false;
  std::optional<int> speaker = roster.speaker(message);
  allowErrors([&] {
    std::optional<int> rank = roster.admit(message);
    isOver = rank && (*rank < 1 || *rank >= kRanks || rank != speaker);
    absent -= rank.has_value();
  });
  if (isOver || roster.absent().size() != absent)
    std::abort();
}

/// What was understood is said again in the same bytes.
void take(const std::string &message) {
  std::optional<Answer> answer = Answer::parse(message);
  std::optional<Answer> again = answer ? Answer::parse(answer->bytes()) : std::nullopt;
  if (answer && (!again || again->refusal != answer->refusal.substr(0, 511)))
    std::abort();
}

void read(std::string_view bytes) {
  Membership membership;
  membership.size = kRanks, membership.job = "job 7";
  Roster roster(membership, {.cores = kCores, .backend = "cpu", .mesh = "node=1"});
  for (const std::string &message : messagesOf(std::string(bytes))) {
    admit(roster, message);
    take(message);
  }
}

} // namespace

const Target meetingTarget = {"meeting", read};

} // namespace ditron::fuzz
