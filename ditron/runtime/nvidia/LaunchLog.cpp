// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/nvidia/LaunchLog.h"
#include "ditron/abi/DeviceLog.h"
#include "ditron/abi/LaunchWords.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <unordered_map>

namespace ditron::runtime::nvidia {

using Kind = abi::DeviceLog::Kind;
using LogEvent = runtime::Event; // not one of the driver's
static_assert(sizeof(LogEvent) == abi::DeviceLog::kEventWords * abi::DeviceLog::kWord);
static_assert(int(EventKind::put) == Kind::put && int(EventKind::notify) == Kind::notify &&
              int(EventKind::roleEnter) == Kind::roleEnter &&
              int(EventKind::tilesEnd) == Kind::tilesEnd);

static constexpr size_t kLaneBytes = abi::DeviceLog::kLaneWords * abi::DeviceLog::kWord;

//===-- Its memory ----------------------------------------------------------------------------===//

void LaunchLog::attach(const std::shared_ptr<const void> &owner, uint64_t status, int cores) {
  std::lock_guard guard(lock_);
  if (size_t(cores) > lanes_)
    grow(cores);
  std::erase_if(statuses_, [](const Status &one) { return one.owner.expired(); });
  if (std::ranges::count(statuses_, status, &Status::address) > 0)
    return;
  statuses_.push_back({owner, status});
  tell(statuses_.back());
}

void LaunchLog::tell(const Status &status) const {
  uint64_t address = memory_->address();
  DITRON_CUDA(device_->use(), cuMemcpyHtoD_v2,
              status.address + uint64_t(abi::DeviceLog::kWord * abi::Status::kLog), &address,
              sizeof(address));
  device_->settle();
}

/// Another log, with more lanes; what was in the one before is lost.
void LaunchLog::grow(int cores) {
  device_->awaitAll();
  lanes_ = std::max<size_t>(size_t(cores), size_t(device_->sms()));
  size_t most = kMostBytes / (lanes_ * sizeof(LogEvent));
  capacity_ = std::bit_floor(std::max<size_t>(2, std::min(wanted_, most)));
  size_t head = size_t(abi::DeviceLog::kLanes) + lanes_ * kLaneBytes;
  memory_.emplace(device_, head + lanes_ * capacity_ * sizeof(LogEvent), "the log of launches");
  std::vector<uint64_t> words(head / sizeof(uint64_t));
  words[abi::DeviceLog::kMask] = capacity_ - 1;
  words[abi::DeviceLog::kEvents] = head;
  DITRON_CUDA(device_->use(), cuMemcpyHtoD_v2, memory_->address(), words.data(), head);
  device_->settle();
  launches_.clear();
  for (const Status &status : statuses_)
    if (auto owner = status.owner.lock())
      tell(status);
}

void LaunchLog::launched(const Participant &launch, const std::shared_ptr<Workspace> &workspace) {
  std::lock_guard guard(lock_);
  launches_.push_back({launch, workspace});
  if (launches_.size() > kMostLaunches)
    launches_.pop_front();
}

//===-- What lies in it -----------------------------------------------------------------------===//

/// The events of a CTA, of which launches are taken, the last one first.
class LaunchLog::Lane {
public:
  Lane(size_t core, std::vector<LogEvent> events) : core_(core), events_(std::move(events)) {}

  /// Those of a launch, from its begin to its end.
  std::vector<LogEvent> take() {
    size_t begin = events_.size();
    while (begin > 0 && kindOf(events_[begin - 1]) != Kind::begin)
      --begin;
    if (begin == 0)
      throw RuntimeError(
          fmt::format("the log of core {} has not room for all events of the launches "
                      "that are asked for, expected more (Options::events)",
                      core_));
    std::vector<LogEvent> taken(events_.begin() + std::ptrdiff_t(begin) - 1, events_.end());
    events_.resize(begin - 1);
    return taken;
  }

