// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What launches of a kernel on a GPU have beside its arguments: the status, and the symmetric
// memory of its rank, which then has the status too.
#pragma once
#include "ditron/abi/KernelInfo.h"
#include "ditron/runtime/device/Device.h"
#include "ditron/runtime/nvidia/LaunchLog.h"
#include "ditron/runtime/nvidia/RankGroup.h"
#include "ditron/runtime/nvidia/TensorMap.h"
#include <memory>
#include <string>
#include <vector>

namespace ditron::runtime::nvidia {

/// Memory that a tensor map is to describe.
struct MappedMemory {
  uint64_t address;
  int64_t elementBytes;
  std::vector<int64_t> extents, strides;

  StridedMemory view() const { return {address, elementBytes, extents, strides}; }
};

class LaunchState {
public:
  LaunchState(std::shared_ptr<RankGroup> group, int rank, std::string kernel, std::string signature)
      : group_(std::move(group)), device_(group_->device(rank)), rank_(rank),
        kernel_(std::move(kernel)), signature_(std::move(signature)) {}

  /// Chooses what launches of this code with such arguments take. Without launching.
  void prepare(const std::shared_ptr<const abi::KernelInfo> &info, const abi::LaunchValues &launch);
  /// What prepare chose, and the same choice again, as long as no workspace was dropped since.
  const std::shared_ptr<Workspace> &workspace() const { return workspace_; }
  void choose(const std::shared_ptr<const abi::KernelInfo> &info,
              const std::shared_ptr<Workspace> &workspace) {
    info_ = info, workspace_ = workspace;
  }
  /// Has launches of up to `cores` CTAs of recorded code, as prepare chose it last, note what they do.
  void attach(LaunchLog &log, int cores) const;
  /// The words of a launch behind those of its arguments.
  std::vector<int64_t> words() const;
  /// The memory that a tensor map is to describe: an argument's, or, with its pages, that of a
  /// symmetric buffer, which has an address where it is prepared.
  MappedMemory mapped(const abi::KernelInfo &info, const abi::TensorMap &map,
                      const abi::LaunchValues &launch) const;
  /// How many CTAs a launch has, of those that fit: whole clusters; 0 if there is no room for one.
  int cores(const abi::KernelInfo &info, int fitting) const {
    int all = info.isDistributed ? group_->cores(rank_, fitting) : fitting;
    return all - all % static_cast<int>(info.cluster);
  }
  /// What reports say of a launch of `cores` CTAs, of what prepare or choose chose last.
  struct Note {
    std::shared_ptr<Workspace> workspace; ///< null: the kernel has none
    Participant participant;
  };
  Note note(int cores, const std::shared_ptr<const LaunchTasks> &tasks,
            const std::shared_ptr<const std::vector<int64_t>> &copyWords) const {
    return {workspace_, {kernel_, cores, info_, tasks, copyWords}};
  }
  /// The launch is under way.
  void launched(const Note &note);
  /// Throws the error of launches with this workspace that have ended, if one failed: see
  /// GpuExecutable::raiseFailure.
  void raiseFailure(const std::shared_ptr<Workspace> &workspace);
  /// Fills the symmetric buffers of this rank with NaN.
  void poison() const;

private:
  std::shared_ptr<RankGroup> group_;
  std::shared_ptr<Gpu> device_;
  int rank_;
  std::string kernel_, signature_;
  std::shared_ptr<const abi::KernelInfo> info_;
  std::shared_ptr<Memory> status_; ///< of a kernel without ranks; others have it in the workspace
  std::shared_ptr<Workspace> workspace_; ///< of the next launch
};

} // namespace ditron::runtime::nvidia
