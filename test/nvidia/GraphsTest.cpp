// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs of the emulated driver, and streams beside a kernel that waits for what they bring: the
// sequences of roles that run on the DMA engines of a GPU.
#include "StreamCalls.h"
#include "ditron/abi/KernelInfo.h"
#include "ditron/abi/LaunchWords.h"
#include <algorithm>
#include <array>
#include <cstdlib>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace ditron::drivertest {
namespace {

TEST(Graphs, DoAgainWhatSeveralStreamsDid) {
  Words input(32), middle(32), output(32), ready{0}, count{0};
  Stream origin;
  void *graph;
  {
    Stream side; // gone when the graph is launched
    graph = captured(origin, [&] {
      forked(origin, side, [&] {
        EXPECT_EQ(batch(side, {waitFor(ready, 1), write(ready, 0)}), 0);
        EXPECT_EQ(copy(side, middle, input), 0);
        EXPECT_EQ(batch(origin, {write(ready, 1)}), 0);
      });
      EXPECT_EQ(copy(origin, output, middle), 0);
    });
  }
  EXPECT_EQ(output, Words(32)); // nothing was done so far
  Stream stream;
  for (uint64_t n = 1; n <= 3; ++n) {
    Words data = counting(32, 100 * n), found(32);
    ASSERT_EQ(copy(stream, input, data), 0);
    CALL(cuGraphLaunch, graph, stream);
    ASSERT_EQ(copy(stream, found, output), 0);
    ASSERT_EQ(batch(stream, {write(count, n)}), 0);
    CALL(cuGraphLaunch, graph, stream); // back to back
    CALL(cuStreamSynchronize, stream);
    EXPECT_EQ(found, data);
    EXPECT_EQ(count, Words{n});
    EXPECT_EQ(ready, Words{0});
  }
  CALL(cuGraphExecDestroy, graph);
}

TEST(Graphs, TakeOtherGraphs) {
  Words input = counting(8, 5), middle(8), output(8);
  Stream stream, side;
  void *inner = captured(
      stream, [&] { forked(stream, side, [&] { EXPECT_EQ(copy(side, middle, input), 0); }); });
  void *outer = captured(stream, [&] {
    EXPECT_EQ(cuda().cuGraphLaunch(inner, stream), 0);
    EXPECT_EQ(copy(stream, output, middle), 0);
  });
  CALL(cuGraphExecDestroy, inner);
  CALL(cuGraphLaunch, outer, stream);
  CALL(cuStreamSynchronize, stream);
  EXPECT_EQ(output, input);
  CALL(cuGraphExecDestroy, outer);
}

TEST(Graphs, RefuseWhatTheDriverRefuses) {
  constexpr int kUnsupported = 900, kUnjoined = 904, kIsolation = 905, kCapturedEvent = 907;
  Words word{0};
  Stream stream, side;
  Event before, fork;
  void *graph = nullptr;
  CALL(cuEventRecord, before, stream);
  CALL(cuStreamBeginCapture_v2, stream, 2);
  EXPECT_EQ(cuda().cuStreamSynchronize(stream), kUnsupported);
  EXPECT_EQ(cuda().cuStreamWaitEvent(stream, before, 0), kIsolation);
  CALL(cuEventRecord, fork, stream);
  EXPECT_EQ(cuda().cuEventSynchronize(fork), kCapturedEvent);
  CALL(cuStreamWaitEvent, side, fork, 0u);
  ASSERT_EQ(batch(side, {write(word, 1)}), 0);
  EXPECT_EQ(cuda().cuStreamEndCapture(stream, &graph), kUnjoined);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(cuda().cuStreamWaitEvent(side, fork, 0), kCapturedEvent);
  CALL(cuStreamSynchronize, side); // it is not captured any more
  EXPECT_EQ(word, Words{0});
}

/// Waits for the word at parameter 0, adds parameter 3 to the words at parameter 1, and sets the word
/// at parameter 2.
constexpr const char *kPtx = R"(
.visible .entry ditron_kernel(
	.param .u64 ditron_kernel_param_0,
	.param .u64 ditron_kernel_param_1,
	.param .u64 ditron_kernel_param_2,
	.param .u64 ditron_kernel_param_3,
	.param .u64 ditron_kernel_param_4,
	.param .u64 ditron_kernel_param_5,
	.param .u64 ditron_kernel_param_6,
	.param .u64 ditron_kernel_param_7,
	.param .u64 ditron_kernel_param_8,
	.param .u64 ditron_kernel_param_9,
	.param .u64 ditron_kernel_param_10,
	.param .u64 ditron_kernel_param_11,
	.param .u64 ditron_kernel_param_12
)
{
	ld.param.b64 %rd1, [ditron_kernel_param_0];
	ld.param.b64 %rd2, [ditron_kernel_param_1];
	ld.param.b64 %rd3, [ditron_kernel_param_2];
$again:
	ld.acquire.sys.global.b64 %rd4, [%rd1];
	setp.lt.u64 %p1, %rd4, 1;
	@%p1 bra $again;
	ld.param.b64 %rd5, [ditron_kernel_param_3];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd6, %r1, 8;
	add.s64 %rd7, %rd2, %rd6;
	ld.global.b64 %rd8, [%rd7];
	add.s64 %rd8, %rd8, %rd5;
	st.global.b64 [%rd7], %rd8;
	bar.warp.sync -1;
	st.release.sys.global.b64 [%rd3], 1;
	ret;
}
)";

