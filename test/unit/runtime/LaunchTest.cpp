// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that go well: puts, signals, barriers and launches that follow one another.
#include "Scenario.h"
#include <gtest/gtest.h>
#include <numeric>
#include <thread>

using namespace ditron::runtime;
using ditron::abi::SymmetricArray;
using scenario::expect;

namespace {

enum : int64_t { kAdd = 0, kSet = 1 };

/// The words must stay as they are until this core is quiet.
void putWords(CoreContext *context, int64_t peer, int64_t *to, const int64_t *from, int64_t count) {
  const int64_t one = 1;
  ditron_put(context, peer, to, from, 8, 1, &count, &one, &one);
}

/// The peer's instance of a word.
int64_t wordOf(CoreContext *context, int64_t peer, const int64_t *own) {
  int64_t word = 0;
  const int64_t one = 1;
  ditron_get(context, peer, &word, own, 8, 1, &one, &one, &one);
  return word;
}

/// arguments: inbox, signals, rounds. A word goes round the ring, growing by one at each rank.
void ringKernel(CoreContext *context, const int64_t *arguments) {
  auto *inbox = reinterpret_cast<int64_t *>(arguments[0]);
  auto *arrived = reinterpret_cast<SignalCell *>(arguments[1]);
  int64_t rounds = arguments[2], next = (context->rank + 1) % context->ranks;
  for (int64_t round = 0; round < rounds; ++round) {
    if (context->rank > 0 || round > 0)
      ditron_wait(context, arrived, round + (context->rank > 0), kAdd, "signal 'arrived'");
    int64_t word = context->rank == 0 && round == 0 ? 0 : *inbox + 1;
    putWords(context, next, inbox, &word, 1);
    ditron_notify(context, next, arrived, 1, kAdd);
    ditron_quiet(context); // `word` ends here
  }
  if (context->rank == 0)
    ditron_wait(context, arrived, rounds, kAdd, "signal 'arrived'");
}

SCENARIO(ring) {
  auto &workspace = rank.workspace(
      "ring", {SymmetricArray::buffer("inbox", 8), SymmetricArray::signals("arrived", {1})});
  KernelCode code{"ring", ringKernel, 0, {0, 1}};
  const int64_t rounds = 200;
  int64_t arguments[] = {0, 0, rounds};
  for (int repeat = 0; repeat < 5; ++repeat) {
    LaunchStats stats = launch(rank, code, arguments, &workspace);
    expect(stats.cores.bytesPut == uint64_t(rounds) * 8, "bytes put");
    auto last = *reinterpret_cast<int64_t *>(workspace.address(0));
    int64_t hops = rounds * rank.size();
    int64_t expected = rank.rank() == 0 ? hops - 1 : hops - rank.size() + rank.rank() - 1;
    expect(last == expected, "the word in launch " + std::to_string(repeat));
  }
}

/// arguments: box of R words, signal per sender, launch. Everyone writes to everyone, with a number
/// of notifies that differs from launch to launch, and waits for only some of them.
void scatterKernel(CoreContext *context, const int64_t *arguments) {
  auto *box = reinterpret_cast<int64_t *>(arguments[0]);
  auto *ready = reinterpret_cast<SignalCell *>(arguments[1]);
  int64_t number = arguments[2], extra = number % 3;
  for (int64_t peer = 0; peer < context->ranks; ++peer) {
    int64_t word = number * 1000 + context->rank;
    putWords(context, peer, box + context->rank, &word, 1);
    for (int64_t i = 0; i <= extra; ++i)
      ditron_notify(context, peer, ready + context->rank, 1, kAdd);
    ditron_quiet(context); // `word` ends here
  }
  // One neighbour only: a rank can be two launches ahead of the ranks far from it.
  int64_t from = (context->rank + context->ranks - 1) % context->ranks;
  ditron_wait(context, ready + from, 1, kAdd, "signal 'ready'");
  if (box[from] != number * 1000 + from)
    ditron_fail(context, "an old word", nullptr, 0);
}

SCENARIO(backToBack) {
  auto size = size_t(rank.size());
  auto &workspace = rank.workspace("scatter", {SymmetricArray::buffer("box", int64_t(size) * 8),
                                               SymmetricArray::signals("ready", {int64_t(size)})});
  KernelCode code{"scatter", scatterKernel, 0, {0, 1}};
  for (int64_t number = 1; number <= 300; ++number) {
    if ((number * 7 + rank.rank() * 3) % 97 == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    int64_t arguments[] = {0, 0, number};
    launch(rank, code, arguments, &workspace);
  }
  expect(workspace.epoch() == 300, "300 launches");
}

/// arguments: signal, steps. Rank 0 raises the signal of all ranks step by step.
void setKernel(CoreContext *context, const int64_t *arguments) {
  auto *progress = reinterpret_cast<SignalCell *>(arguments[0]);
  if (context->rank == 0)
    for (int64_t step = 1; step <= arguments[1]; ++step)
      for (int64_t peer = 0; peer < context->ranks; ++peer)
        ditron_notify(context, peer, progress, step * 10, kSet);
  for (int64_t step = 1; step <= arguments[1]; ++step)
    ditron_wait(context, progress, step * 10, kSet, "signal 'progress'");
}

SCENARIO(setSignals) {
  auto &workspace = rank.workspace("set", {SymmetricArray::signals("progress", {1})});
  KernelCode code{"set", setKernel, 0, {0}};
  for (int64_t number = 1; number <= 50; ++number) {
    int64_t arguments[] = {0, 1 + number % 4}; // fewer steps after more: old values must not count
    launch(rank, code, arguments, &workspace);
    uint64_t value = workspace.signals(0)->load();
    expect(value == uint64_t(10 * (1 + number % 4)), "the value set");
  }
}

/// arguments: counts, one a core. Two roles, each with barriers of its own, then all together.
void barrierKernel(CoreContext *context, const int64_t *arguments) {
  auto *counts = reinterpret_cast<int64_t *>(arguments[0]);
  int64_t half = context->cores / 2, core = context->core;
  int64_t first = core < half ? 0 : half, count = core < half ? half : context->cores - half;
  ditron_role_enter(context, core < half ? "low" : "high", first, count);
  for (int64_t round = 1; round <= 20; ++round) {
    counts[core] = round;
    ditron_barrier(context, round % 2, first, count);
    for (int64_t i = first; i < first + count; ++i)
      for (int64_t peer = 0; peer < context->ranks; ++peer)
        if ((round % 2 || peer == context->rank) && wordOf(context, peer, counts + i) != round)
          ditron_fail(context, "a core passed the barrier too early", nullptr, 0);
    ditron_barrier(context, round % 2, first, count);
  }
  ditron_role_leave(context);
  ditron_barrier(context, 1, 0, context->cores);
}

SCENARIO(barriers) {
  auto *counts =
      static_cast<int64_t *>(rank.heap().allocate(size_t(rank.cores()) * 8, 64, "counts"));
  KernelCode code{"barriers", barrierKernel};
  int64_t arguments[] = {reinterpret_cast<int64_t>(counts)};
  for (int repeat = 0; repeat < 3; ++repeat)
    launch(rank, code, arguments);
  rank.heap().free(counts);
  expect(rank.heap().used() == 0, "nothing in use");
}

/// arguments: matrix [6][8], source [4][8] in place, signal. A transposed, strided chunk.
void stridedKernel(CoreContext *context, const int64_t *arguments) {
  auto *matrix = reinterpret_cast<float *>(arguments[0]);
  auto *done = reinterpret_cast<SignalCell *>(arguments[1]);
  auto *source = reinterpret_cast<const float *>(arguments[2]);
  int64_t next = (context->rank + 1) % context->ranks;
  const int64_t extents[] = {3, 2}, from[] = {1, 8}, to[] = {8, 2};
  ditron_put(context, next, matrix + 1, source, 4, 2, extents, from, to);
  ditron_notify(context, next, done, 1, kAdd);
  ditron_wait(context, done, 1, kAdd, "signal 'done'");
  float got = 0;
  const int64_t single = 1, none = 0;
  ditron_get(context, context->rank, &got, matrix + 1 + 8 + 2, 4, 1, &single, &single, &single);
  if (got != source[1 + 8])
    ditron_fail(context, "a wrong element", nullptr, 0);
  ditron_put(context, next, matrix, source, 4, 1, &none, &single, &single);
}

SCENARIO(strided) {
  auto &workspace = rank.workspace("strided", {SymmetricArray::buffer("matrix", 6 * 8 * 4),
                                               SymmetricArray::signals("done", {1})});
  std::vector<float> source(32);
  std::iota(source.begin(), source.end(), 1.0f);
  KernelCode code{"strided", stridedKernel, 0, {0, 1}};
  int64_t arguments[] = {0, 0, reinterpret_cast<int64_t>(source.data())};
  launch(rank, code, arguments, &workspace);
  auto *matrix = reinterpret_cast<float *>(workspace.address(0));
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 2; ++j)
      expect(matrix[1 + 8 * i + 2 * j] == source[size_t(i + 8 * j)], "an element of the chunk");
}

void scratchKernel(CoreContext *context, const int64_t *arguments) {
  if (reinterpret_cast<uintptr_t>(context->scratch) % 64 != 0 ||
      context->scratchBytes != arguments[0])
    ditron_fail(context, "scratch memory is not as asked for", nullptr, 0);
  for (int64_t i = 0; i < context->scratchBytes; ++i)
    context->scratch[i] = std::byte(context->core);
}

SCENARIO(scratch) {
  for (int64_t bytes : {int64_t(1), int64_t(100), int64_t(3) << 20, int64_t(64)}) {
    KernelCode code{"scratch", scratchKernel, size_t(bytes)};
    launch(rank, code, {&bytes, 1});
  }
}

SCENARIO(heapReuse) {
  void *first = rank.heap().allocate(1000, 64, "a");
  void *second = rank.heap().allocate(5000, 4096, "b");
  rank.heap().free(first);
  expect(rank.heap().allocate(900, 64, "c") == first, "the hole is used again");
  expect(reinterpret_cast<uintptr_t>(second) % 4096 == 0, "alignment");
  if (rank.options().poison)
    expect(*static_cast<uint8_t *>(second) == 0xFF, "poison");
}

std::string name(const testing::TestParamInfo<std::tuple<TransportKind, int>> &info) {
  return std::string(ditron::runtime::name(std::get<0>(info.param))) +
         std::to_string(std::get<1>(info.param));
}

class Launch : public testing::TestWithParam<std::tuple<TransportKind, int>> {
protected:
  scenario::Outcome run(const char *which, int cores = 1, std::vector<std::string> more = {}) {
    auto outcome = scenario::run(
        std::get<0>(GetParam()), which,
        {.ranks = std::get<1>(GetParam()), .cores = cores, .environment = std::move(more)});
    EXPECT_EQ(outcome.error, "");
    return outcome;
  }
};

TEST_P(Launch, Ring) { run("ring"); }
TEST_P(Launch, BackToBack) { run("backToBack"); }
TEST_P(Launch, BackToBackPoisoned) { run("backToBack", 1, {"DITRON_POISON=1"}); }
TEST_P(Launch, BackToBackWithAStraggler) { run("backToBack", 1, {"DITRON_STRAGGLER=rank=0,ms=1"}); }
TEST_P(Launch, SetSignals) { run("setSignals"); }
TEST_P(Launch, Barriers) { run("barriers", 4); }
TEST_P(Launch, BarriersOfOddCores) { run("barriers", 3); }
TEST_P(Launch, StridedPuts) { run("strided"); }
TEST_P(Launch, Scratch) { run("scratch", 2); }
TEST_P(Launch, HeapReuse) { run("heapReuse", 1, {"DITRON_POISON=1"}); }

INSTANTIATE_TEST_SUITE_P(Transports, Launch,
                         testing::Combine(testing::Values(TransportKind::threads,
                                                          TransportKind::processes),
                                          testing::Values(1, 2, 3, 5, 8)),
                         name);

// 16 busy threads on whatever CPUs there are: waits must not eat the others' time.
TEST(Oversubscribed, EightRanksOfTwoCores) {
  auto outcome = scenario::runAsThreads("barriers", {.ranks = 8, .cores = 2});
  EXPECT_EQ(outcome.error, "");
  EXPECT_LT(outcome.seconds, 10);
}

} // namespace
