// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device as programs see it, the same on every backend: memory, streams of work, events, graphs,
// and kernels loaded on it. The public classes of ditron/driver are handles of these.
//
//   Platform    what a backend has in this process: the devices of its ranks
//   Device      one rank's: memory and streams
//   Executable  a kernel on it, in as many variants as its launches need
//   Stream      work in order: launches and copies; Event, a point in it; Graph, a recorded part
//
// Launches and copies are enqueued by any thread, and done in the order of their stream. Errors of
// what was enqueued are thrown by Stream::wait and whatever else waits, once. On CPUs, what was enqueued
// behind the failing launch is skipped until then; on GPUs it is done.
#pragma once
#include "ditron/runtime/LaunchRecord.h"
#include "ditron/runtime/LaunchTasks.h"
#include "ditron/runtime/Options.h"
#include "ditron/runtime/Stats.h"
#include "ditron/runtime/TensorMemory.h"
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace ditron::runtime {

class KernelSource;
class Rank;

/// What a kernel is launched with: a tensor, an Index or a Scalar.
using KernelArgument = std::variant<Tensor, int64_t, double>;

/// What a compilation took.
struct CompileReport {
  double seconds = 0;            ///< from the traced kernel to code that can be launched
  double assemblySeconds = 0;    ///< of these, of a GPU's driver, which keeps a cache of its own
  bool fromCache = false;        ///< the code came from the kernel cache on disk
  std::string cacheProblem = {}; ///< what is wrong with that cache; empty: nothing
};

/// A point in a stream.
class DeviceEvent {
public:
  virtual ~DeviceEvent() = default;
  /// Returns when the stream has come to it. Throws no errors of launches.
  virtual void wait() const = 0;
  /// Seconds from `begin`, an event of the same device, to this one; waits for both.
  virtual double secondsSince(const DeviceEvent &begin) const = 0;
};

/// Work in order.
class DeviceStream {
public:
  virtual ~DeviceStream() = default;
  /// Returns when all is done. Throws the error of a launch that failed, once.
  virtual void wait() = 0;
  /// What is enqueued from here on comes behind the event, which is of the same device.
  virtual void waitFor(const std::shared_ptr<DeviceEvent> &event) = 0;
  virtual std::shared_ptr<DeviceEvent> record() = 0;
  /// Copies the elements of `from` to `to`, of the same type and shape, either of which may be in
  /// the memory of the host. Where the host may touch one of them, returns when that is done.
  virtual void copy(const Tensor &to, const Tensor &from) = 0;
  /// The next launch begins when all that was enqueued has ended, where a device would begin it before: those
  /// behind it may read what was written by then before they wait for others.
  virtual void separate() {}
};

/// What a launch took.
class DeviceTiming {
public:
  virtual ~DeviceTiming() = default;
  /// As far as the device knows it; waits for the launch, which has to have gone well.
  virtual LaunchStats stats() const = 0;
};

/// A part of a stream that was recorded.
class DeviceGraph {
public:
  virtual ~DeviceGraph() = default;
  /// Enqueues all of it. RuntimeError where it is stale.
  virtual void launch(DeviceStream &stream) = 0;
  /// Whether one of its launches has failed, so that the memory that it has in it is in use no more: what is
  /// launched next is to be recorded anew.
  virtual bool isStale() const { return false; }
};

/// A kernel on a device. Any thread may use it.
class Executable {
public:
  virtual ~Executable() = default;
  /// Compiles and loads what a launch with such arguments needs. CompileError where there can be no
  /// code for them. The arguments fit the kernel's signature.
  virtual void prepare(const std::vector<KernelArgument> &arguments) = 0;
  /// Enqueues a launch, which does these tasks of a graph; null: none.
  virtual void launch(const std::vector<KernelArgument> &arguments, DeviceStream &stream,
                      const std::shared_ptr<const LaunchTasks> &tasks) = 0;
  /// Enqueues a launch that can be asked what it took.
  virtual std::shared_ptr<DeviceTiming> launchTimed(const std::vector<KernelArgument> &arguments,
                                                    DeviceStream &stream) = 0;
  /// A launch that is waited for, and what it took. Throws its error.
  virtual LaunchStats timed(const std::vector<KernelArgument> &arguments, DeviceStream &stream) = 0;
  /// The compilation of the variant launched last.
  virtual CompileReport report() const = 0;
  /// The cores of the launch before.
  virtual int cores() const = 0;
  /// Fills the symmetric buffers of this rank with NaN. Only where no rank launches it.
  virtual void poison() = 0;
};

/// The device of a rank. Any thread may use it.
class Device : public std::enable_shared_from_this<Device> {
public:
  virtual ~Device() = default;

  /// The backend's name: "cpu".
  virtual std::string_view backend() const = 0;
  /// What it is called, by its maker.
  virtual std::string name() const = 0;
  /// The target that kernels are compiled for: "x86-64".
  virtual std::string target() const = 0;
  /// Cores of the rank, as far as they are known without a kernel.
  virtual int cores() const = 0;
  /// The mesh of the ranks, where its axes have names: "row=2,col=2".
  virtual std::string mesh() const = 0;
  /// Whether the host may touch its memory, when no launch does.
  virtual bool isHostAccessible() const = 0;

  /// Uninitialised memory; freed with the last owner. RuntimeError naming `what`, the bytes asked
  /// for and available where there is not enough.
  virtual std::shared_ptr<std::byte> allocate(size_t bytes, std::string_view what) = 0;
  virtual size_t availableBytes() const = 0;

  /// The stream of whoever names none.
  virtual DeviceStream &stream() = 0;
  virtual std::shared_ptr<DeviceStream> makeStream() = 0;
  /// Records what `body` enqueues on the stream that it is given, and does none of it.
  virtual std::shared_ptr<DeviceGraph>
  record(const std::function<void(const std::shared_ptr<DeviceStream> &)> &body) = 0;
  virtual std::shared_ptr<Executable> load(std::shared_ptr<KernelSource> source) = 0;

  /// Whether it keeps the log of launches of code that was compiled to be recorded.
  virtual bool keepsRecords() const { return false; }
  /// Then the last launches, which are done, the oldest first; fewer where there were fewer.
  /// RuntimeError where the log had not room for them.
  virtual std::vector<LaunchRecord> records(size_t launches) { return {}; }

  /// Waits for all streams. Throws the first error.
  virtual void sync() = 0;
  /// Waits for all, and lets go of the rank: what is left of it is the memory of tensors.
  virtual void close() = 0;
  /// Does `work` of the rank itself, such as meeting the others, behind all launches; throws what
  /// it throws.
  virtual void inOrder(const std::function<void()> &work) = 0;
};

/// The devices of a backend, as the ranks of this process share them.
class Platform {
public:
  virtual ~Platform() = default;
  /// The device of a rank; it must not outlive that. UnavailableError saying what is missing.
  virtual std::shared_ptr<Device> device(Rank &rank) = 0;
  /// "4 ranks on 2 GPUs, ..."; empty where there is nothing to say.
  virtual std::string describe() const { return ""; }
};

} // namespace ditron::runtime
