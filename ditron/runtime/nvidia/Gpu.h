// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One NVIDIA GPU: its memory, code loaded on it, launches and their times. Errors of the driver are
// RuntimeErrors with its words. Any thread may use a device.
//
// Whoever waits for a launch waits until its bound and not longer: see runtime/LaunchWatchdog.h.
// Nothing stops a kernel that computes on without ending its context, and with it the memory of all
// programs on it. So the wait is an error, the kernel goes on, and what would wait for the whole GPU
// is left alone until it ends: freeing memory and code. Loading code, which assembles it and may wait
// for what runs, has the same bound.
#pragma once
#include "ditron/runtime/nvidia/TensorMap.h"
#include "ditron/support/Error.h"
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace ditron::runtime::nvidia {

/// What was launched outlived its bound, and computes on.
class OverdueError : public RuntimeError {
public:
  using RuntimeError::RuntimeError;
};

class Gpu {
public:
  /// The same object for all that ask, open until the process ends. UnavailableError where there is
  /// no such device.
  static std::shared_ptr<Gpu> open(int ordinal = 0);
  /// The compute capability of a device, major and minor, without opening it. UnavailableError as
  /// above.
  static std::pair<int, int> capability(int ordinal = 0);
  /// Its name, likewise.
  static std::string nameOf(int ordinal = 0);
  /// What no other device has, likewise: the same in all processes.
  using Identity = std::array<unsigned char, 16>;
  static Identity identityOf(int ordinal);
  ~Gpu();
  Gpu(const Gpu &) = delete;
  Gpu &operator=(const Gpu &) = delete;

  const std::string &name() const { return name_; }
  int number() const { return device_; } ///< the driver's
  int major() const { return major_; }   ///< compute capability
  int minor() const { return minor_; }
  int sms() const { return sms_; }
  size_t memoryBytes() const { return memoryBytes_; }
  size_t availableBytes() const;
  /// Makes the device current for this thread's calls of the driver.
  const Cuda &use() const;
  /// An attribute, by the driver's number for it.
  int attribute(int which) const;

  /// The bound of what is launched, from here on.
  void boundLaunches(std::chrono::milliseconds bound) { bound_ = bound; }
  std::chrono::milliseconds launchBound() const { return bound_; }
  /// Waits for what is in a stream, by `query`, which gives the driver's answer whether that is done.
  /// OverdueError at the bound; at once where the device is overdue already.
  void await(void *stream, const std::function<int(const Cuda &)> &query) const;
  /// Waits for all streams, where launches are about to end.
  void awaitAll() const;
  /// Waits for copies from the host and fills, whose calls return when what they read there is read, or at once:
  /// streams of a device's user would not wait for the rest.
  void settle() const;
  /// Makes calls of the driver that return when the driver likes, on a thread of their own; false at
  /// the bound of launches, and then they go on: they may use only what they own.
  bool returns(std::function<void(const Cuda &)> calls) const;
  /// Whether something that outlived its bound computes on.
  bool isOverdue() const;

private:
  explicit Gpu(int ordinal);
  [[noreturn]] void refuseToWait() const;
  void noteOverdue(void *stream) const;

  const Cuda &cuda_;
  int device_ = 0;
  void *context_ = nullptr;
  std::string name_;
  int major_ = 0, minor_ = 0, sms_ = 0;
  size_t memoryBytes_ = 0;
  std::atomic<std::chrono::milliseconds> bound_{std::chrono::minutes(10)};
  mutable std::mutex lock_;
  mutable std::vector<void *> overdue_; ///< events behind what outlived its bound
};

/// Memory of a device, freed with this object.
class Memory {
public:
  /// RuntimeError naming what it is for, the bytes asked for and available where there is not
  /// enough.
  Memory(std::shared_ptr<Gpu> device, size_t bytes, std::string_view what = "");
  ~Memory();
  Memory(Memory &&other) noexcept;
  Memory &operator=(Memory &&) = delete;

  uint64_t address() const { return address_; }
  void *pointer() const { return reinterpret_cast<void *>(address_); }
  size_t bytes() const { return bytes_; }
  /// Copies all of it from or to the host; returns when that is done.
  void upload(const void *from) const;
  void download(void *to) const;
  void fill(unsigned char byte) const { fill(byte, bytes_); }
  void fill(unsigned char byte, size_t bytes) const; ///< of the first bytes

private:
  std::shared_ptr<Gpu> device_;
  uint64_t address_ = 0;
  size_t bytes_;
};

class Event;

/// Launches and copies in order.
class Stream {
public:
  explicit Stream(std::shared_ptr<Gpu> device);
  /// Another library's stream of the device's primary context, a CUstream such as
  /// torch.cuda.Stream.cuda_stream, which outlives this object.
  static Stream borrow(std::shared_ptr<Gpu> device, void *handle);
  ~Stream();
  Stream(Stream &&other) noexcept;
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;

  void *handle() const { return stream_; }
  /// Whether a graph records what is enqueued.
  bool isCaptured() const;
  /// OverdueError at the bound of launches.
  void wait() const;
  /// Whether all that was enqueued is done, or has failed.
  bool isDone() const;
  /// What is enqueued from here on comes behind the event.
  void waitFor(const Event &event) const;

private:
  Stream(std::shared_ptr<Gpu> device, void *handle);

  std::shared_ptr<Gpu> device_;
  void *stream_ = nullptr;
  bool isBorrowed_ = false;
};

/// A point in a stream.
class Event {
public:
  /// Without `isTimed` it has no time, and costs less.
  explicit Event(std::shared_ptr<Gpu> device, bool isTimed = true);
  ~Event();
  Event(const Event &) = delete;
  Event &operator=(const Event &) = delete;

  void record(const Stream &stream) const;
  /// OverdueError at the bound of launches.
  void wait() const;
  void *handle() const { return event_; }
  /// Seconds since another event; waits for this one.
  double secondsSince(const Event &begin) const;

private:
  std::shared_ptr<Gpu> device_;
  void *event_ = nullptr;
  mutable void *stream_ = nullptr; ///< in which it was recorded last
};

/// The parameters of launches, in the form that the driver takes them in: made once for any number
/// of launches.
class LaunchParameters {
public:
  /// One 64-bit word for each parameter, and tensor maps behind them.
  LaunchParameters(std::vector<int64_t> words, std::vector<TensorMap> maps);
  LaunchParameters(LaunchParameters &&) noexcept = default;
  LaunchParameters &operator=(LaunchParameters &&) noexcept = default;

  /// The address of each parameter. The driver only reads them.
  void **data() const { return const_cast<void **>(addresses_.data()); }

private:
  std::vector<int64_t> words_;
  std::vector<TensorMap> maps_;
  std::vector<void *> addresses_;
};

/// A kernel on a device. Its image is PTX or a cubin with the entry point `ditron_kernel`.
class LoadedKernel {
public:
  /// How each CTA is launched, and how many side by side.
  struct Launch {
    std::string entry; ///< of the image
    int threads, sharedBytes;
    int cluster = 1;
    bool dependentLaunch = false; ///< begins before what it follows has ended, and waits for it
  };
  /// RuntimeError with the words of the driver's assembler where it refuses the image, and where
  /// the driver takes longer than the bound of launches.
  LoadedKernel(std::shared_ptr<Gpu> device, const std::string &image, Launch launch);
  ~LoadedKernel();
  LoadedKernel(const LoadedKernel &) = delete;
  LoadedKernel &operator=(const LoadedKernel &) = delete;

  /// CTAs that run at a time on the whole device: the cores of a launch.
  int cores() const { return cores_; }
  int registers() const { return registers_; }
  /// Launches with the kernel's parameters, which are read before it returns; asynchronous.
  /// `cores`: other than cores(), at most as many. `isSeparate`: it begins when all before it have ended.
  void launch(const LaunchParameters &parameters, const Stream &stream, int cores = 0,
              bool isSeparate = false) const;

private:
  struct Code;
  static void load(const Cuda &cuda, const std::string &image, const Launch &launch, Code &code);

  std::shared_ptr<Gpu> device_;
  void *module_ = nullptr, *function_ = nullptr;
  /// Blocks that run at a time; RuntimeError where none does.
  int countCores() const;

  Launch launch_;
  int cores_ = 0, registers_ = 0;
};

} // namespace ditron::runtime::nvidia
