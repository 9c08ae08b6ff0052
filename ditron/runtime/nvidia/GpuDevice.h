// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A GPU as the device of a rank: see runtime/device/Device.h. Streams are those of the CUDA driver,
// graphs its graphs.
#pragma once
#include "ditron/runtime/device/Device.h"
#include "ditron/runtime/nvidia/Graph.h"
#include "ditron/runtime/nvidia/LaunchLog.h"
#include "ditron/runtime/nvidia/LaunchState.h"
#include <atomic>
#include <mutex>

namespace ditron::runtime {
class Rank;
}

namespace ditron::runtime::nvidia {

class GpuDevice;
class GpuExecutable;

/// A launch that a graph has recorded.
struct RecordedLaunch {
  std::shared_ptr<GpuExecutable> executable;
  LaunchState::Note note;
  std::shared_ptr<const Memory> views = {}; ///< whose address it has; null: none
};

/// Launches that a stream has, and who is asked for their errors: of which code, with which workspace (null: none).
struct Launched {
  std::shared_ptr<GpuExecutable> executable;
  std::shared_ptr<Workspace> workspace;

  bool operator==(const Launched &) const = default;
};

class GpuStream final : public DeviceStream {
public:
  GpuStream(GpuDevice &device, Stream stream, bool isRecorded = false)
      : device_(device), stream_(std::move(stream)), isRecorded_(isRecorded) {}

  void wait() override;
  void waitFor(const std::shared_ptr<DeviceEvent> &event) override;
  std::shared_ptr<DeviceEvent> record() override;
  void copy(const Tensor &to, const Tensor &from) override;
  void separate() override { isSeparate_ = true; }
  /// Whether the next launch is to begin behind all before it: asked for once.
  bool takeSeparate() { return isSeparate_.exchange(false); }

  const Stream &driver() const { return stream_; }
  GpuDevice &device() const { return device_; }
  bool isRecorded() const { return isRecorded_; }
  /// Whether it has work that nobody has waited for.
  bool isUnderWay() const;
  /// Such launches are to be asked for errors when the stream is waited for.
  void note(const Launched &launched);
  /// The same of a launch that is recorded, each time that its graph is launched.
  void noteRecorded(RecordedLaunch launch) { recorded_.push_back(std::move(launch)); }
  const std::vector<RecordedLaunch> &recorded() const { return recorded_; }

private:
  [[noreturn]] void giveUp(const std::vector<Launched> &launched, const OverdueError &error);

  GpuDevice &device_;
  Stream stream_;
  bool isRecorded_; ///< by a graph
  std::atomic<bool> isSeparate_ = false;
  mutable std::mutex lock_;
  std::vector<Launched> launched_;       ///< since it was last waited for
  std::vector<RecordedLaunch> recorded_; ///< of a stream that a graph records
};

/// "sm_90": the architecture of a compute capability, whose code it executes.
std::string architectureOf(int major, int minor);

/// The GPU of rank `rank` of a group.
class GpuDevice final : public runtime::Device {
public:
  GpuDevice(Rank &rank, std::shared_ptr<RankGroup> group);

  std::string_view backend() const override { return "nvidia"; }
  std::string name() const override { return driver_->name(); }
  std::string target() const override { return architectureOf(driver_->major(), driver_->minor()); }
  int cores() const override;
  std::string mesh() const override;
  bool isHostAccessible() const override { return false; }
  std::shared_ptr<std::byte> allocate(size_t bytes, std::string_view what) override;
  size_t availableBytes() const override { return driver_->availableBytes(); }
  GpuStream &stream() override { return stream_; }
  std::shared_ptr<DeviceStream> makeStream() override;
  /// A stream of another library, of the device's primary context; it must outlive this one.
  std::shared_ptr<DeviceStream> borrowStream(void *handle);
  std::shared_ptr<DeviceGraph>
  record(const std::function<void(const std::shared_ptr<DeviceStream> &)> &body) override;
  std::shared_ptr<Executable> load(std::shared_ptr<KernelSource> source) override;
  void sync() override;
  void close() override;
  void inOrder(const std::function<void()> &work) override;

  bool keepsRecords() const override { return true; }
  std::vector<LaunchRecord> records(size_t launches) override { return log_.last(launches); }
  LaunchLog &log() { return log_; }

  const std::shared_ptr<Gpu> &driver() const { return driver_; }
  const std::shared_ptr<RankGroup> &group() const { return group_; }
  int rank() const { return rankNumber_; }
  /// Enqueues a launch of a kernel of several ranks. Where ranks share a GPU, all of them come
  /// first, and none goes on before all have enqueued theirs, unless one straggles for longer than
  /// waits may last. The driver's calls that load code and free memory wait for every kernel on the
  /// GPU, so one of these kernels must never wait for a rank that is in such a call. The caller has
  /// the turn.
  void launchTogether(std::string_view kernel, const std::function<void()> &enqueue);
  /// Where ranks share a GPU, threads of a rank launch in turn.
  std::unique_lock<std::mutex> takeTurn();
  /// Sleeps where this rank is to be late.
  void straggle() const;

private:
  std::vector<std::shared_ptr<GpuStream>> otherStreams();
  void forgetStreams();

  Rank &rank_;
  std::shared_ptr<RankGroup> group_;
  int rankNumber_;
  Straggler straggler_;
  std::shared_ptr<Gpu> driver_;
  GpuStream stream_;
  LaunchLog log_;
  std::mutex turn_; ///< of those who meet other ranks
  std::mutex lock_; ///< of what follows
  /// Beside the default one: those that were made here, of which nobody else may have one whose work is under way.
  std::vector<std::shared_ptr<GpuStream>> streams_;
  std::vector<std::weak_ptr<GpuStream>> borrowed_;
};

} // namespace ditron::runtime::nvidia
