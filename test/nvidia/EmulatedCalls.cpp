// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The calls of the emulated driver that streams take: copies, batches of waits and writes, events,
// graphs. What the driver of a GPU refuses is refused here, and stderr says why.
#include "EmulatedStreams.h"
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using namespace ditron::emulated;

template <class T> T *at(uint64_t address) { return reinterpret_cast<T *>(address); }

/// In a call that is counted.
Streams &enqueuing() {
  Streams::get().count();
  return Streams::get();
}

int copyLater(void *stream, void *to, const void *from, size_t bytes) {
  return enqueuing().enqueue(stream, Action{[=] { std::memcpy(to, from, bytes); }});
}

/// Says that an argument of a call is not what it should be.
int refuse(int status, const char *call, const char *argument, uint64_t found,
           const char *expected) {
  std::fprintf(stderr, "emulated driver: %s: %s is %llu, expected %s\n", call, argument,
               static_cast<unsigned long long>(found), expected);
  return status;
}

//===-- Batches -------------------------------------------------------------------------------===//

/// CUstreamBatchMemOpParams, of waits and of writes.
struct BatchOperation {
  int operation;
  uint64_t address, value;
  unsigned flags;
  uint64_t alias, padding;
};
static_assert(sizeof(BatchOperation) == 48);

constexpr int kWaitValue64 = 4, kWriteValue64 = 5; // CUstreamBatchMemOpType

int check(const BatchOperation &one) {
  constexpr const char *kCall = "cuStreamBatchMemOp_v2";
  if (one.operation != kWaitValue64 && one.operation != kWriteValue64)
    return refuse(kRefused, kCall, "an operation", uint64_t(one.operation),
                  "4, a wait for 64 bits, or 5, a write of 64 bits");
  if (!one.address || one.address % sizeof(uint64_t) != 0)
    return refuse(kInvalidValue, kCall, "an address", one.address, "a multiple of 8");
  if (one.operation == kWaitValue64 && one.flags > WaitValue::norBits)
    return refuse(kRefused, kCall, "the flags of a wait", one.flags, "one of 0 to 3");
  if (one.operation == kWriteValue64 && one.flags != 0)
    return refuse(kRefused, kCall, "the flags of a write", one.flags, "0");
  return 0;
}

Work workOf(const BatchOperation &one) {
  auto *word = at<uint64_t>(one.address);
  if (one.operation == kWaitValue64)
    return WaitValue{word, one.value, one.flags};
  return Action{[word, value = one.value] { std::atomic_ref(*word).store(value); }};
}

//===-- Copies of rectangles ------------------------------------------------------------------===//

/// CUDA_MEMCPY2D: where one side of a copy lies.
struct CopySide {
  size_t x, y; ///< in bytes, in rows
  int memoryType;
  const void *host;
  uint64_t device;
  void *array;
  size_t pitch;
};
struct Copy2D {
  CopySide from, to;
  size_t width, height; ///< in bytes, in rows
};
static_assert(sizeof(Copy2D) == 128);
constexpr int kHostMemory = 1; // CUmemorytype

int check(const CopySide &side, size_t width) {
  constexpr const char *kCall = "cuMemcpy2DAsync_v2";
  constexpr int kDevice = 2, kUnified = 4; // CUmemorytype
  if (side.memoryType != kHostMemory && side.memoryType != kDevice && side.memoryType != kUnified)
    return refuse(kRefused, kCall, "a memory type", uint64_t(side.memoryType),
                  "1, of the host, 2, of the device, or 4, unified");
  if (side.pitch < side.x + width)
    return refuse(kInvalidValue, kCall, "a pitch", side.pitch, "the bytes of a row or more");
  return 0;
}

uint8_t *beginOf(const CopySide &side) {
  auto *begin = side.memoryType == kHostMemory
                    ? static_cast<uint8_t *>(const_cast<void *>(side.host))
                    : at<uint8_t>(side.device);
  return begin + side.y * side.pitch + side.x;
}

/// Status codes by name.
struct Name {
  int status;
  const char *name, *text;
};
constexpr Name kNames[] = {
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "an argument is wrong"},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "an event was not recorded"},
    {kIllegalState, "CUDA_ERROR_ILLEGAL_STATE", "a capture has begun already, or has not"},
    {kNotReady, "CUDA_ERROR_NOT_READY", "an event has not come yet"},
    {kFailed, "CUDA_ERROR_LAUNCH_FAILED", "the emulator found a fault, and said which on stderr"},
    {kRefused, "CUDA_ERROR_NOT_SUPPORTED", "the emulated driver does not do this"},
    {kCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "a stream that is captured cannot do this"},
    {kCaptureMerge, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "a stream would join a second capture"},
    {kCaptureUnmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "the capture began on another stream"},
    {kCaptureUnjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
     "work of another stream is not waited for by that where the capture began"},
    {kCaptureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "a captured stream would wait for an event from outside"},
    {kCapturedEvent, "CUDA_ERROR_CAPTURED_EVENT", "the event was recorded in a capture"},
};

