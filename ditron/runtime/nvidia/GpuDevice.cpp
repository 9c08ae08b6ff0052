// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/nvidia/GpuDevice.h"
#include "ditron/runtime/Rank.h"
#include "ditron/runtime/nvidia/GpuExecutable.h"
#include "ditron/runtime/nvidia/TensorCopy.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <exception>
#include <fmt/ranges.h>
#include <set>
#include <thread>

namespace ditron::runtime::nvidia {

namespace {

class GpuEvent final : public DeviceEvent {
public:
  explicit GpuEvent(const std::shared_ptr<Gpu> &driver) : event_(driver) {}

  const Event &driver() const { return event_; }
  void wait() const override { event_.wait(); }
  double secondsSince(const DeviceEvent &begin) const override {
    const auto *other = dynamic_cast<const GpuEvent *>(&begin);
    if (!other)
      throw UsageError("the time between events of two devices is asked for: expected both of one");
    return event_.secondsSince(other->event_);
  }

private:
  Event event_;
};

class GpuGraph final : public DeviceGraph {
public:
  GpuGraph(GpuDevice &device,
           const std::function<void(const std::shared_ptr<DeviceStream> &)> &body)
      : device_(device), graph_(device.driver(), [&](const Stream &captured) {
          auto stream = std::make_shared<GpuStream>(
              device, Stream::borrow(device.driver(), captured.handle()), /*isRecorded=*/true);
          body(stream);
          launches_ = stream->recorded();
        }) {}

