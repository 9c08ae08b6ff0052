// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks that wait for what never comes, throw, disagree, leave or die.
#include "Scenario.h"
#include "ditron/support/Error.h"
#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>

using namespace ditron::runtime;
using ditron::abi::SymmetricArray;
using scenario::expect;

namespace {

/// arguments: signals, whether the notify is missing. The last core of each rank waits for rank 0.
void waitingKernel(CoreContext *context, const int64_t *arguments) {
  auto *ready = reinterpret_cast<SignalCell *>(arguments[0]) + 2;
  if (context->core == context->cores - 1) {
    ditron_role_enter(context, "multiply", context->core, 1);
    ditron_wait(context, ready, 4, 0, "Waiting.cpp:73");
    ditron_role_leave(context);
  } else if (context->rank == 0) {
    for (int64_t peer = 0; peer < context->ranks; ++peer)
      ditron_notify(context, ditron_peer(context, ready, peer), arguments[1] ? 3 : 4, 0,
                    "Waiting.cpp:77");
  }
  ditron_barrier(context, 1, 0, context->cores, "Waiting.cpp:79");
}

void launchWaiting(Rank &rank, bool missing) {
  auto &workspace = rank.workspace(
      "waiting", {SymmetricArray::signals("ready", {3}), SymmetricArray::signals("other", {5})});
  KernelCode code{"waiting", waitingKernel, 0, {0}};
  int64_t arguments[] = {0, missing};
  launch(rank, code, arguments, &workspace);
}

std::string errorOf(const std::function<void()> &call) {
  try {
    call();
  } catch (const ditron::RuntimeError &error) {
    return error.what();
  }
  return "";
}

SCENARIO(lateSignal) { launchWaiting(rank, true); }

SCENARIO(recovers) {
  void *kept = rank.heap().allocate(64, 64, "kept");
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (int i = 0; i < repeat + 2; ++i)
      launchWaiting(rank, false);
    std::string error = errorOf([&] { launchWaiting(rank, true); });
    expect(error.find("a wait outlived its bound of ") != std::string::npos,
           "a report, not: " + error);
  }
  launchWaiting(rank, false);
  rank.heap().free(kept);
  rank.barrier();
}

SCENARIO(lateToBarrier) {
  if (rank.rank() == 1)
    std::this_thread::sleep_for(rank.options().waitTimeout * 2);
  std::string error = errorOf([&] { rank.barrier(); });
  expect(error == "a wait outlived its bound of 400 ms\n"
                  "  rank 0: is at a barrier with all ranks: expected 3, seen 2; rank 1 is "
                  "missing\n"
                  "  rank 1: runs no kernel\n"
                  "  rank 2: is at a barrier with all ranks: expected 3, seen 2; rank 1 is "
                  "missing",
         error);
  rank.barrier();
}

void workFor(std::chrono::milliseconds time) {
  for (auto start = std::chrono::steady_clock::now();
       std::chrono::steady_clock::now() - start < time;) {
  }
}

SCENARIO(workingLong) {
  if (rank.rank() == 1)
    workFor(rank.options().waitTimeout * 3);
  rank.assemble();
  launchWaiting(rank, false);
}

SCENARIO(stoppedWorking) {
  if (rank.rank() == 1) {
    workFor(rank.options().waitTimeout * 2);
    std::this_thread::sleep_for(rank.options().waitTimeout * 2);
  }
  std::string error = errorOf([&] { rank.assemble(); });
  expect(error.find("\n  rank 0: is at a barrier with all ranks: expected 3, seen 2; rank 1 is "
                    "missing\n  rank 1: runs no kernel\n") != std::string::npos,
         error);
  rank.assemble();
}

SCENARIO(dyingAtWork) {
  if (rank.rank() == 1) {
    workFor(std::chrono::milliseconds(200));
    raise(SIGKILL);
  }
  rank.assemble();
}

SCENARIO(throwingAtWork) {
  if (rank.rank() == 1) {
    workFor(std::chrono::milliseconds(200));
    throw std::runtime_error("no inputs");
  }
  rank.assemble();
}

SCENARIO(throwing) {
  launchWaiting(rank, false);
  if (rank.rank() == rank.size() - 1)
    throw std::runtime_error("something of its own");
  launchWaiting(rank, false);
  launchWaiting(rank, false);
  launchWaiting(rank, false);
}

