// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/transport/MeetingMessages.h"
#include "ditron/support/Error.h"
#include <gtest/gtest.h>

namespace ditron::runtime {
namespace {

Membership member(int rank, int size = 3, const char *job = "job") {
  return {.rank = rank, .size = size, .job = job, .launcher = ""};
}

Terms terms(int cores = 2, const char *mesh = "node=1,local=3", const char *backend = "cpu") {
  return {.cores = cores, .backend = backend, .mesh = mesh};
}

std::string refusalOf(const std::string &hello) {
  Roster roster(member(0), terms());
  EXPECT_EQ(roster.speaker(hello), 1);
  try {
    roster.admit(hello);
  } catch (const RuntimeError &error) {
    return error.what();
  }
  return "";
}

TEST(Roster, TakesEveryRankOnce) {
  Roster roster(member(0), terms());
  EXPECT_EQ(roster.absent(), (std::vector{1, 2}));
  EXPECT_EQ(roster.admit(helloOf(member(2), terms())), 2);
  EXPECT_EQ(roster.absent(), (std::vector{1}));
  EXPECT_THROW(roster.admit(helloOf(member(2), terms())), RuntimeError);
  EXPECT_EQ(roster.admit(helloOf(member(1), terms())), 1);
  EXPECT_TRUE(roster.absent().empty());
}

TEST(Roster, DropsWhatIsNoMessageOfTheRun) {
  Roster roster(member(0), terms());
  std::string hello = helloOf(member(1), terms());
  for (int rank : {-1, 0, 3, INT32_MAX})
    EXPECT_FALSE(roster.admit(helloOf(member(rank), terms()))) << rank;
  EXPECT_FALSE(roster.admit(helloOf(member(1, 3, "jot"), terms())));
  EXPECT_FALSE(roster.admit(hello.substr(1)));
  EXPECT_FALSE(roster.admit(hello + "x"));
  EXPECT_FALSE(roster.admit(""));
  EXPECT_FALSE(roster.admit(std::string(hello.size(), '\0')));
  hello[1] ^= 1; // another program's
  EXPECT_FALSE(roster.admit(hello));
  EXPECT_EQ(roster.absent(), (std::vector{1, 2}));
}

TEST(Roster, RefusesRanksThatDisagree) {
  EXPECT_EQ(refusalOf(helloOf(member(1, 4), terms())),
            "rank 1 says that there are 4 ranks, but rank 0 says 3");
  EXPECT_EQ(refusalOf(helloOf(member(1), terms(3))), "rank 1 has 3 cores but rank 0 has 2");
  EXPECT_EQ(refusalOf(helloOf(member(1), terms(2, "node=3,local=1"))),
            "rank 1 has the mesh node=3,local=1 but rank 0 has node=1,local=3");
  EXPECT_EQ(refusalOf(helloOf(member(1), terms(1, "node=1,local=3", "nvidia"))),
            "rank 1 runs on backend 'nvidia' but rank 0 on 'cpu'");
}

TEST(Roster, TellsLongMeshesApart) {
  std::string first = std::string(500, 'x') + "=3,y=1", second = std::string(500, 'x') + "=3,z=1";
  Roster roster(member(0), terms(2, first.c_str()));
  EXPECT_THROW(roster.admit(helloOf(member(1), terms(2, second.c_str()))), RuntimeError);
  EXPECT_EQ(roster.admit(helloOf(member(1), terms(2, first.c_str()))), 1);
}

TEST(Roster, RefusesOtherVersionsWhateverTheirLength) {
  std::string other = helloOf(member(1), terms());
  other[0] ^= 1;
  EXPECT_EQ(refusalOf(other), "the ranks run different versions of ditron");
  other.insert(24, "more fields");
  EXPECT_EQ(refusalOf(other), "the ranks run different versions of ditron");
  other.erase(24, other.size() - 24 - member(1).job.size());
  EXPECT_EQ(refusalOf(other), "the ranks run different versions of ditron");
  EXPECT_FALSE(Roster(member(0), terms()).speaker(other.substr(1)));
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

TEST(Answer, OfAnotherVersionIsARefusal) {
  std::string bytes = Answer{true, 4096, ""}.bytes() + "more fields";
  bytes[0] ^= 1;
  std::optional<Answer> read = Answer::parse(bytes);
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->isAccepted);
  EXPECT_EQ(read->refusal, "the ranks run different versions of ditron");
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
