// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What devices of the host share, which are the `cpu` and the `reference` backend: memory of the
// host, and one queue for all streams of a rank.
//
// Launches of a rank take all of its cores, so streams cannot overlap: work of all of them is done
// in the order in which it was enqueued, which every order between streams allows.
#pragma once
#include "ditron/runtime/device/Device.h"
#include "ditron/runtime/device/WorkQueue.h"
#include <chrono>

namespace ditron::runtime {

class HostDevice;

class HostStream final : public DeviceStream {
public:
  explicit HostStream(HostDevice &device, bool isRecording = false)
      : device_(device), use_(isRecording ? Use::recording : Use::work) {}

  HostDevice &device() const { return device_; }
  void wait() override;
  void waitFor(const std::shared_ptr<DeviceEvent> &event) override;
  std::shared_ptr<DeviceEvent> record() override;
  void copy(const Tensor &to, const Tensor &from) override;

  /// Enqueues work, or records it. RuntimeError where the recording has ended.
  void enqueue(WorkQueue::Work work);
  /// Ends the recording, and takes what was recorded.
  std::vector<WorkQueue::Work> take() {
    use_ = Use::recorded;
    return std::move(recorded_);
  }
  bool isRecording() const { return use_ != Use::work; }

private:
  enum class Use : uint8_t { work, recording, recorded };

  HostDevice &device_;
  Use use_;
  std::vector<WorkQueue::Work> recorded_;
};

class HostDevice : public Device {
public:
  explicit HostDevice(Rank &rank);

  int cores() const override { return cores_; }
  bool isHostAccessible() const override { return true; }
  std::shared_ptr<std::byte> allocate(size_t bytes, std::string_view what) override;
  size_t availableBytes() const override;
  DeviceStream &stream() override { return stream_; }
  std::shared_ptr<DeviceStream> makeStream() override;
  std::shared_ptr<DeviceGraph>
  record(const std::function<void(const std::shared_ptr<DeviceStream> &)> &body) override;
  void sync() override { queue_.wait(); }
  void close() override { queue_.close(); }
  void inOrder(const std::function<void()> &work) override { queue_.run(work); }

  /// For work of the queue alone: it goes with the context, and this may live on.
  Rank &rank() const { return rank_; }
  int ranks() const { return ranks_; }
  std::string mesh() const override { return mesh_; }
  WorkQueue &queue() { return queue_; }

private:
  Rank &rank_;
  int ranks_, cores_;
  std::string mesh_;
  WorkQueue queue_;
  HostStream stream_;
};

/// What kernels on devices of the host have in common: launches are work of the queue.
class HostExecutable : public Executable, public std::enable_shared_from_this<HostExecutable> {
public:
  explicit HostExecutable(HostDevice &device)
      : device_(std::static_pointer_cast<HostDevice>(device.shared_from_this())) {}

  void launch(const std::vector<KernelArgument> &arguments, DeviceStream &stream,
              const std::shared_ptr<const LaunchTasks> &tasks) final;
  std::shared_ptr<DeviceTiming> launchTimed(const std::vector<KernelArgument> &arguments,
                                            DeviceStream &stream) final;
  LaunchStats timed(const std::vector<KernelArgument> &arguments, DeviceStream &stream) final;

protected:
  using Launch = std::function<LaunchStats()>;
  /// The launch with these arguments, to be called by one thread at a time; it holds what it needs
  /// but for the kernel. CompileError as prepare.
  virtual Launch bind(const std::vector<KernelArgument> &arguments,
                      const std::shared_ptr<const LaunchTasks> &tasks) = 0;

  std::shared_ptr<HostDevice> device_;
};

} // namespace ditron::runtime