SCENARIO(throwingMuch) {
  if (rank.rank() == 1)
    throw std::runtime_error(std::string(12000, '.') + "its end");
  rank.barrier();
}

SCENARIO(throwingKernel) {
  KernelCode code{"bad", [](CoreContext *context, const int64_t *) {
                    if (context->rank == 0)
                      throw std::runtime_error("thrown inside");
                    ditron_barrier(context, 1, 0, context->cores);
                  }};
  launch(rank, code, {});
}

SCENARIO(mismatchedBytes) {
  std::string error =
      errorOf([&] { rank.heap().allocate(rank.rank() == 1 ? 4096 : 8192, 64, "full"); });
  expect(error == "rank 1 allocates 4096 bytes for 'full' but rank 0 allocates 8192", error);
  rank.heap().allocate(128, 64, "after");
  throw ditron::RuntimeError(error);
}

SCENARIO(mismatchedNames) { rank.heap().allocate(64, 64, rank.rank() == 1 ? "mine" : "yours"); }

SCENARIO(mismatchedCalls) {
  if (rank.rank() == 1)
    rank.barrier();
  else
    rank.heap().allocate(64, 64, "x");
}

SCENARIO(heapFull) {
  std::string error = errorOf([&] { rank.heap().allocate(rank.heap().capacity() + 1, 64, "big"); });
  expect(error.find("'big'") != std::string::npos, error);
  expect(rank.heap().used() == 0, "the heap is as before");
  throw ditron::RuntimeError(error);
}

SCENARIO(tooMuch) { rank.heap().allocate(rank.heap().capacity(), 64, "huge"); }

SCENARIO(leaving) {
  if (rank.rank() == 1)
    return;
  rank.barrier();
}

SCENARIO(dying) {
  launchWaiting(rank, false);
  if (rank.rank() == rank.size() - 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    raise(SIGKILL);
  }
  std::string first = errorOf([&] { launchWaiting(rank, true); });
  std::string second = errorOf([&] { rank.barrier(); });
  expect(first == second, "every later call throws the same error, not: " + second);
  throw ditron::RuntimeError(first);
}

