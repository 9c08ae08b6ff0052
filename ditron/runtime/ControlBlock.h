// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The control block: the few words that all ranks of a run share beside their heaps. It lies in
// front of the heaps in the shared region, starts as zeroes, and holds no pointers, so that every
// process may map it where it likes.
//
// Errors. A run has one recoverable and one fatal error at a time, and the first rank to raise one
// wins: every other rank ends what it is doing with that same message. After a recoverable error
// (a wait that outlived its bound) each rank throws it once, and then meets the others in
// Rank::recover, which clears it. A fatal error (a dead rank, a rank that threw) stays.
#pragma once
#include "ditron/runtime/Fault.h"
#include "ditron/runtime/Records.h"
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ditron::runtime {

/// Copies a text, cut to what there is room for.
template <size_t N> void copyText(char (&to)[N], std::string_view from) {
  to[from.copy(to, N - 1)] = 0;
}

/// What a rank brings to a meeting of all ranks. Every rank must bring the same.
struct Request {
  enum Kind : uint32_t { barrier, allocate, free, launch };
  uint32_t kind = barrier;
  uint32_t refused = 0; ///< this rank cannot do it; `text` says why
  uint64_t bytes = 0;
  uint64_t align = 0;
  uint64_t tag = 0; ///< whatever else must agree
  char name[160] = {};
  char text[256] = {};
};

/// "allocates 64 bytes for 'inbox'": what a rank does that comes with this request.
std::string describe(const Request &request);

/// The words of one rank. Only that rank writes them, except `process`.
struct alignas(64) RankSlot {
  std::atomic<uint64_t> arrived;        ///< meetings this rank has come to
  std::atomic<uint64_t> recovery[2];    ///< recoveries this rank has come to, by step
  std::atomic<uint64_t> heapOperations; ///< allocations and frees done
  std::atomic<uint32_t> left;           ///< 1: this rank ended in good order
  std::atomic<int32_t> process;
  std::atomic<int32_t> thread;   ///< of its process, on which its program runs
  std::atomic<int32_t> launcher; ///< likewise, of its device's queue of work; 0: there is none
  Request requests[2];           ///< by parity of the meeting
};

/// One error, written once.
struct ErrorSlot {
  enum State : uint32_t { none, writing, set };
  std::atomic<uint32_t> state;
  Fault fault;
  char message[16384];
};

struct ControlBlock {
  int32_t ranks;
  int32_t cores;
  uint64_t heapBytes;
  alignas(64) std::atomic<uint32_t> stop; ///< not 0: one of the errors is set
  ErrorSlot error;
  ErrorSlot fatal;
  alignas(64) std::atomic<uint64_t> recoveries; ///< recoveries completed
  std::atomic<uint32_t> report;                 ///< of the run's error: 0 free, 1 taken, 2 done
};

/// A view of the shared region: control block, then heaps. Cheap to copy.
class Control {
public:
  Control() = default;
  /// Attaches to a region of `regionBytes(...)` bytes. Zeroes are a valid start; one rank calls
  /// `initialise` before any other attaches.
  explicit Control(std::byte *region) : region_(region) {}

  static size_t controlBytes(int ranks, int cores);
  static size_t regionBytes(int ranks, int cores, size_t heapBytes);
  void initialise(int ranks, int cores, size_t heapBytes);

  int ranks() const { return block().ranks; }
  int cores() const { return block().cores; }
  size_t heapBytes() const { return block().heapBytes; }
  std::byte *heap(int rank) const;
  RankSlot &slot(int rank) const;
  /// How often the cores [first, first + count) of `rank` have come to their barrier of all ranks.
  std::atomic<uint64_t> &barrierRounds(int first, int count, int rank) const;
  RankRecord &rankRecord(int rank) const;
  /// Of a core, or, behind them all, of the copy engines.
  CoreRecord &coreRecord(int rank, int core) const;

  bool stopped() const { return block().stop.load(std::memory_order_acquire) != 0; }
  bool dead() const { return block().fatal.state.load(std::memory_order_acquire) != 0; }
  /// Ends what every rank is doing with `message`, unless another error came first.
  void raise(std::string_view message, Fault fault = Fault::machine) const;
  /// The same, for good.
  void raiseFatal(std::string_view message, Fault fault = Fault::machine) const;
  /// The error that is set, the fatal one first.
  Failure failure() const;
  std::string message() const { return failure().message; }
  /// Completed recoveries, and the end of one: clears the recoverable error.
  uint64_t recoveries() const { return block().recoveries.load(std::memory_order_acquire); }
  void finishRecovery() const;
  /// Who tells the user: 0 nobody yet, 1 a rank is about to, 2 one has.
  std::atomic<uint32_t> &report() const { return block().report; }

private:
  ControlBlock &block() const { return *reinterpret_cast<ControlBlock *>(region_); }

  std::byte *region_ = nullptr;
};

} // namespace ditron::runtime
