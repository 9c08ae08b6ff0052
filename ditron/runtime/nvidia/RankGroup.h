// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ranks of this process on its GPUs: transport `threads`. Each rank has a GPU of its own where
// there are enough of them; else ranks share, and divide the SMs of their GPU.
//
// All CTAs of all ranks must run at a time, since they wait for one another. A rank that has its
// GPU for itself has as many CTAs as fit. Where s ranks share one of m SMs, each has m / s CTAs, at
// most one of which any SM needs: so whatever the kernels of the others take, there is always an
// empty SM for the next CTA.
#pragma once
#include "ditron/abi/KernelInfo.h"
#include "ditron/runtime/nvidia/GpuWorkspace.h"
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace ditron::runtime::nvidia {

/// What a rank's last launch in a workspace was, for reports.
struct Participant {
  std::string kernel;
  std::shared_ptr<const Memory> status; ///< see abi::Status; null: it has launched nothing
  int cores = 0;
  std::shared_ptr<const abi::KernelInfo> info = nullptr; ///< what its sites are told by
};

/// The memory of a kernel at one set of sizes, shared by the ranks.
class Workspace {
public:
  Workspace(std::vector<std::shared_ptr<Gpu>> devices, abi::WorkspaceLayout layout);

  const abi::WorkspaceLayout &layout() const { return layout_; }
  const SymmetricMemory &memory() const { return memory_; }
  const std::shared_ptr<Gpu> &device(int rank) const { return devices_[size_t(rank)]; }
  int ranks() const { return static_cast<int>(devices_.size()); }

  void launched(int rank, Participant participant);
  /// Whether a launch has failed on any rank: asks the GPU of this one.
  bool hasFailed(int rank) const;
  /// The participants once their launches are over, which they soon are where one has failed; those
  /// that never launched have no status.
  std::vector<Participant> settle() const;
  /// The error of a workspace that has failed: made by the first to ask, the same for all.
  template <class Fn> const std::string &error(Fn &&make) {
    std::lock_guard lock(errorLock_);
    if (error_.empty())
      error_ = make();
    return error_;
  }
  /// Fills the buffers of a rank with 0xff. Only where no launch runs on any rank.
  void poison(int rank) const;

private:
  std::vector<std::shared_ptr<Gpu>> devices_;
  abi::WorkspaceLayout layout_;
  SymmetricMemory memory_;
  mutable std::mutex lock_;
  std::mutex errorLock_;
  std::vector<Participant> participants_;
  std::string error_;
};

class RankGroup {
public:
  static constexpr int kMostSharing = 8; ///< ranks of a GPU: streams that it serves at a time

  /// UnavailableError where this machine has no GPU or too few for the number of ranks.
  static void requirePlaces(int ranks);
  /// `ranks` ranks on the GPUs of this machine, rank r on GPU r mod their number; see
  /// requirePlaces. `bound`: of every wait of a kernel.
  static std::shared_ptr<RankGroup> open(int ranks, std::chrono::milliseconds bound);

  int ranks() const { return static_cast<int>(devices_.size()); }
  const std::shared_ptr<Gpu> &device(int rank) const { return devices_[size_t(rank)]; }
  int gpus() const; ///< that the ranks run on
  /// How many ranks the GPU of a rank has.
  int sharing(int rank) const;
  /// Whether some GPU has several ranks.
  bool isShared() const { return gpus() < ranks(); }
  /// The CTAs of a launch of a rank, of a kernel of which `fitting` fit its GPU. UnavailableError
  /// where not every rank could have one.
  int cores(int rank, int fitting) const;
  /// "4 ranks on 2 GPUs, 66 of 132 SMs each"
  std::string describe() const;

  /// The workspace of this name, made by the first rank that asks.
  std::shared_ptr<Workspace> workspace(const std::string &key, const abi::WorkspaceLayout &layout);
  /// A workspace that has failed is given up: the next launch gets another one.
  void drop(const std::shared_ptr<Workspace> &workspace);
  /// How many have been given up, so far: what was learnt of one before may no longer hold.
  int64_t dropped() const { return dropped_.load(std::memory_order_acquire); }
  /// The bound of every wait of a kernel.
  std::chrono::nanoseconds bound() const { return bound_; }

private:
  RankGroup(std::vector<std::shared_ptr<Gpu>> devices, std::chrono::milliseconds bound)
      : devices_(std::move(devices)), bound_(bound) {}

  std::vector<std::shared_ptr<Gpu>> devices_;
  std::chrono::nanoseconds bound_;
  std::mutex lock_;
  std::map<std::string, std::shared_ptr<Workspace>> workspaces_;
  std::atomic<int64_t> dropped_ = 0;
};

} // namespace ditron::runtime::nvidia