SCENARIO(dyingHub) {
  if (rank.rank() == 0)
    raise(SIGKILL);
  launchWaiting(rank, false);
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

class Failure : public testing::TestWithParam<TransportKind> {
protected:
  scenario::Outcome run(const char *which, scenario::Setup setup = {.ranks = 3, .cores = 2}) {
    return scenario::run(GetParam(), which, setup);
  }
  /// Every rank ended with the one error that has these parts.
  void oneError(const scenario::Outcome &outcome, std::initializer_list<const char *> parts,
                int except = -1) {
    for (const char *part : parts)
      EXPECT_TRUE(contains(outcome.error, part)) << outcome.error << "\nhas no: " << part;
    for (size_t rank = 0; rank < outcome.ofRanks.size(); ++rank)
      if (int(rank) != except)
        EXPECT_EQ(outcome.ofRanks[rank], outcome.error) << "on rank " << rank;
  }
};

TEST_P(Failure, LateSignal) {
  auto outcome = run("lateSignal", {.ranks = 3, .cores = 2, .waitMs = 1000});
  oneError(outcome,
           {"kernel 'waiting': a wait outlived its bound of 1000 ms\n"
            "  ranks 0 to 2, core 0, Waiting.cpp:79: waits at a barrier of 6 cores, 2 of every "
            "rank: expected 6, seen 3\n"
            "  ranks 0 to 2, core 1, role 'multiply', Waiting.cpp:73: waits for signal 'ready'[2]: "
            "expected 4, seen 3; last notified by rank 0, core 0, Waiting.cpp:77, which added 3"});
  EXPECT_LT(outcome.seconds, 5);
}

TEST_P(Failure, RecoversFromLateSignals) {
  EXPECT_EQ(run("recovers", {.ranks = 3, .cores = 2, .waitMs = 500}).error, "");
}

TEST_P(Failure, RecoversWithEightRanks) {
  EXPECT_EQ(run("recovers", {.ranks = 8, .cores = 2, .waitMs = 1000}).error, "");
}

TEST_P(Failure, RecoversFromALateRank) {
  EXPECT_EQ(run("lateToBarrier", {.ranks = 3, .cores = 1, .waitMs = 400}).error, "");
}

TEST_P(Failure, ARankAtWorkIsWaitedFor) {
  EXPECT_EQ(run("workingLong", {.ranks = 3, .cores = 2, .waitMs = 400}).error, "");
}

TEST_P(Failure, ARankThatHasStoppedWorkingIsNot) {
  EXPECT_EQ(run("stoppedWorking", {.ranks = 3, .cores = 1, .waitMs = 400}).error, "");
}

TEST_P(Failure, ARankThatThrowsAtWorkEndsAll) {
  auto outcome = run("throwingAtWork");
  oneError(outcome, {"no inputs"});
  EXPECT_LT(outcome.seconds, 5);
}

TEST_P(Failure, ARankThatThrowsEndsAll) {
  auto outcome = run("throwing");
  oneError(outcome, {"something of its own"});
  EXPECT_LT(outcome.seconds, 5);
}

TEST_P(Failure, ALongMessageArrivesWhole) {
  auto outcome = run("throwingMuch");
  EXPECT_EQ(outcome.error.size(), 12007u);
  oneError(outcome, {"its end"});
}

TEST_P(Failure, AKernelThatThrowsEndsAll) {
  oneError(run("throwingKernel"), {"rank 0, core", "kernel 'bad'", "thrown inside"});
}

TEST_P(Failure, MismatchedBytes) {
  oneError(run("mismatchedBytes"),
           {"rank 1 allocates 4096 bytes for 'full' but rank 0 allocates 8192"});
}

TEST_P(Failure, MismatchedNames) {
  oneError(run("mismatchedNames"), {"rank 1 allocates 64 bytes for 'mine' but rank 0 allocates 64 "
                                    "bytes for 'yours'"});
}

TEST_P(Failure, MismatchedCalls) {
  oneError(run("mismatchedCalls"),
           {"rank 1 is at a barrier but rank 0 allocates 64 bytes for 'x'"});
}

TEST_P(Failure, HeapFull) {
  scenario::Setup setup{.ranks = 2};
  setup.environment = {"DITRON_HEAP_BYTES=1048576"};
  oneError(run("heapFull", setup), {"1048577 bytes asked for", "1048576", "DITRON_HEAP_BYTES"});
}

// Without DITRON_HEAP_BYTES the heaps have addresses for all memory there is, some of it in use.
TEST_P(Failure, MoreMemoryThanThereIs) {
  oneError(run("tooMuch"), {"symmetric allocation 'huge' on 3 ranks asks for", "are available"});
}

TEST_P(Failure, ARankThatLeaves) {
  auto outcome = run("leaving");
  oneError(outcome, {"is at a barrier, but rank 1 has left the run"}, 1);
  EXPECT_LT(outcome.seconds, 5);
}

INSTANTIATE_TEST_SUITE_P(Transports, Failure,
                         testing::Values(TransportKind::threads, TransportKind::processes),
                         [](auto &info) { return std::string(name(info.param)); });

/// Names in /dev/shm.
size_t sharedFiles() {
  size_t count = 0;
  for ([[maybe_unused]] auto &entry : std::filesystem::directory_iterator("/dev/shm"))
    ++count;
  return count;
}

TEST(Killed, EndsAllRanksWithOneErrorAndLeavesNothing) {
  size_t before = sharedFiles();
  auto outcome = scenario::runAsProcesses("dying", {.ranks = 4, .cores = 2, .waitMs = 20000});
  EXPECT_TRUE(contains(outcome.error, "rank 3 (process ")) << outcome.error;
  EXPECT_TRUE(contains(outcome.error, ") died")) << outcome.error;
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(outcome.ofRanks[size_t(rank)], outcome.error);
    EXPECT_TRUE(WIFEXITED(outcome.waitStatus[size_t(rank)]));
  }
  EXPECT_TRUE(WIFSIGNALED(outcome.waitStatus[3]));
  EXPECT_LT(outcome.seconds, 5) << "far within the bound of a wait";
  EXPECT_EQ(sharedFiles(), before);
}

TEST(Killed, AtWork) {
  auto outcome = scenario::runAsProcesses("dyingAtWork", {.ranks = 3, .cores = 1});
  EXPECT_TRUE(contains(outcome.error, "rank 1 (process ")) << outcome.error;
  EXPECT_LT(outcome.seconds, 5);
}

TEST(Killed, RankZeroToo) {
  auto outcome = scenario::runAsProcesses("dyingHub", {.ranks = 3, .cores = 2});
  EXPECT_TRUE(contains(outcome.error, "rank 0 (process ")) << outcome.error;
  EXPECT_LT(outcome.seconds, 5);
}

} // namespace
