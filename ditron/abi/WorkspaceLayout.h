// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory that a kernel of several ranks has on every rank, and how launches follow one another
// there. The same holds where ranks are groups of CPU cores and where they are GPUs.
//
// A workspace is what a kernel has at one set of sizes, on every rank at the same offset; the next
// rank's lies `stride` bytes further. It is a head, 4 pages of signals and 2 pages of buffers.
// Launches of a workspace are numbered 1, 2, 3, ... on every rank: the epoch. Launch e uses page
// e mod 4 of the signals, which are 0 when it begins and only grow, and page e mod 2 of the
// buffers.
//
// Nobody resets anything between launches, and no barrier is met. Before launch e does anything it
// waits until every rank has completed launch e-2, so a rank may be ahead of another by one launch,
// not by two. Then it zeroes page (e-2) mod 4 of its own signals. That page is at rest: all ranks
// are through with e-2; and nobody notifies it before launch e+2 begins somewhere, which is after
// this rank has completed e, with the zeros before that. When all cores of a rank have ended it
// says to every rank that it has completed e.
//
// Where the ranks along an axis of a mesh run a kernel together, "every rank" is each of these. A rank
// knows from the first that all others have completed every launch, and tells them nothing.
//
// Who does it differs. On a CPU the launcher counts the launches, waits and zeroes before it starts
// the cores, and says that they have ended. On a GPU the kernel does: a launch reads its number
// from the head, its cores zero together, and the last one to end says so; hence the host need not
// know the numbers, and launches can be captured in graphs.
//
// On a GPU, a kernel whose ranks exchange nothing but tiles in inboxes (device/DistOps.td) says that
// launch e-1 is over when it begins e, not when it ends e-1: the last CTA that knows the number of the
// launch, not the last one that ends, counts it. Rank p has completed e-2 if it has begun e-1, so what
// is said is the same, and a launch of such a kernel waits for other ranks to begin the one before.
//
// What copy engines of GPUs touch is fixed: it has one place in all launches and no pages, since
// graphs freeze addresses and values, and a copy engine reads no epoch. Hence a rank may write to
// another one only when that one is through with the launch before: it holds a credit of each other
// rank, which its stream waits for and takes before its first operation to that rank, and which the
// kernel there gives back at its end. When a rank's copy engines have done all that they do to a
// rank in a launch, they note that in `copied` of its head; in that of the own rank behind all else
// that they do. The kernel there waits for the notes of all, and then, before it gives the credits, clears the notes and
// the fixed signals, for which nobody waits any more.
// A launch that fails gives its own copy engines all that they wait for.
//
// A launch that fails on a GPU sets `aborted` in every rank's head. From then on no wait waits:
// kernels run to their end on whatever they find, the launcher raises the error, and the workspace
// is given up. On a CPU the runtime stops all ranks (runtime/ControlBlock.h) and the workspace starts
// again from launch 1, all zero.
#pragma once
#include "ditron/abi/Symmetric.h"
#include "ditron/support/MeshAxes.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ditron::abi {

constexpr int64_t kSignalPages = 4, kBufferPages = 2;

/// The head of a workspace: byte offsets of its words of 64 bits.
struct Head {
  static constexpr int64_t kEpoch = 0;      ///< of the launch that this rank completed last
  static constexpr int64_t kArrived = 8;    ///< GPUs: its cores that have ended: 32 bits
  static constexpr int64_t kAborted = 16;   ///< GPUs: not 0: no wait waits
  static constexpr int64_t kCompleted = 64; ///< for each rank, the launch that it completed last
  /// Where the signals begin: its size for so many ranks.
  static constexpr int64_t bytes(int64_t ranks) {
    int64_t all = (kCompleted + 8 * ranks + kAlignment - 1) / kAlignment * kAlignment;
    return all < kBytes ? kBytes : all;
  }
  static constexpr int64_t kAlignment = 1024;
  /// The most ranks of GPUs, whose code has the size of the head as a constant.
  static constexpr int64_t kMostGpus = 64, kBytes = 2 * kAlignment;
  /// GPUs: for each rank, 1 if this one's copy engines may write to it, and 1 if its copy engines
  /// are through with this one.
  static constexpr int64_t kCredits = kCompleted + 8 * kMostGpus,
                           kCopied = kCredits + 8 * kMostGpus;
  static_assert(kCopied + 8 * kMostGpus <= kBytes);
  /// What a counter is set to so that no copy engine goes on waiting for it.
  static constexpr int64_t kReleased = int64_t(1) << 62;
};

/// What a workspace has beside the memory that its kernel asks for.
struct WorkspaceOptions {
  int64_t ranks = 1;
  int64_t barriers = 0; ///< of the kernel; each takes two counters behind the signals
  std::optional<MeshAxes::Line> team = {}; ///< the ranks that run it together; none: all
  int64_t bufferPages = kBufferPages;
  bool hasStamps = false; ///< a word beside each signal says who notified it last
};

/// Where everything lies in the workspace of a rank. Knows no memory.
class WorkspaceLayout {
public:
  explicit WorkspaceLayout(std::vector<SymmetricArray> arrays, const WorkspaceOptions &options);

  const std::vector<SymmetricArray> &arrays() const { return arrays_; }
  /// Bytes from the beginning to the first page of an array.
  int64_t offset(size_t array) const { return offsets_[array]; }
  int64_t signalStart() const { return signalStart_; }
  int64_t signalPage() const { return signalPage_; } ///< bytes
  int64_t bufferStart() const { return bufferStart_; }
  int64_t bufferPage() const { return bufferPage_; } ///< bytes
  int64_t bufferPages() const { return bufferPages_; }
  int64_t cells() const { return cells_; } ///< of a page
  /// Bytes from a signal to its stamp; 0: there are none.
  int64_t stampDistance() const { return stampDistance_; }
  /// Bytes in front of the buffers, from which the fixed signals begin.
  int64_t fixedSignalStart() const { return fixedSignalStart_; }
  /// What a rank knows of another one before the first launch: that it has completed none, or, where
  /// they do not run the kernel together, all that there will be.
  int64_t completedAtFirst(int64_t rank, int64_t other) const {
    return !team_ || team_->areTogether(rank, other) ? 0 : kEndless;
  }
  bool areTogether(int64_t rank, int64_t other) const { return completedAtFirst(rank, other) == 0; }
  int64_t bytes() const { return bufferStart_ + bufferPages_ * bufferPage_ + fixedBytes_; }

  /// What a counter is, by its number in a page: "'ready'[1, 0]"; none where it is a barrier's.
  std::optional<std::string> nameOf(int64_t cell) const;
  /// The same of a fixed one, by its distance from the beginning of the workspace.
  std::optional<std::string> nameOfFixed(int64_t offset) const;
  /// What lies in a buffer that has pages, at a distance from the beginning of the workspace: the
  /// buffer, and the indices of all dimensions but the last: "'box'[1, 0]" of [R, tiles, words].
  std::optional<std::string> nameOfRow(int64_t offset) const;

  bool operator==(const WorkspaceLayout &) const = default;

private:
  static constexpr int64_t kEndless = int64_t(1) << 62;
  std::optional<MeshAxes::Line> team_;
  std::vector<SymmetricArray> arrays_;
  std::vector<int64_t> offsets_;
  int64_t cells_ = 0, signalStart_ = 0, signalPage_ = 0, stampDistance_ = 0;
  int64_t fixedSignalStart_ = 0, fixedBytes_ = 0; ///< bytes: of fixed buffers
  int64_t bufferPage_ = 0, bufferStart_ = 0, bufferPages_ = kBufferPages;
};

} // namespace ditron::abi
