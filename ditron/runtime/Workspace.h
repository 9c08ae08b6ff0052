// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A workspace: the symmetric buffers and signals of one kernel at one set of sizes, kept from
// launch to launch, and the bookkeeping that lets launches follow one another with no reset and no
// barrier.
//
// Launches of a workspace are numbered 1, 2, 3, ... on every rank: the epoch. Before launch e a
// rank waits until every rank has completed launch e-2, so at most two launches are in flight, and
//
//   buffers have 2 pages, launch e uses page e mod 2: its last use, e-2, is over everywhere;
//   signals have 4 pages, launch e uses page e mod 4.
//
// Signals are counters that only grow. A wait for n in launch e means n notifies of launch e: the
// rank that waits adds the count that stood in the cell before the first notify of launch e could
// arrive, its `base`. Four pages make that count exact whatever a kernel notified and never waited
// for. When a rank ends launch e, page (e-2) mod 4 is at rest: all ranks have completed e-2, as it
// checked when it began e; and the page's next user, launch e+2, begins nowhere before this rank
// has completed e, which it publishes only after it has read the page.
//
// A signal that is set instead of added to holds (epoch << 32) | value and needs no base.
#pragma once
#include "ditron/runtime/Records.h"
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ditron::runtime {

class Rank;

/// One symmetric buffer, or one array of signals, that a kernel asks for.
struct BufferRequest {
  enum class Kind : uint8_t { buffer, signals };
  std::string name;
  size_t bytes = 0; ///< of one page; for signals 8 a counter
  Kind kind = Kind::buffer;
  std::vector<int64_t> extents = {}; ///< of signals, for reports; empty: one dimension

  static BufferRequest buffer(std::string name, size_t bytes) {
    return {std::move(name), bytes, Kind::buffer};
  }
  static BufferRequest signals(std::string name, size_t count, std::vector<int64_t> extents = {}) {
    return {std::move(name), count * sizeof(uint64_t), Kind::signals, std::move(extents)};
  }
  bool operator==(const BufferRequest &) const = default;
};

using SignalCell = std::atomic<uint64_t>;
static_assert(sizeof(SignalCell) == 8 && SignalCell::is_always_lock_free);

class Workspace {
public:
  static constexpr uint64_t kSignalPages = 4;

  const std::string &key() const { return key_; }
  const std::vector<BufferRequest> &requests() const { return requests_; }
  /// The launch that runs, or ran last; 0 before the first.
  uint64_t epoch() const { return epoch_; }
  /// Where request `index` lies in the page of launch `epoch()` (of the first launch before it), on
  /// this rank. Between launches it is what the last launch left there.
  std::byte *address(size_t index) const { return addressIn(index, epoch_ ? epoch_ : 1); }
  SignalCell *signals(size_t index) const { return reinterpret_cast<SignalCell *>(address(index)); }
  /// The same of any launch's page.
  std::byte *addressIn(size_t index, uint64_t epoch) const;

  /// The counters of the running launch, all signal requests in one array, and what stood in each
  /// when the launch began.
  SignalCell *cells() const { return cellsOf(epoch_); }
  const uint64_t *bases() const;
  size_t cellCount() const { return cellCount_; }
  /// Bytes from a counter to the stamp of its last notifier, on every rank.
  size_t stampDistance() const { return kSignalPages * signalStride_; }
  /// What its memory starts with.
  WorkspaceHead &head() const { return *reinterpret_cast<WorkspaceHead *>(memory_); }
  /// Where it starts in the rank's heap: with a head that says what its counters are called.
  uint64_t heapOffset() const;
  /// Bytes from the first counter of all pages to this one.
  uint64_t counterOffset(const SignalCell *cell) const {
    return uint64_t(reinterpret_cast<const std::byte *>(cell) - (memory_ + signalStart_));
  }

  /// Begins the next launch: waits, bounded, until every rank has completed the launch before the
  /// last. RuntimeError on every rank otherwise.
  void begin();
  /// Ends it: reads the counts of the page that is at rest, then publishes the completion.
  void end();

private:
  friend class Rank;
  Workspace(Rank &rank, std::string key, std::vector<BufferRequest> requests);
  void layOut();
  void writeHead();
  /// Zeroes this rank's counters and completion; the ranks start again from launch 1.
  void reset();
  void poison(uint64_t page);
  SignalCell *cellsOf(uint64_t epoch) const;
  SignalCell &completed() const { return head().completed; }

  Rank &rank_;
  std::string key_;
  std::vector<BufferRequest> requests_;
  std::vector<size_t> offsets_; // of each request in its page
  size_t cellCount_ = 0, bufferBytes_ = 0;
  size_t signalStart_ = 0, signalStride_ = 0, bufferStart_ = 0, bytes_ = 0;
  uint64_t bufferPages_ = 2;
  std::byte *memory_ = nullptr;
  uint64_t heapOperation_ = 0;  // the allocation that made it
  std::vector<uint64_t> bases_; // page by page
  uint64_t epoch_ = 0;
};

} // namespace ditron::runtime