const Name &nameOf(int status) {
  static constexpr Name kOther{0, "CUDA_ERROR_UNKNOWN", "unknown error"};
  const Name *found = std::find_if(std::begin(kNames), std::end(kNames),
                                   [&](const Name &one) { return one.status == status; });
  return found == std::end(kNames) ? kOther : *found;
}

} // namespace

extern "C" {

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
  return copyLater(stream, at<void>(to), from, bytes);
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
  return copyLater(stream, to, at<void>(from), bytes);
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream) {
  return copyLater(stream, at<void>(to), at<void>(from), bytes);
}
int cuMemcpy2DAsync_v2(const void *copy, void *stream) {
  const Copy2D &asked = *static_cast<const Copy2D *>(copy);
  for (const CopySide &side : {asked.from, asked.to})
    if (int status = check(side, asked.width))
      return status;
  return enqueuing().enqueue(stream, Action{[asked] {
                               for (size_t row = 0; row < asked.height; ++row)
                                 std::memcpy(beginOf(asked.to) + row * asked.to.pitch,
                                             beginOf(asked.from) + row * asked.from.pitch,
                                             asked.width);
                             }});
}
int cuStreamBatchMemOp_v2(void *stream, unsigned count, void *operations, unsigned flags) {
  constexpr unsigned kMost = 255;
  if (count > kMost)
    return refuse(kInvalidValue, "cuStreamBatchMemOp_v2", "the number of operations", count,
                  "255 at most");
  if (flags != 0)
    return refuse(kInvalidValue, "cuStreamBatchMemOp_v2", "the flags", flags, "0");
  const auto *all = static_cast<const BatchOperation *>(operations);
  for (unsigned n = 0; n < count; ++n)
    if (int status = check(all[n]))
      return status;
  Streams &streams = enqueuing();
  for (unsigned n = 0; n < count; ++n)
    if (int status = streams.enqueue(stream, workOf(all[n])))
      return status;
  return 0;
}

/// The calls so far that enqueue something: for tests.
uint64_t emulatedCalls() { return Streams::get().calls(); }

int cuCtxSynchronize() { return Streams::get().finishAll(); }
int cuStreamCreate(void **stream, unsigned) { return *stream = Streams::get().create(), 0; }
int cuStreamSynchronize(void *stream) { return Streams::get().finish(stream); }
int cuStreamQuery(void *stream) { return Streams::get().finish(stream); } // who asks does the work
int cuStreamDestroy_v2(void *stream) { return Streams::get().destroy(stream), 0; }

int cuEventCreate(void **event, unsigned) { return *event = new Event, 0; }
int cuEventDestroy_v2(void *event) { return delete static_cast<Event *>(event), 0; }
int cuEventRecord(void *event, void *stream) {
  return enqueuing().record(stream, *static_cast<Event *>(event));
}
int cuEventSynchronize(void *event) { return Streams::get().finish(*static_cast<Event *>(event)); }
int cuEventQuery(void *event) { return cuEventSynchronize(event); }
int cuEventElapsedTime(float *milliseconds, void *begin, void *end) {
  return Streams::get().elapsed(*milliseconds, *static_cast<Event *>(begin),
                                *static_cast<Event *>(end));
}
int cuStreamWaitEvent(void *stream, void *event, unsigned) {
  return enqueuing().wait(stream, *static_cast<Event *>(event));
}

int cuStreamBeginCapture_v2(void *stream, int) { return Streams::get().beginCapture(stream); }
int cuStreamEndCapture(void *stream, void **graph) {
  Graph *made = nullptr;
  int status = Streams::get().endCapture(stream, made);
  *graph = made;
  return status;
}
int cuStreamIsCapturing(void *stream, int *status) {
  return *status = Streams::get().isCaptured(stream), 0;
}
int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long) {
  auto *made = new Graph(*static_cast<Graph *>(graph));
  Streams::get().instantiate(*made);
  *executable = made;
  return 0;
}
int cuGraphLaunch(void *executable, void *stream) {
  return enqueuing().launch(*static_cast<Graph *>(executable), stream);
}
int cuGraphDestroy(void *graph) { return Streams::get().destroy(static_cast<Graph *>(graph)), 0; }
int cuGraphExecDestroy(void *graph) {
  return Streams::get().destroy(static_cast<Graph *>(graph)), 0;
}

int cuGetErrorName(int status, const char **text) { return *text = nameOf(status).name, 0; }
int cuGetErrorString(int status, const char **text) { return *text = nameOf(status).text, 0; }
}
