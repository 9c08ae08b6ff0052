// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verbs through a transport that maps no memory: put, get and notify alone carry a kernel.
#include "QueuedTransport.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace ditron::runtime;
using ditron::abi::SymmetricArray;
using scenario::expect;

namespace {

constexpr int64_t kWords = 4096;

/// arguments: box, signal, the words sent. Rank 0 puts to rank 1 and notifies rank 2, which gets
/// from rank 1 what was put there: a notify stands behind the puts to every peer.
void relayKernel(CoreContext *context, const int64_t *arguments) {
  auto *box = reinterpret_cast<int64_t *>(arguments[0]);
  auto *told = reinterpret_cast<SignalCell *>(arguments[1]);
  auto *words = reinterpret_cast<int64_t *>(arguments[2]);
  const int64_t count = kWords, one = 1;
  if (context->rank == 0) {
    ditron_put(context, 1, box, words, 8, 1, &count, &one, &one);
    ditron_notify(context, 2, told, 1, 0);
  }
  if (context->rank != 2)
    return;
  ditron_wait(context, told, 1, 0);
  ditron_get(context, 1, words, box, 8, 1, &count, &one, &one);
}

SCENARIO(relays) {
  auto &workspace = rank.workspace(
      "relay", {SymmetricArray::buffer("box", kWords * 8), SymmetricArray::signals("told", {1})});
  KernelCode code{"relay", relayKernel, 0, {0, 1}};
  for (int64_t number = 1; number <= 50; ++number) {
    std::vector<int64_t> words(kWords, rank.rank() == 0 ? number : 0);
    int64_t arguments[] = {0, 0, reinterpret_cast<int64_t>(words.data())};
    launch(rank, code, arguments, &workspace);
    if (rank.rank() == 2)
      expect(words == std::vector<int64_t>(kWords, number), "the words of this launch");
  }
}

/// arguments: box. Every rank puts its number to the next one, and no notify follows.
void silentKernel(CoreContext *context, const int64_t *arguments) {
  auto *box = reinterpret_cast<int64_t *>(arguments[0]);
  const int64_t one = 1;
  ditron_put(context, (context->rank + 1) % context->ranks, box, &context->rank, 8, 1, &one, &one,
             &one);
}

SCENARIO(endsQuiet) {
  auto &workspace = rank.workspace("silent", {SymmetricArray::buffer("box", 8)});
  KernelCode code{"silent", silentKernel, 0, {0}};
  for (int repeat = 0; repeat < 20; ++repeat) {
    int64_t arguments[] = {0};
    launch(rank, code, arguments, &workspace);
    rank.barrier();
    auto got = *reinterpret_cast<int64_t *>(workspace.address(0));
    expect(got == (rank.rank() + rank.size() - 1) % rank.size(), "the number of the rank before");
    rank.barrier();
  }
}

TEST(MappedMemory, IsOneAdditionAway) {
  scenario::registry()["mapped"] = [](Rank &rank) {
    auto *own = static_cast<std::byte *>(rank.heap().allocate(64));
    for (int peer = 0; peer < rank.size(); ++peer)
      expect(rank.reach().mapped(rank.rank(), own, peer) == rank.heap().peer(own, peer), "address");
  };
  EXPECT_EQ(scenario::runAsThreads("mapped", {.ranks = 3}).error, "");
}

class Queued : public testing::TestWithParam<int> {
protected:
  void run(const char *name, int cores = 1) {
    auto outcome = scenario::runQueued(name, {.ranks = GetParam(), .cores = cores});
    EXPECT_EQ(outcome.error, "");
  }
};

TEST_P(Queued, Ring) { run("ring"); }
TEST_P(Queued, BackToBack) { run("backToBack"); }
TEST_P(Queued, SetSignals) { run("setSignals"); }
TEST_P(Queued, Barriers) { run("barriers", 3); }
TEST_P(Queued, StridedPuts) { run("strided"); }
TEST_P(Queued, LaunchEndsQuiet) { run("endsQuiet"); }

INSTANTIATE_TEST_SUITE_P(Transports, Queued, testing::Values(1, 2, 3, 5));

TEST(QueuedVerbs, NotifyStandsBehindPutsToOthers) {
  EXPECT_EQ(scenario::runQueued("relays", {.ranks = 3}).error, "");
}

TEST(QueuedVerbs, WaitsForCompletionAreBounded) {
  auto outcome = scenario::runQueued("endsQuiet", {.ranks = 2, .waitMs = 200},
                                     [](scenario::QueueServer &server) { server.pause(true); });
  EXPECT_NE(outcome.error.find("waits for its puts and gets to complete: they outlive the bound of "
                               "200 ms"),
            std::string::npos)
      << outcome.error;
}

} // namespace