  void launch(DeviceStream &stream) override {
    auto *found = dynamic_cast<GpuStream *>(&stream);
    if (!found || &found->device() != &device_)
      throw UsageError("a graph is launched on a stream of another context: expected one of the "
                       "context that recorded it");
    GpuStream &gpu = *found;
    if (isStale())
      throw RuntimeError("a recorded launch has failed before: expected that the graph is recorded "
                         "anew");
    auto note = [&] {
      for (const RecordedLaunch &one : launches_)
        gpu.note({one.executable, one.note.workspace});
    };
    auto enqueue = [&] {
      note();
      for (const RecordedLaunch &one : launches_)
        one.executable->launched(one.note);
      graph_.launch(gpu.driver());
      note(); // who has waited for the stream meanwhile found no launch
    };
    auto distributed = std::find_if(launches_.begin(), launches_.end(),
                                    [](const auto &one) { return one.note.workspace != nullptr; });
    if (distributed == launches_.end())
      return enqueue();
    auto turn = gpu.device().takeTurn();
    gpu.device().launchTogether(distributed->executable->name(), enqueue);
  }
  bool isStale() const override {
    return std::any_of(launches_.begin(), launches_.end(), [](const RecordedLaunch &one) {
      return one.note.workspace && one.note.workspace->isDropped();
    });
  }

private:
  const GpuDevice &device_;
  std::vector<RecordedLaunch> launches_;
  Graph graph_;
};

} // namespace

//===-- GpuStream -----------------------------------------------------------------------------===//

void GpuStream::note(const Launched &launched) {
  std::lock_guard guard(lock_);
  if (std::find(launched_.begin(), launched_.end(), launched) == launched_.end())
    launched_.push_back(launched);
}

bool GpuStream::isUnderWay() const {
  std::lock_guard guard(lock_);
  return !launched_.empty() || !stream_.isDone();
}

void GpuStream::wait() {
  if (isRecorded_)
    throw RuntimeError("a stream that a graph records is waited for: expected that after the "
                       "graph is launched");
  std::vector<Launched> launched;
  {
    std::lock_guard guard(lock_);
    launched.swap(launched_);
  }
  try {
    stream_.wait();
  } catch (const OverdueError &error) {
    giveUp(launched, error);
  }
  std::exception_ptr first;
  for (const auto &[executable, workspace] : launched)
    try {
      executable->raiseFailure(workspace);
    } catch (...) {
      if (!first)
        first = std::current_exception();
    }
  if (first)
    std::rethrow_exception(first);
}

/// Whoever waits for what computes on has no reason to; the stream can be waited for again.
void GpuStream::giveUp(const std::vector<Launched> &launched, const OverdueError &error) {
  std::set<std::string> names;
  for (const Launched &one : launched) {
    names.insert(fmt::format("'{}'", one.executable->name()));
    if (one.workspace)
      one.workspace->abort();
    note(one);
  }
  throw OverdueError(
      fmt::format("kernel {} on rank {}: {}",
                  names.empty() ? "of a graph" : fmt::to_string(fmt::join(names, ", ")),
                  device_.rank(), error.what()));
}

void GpuStream::waitFor(const std::shared_ptr<DeviceEvent> &event) {
  if (const auto *own = dynamic_cast<const GpuEvent *>(event.get()))
    stream_.waitFor(own->driver());
  else
    throw UsageError("a stream is to wait for an event of another backend");
}

std::shared_ptr<DeviceEvent> GpuStream::record() {
  auto event = std::make_shared<GpuEvent>(device_.driver());
  event->driver().record(stream_);
  return event;
}

void GpuStream::copy(const Tensor &to, const Tensor &from) {
  bool isOfHost = to.isHostAccessible() || from.isHostAccessible();
  if (isOfHost && isRecorded_)
    throw RuntimeError("a copy from or to the host's memory cannot be recorded in a graph: "
                       "expected tensors of the device");
  if (isOfHost)
    wait(); // within the bound of launches, which the driver's copy would not keep
  copyTensor(*device_.driver(), stream_, to, from);
  if (isOfHost)
    wait();
}

//===-- GpuDevice -----------------------------------------------------------------------------===//

GpuDevice::GpuDevice(Rank &rank, std::shared_ptr<RankGroup> group)
    : rank_(rank), group_(std::move(group)), rankNumber_(rank.rank()),
      straggler_(rank.options().straggler), driver_(group_->device(rankNumber_)),
      stream_(*this, Stream(driver_)), log_(driver_, rank.options().events) {
  driver_->boundLaunches(rank.options().launchTimeout);
}

std::string architectureOf(int major, int minor) { return fmt::format("sm_{}{}", major, minor); }

std::string GpuDevice::mesh() const { return rank_.mesh().axes.text(); }

// As many on every rank, on GPUs of one kind: what a graph's kernel counts for its cores lies in symmetric
// memory, at the same places everywhere.
int GpuDevice::cores() const { return driver_->sms() / group_->mostSharing(); }

std::shared_ptr<std::byte> GpuDevice::allocate(size_t bytes, std::string_view what) {
  auto memory = std::make_shared<Memory>(driver_, bytes, what);
  return {memory, static_cast<std::byte *>(memory->pointer())};
}

void GpuDevice::forgetStreams() {
  std::lock_guard guard(lock_);
  std::erase_if(streams_,
                [](const auto &one) { return one.use_count() == 1 && !one->isUnderWay(); });
  std::erase_if(borrowed_, [](const auto &one) { return one.expired(); });
}

std::shared_ptr<DeviceStream> GpuDevice::makeStream() {
  forgetStreams();
  std::lock_guard guard(lock_);
  return streams_.emplace_back(std::make_shared<GpuStream>(*this, Stream(driver_)));
}

std::shared_ptr<DeviceStream> GpuDevice::borrowStream(void *handle) {
  forgetStreams();
  auto stream = std::make_shared<GpuStream>(*this, Stream::borrow(driver_, handle));
  std::lock_guard guard(lock_);
  borrowed_.push_back(stream);
  return stream;
}

std::vector<std::shared_ptr<GpuStream>> GpuDevice::otherStreams() {
  std::lock_guard guard(lock_);
  std::vector<std::shared_ptr<GpuStream>> others = streams_;
  for (const auto &one : borrowed_)
    if (auto stream = one.lock())
      others.push_back(std::move(stream));
  return others;
}

std::shared_ptr<DeviceGraph>
GpuDevice::record(const std::function<void(const std::shared_ptr<DeviceStream> &)> &body) {
  return std::make_shared<GpuGraph>(*this, body);
}

std::shared_ptr<Executable> GpuDevice::load(std::shared_ptr<KernelSource> source) {
  return std::make_shared<GpuExecutable>(*this, std::move(source));
}

void GpuDevice::sync() {
  std::exception_ptr first;
  auto wait = [&](GpuStream &stream) {
    try {
      stream.wait();
    } catch (...) {
      if (!first)
        first = std::current_exception();
    }
  };
  for (const auto &stream : otherStreams())
    wait(*stream);
  wait(stream_);
  forgetStreams();
  if (first)
    std::rethrow_exception(first);
}

void GpuDevice::close() {
  std::lock_guard guard(lock_);
  streams_.clear();
}

void GpuDevice::inOrder(const std::function<void()> &work) {
  sync();
  std::lock_guard guard(turn_);
  work();
}

std::unique_lock<std::mutex> GpuDevice::takeTurn() {
  return group_->isShared() ? std::unique_lock(turn_) : std::unique_lock<std::mutex>();
}

void GpuDevice::launchTogether(std::string_view kernel, const std::function<void()> &enqueue) {
  if (!group_->isShared())
    return enqueue();
  Request request{.kind = Request::launch};
  copyText(request.name, kernel);
  rank_.assemble(request);
  enqueue();
  bool isTooLate = straggler_.rank >= 0 && straggler_.delay >= rank_.options().waitTimeout;
  if (!isTooLate) // else the other kernels are to end by their bound
    rank_.assemble(request);
}

void GpuDevice::straggle() const {
  if (straggler_.rank == rankNumber_)
    std::this_thread::sleep_for(straggler_.delay);
}

} // namespace ditron::runtime::nvidia