class BesideKernels : public testing::Test {
protected:
  static constexpr size_t kCount = 32;

  void SetUp() override {
    abi::KernelInfo info;
    info.name = "add", info.isDistributed = true, info.threads = int64_t(kCount);
    std::string code = "// ditron " + abi::toText(info) + kPtx;
    CALL(cuModuleLoadDataEx, &module_, code.c_str(), 0u, nullptr, nullptr);
    CALL(cuModuleGetFunction, &function_, module_, "ditron_kernel");
  }
  void TearDown() override { cuda().cuModuleUnload(module_); }

  /// Streams of a rank, and memory that it shares with processes that are forked.
  struct Rank {
    Rank() { credit[0] = 1; }
    ~Rank() { munmap(memory, kBytes); }
    Rank(const Rank &) = delete;

    void fill(uint64_t first) const { std::iota(input.begin(), input.end(), first); }
    /// The output is a peer's input, which began with `first`, after the kernel of rank `number`.
    bool hasResultOf(uint64_t first, int64_t number) const {
      return std::ranges::equal(output, counting(kCount, first + 1 + uint64_t(number)));
    }

    static constexpr size_t kBytes = (3 * kCount + 3) * 8;
    Stream launches, copies;
    uint64_t *memory = static_cast<uint64_t *>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    View input{memory, kCount}, page{memory + kCount, kCount}, output{memory + 2 * kCount, kCount};
    View go{memory + 3 * kCount, 1}, done{memory + 3 * kCount + 1, 1};
    View credit{memory + 3 * kCount + 2, 1}; ///< 1: the peer's page may be written
  };

  void launch(Rank &rank, int64_t number, int64_t count) {
    struct {
      unsigned grid[3] = {1, 1, 1}, block[3] = {unsigned(kCount), 1, 1}, sharedBytes = 0;
      void *stream;
      void *attributes = nullptr;
      unsigned attributeCount = 0;
    } config{.stream = rank.launches};
    std::array<int64_t, 4 + abi::kLaunchWords> words{int64_t(addressOf(rank.go)),
                                                     int64_t(addressOf(rank.page)),
                                                     int64_t(addressOf(rank.done)), 1 + number};
    words[4 + abi::kRank] = number, words[4 + abi::kRanks] = count;
    std::array<void *, 4 + abi::kLaunchWords> parameters;
    for (size_t n = 0; n < words.size(); ++n)
      parameters[n] = &words[n];
    EXPECT_EQ(cuda().cuLaunchKernelEx(&config, function_, parameters.data(), nullptr), 0);
  }

  /// A launch, and what goes on beside it: the input goes to the peer's page, where its kernel
  /// waits for it, and what the own kernel makes of the own page to the output.
  void enqueue(Rank &rank, Rank &peer, int64_t number, int64_t count) {
    Event fork, join;
    EXPECT_EQ(cuda().cuEventRecord(fork, rank.launches), 0);
    launch(rank, number, count);
    EXPECT_EQ(cuda().cuStreamWaitEvent(rank.copies, fork, 0), 0);
    EXPECT_EQ(batch(rank.copies, {waitFor(rank.credit, 1), write(rank.credit, 0)}), 0);
    EXPECT_EQ(copy(rank.copies, peer.page, rank.input), 0);
    EXPECT_EQ(batch(rank.copies, {write(peer.go, 1), waitFor(rank.done, 1)}), 0);
    EXPECT_EQ(batch(rank.copies, {write(rank.done, 0), write(rank.go, 0)}), 0);
    EXPECT_EQ(copy(rank.copies, rank.output, rank.page), 0);
    EXPECT_EQ(batch(rank.copies, {write(peer.credit, 1)}), 0);
    EXPECT_EQ(cuda().cuEventRecord(join, rank.copies), 0);
    EXPECT_EQ(cuda().cuStreamWaitEvent(rank.launches, join, 0), 0);
  }

