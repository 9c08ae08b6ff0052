// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A workspace of ranks whose cores are CPU threads: the symmetric buffers and signals of one kernel
// at one set of sizes, kept from launch to launch. What lies in it and how launches follow one
// another with no reset and no barrier is said in abi/WorkspaceLayout.h; the launcher does it, before and
// after the cores run.
//
// In front of the workspace lies its directory (Records.h), by which whoever reports a late wait
// knows what its signals are called; beside each signal a stamp of who notified it last.
#pragma once
#include "ditron/abi/WorkspaceLayout.h"
#include "ditron/runtime/Records.h"
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ditron::runtime {

class Rank;

using SignalCell = std::atomic<uint64_t>;
static_assert(sizeof(SignalCell) == 8 && SignalCell::is_always_lock_free);

class Workspace {
public:
  const std::string &key() const { return key_; }
  const std::vector<abi::SymmetricArray> &arrays() const { return layout_.arrays(); }
  /// The launch that runs, or ran last; 0 before the first.
  uint64_t epoch() const { return epoch_; }
  /// Where array `index` lies in the page of launch `epoch()` (of the first launch before it), on
  /// this rank. Between launches it is what the last launch left there.
  std::byte *address(size_t index) const { return addressIn(index, epoch_ ? epoch_ : 1); }
  SignalCell *signals(size_t index) const { return reinterpret_cast<SignalCell *>(address(index)); }
  /// The same of any launch's page.
  std::byte *addressIn(size_t index, uint64_t epoch) const;

  /// The counters of the running launch: all arrays of signals in one.
  SignalCell *cells() const { return cellsOf(epoch_); }
  size_t cellCount() const { return size_t(layout_.cells()); }
  /// Bytes from a counter to the stamp of its last notifier, on every rank.
  size_t stampDistance() const { return size_t(layout_.stampDistance()); }
  WorkspaceDirectory &directory() const { return *reinterpret_cast<WorkspaceDirectory *>(memory_); }
  /// Where the directory lies in the rank's heap.
  uint64_t heapOffset() const;
  /// Bytes from the first counter of all pages to this one.
  uint64_t counterOffset(const SignalCell *cell) const {
    return uint64_t(reinterpret_cast<const std::byte *>(cell) - (head() + layout_.signalStart()));
  }

  /// Begins the next launch: waits, bounded, until every rank has completed the launch before the
  /// last, and zeroes the signals that are at rest. RuntimeError on every rank otherwise.
  void begin();
  /// Ends it: says so to every rank.
  void end();

private:
  friend class Rank;
  Workspace(Rank &rank, std::string key, std::vector<abi::SymmetricArray> arrays,
            const std::optional<MeshAxes::Line> &team);
  void writeDirectory();
  /// Zeroes this rank's counters and what it knows of others; the ranks start again from launch 1.
  void reset();
  void awaitCompletion(uint64_t needed, uint64_t next);
  void poison(uint64_t page);
  std::byte *head() const;
  SignalCell *cellsOf(uint64_t epoch) const;
  SignalCell &completed(int rank) const;

  Rank &rank_;
  std::string key_;
  abi::WorkspaceLayout layout_;
  std::byte *memory_ = nullptr;
  uint64_t heapOperation_ = 0; // the allocation that made it
  uint64_t epoch_ = 0;
};

} // namespace ditron::runtime
