// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ranks of a run on the GPUs of a host: threads of this process, or processes, of which this is
// one. Each rank has a GPU of its own where there are enough of them; else ranks share, and divide
// the SMs of their GPU.
//
// All CTAs of all ranks must run at a time, since they wait for one another. A rank that has its
// GPU for itself has as many CTAs as fit. Where s ranks share one of m SMs, each has m / s CTAs, at
// most one of which any SM needs: so whatever the kernels of the others take, there is always an
// empty SM for the next CTA. Kernels of several processes on one GPU are time-sliced by the driver.
#pragma once
#include "ditron/abi/KernelInfo.h"
#include "ditron/runtime/Fault.h"
#include "ditron/runtime/LaunchTasks.h"
#include "ditron/runtime/nvidia/GpuWorkspace.h"
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace ditron::runtime::nvidia {

/// What a rank's last launch in a workspace was, for reports.
struct Participant {
  std::string kernel;
  int cores = 0;
  /// What its sites are told by; null: it has launched nothing.
  std::shared_ptr<const abi::KernelInfo> info = nullptr;
  /// What it does of a graph of tasks; null: nothing.
  std::shared_ptr<const LaunchTasks> tasks = nullptr;
  /// What the program of its copy engines is followed with; null: it has none.
  std::shared_ptr<const std::vector<int64_t>> copyWords = nullptr;
};

/// The memory of a kernel at one set of sizes, shared by the ranks. Behind what the layout says lies
/// the status of each rank's launches.
class Workspace {
public:
  /// Of ranks of this process, by their devices.
  Workspace(std::vector<std::shared_ptr<Gpu>> devices, abi::WorkspaceLayout layout);
  /// Of ranks that are processes: see SymmetricMemory.
  Workspace(Rank &rank, const std::shared_ptr<Gpu> &device, std::string_view name,
            abi::WorkspaceLayout layout, size_t granularity);

  const abi::WorkspaceLayout &layout() const { return layout_; }
  const SymmetricMemory &memory() const { return memory_; }
  int ranks() const { return static_cast<int>(devices_.size()); }
  /// The one rank of this process; -1: all are.
  int ownRank() const { return ownRank_; }
  /// The address of a rank's abi::Status, zero until a launch fails.
  uint64_t status(int rank) const;
  /// Its words, those of the first `cores` cores.
  std::vector<int64_t> readStatus(int rank, int cores) const;
  /// How many launches a rank has completed.
  int64_t completed(int rank) const;

  /// A launch is enqueued, the next one of this rank.
  void launched(int rank, Participant participant);
  /// Launches of this rank are enqueued by somebody else too, so that nobody knows their numbers.
  void launchedUnseen(int rank);
  /// What a launch of a rank does of a graph; null: nothing, or it is not known any more.
  std::shared_ptr<const LaunchTasks> tasksOf(int rank, int64_t launch) const;
  /// Ends the waits of all launches on all ranks, soon.
  void abort() const;
  /// Whether a launch has failed on any rank: asks the GPU of this one.
  bool hasFailed(int rank) const;
  /// The participants once their launches are over, which they soon are where one has failed; those
  /// that never launched have no info. Of the ranks of other processes nothing is known but what
  /// lies in the memory; for their launches it waits a moment. OverdueError where a launch computes
  /// on.
  std::vector<Participant> settle() const;
  /// The error of a workspace that has failed: made by the first to ask, the same for all.
  template <class Fn> const Failure &error(Fn &&make) {
    std::lock_guard lock(errorLock_);
    if (error_.message.empty())
      error_ = make();
    return error_;
  }
  /// No launch takes it any more.
  void drop() { isDropped_ = true; }
  bool isDropped() const { return isDropped_; }
  /// Fills the buffers of a rank with 0xff. Only where no launch runs on any rank.
  void poison(int rank) const;

private:
  /// The first launch of a rank may write to all others.
  void beginHead(int rank) const;
  void awaitOthers() const;
  uint64_t read(int rank, uint64_t address) const;

  std::vector<std::shared_ptr<Gpu>> devices_; ///< of this process, that reach the ranks' memory
  int ownRank_ = -1;
  abi::WorkspaceLayout layout_;
  SymmetricMemory memory_;
  mutable std::mutex lock_;
  std::mutex errorLock_;
  std::vector<Participant> participants_;
  /// Of a rank of this process.
  struct Enqueued {
    int64_t count = 0;                                           ///< launches
    bool isKnown = true;                                         ///< these are all
    std::map<int64_t, std::shared_ptr<const LaunchTasks>> tasks; ///< by launch, of the last ones
  };
  static constexpr size_t kMostTasks = 4096;
  std::vector<Enqueued> enqueued_;
  Failure error_;
  std::atomic<bool> isDropped_ = false;
};

class RankGroup {
public:
  static constexpr int kMostSharing = 8; ///< ranks of a GPU: streams that it serves at a time

  /// UnavailableError where this machine has no GPU or too few for the number of ranks.
  static void requirePlaces(int ranks);
  /// `ranks` ranks on the GPUs of this machine, rank r on GPU r mod their number; see
  /// requirePlaces. `bound`: of every wait of a kernel.
  static std::shared_ptr<RankGroup> open(int ranks, std::chrono::milliseconds bound);
  /// The same of ranks that are processes: rank r is on GPU r mod the number of those that its
  /// process sees. Collective. UnavailableError also where memory cannot be shared.
  static std::shared_ptr<RankGroup> join(Rank &rank);

  int ranks() const { return static_cast<int>(devices_.size()); }
  /// The GPU of a rank of this process.
  const std::shared_ptr<Gpu> &device(int rank) const { return devices_[size_t(rank)]; }
  int gpus() const; ///< that the ranks run on
  /// How many ranks the GPU of a rank has.
  int sharing(int rank) const;
  /// How many ranks the GPU has that has most.
  int mostSharing() const;
  /// Whether two ranks are on one GPU.
  bool areNear(int one, int other) const {
    return numbers_[size_t(one)] == numbers_[size_t(other)];
  }
  /// Whether some GPU has several ranks.
  bool isShared() const { return gpus() < ranks(); }
  /// The CTAs of a launch of a rank, of a kernel of which `fitting` fit its GPU. UnavailableError
  /// where not every rank could have one.
  int cores(int rank, int fitting) const;
  /// "4 ranks on 2 GPUs, 66 of 132 SMs each"
  std::string describe() const;

  /// The workspace of this name, made by the first rank that asks; where ranks are processes, by
  /// all of them together.
  std::shared_ptr<Workspace> workspace(const std::string &key, const abi::WorkspaceLayout &layout);
  /// A workspace that has failed is given up: the next launch gets another one.
  void drop(const std::shared_ptr<Workspace> &workspace);
  /// How many have been given up, so far: what was learnt of one before may no longer hold.
  int64_t dropped() const { return dropped_.load(std::memory_order_acquire); }
  /// What has ended the other processes of the run, such as the death of one, if anything has.
  std::optional<Failure> whatEndedAll() const;
  /// The bound of every wait of a kernel.
  std::chrono::nanoseconds bound() const { return bound_; }

private:
  RankGroup(std::vector<std::shared_ptr<Gpu>> devices, std::vector<int> numbers,
            std::chrono::milliseconds bound)
      : devices_(std::move(devices)), numbers_(std::move(numbers)), bound_(bound) {}

  std::vector<std::shared_ptr<Gpu>> devices_; ///< of this process, by rank
  std::vector<int> numbers_;                  ///< by rank: which GPU of the run it has
  Rank *rank_ = nullptr;                      ///< where ranks are processes, this one
  size_t granularity_ = 0;                    ///< likewise, of memory on all their GPUs
  std::chrono::nanoseconds bound_;
  std::mutex lock_;
  std::map<std::string, std::shared_ptr<Workspace>> workspaces_;
  /// The one given up last: memory is not freed where ranks launch again already, since that may
  /// wait for their kernels.
  std::shared_ptr<Workspace> lastDropped_;
  std::atomic<int64_t> dropped_ = 0;
};

} // namespace ditron::runtime::nvidia
