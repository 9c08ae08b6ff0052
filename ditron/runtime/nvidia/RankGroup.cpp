// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/nvidia/RankGroup.h"
#include "ditron/abi/LaunchWords.h"
#include "ditron/runtime/Gather.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <thread>

namespace ditron::runtime::nvidia {

//===-- Workspace -----------------------------------------------------------------------------===//

static int64_t statusStart(const abi::WorkspaceLayout &layout) {
  constexpr int64_t kAlignment = abi::Head::kAlignment;
  return (layout.bytes() + kAlignment - 1) / kAlignment * kAlignment;
}

static int64_t bytesOf(const abi::WorkspaceLayout &layout) {
  return statusStart(layout) + abi::Status::kWords * int64_t(sizeof(int64_t));
}

Workspace::Workspace(std::vector<std::shared_ptr<Gpu>> devices, abi::WorkspaceLayout layout)
    : devices_(std::move(devices)), layout_(std::move(layout)), memory_(devices_, bytesOf(layout_)),
      participants_(devices_.size()), enqueued_(devices_.size()) {
  for (int owner = 0; owner < ranks(); ++owner)
    beginHead(owner);
}

Workspace::Workspace(Rank &rank, const std::shared_ptr<Gpu> &device, std::string_view name,
                     abi::WorkspaceLayout layout, size_t granularity)
    : devices_(size_t(rank.size()), device), ownRank_(rank.rank()), layout_(std::move(layout)),
      memory_(rank, device, name, bytesOf(layout_), granularity), participants_(devices_.size()),
      enqueued_(devices_.size()) {
  beginHead(ownRank_);
}

void Workspace::beginHead(int rank) const {
  std::vector<int64_t> credits(size_t(ranks()), 1), completed;
  for (int peer = 0; peer < ranks(); ++peer)
    completed.push_back(layout_.completedAtFirst(rank, peer));
  auto write = [&](int64_t offset, const std::vector<int64_t> &words) {
    DITRON_CUDA(devices_[size_t(rank)]->use(), cuMemcpyHtoD_v2,
                memory_.address(rank) + uint64_t(offset), words.data(),
                words.size() * sizeof(int64_t));
  };
  write(abi::Head::kCredits, credits);
  write(abi::Head::kCompleted, completed);
  devices_[size_t(rank)]->settle();
}

uint64_t Workspace::status(int rank) const {
  return memory_.address(rank) + uint64_t(statusStart(layout_));
}

std::vector<int64_t> Workspace::readStatus(int rank, int cores) const {
  std::vector<int64_t> words(size_t(abi::Status::kRecords + 2 * abi::Status::kRecordWords * cores));
  DITRON_CUDA(devices_[size_t(rank)]->use(), cuMemcpyDtoH_v2, words.data(), status(rank),
              words.size() * sizeof(int64_t));
  return words;
}

uint64_t Workspace::read(int rank, uint64_t address) const {
  uint64_t word = 0;
  DITRON_CUDA(devices_[size_t(rank)]->use(), cuMemcpyDtoH_v2, &word, address, sizeof(word));
  return word;
}

int64_t Workspace::completed(int rank) const {
  return static_cast<int64_t>(read(rank, memory_.address(rank) + uint64_t(abi::Head::kEpoch)));
}

void Workspace::launched(int rank, Participant participant) {
  std::lock_guard lock(lock_);
  Enqueued &enqueued = enqueued_[size_t(rank)];
  ++enqueued.count;
  if (participant.tasks)
    enqueued.tasks.emplace(enqueued.count, participant.tasks);
  if (enqueued.tasks.size() > kMostTasks)
    enqueued.tasks.erase(enqueued.tasks.begin());
  participants_[size_t(rank)] = std::move(participant);
}

void Workspace::launchedUnseen(int rank) {
  std::lock_guard lock(lock_);
  enqueued_[size_t(rank)].isKnown = false;
}

std::shared_ptr<const LaunchTasks> Workspace::tasksOf(int rank, int64_t launch) const {
  std::lock_guard lock(lock_);
  const Enqueued &enqueued = enqueued_[size_t(rank)];
  auto found = enqueued.tasks.find(launch);
  return enqueued.isKnown && found != enqueued.tasks.end() ? found->second : nullptr;
}

bool Workspace::hasFailed(int rank) const {
  return read(rank, memory_.address(rank) + uint64_t(abi::Head::kAborted)) != 0;
}

void Workspace::abort() const {
  static const int64_t one = 1;
  const std::shared_ptr<Gpu> &device = devices_[size_t(std::max(ownRank_, 0))];
  Stream stream(device); // the others may be stuck
  for (int rank = 0; rank < ranks(); ++rank)
    DITRON_CUDA(device->use(), cuMemcpyHtoDAsync_v2,
                memory_.address(rank) + uint64_t(abi::Head::kAborted), &one, sizeof(one),
                stream.handle());
}

std::vector<Participant> Workspace::settle() const {
  std::vector<Participant> participants;
  {
    std::lock_guard lock(lock_);
    participants = participants_;
  }
  for (size_t rank = 0; rank < participants.size(); ++rank)
    if (participants[rank].info)
      devices_[rank]->awaitAll();
  if (ownRank_ >= 0)
    awaitOthers();
  return participants;
}

/// Until the other processes have completed what this one has, for a moment.
void Workspace::awaitOthers() const {
  constexpr std::chrono::milliseconds kMoment{200}, kLook{2};
  auto end = std::chrono::steady_clock::now() + kMoment;
  int64_t own = completed(ownRank_);
  for (int rank = 0; rank < ranks(); ++rank)
    while (completed(rank) < own && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(kLook);
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
  std::vector<std::shared_ptr<Gpu>> devices;
  std::vector<int> numbers;
  for (int rank = 0; rank < ranks; ++rank) {
    numbers.push_back(rank % gpus);
    devices.push_back(Gpu::open(numbers.back()));
  }
  return std::shared_ptr<RankGroup>(new RankGroup(std::move(devices), std::move(numbers), bound));
}

namespace {

/// What the ranks that are processes tell one another of their GPUs.
struct GpuOfRank {
  Gpu::Identity identity;
  size_t granularity;
};

/// UnavailableError where the GPU of this rank cannot reach that of another one. Those that this
/// process does not see are found out about when their memory is mapped.
void requireReachOfAll(const Gpu &own, const std::vector<Gpu::Identity> &all) {
  for (int n = 0; n < Cuda::get().devices(); ++n)
    if (std::find(all.begin(), all.end(), Gpu::identityOf(n)) != all.end())
      requireReach(own, n);
}

} // namespace

std::shared_ptr<RankGroup> RankGroup::join(Rank &rank) {
  requirePlaces(rank.size());
  int ordinal = rank.rank() % Cuda::get().devices();
  std::shared_ptr<Gpu> own = Gpu::open(ordinal);
  requireSharing(*own);
  std::vector<Gpu::Identity> identities;
  std::vector<int> numbers;
  size_t granularity = 1;
  for (const auto &one :
       gather<GpuOfRank>(rank, {{Gpu::identityOf(ordinal), granularityOf(*own, true)}})) {
    granularity = std::max(granularity, one[0].granularity);
    identities.push_back(one[0].identity);
    auto first = std::find(identities.begin(), identities.end(), one[0].identity);
    numbers.push_back(static_cast<int>(first - identities.begin()));
  }
  requireReachOfAll(*own, identities);
  std::shared_ptr<RankGroup> group(new RankGroup(std::vector(size_t(rank.size()), own),
                                                 std::move(numbers), rank.options().waitTimeout));
  group->rank_ = &rank;
  group->granularity_ = granularity;
  return group;
}

int RankGroup::sharing(int rank) const {
  return static_cast<int>(std::count(numbers_.begin(), numbers_.end(), numbers_[size_t(rank)]));
}

int RankGroup::mostSharing() const {
  int most = 1;
  for (int rank = 0; rank < ranks(); ++rank)
    most = std::max(most, sharing(rank));
  return most;
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
  return static_cast<int>(std::set(numbers_.begin(), numbers_.end()).size());
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
    found = rank_ ? std::make_shared<Workspace>(*rank_, devices_[0], key, layout, granularity_)
                  : std::make_shared<Workspace>(devices_, layout);
  else if (found->layout() != layout)
    throw CompileError(fmt::format("two kernels ask for different workspaces as '{}'", key));
  return found;
}

std::optional<Failure> RankGroup::whatEndedAll() const {
  if (rank_ && rank_->control().dead())
    return rank_->control().failure();
  return std::nullopt;
}

void RankGroup::drop(const std::shared_ptr<Workspace> &workspace) {
  std::lock_guard lock(lock_);
  std::erase_if(workspaces_, [&](const auto &entry) { return entry.second == workspace; });
  workspace->drop();
  lastDropped_ = workspace;
  ++dropped_;
}

} // namespace ditron::runtime::nvidia
