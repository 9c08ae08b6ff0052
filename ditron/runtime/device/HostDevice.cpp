// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/device/HostDevice.h"
#include "ditron/runtime/Copy.h"
#include "ditron/runtime/Memory.h"
#include "ditron/runtime/Rank.h"
#include "ditron/support/Error.h"
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace ditron::runtime {

namespace {

using Clock = std::chrono::steady_clock;

class HostEvent final : public DeviceEvent {
public:
  HostEvent(std::shared_ptr<HostDevice> device, std::shared_ptr<Clock::time_point> time)
      : device_(std::move(device)), ticket_(device_->queue().ticket()), time_(std::move(time)) {}

  void wait() const override { device_->queue().waitFor(ticket_); }
  double secondsSince(const DeviceEvent &begin) const override {
    const auto *other = dynamic_cast<const HostEvent *>(&begin);
    if (!other)
      throw UsageError("the time between events of two devices is asked for: expected both of one");
    return std::chrono::duration<double>(time() - other->time()).count();
  }

private:
  Clock::time_point time() const {
    wait();
    if (*time_ == Clock::time_point())
      throw RuntimeError("an event has no time, as its stream has not come to it: a launch before "
                         "it failed, or it is a graph's that was not launched");
    return *time_;
  }

  std::shared_ptr<HostDevice> device_;
  uint64_t ticket_; ///< of the work that notes the time
  std::shared_ptr<Clock::time_point> time_;
};

/// What is launched there was made for the device: "a kernel", "compiled".
HostStream &streamOf(const HostDevice &device, DeviceStream &stream, std::string_view what,
                     std::string_view made) {
  auto *found = dynamic_cast<HostStream *>(&stream);
  if (!found || &found->device() != &device)
    throw UsageError(fmt::format("{} is launched on a stream of another context: expected one of "
                                 "the context that {} it",
                                 what, made));
  return *found;
}

class HostGraph final : public DeviceGraph {
public:
  HostGraph(const HostDevice &device, std::vector<WorkQueue::Work> work)
      : device_(device), work_(std::move(work)) {}
  void launch(DeviceStream &stream) override {
    HostStream &found = streamOf(device_, stream, "a graph", "recorded");
    for (const WorkQueue::Work &work : work_)
      found.enqueue(work);
  }

private:
  const HostDevice &device_;
  std::vector<WorkQueue::Work> work_;
};

void copyElements(const Tensor &to, const Tensor &from) {
  copyStrided(to.data(), from.data(),
              {byteSize(to.dtype()), to.shape(), from.strides(), to.strides()});
}

} // namespace

//===-- HostStream ----------------------------------------------------------------------------===//

void HostStream::enqueue(WorkQueue::Work work) {
  switch (use_) {
  case Use::work:
    return device_.queue().push(std::move(work));
  case Use::recording:
    return recorded_.push_back(std::move(work));
  case Use::recorded:
    throw RuntimeError("work for a stream whose graph is recorded already, which would not have "
                       "it: expected another stream");
  }
}

void HostStream::wait() {
  if (isRecording())
    throw RuntimeError("a stream that a graph records is waited for: expected that after the "
                       "graph is launched");
  device_.queue().wait();
}

std::shared_ptr<DeviceEvent> HostStream::record() {
  auto time = std::make_shared<Clock::time_point>();
  enqueue([time] { *time = Clock::now(); });
  return std::make_shared<HostEvent>(
      std::static_pointer_cast<HostDevice>(device_.shared_from_this()), time);
}

void HostStream::waitFor(const std::shared_ptr<DeviceEvent> &event) {
  enqueue([event] { event->wait(); });
}

void HostStream::copy(const Tensor &to, const Tensor &from) {
  if (device_.queue().isClosed())
    return copyElements(to, from);
  enqueue([to, from] { copyElements(to, from); });
  if (!isRecording())
    wait();
}

//===-- HostDevice ----------------------------------------------------------------------------===//

HostDevice::HostDevice(Rank &rank)
    : rank_(rank), ranks_(rank.size()), cores_(rank.cores()), mesh_(rank.mesh().axes.text()),
      queue_(fmt::format("rank{}.launch", rank.rank()),
             [&rank] {
               prctl(PR_SET_TIMERSLACK, 1000); // ns: waits sleep in short steps
               rank.noteLauncher();
             }),
      stream_(*this) {}

std::shared_ptr<std::byte> HostDevice::allocate(size_t bytes, std::string_view what) {
  return allocateHost(bytes, what);
}
size_t HostDevice::availableBytes() const { return availableMemory(); }

std::shared_ptr<DeviceStream> HostDevice::makeStream() {
  return std::make_shared<HostStream>(*this);
}

std::shared_ptr<DeviceGraph>
HostDevice::record(const std::function<void(const std::shared_ptr<DeviceStream> &)> &body) {
  auto stream = std::make_shared<HostStream>(*this, /*isRecording=*/true);
  body(stream);
  return std::make_shared<HostGraph>(*this, stream->take());
}

//===-- HostExecutable ------------------------------------------------------------------------===//

static HostStream &streamOf(const HostDevice &device, DeviceStream &stream) {
  return streamOf(device, stream, "a kernel", "compiled");
}

void HostExecutable::launch(const std::vector<KernelArgument> &arguments, DeviceStream &stream,
                            const std::shared_ptr<const LaunchTasks> &tasks) {
  streamOf(*device_, stream).enqueue([self = shared_from_this(), launch = bind(arguments, tasks)] {
    launch();
  });
}

namespace {

class HostTiming final : public DeviceTiming {
public:
  explicit HostTiming(std::shared_ptr<HostDevice> device) : device_(std::move(device)) {}

  /// The work that was enqueued last is that of the launch.
  void enqueued() { ticket_ = device_->queue().ticket(); }
  void done(const LaunchStats &stats) { stats_ = stats; }
  LaunchStats stats() const override {
    device_->queue().waitFor(ticket_);
    return stats_;
  }

private:
  std::shared_ptr<HostDevice> device_;
  uint64_t ticket_ = 0;
  LaunchStats stats_;
};

} // namespace

std::shared_ptr<DeviceTiming>
HostExecutable::launchTimed(const std::vector<KernelArgument> &arguments, DeviceStream &stream) {
  auto timing = std::make_shared<HostTiming>(device_);
  streamOf(*device_, stream)
      .enqueue([self = shared_from_this(), launch = bind(arguments, nullptr), timing] {
        timing->done(launch());
      });
  timing->enqueued();
  return timing;
}

LaunchStats HostExecutable::timed(const std::vector<KernelArgument> &arguments,
                                  DeviceStream &stream) {
  if (streamOf(*device_, stream).isRecording())
    throw RuntimeError(
        "a launch that a graph records is timed: it runs when the graph is launched");
  LaunchStats stats;
  device_->queue().run([&, launch = bind(arguments, nullptr)] { stats = launch(); });
  return stats;
}

} // namespace ditron::runtime
