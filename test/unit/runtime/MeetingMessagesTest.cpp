// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/transport/MeetingMessages.h"
#include "ditron/support/Error.h"
#include <gtest/gtest.h>

namespace ditron::runtime {
namespace {

Membership member(int rank, int size = 3, const char *job = "job") {
  return {.rank = rank, .size = size, .job = job, .launcher = ""};
}

TEST(Roster, TakesEveryRankOnce) {
  Roster roster(member(0), 2);
  EXPECT_EQ(roster.absent(), (std::vector{1, 2}));
  EXPECT_EQ(roster.admit(helloOf(member(2), 2)), 2);
  EXPECT_EQ(roster.absent(), (std::vector{1}));
  EXPECT_THROW(roster.admit(helloOf(member(2), 2)), RuntimeError);
  EXPECT_EQ(roster.admit(helloOf(member(1), 2)), 1);
  EXPECT_TRUE(roster.absent().empty());
}

TEST(Roster, DropsWhatIsNoMessageOfTheRun) {
  Roster roster(member(0), 2);
  std::string hello = helloOf(member(1), 2);
  for (int rank : {-1, 0, 3, INT32_MAX})
    EXPECT_FALSE(roster.admit(helloOf(member(rank), 2))) << rank;
  EXPECT_FALSE(roster.admit(helloOf(member(1, 3, "jot"), 2)));
  EXPECT_FALSE(roster.admit(hello.substr(1)));
  EXPECT_FALSE(roster.admit(hello + "x"));
  EXPECT_FALSE(roster.admit(""));
  EXPECT_FALSE(roster.admit(std::string(hello.size(), '\0')));
  hello[1] ^= 1; // another program's
  EXPECT_FALSE(roster.admit(hello));
  EXPECT_EQ(roster.absent(), (std::vector{1, 2}));
}

TEST(Roster, RefusesRanksThatDisagree) {
  Roster roster(member(0), 2);
  EXPECT_THROW(roster.admit(helloOf(member(1, 4), 2)), RuntimeError);
  EXPECT_THROW(roster.admit(helloOf(member(1), 3)), RuntimeError);
  std::string other = helloOf(member(1), 2);
  other[0] ^= 1; // another version
  EXPECT_THROW(roster.admit(other), RuntimeError);
}

TEST(Answer, IsReadAsItWasSaid) {
  Answer said{true, 4096, "why"};
  std::optional<Answer> read = Answer::parse(said.bytes());
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->isAccepted);
  EXPECT_EQ(read->heapBytes, 4096u);
  EXPECT_EQ(read->refusal, "why");
  EXPECT_EQ(Answer::parse(Answer{false, 0, std::string(1000, 'x')}.bytes())->refusal,
            std::string(511, 'x'));
}

TEST(Answer, IsNotReadOfOtherBytes) {
  std::string bytes = Answer{true, Answer::kMostHeapBytes + 1, ""}.bytes();
  EXPECT_FALSE(Answer::parse(bytes)); // sizes of memory would wrap
  EXPECT_FALSE(Answer::parse(bytes.substr(1)));
  EXPECT_FALSE(Answer::parse(std::string(Answer::kBytes, '\xff')));
  std::string endless = Answer{false, 0, std::string(600, 'x')}.bytes();
  endless.back() = 'x'; // no end of the text
  EXPECT_EQ(Answer::parse(endless)->refusal.size(), 512u);
}

} // namespace
} // namespace ditron::runtime
