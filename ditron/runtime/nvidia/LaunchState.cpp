// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/nvidia/LaunchState.h"
#include "ditron/abi/LaunchWords.h"
#include "ditron/runtime/nvidia/FailureReport.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <utility>

namespace ditron::runtime::nvidia {

/// What a kernel has in symmetric memory at the sizes of a launch.
static abi::WorkspaceLayout layoutOf(const abi::KernelInfo &info, const abi::LaunchValues &launch) {
  return abi::WorkspaceLayout(
      abi::symmetricAt(info, launch),
      {.ranks = launch.ranks, .barriers = info.barriers, .team = info.teamLine()});
}

void LaunchState::prepare(const std::shared_ptr<const abi::KernelInfo> &info,
                          const abi::LaunchValues &launch) {
  info_ = info;
  workspace_ = nullptr;
  if (info->isDistributed) {
    abi::WorkspaceLayout layout = layoutOf(*info, launch);
    workspace_ = group_->workspace(abi::workspaceKey(signature_, *info, layout.arrays()), layout);
  } else if (!status_) {
    status_ = std::make_shared<Memory>(device_, size_t(abi::Status::kRecords) * sizeof(int64_t));
    status_->fill(0);
  }
}

/// An argument's memory.
static MappedMemory memoryOf(const abi::KernelInfo &info, size_t argument,
                             std::span<const int64_t> words) {
  const abi::Argument &view = info.arguments[argument];
  auto rank = static_cast<size_t>(view.rank);
  auto own = words.subspan(abi::firstWord(info.arguments, argument), 1 + 2 * rank);
  auto extents = own.subspan(1, rank), strides = own.subspan(1 + rank);
  return {static_cast<uint64_t>(own[0]),
          static_cast<int64_t>(byteSize(view.type)),
          {extents.begin(), extents.end()},
          {strides.begin(), strides.end()}};
}

MappedMemory LaunchState::mapped(const abi::KernelInfo &info, const abi::TensorMap &map,
                                 const abi::LaunchValues &launch) const {
  auto argument = static_cast<size_t>(map.argument);
  if (argument < info.arguments.size())
    return memoryOf(info, argument, launch.words);
  size_t number = argument - info.arguments.size();
  abi::WorkspaceLayout layout = layoutOf(info, launch);
  const abi::SymmetricArray &array = layout.arrays()[number];
  uint64_t base = workspace_ ? workspace_->memory().address(rank_) : 0;
  MappedMemory memory{base + uint64_t(layout.offset(number)), array.elementBytes, array.extents,
                      abi::denseStrides(array.extents)};
  if (array.isFixed)
    return memory;
  memory.extents.insert(memory.extents.begin(), abi::kBufferPages);
  memory.strides.insert(memory.strides.begin(), layout.bufferPage() / array.elementBytes);
  return memory;
}

std::vector<int64_t> LaunchState::words() const {
  if (!workspace_)
    return {static_cast<int64_t>(status_->address())};
  return abi::distributedWords(workspace_->layout(),
                               {.status = static_cast<int64_t>(workspace_->status(rank_)),
                                .rank = rank_,
                                .ranks = group_->ranks(),
                                .stride = workspace_->memory().stride(),
                                .head = static_cast<int64_t>(workspace_->memory().address(rank_)),
                                .bound = group_->bound().count()});
}

void LaunchState::attach(LaunchLog &log, int cores) const {
  if (workspace_)
    log.attach(workspace_, workspace_->status(rank_), cores);
  else
    log.attach(status_, status_->address(), cores);
}

void LaunchState::launched(const Note &note) {
  if (note.workspace)
    note.workspace->launched(rank_, note.participant);
}

void LaunchState::raiseFailure(const std::shared_ptr<Workspace> &workspace) {
  if (workspace && workspace->hasFailed(rank_)) {
    group_->drop(workspace);
    if (workspace_ == workspace)
      workspace_ = nullptr;
    throwFailure(workspace->error([&] {
      std::optional<Failure> ended = group_->whatEndedAll();
      return ended ? *ended : reportFailure(*workspace, signature_, group_->bound());
    }));
  }
  if (!info_ || info_->isDistributed || info_->requirements.empty())
    return;
  std::vector<int64_t> words(status_->bytes() / sizeof(int64_t));
  status_->download(words.data());
  if (auto failed = failedRequirement(*info_, signature_, std::span(words))) {
    status_->fill(0, size_t(abi::Status::kLog) * sizeof(int64_t));
    throw CompileError(*failed);
  }
}

void LaunchState::poison() const {
  if (workspace_)
    workspace_->poison(rank_);
}

} // namespace ditron::runtime::nvidia
