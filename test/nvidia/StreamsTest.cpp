// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the emulated driver promises of streams and events, as the CUDA driver does.
#include "StreamCalls.h"
#include <cstdlib>

namespace ditron::drivertest {
namespace {

/// CUDA_MEMCPY2D of device memory.
struct Side {
  size_t x, y;
  int memoryType;
  const void *host;
  uint64_t device;
  void *array;
  size_t pitch;
};
struct Rectangle {
  Side from, to;
  size_t width, height;
};

TEST(Streams, WaitForAWordThatAnotherWrites) {
  Stream writer, side;
  Words word{0}, from = counting(100, 7), to(100);
  ASSERT_EQ(batch(side, {waitFor(word, 2)}), 0);
  ASSERT_EQ(copy(side, to, from), 0);
  ASSERT_EQ(batch(writer, {write(word, 1)}), 0);
  CALL(cuStreamSynchronize, writer);
  EXPECT_EQ(word, Words{1});
  EXPECT_EQ(to, Words(100)); // one is less than two
  ASSERT_EQ(batch(writer, {write(word, 3)}), 0);
  CALL(cuStreamSynchronize, side);
  EXPECT_EQ(to, from);
}

TEST(Streams, CompareWordsThatWrapAround) {
  Stream side;
  Words word{2};
  ASSERT_EQ(batch(side, {waitFor(word, UINT64_MAX), write(word, 9)}), 0);
  CALL(cuStreamSynchronize, side);
  EXPECT_EQ(word, Words{9});
}

TEST(Streams, KeepTheOrderOfABatch) {
  Stream first, second;
  Words ping{0}, pong{0};
  for (uint64_t n = 1; n <= 20; ++n) {
    ASSERT_EQ(batch(second, {waitFor(ping, n), write(pong, n)}), 0);
    ASSERT_EQ(batch(first, {write(ping, n), waitFor(pong, n)}), 0);
  }
  CALL(cuCtxSynchronize);
  EXPECT_EQ(ping, Words{20});
  EXPECT_EQ(pong, Words{20});
}

TEST(Streams, ForkAndJoinByEvents) {
  Stream stream, side;
  for (uint64_t n = 0; n < 20; ++n) {
    Words first = counting(64, n), second(64), third(64), last(64);
    ASSERT_EQ(copy(stream, second, first), 0);
    forked(stream, side, [&] { EXPECT_EQ(copy(side, third, second), 0); });
    ASSERT_EQ(copy(stream, last, third), 0);
    CALL(cuStreamSynchronize, stream);
    EXPECT_EQ(last, first);
  }
}

TEST(Streams, WaitForWhatAnEventHasRecordedSoFar) {
  Stream stream, side;
  Event event;
  Words word{0}, done{0};
  CALL(cuStreamWaitEvent, side, event, 0u); // never recorded
  CALL(cuEventRecord, event, stream);
  CALL(cuStreamWaitEvent, side, event, 0u);
  ASSERT_EQ(batch(stream, {waitFor(word, 1)}), 0);
  CALL(cuEventRecord, event, stream); // no matter to the wait
  ASSERT_EQ(batch(side, {write(done, 1)}), 0);
  CALL(cuStreamSynchronize, side);
  EXPECT_EQ(done, Words{1});
  word[0] = 1;
  CALL(cuEventSynchronize, event);
}

TEST(Streams, CopyRectangles) {
  Stream stream;
  constexpr size_t kRow = 10, kRows = 6;
  Words from = counting(kRow * kRows, 100), to(7 * kRows), expected = to;
  Rectangle asked{{2 * 8, 1, 2, nullptr, addressOf(from), nullptr, kRow * 8},
                  {3 * 8, 2, 4, nullptr, addressOf(to), nullptr, 7 * 8},
                  4 * 8,
                  3};
  for (size_t row = 0; row < 3; ++row)
    for (size_t column = 0; column < 4; ++column)
      expected[(2 + row) * 7 + 3 + column] = from[(1 + row) * kRow + 2 + column];
  CALL(cuMemcpy2DAsync_v2, &asked, stream);
  CALL(cuStreamSynchronize, stream);
  EXPECT_EQ(to, expected);
}

TEST(Batches, RefuseWhatTheyDoNotKnow) {
  constexpr int kInvalidValue = 1, kRefused = 801;
  Stream stream;
  Words words{0, 0};
  testing::internal::CaptureStderr();
  EXPECT_EQ(batch(stream, {write(words, 1), {1, addressOf(words), 1}}), kRefused);
  EXPECT_EQ(batch(stream, {{5, addressOf(words) + 4, 1}}), kInvalidValue);
  EXPECT_EQ(batch(stream, std::vector<Operation>(256, write(words, 1))), kInvalidValue);
  std::string error = testing::internal::GetCapturedStderr();
  EXPECT_NE(error.find("cuStreamBatchMemOp_v2: an operation is 1, expected 4, a wait for 64 bits"),
            std::string::npos)
      << error;
  EXPECT_NE(error.find("the number of operations is 256, expected 255 at most"), std::string::npos)
      << error;
  CALL(cuStreamSynchronize, stream);
  EXPECT_EQ(words, (Words{0, 0})); // nothing of a batch that is refused
}

TEST(StreamsDeathTest, SayWhatTheyWaitFor) {
  auto wait = [] {
    setenv("EMULATED_CUDA_PATIENCE", "50", 1);
    Stream first, second;
    Event event;
    Words word{3};
    batch(first, {waitFor(word, 5)});
    cuda().cuEventRecord(event, first);
    cuda().cuStreamWaitEvent(second, event, 0);
    int status = cuda().cuStreamSynchronize(second);
    std::_Exit(status == 719 && cuda().cuStreamSynchronize(first) == 719 ? 0 : 1);
  };
  EXPECT_EXIT(wait(), testing::ExitedWithCode(0),
              "no stream goes on\n"
              "  stream [0-9]+ waits for the word at 0x[0-9a-f]+: expected >= 5, found 3; "
              "works behind it: 1\n"
              "  stream [0-9]+ waits for an event of stream [0-9]+; works behind it: 0");
}

} // namespace
} // namespace ditron::drivertest