  static Kind kindOf(const LogEvent &event) { return Kind(static_cast<uint8_t>(event.kind)); }

private:
  size_t core_;
  std::vector<LogEvent> events_; ///< the oldest first
};

LaunchLog::Lane LaunchLog::read(size_t core) const {
  const Cuda &cuda = device_->use();
  uint64_t count = 0, head = memory_->address() + uint64_t(abi::DeviceLog::kLanes);
  DITRON_CUDA(cuda, cuMemcpyDtoH_v2, &count, head + core * kLaneBytes, sizeof(count));
  std::vector<LogEvent> events(std::min<size_t>(count, capacity_));
  uint64_t first = head + lanes_ * kLaneBytes + core * capacity_ * sizeof(LogEvent);
  if (!events.empty())
    DITRON_CUDA(cuda, cuMemcpyDtoH_v2, static_cast<void *>(events.data()), first,
                events.size() * sizeof(LogEvent));
  if (count > capacity_)
    std::rotate(events.begin(), events.begin() + std::ptrdiff_t(count % capacity_), events.end());
  return {core, std::move(events)};
}

namespace {

/// Names the events of a launch.
class Namer {
public:
  Namer(const Participant &launch, const Workspace *workspace, LaunchRecord &record)
      : launch_(launch), workspace_(workspace), record_(record) {}

  NamedEvent of(const LogEvent &event) {
    NamedEvent named{event};
    auto number = std::bit_cast<int64_t>(event.place);
    named.event.place = nullptr;
    const abi::Site &site = launch_.info->sites.at(size_t(number));
    if (event.kind == EventKind::roleEnter)
      named.name = nameOf(site.role.substr(site.role.rfind('/') + 1));
    else
      named.place = nameOf(fmt::format("{}:{}", site.file, site.line));
    if (event.kind == EventKind::wait || event.kind == EventKind::notify)
      resolve(named);
    if (event.kind == EventKind::put || event.kind == EventKind::get) {
      named.peer = int32_t(event.values[0]);
      named.event.values[0] = event.values[1];
      named.event.values[1] = 0;
    }
    return named;
  }

private:
  int32_t nameOf(const std::string &text) {
    auto [known, isNew] = numbers_.try_emplace(text, int32_t(record_.names.size()));
    if (isNew)
      record_.names.push_back(text);
    return known->second;
  }

  /// Puts the counter, and the rank that has it, in place of its address.
  void resolve(NamedEvent &named) {
    const SymmetricMemory &memory = workspace_->memory();
    int64_t distance = named.event.values[0] - int64_t(memory.address(0));
    int64_t offset = distance % memory.stride();
    if (named.event.kind == EventKind::notify)
      named.peer = int32_t(distance / memory.stride());
    named.event.values[0] = offset;
    std::string text = runtime::nvidia::nameOf(workspace_->layout(), offset); // "signal 'ready'[1]"
    size_t open = text.find('\''), close = text.rfind('\'');
    if (open != close)
      text = text.substr(open + 1, close - open - 1) + text.substr(close + 1);
    named.name = nameOf(text);
  }

  const Participant &launch_;
  const Workspace *workspace_;
  LaunchRecord &record_;
  std::unordered_map<std::string, int32_t> numbers_;
};

} // namespace

std::vector<LaunchRecord> LaunchLog::last(size_t count) const {
  std::lock_guard guard(lock_);
  count = std::min(count, launches_.size());
  std::vector<Lane> lanes;
  for (size_t core = 0; count > 0 && core < lanes_; ++core)
    lanes.push_back(read(core));
  std::vector<LaunchRecord> records(count);
  for (size_t n = 0; n < count; ++n) {
    const Launch &launch = launches_[launches_.size() - 1 - n];
    LaunchRecord &record = records[count - 1 - n];
    record.kernel = launch.what.kernel;
    Namer namer(launch.what, launch.workspace.get(), record);
    for (size_t core = 0; core < size_t(launch.what.cores); ++core) {
      std::vector<LogEvent> events = lanes[core].take();
      LaunchRecord::Core &own = record.cores.emplace_back();
      own.begin = events.front().begin;
      own.end = events.back().end;
      for (const LogEvent &event : events)
        if (Lane::kindOf(event) < Kind::begin)
          own.events.push_back(namer.of(event));
    }
  }
  return records;
}

} // namespace ditron::runtime::nvidia
