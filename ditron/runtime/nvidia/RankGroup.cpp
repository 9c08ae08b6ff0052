// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/nvidia/RankGroup.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <fmt/format.h>

namespace ditron::runtime::nvidia {

//===-- Workspace -----------------------------------------------------------------------------===//

Workspace::Workspace(std::vector<std::shared_ptr<Gpu>> devices, abi::WorkspaceLayout layout)
    : devices_(std::move(devices)), layout_(std::move(layout)), memory_(devices_, layout_.bytes()),
      participants_(devices_.size()) {}

void Workspace::launched(int rank, Participant participant) {
  std::lock_guard lock(lock_);
  participants_[size_t(rank)] = std::move(participant);
}

bool Workspace::hasFailed(int rank) const {
  uint64_t aborted = 0;
  DITRON_CUDA(devices_[size_t(rank)]->use(), cuMemcpyDtoH_v2, &aborted,
              memory_.address(rank) + uint64_t(abi::Head::kAborted), sizeof(aborted));
  return aborted != 0;
}

std::vector<Participant> Workspace::settle() const {
  std::vector<Participant> participants;
  {
    std::lock_guard lock(lock_);
    participants = participants_;
  }
  for (size_t rank = 0; rank < participants.size(); ++rank)
    if (participants[rank].status) {
      const Cuda &cuda = devices_[rank]->use();
      cuda.check(cuda.cuCtxSynchronize(), "cuCtxSynchronize");
    }
  return participants;
}

void Workspace::poison(int rank) const {
  uint64_t begin = memory_.address(rank) + uint64_t(layout_.bufferStart());
  size_t bytes = size_t(layout_.bytes() - layout_.bufferStart());
  if (!bytes)
    return;
  const Cuda &cuda = devices_[size_t(rank)]->use();
  DITRON_CUDA(cuda, cuMemsetD8_v2, begin, static_cast<unsigned char>(0xff), bytes);
  DITRON_CUDA(cuda, cuStreamSynchronize, static_cast<void *>(nullptr)); // of copies and fills alone
}

//===-- RankGroup -----------------------------------------------------------------------------===//

void RankGroup::requirePlaces(int ranks) {
  int gpus = Cuda::get().devices();
  int64_t most = std::min<int64_t>(int64_t(gpus) * kMostSharing, abi::Head::kMostGpus);
  if (ranks > most)
    throw UnavailableError(fmt::format("{} ranks on {} GPU{}: expected at most {}, {} of a GPU, "
                                       "for all their cores to run at a time",
                                       ranks, gpus, gpus == 1 ? "" : "s", most, kMostSharing));
}

std::shared_ptr<RankGroup> RankGroup::open(int ranks, std::chrono::milliseconds bound) {
  requirePlaces(ranks);
  int gpus = Cuda::get().devices();
  std::vector<std::shared_ptr<Gpu>> opened, devices;
  for (int n = 0; n < std::min(gpus, ranks); ++n)
    opened.push_back(Gpu::open(n));
  for (int rank = 0; rank < ranks; ++rank)
    devices.push_back(opened[size_t(rank) % opened.size()]);
  return std::shared_ptr<RankGroup>(new RankGroup(std::move(devices), bound));
}

int RankGroup::sharing(int rank) const {
  return static_cast<int>(std::count(devices_.begin(), devices_.end(), devices_[size_t(rank)]));
}

int RankGroup::cores(int rank, int fitting) const {
  int share = sharing(rank);
  if (share == 1)
    return fitting;
  int each = std::min(devices_[size_t(rank)]->sms() / share, fitting);
  if (each < 1)
    throw UnavailableError(
        fmt::format("{} ranks share {} of {} SMs: their CTAs cannot all run at a time", share,
                    devices_[size_t(rank)]->name(), devices_[size_t(rank)]->sms()));
  return each;
}

int RankGroup::gpus() const {
  int count = 0;
  for (size_t rank = 0; rank < devices_.size(); ++rank)
    count += std::find(devices_.begin(), devices_.begin() + static_cast<ptrdiff_t>(rank),
                       devices_[rank]) == devices_.begin() + static_cast<ptrdiff_t>(rank);
  return count;
}

std::string RankGroup::describe() const {
  std::string text = fmt::format("{} rank{} on {} GPU{}", ranks(), ranks() == 1 ? "" : "s", gpus(),
                                 gpus() == 1 ? "" : "s");
  if (int share = sharing(0); share > 1)
    text +=
        fmt::format(", {} of {} SMs each on GPU 0", devices_[0]->sms() / share, devices_[0]->sms());
  return text;
}

std::shared_ptr<Workspace> RankGroup::workspace(const std::string &key,
                                                const abi::WorkspaceLayout &layout) {
  std::lock_guard lock(lock_);
  std::shared_ptr<Workspace> &found = workspaces_[key];
  if (!found)
    found = std::make_shared<Workspace>(devices_, layout);
  else if (found->layout().arrays() != layout.arrays())
    throw CompileError(fmt::format("two kernels ask for different symmetric memory as '{}'", key));
  return found;
}

void RankGroup::drop(const std::shared_ptr<Workspace> &workspace) {
  std::lock_guard lock(lock_);
  std::erase_if(workspaces_, [&](const auto &entry) { return entry.second == workspace; });
  ++dropped_;
}

} // namespace ditron::runtime::nvidia