  /// What rank `number` of two does; true: its results are right.
  bool run(Rank &own, Rank &peer, int64_t number) {
    for (uint64_t n = 1; n <= 5; ++n) {
      own.fill(1000 * n + 100 * uint64_t(number));
      enqueue(own, peer, number, 2);
      if (cuda().cuStreamSynchronize(own.launches) != 0 ||
          !own.hasResultOf(1000 * n + 100 * uint64_t(1 - number), number))
        return false;
    }
    return true;
  }

  void *module_ = nullptr, *function_ = nullptr;
};

TEST_F(BesideKernels, CopiesGoOn) {
  Rank rank;
  for (uint64_t n = 1; n <= 3; ++n) {
    rank.fill(1000 * n);
    enqueue(rank, rank, 0, 1);
    CALL(cuStreamSynchronize, rank.launches);
    EXPECT_TRUE(rank.hasResultOf(1000 * n, 0));
  }
}

TEST_F(BesideKernels, RanksCopyToEachOther) {
  Rank ranks[2];
  for (uint64_t n = 1; n <= 3; ++n) {
    for (size_t rank : {0, 1})
      ranks[rank].fill(1000 * n + 100 * rank);
    for (size_t rank : {0, 1})
      enqueue(ranks[rank], ranks[1 - rank], int64_t(rank), 2);
    CALL(cuStreamSynchronize, ranks[1].launches);
    CALL(cuStreamSynchronize, ranks[0].launches);
    for (size_t rank : {0, 1})
      EXPECT_TRUE(ranks[rank].hasResultOf(1000 * n + 100 * (1 - rank), int64_t(rank)));
  }
}

TEST_F(BesideKernels, GraphsOfBothAreReplayed) {
  Rank ranks[2];
  void *graphs[2];
  for (size_t rank : {0, 1})
    graphs[rank] = captured(ranks[rank].launches,
                            [&] { enqueue(ranks[rank], ranks[1 - rank], int64_t(rank), 2); });
  for (uint64_t n = 1; n <= 5; ++n) {
    for (size_t rank : {0, 1}) {
      ranks[rank].fill(1000 * n + 100 * rank);
      CALL(cuGraphLaunch, graphs[rank], ranks[rank].launches);
      if (n % 2) // back to back
        enqueue(ranks[rank], ranks[1 - rank], int64_t(rank), 2);
    }
    CALL(cuCtxSynchronize);
    for (size_t rank : {0, 1})
      EXPECT_TRUE(ranks[rank].hasResultOf(1000 * n + 100 * (1 - rank), int64_t(rank)));
  }
  for (void *graph : graphs)
    CALL(cuGraphExecDestroy, graph);
}

TEST_F(BesideKernels, RanksThatAreThreads) {
  Rank ranks[2];
  bool isRight = false;
  std::thread other([&] { isRight = run(ranks[1], ranks[0], 1); });
  EXPECT_TRUE(run(ranks[0], ranks[1], 0));
  other.join();
  EXPECT_TRUE(isRight);
}

/// From here on this process executes its own launches alone.
void meetProcesses() {
  unsigned long long memory = 0, properties[4] = {}, imported = 0;
  cuda().cuMemCreate(&memory, 4096, properties, 0);
  cuda().cuMemImportFromShareableHandle(&imported, reinterpret_cast<void *>(memory), 1);
}

TEST_F(BesideKernels, RanksThatAreProcesses) {
  auto execute = [&] {
    Rank ranks[2];
    pid_t child = fork();
    int64_t number = child ? 0 : 1;
    meetProcesses();
    bool isRight = run(ranks[number], ranks[1 - number], number);
    int status = 0;
    if (child)
      waitpid(child, &status, 0);
    std::_Exit(isRight && status == 0 ? 0 : 1);
  };
  EXPECT_EXIT(execute(), testing::ExitedWithCode(0), "");
}

TEST_F(BesideKernels, ARankThatNeverLaunches) {
  auto execute = [&] {
    setenv("EMULATED_CUDA_PATIENCE", "50", 1);
    Rank rank;
    launch(rank, 0, 2); // which is executed alone in the end
    batch(rank.copies, {waitFor(rank.done, 1), write(rank.credit, 2)});
    rank.go[0] = 1;
    int status = cuda().cuStreamSynchronize(rank.copies);
    std::_Exit(status == 0 && rank.credit[0] == 2 ? 0 : 1);
  };
  EXPECT_EXIT(execute(), testing::ExitedWithCode(0),
              "stream [0-9]+ launches 'add' on rank 0 of 2; works behind it: 0\n"
              "  stream [0-9]+ waits for the word");
}

} // namespace
} // namespace ditron::drivertest
