// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams, events and batches of the CUDA driver, as tests of the emulated one write them.
#pragma once
#include "ditron/runtime/nvidia/CudaDriver.h"
#include <gtest/gtest.h>
#include <numeric>
#include <span>
#include <vector>

namespace ditron::drivertest {

inline const runtime::nvidia::Cuda &cuda() { return runtime::nvidia::Cuda::get(); }

#define CALL(name, ...) ASSERT_EQ(cuda().name(__VA_ARGS__), 0)

using Words = std::vector<uint64_t>;
using View = std::span<uint64_t>;

inline uint64_t addressOf(std::span<const uint64_t> words) {
  return reinterpret_cast<uint64_t>(words.data());
}

/// CUstreamBatchMemOpParams.
struct Operation {
  int operation;
  uint64_t address, value;
  unsigned flags = 0;
  uint64_t alias = 0, padding = 0;
};
inline Operation waitFor(View word, uint64_t value) { return {4, addressOf(word), value}; }
inline Operation write(View word, uint64_t value) { return {5, addressOf(word), value}; }

inline int batch(void *stream, std::vector<Operation> operations) {
  return cuda().cuStreamBatchMemOp_v2(stream, unsigned(operations.size()), operations.data(), 0);
}
inline int copy(void *stream, View to, View from) {
  return cuda().cuMemcpyDtoDAsync_v2(addressOf(to), addressOf(from), from.size() * 8, stream);
}

struct Stream {
  Stream() { cuda().cuStreamCreate(&handle, 1); }
  ~Stream() { cuda().cuStreamDestroy_v2(handle); }
  Stream(const Stream &) = delete;
  operator void *() const { return handle; } // NOLINT
  void *handle = nullptr;
};
struct Event {
  Event() { cuda().cuEventCreate(&handle, 0); }
  ~Event() { cuda().cuEventDestroy_v2(handle); }
  Event(const Event &) = delete;
  operator void *() const { return handle; } // NOLINT
  void *handle = nullptr;
};

/// What `body` puts into a stream and those that join it, as a graph that can be launched.
template <class Body> void *captured(void *stream, Body &&body) {
  void *graph = nullptr, *executable = nullptr;
  EXPECT_EQ(cuda().cuStreamBeginCapture_v2(stream, 2), 0);
  body();
  EXPECT_EQ(cuda().cuStreamEndCapture(stream, &graph), 0);
  EXPECT_EQ(cuda().cuGraphInstantiateWithFlags(&executable, graph, 0), 0);
  cuda().cuGraphDestroy(graph);
  return executable;
}

/// What a stream with a side stream does between fork and join.
template <class Body> void forked(void *stream, void *side, Body &&body) {
  Event fork, join;
  EXPECT_EQ(cuda().cuEventRecord(fork, stream), 0);
  EXPECT_EQ(cuda().cuStreamWaitEvent(side, fork, 0), 0);
  body();
  EXPECT_EQ(cuda().cuEventRecord(join, side), 0);
  EXPECT_EQ(cuda().cuStreamWaitEvent(stream, join, 0), 0);
}

inline Words counting(size_t count, uint64_t first) {
  Words words(count);
  std::iota(words.begin(), words.end(), first);
  return words;
}

} // namespace ditron::drivertest
