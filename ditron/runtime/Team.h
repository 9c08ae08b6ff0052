// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace ditron::runtime {

/// The cores of a rank: one thread each, kept from launch to launch and parked in between. The
/// thread that launches is core 0.
class Team {
public:
  /// `name` names the threads in a debugger. RuntimeError where a thread cannot be started.
  Team(int cores, bool crowded, const std::string &name);
  ~Team();
  Team(const Team &) = delete;
  Team &operator=(const Team &) = delete;

  int cores() const { return cores_; }
  /// Runs body(core) on all cores at once and returns when all are done; with `copyEngines` on one
  /// more thread, as core cores(), which the first such launch starts. Rethrows the first exception.
  /// Everything before the call happens before the bodies, and they before its return.
  void launch(const std::function<void(int core)> &body, bool copyEngines = false);

  /// The scratch memory of a core, at least `bytes`, 64-byte aligned, kept from launch to launch.
  std::byte *scratch(int core, size_t bytes);

private:
  struct Scratch {
    std::shared_ptr<std::byte> memory;
    size_t bytes = 0;
  };
  void start(int core);
  void work(int core, uint32_t seen);
  void call(int core);

  int cores_;
  int active_; ///< in the launch that runs
  bool crowded_;
  std::string name_;
  std::vector<Scratch> scratch_;
  const std::function<void(int)> *body_ = nullptr;
  alignas(64) std::atomic<uint32_t> round_{0};
  alignas(64) std::atomic<uint32_t> running_{0};
  std::atomic<bool> ending_{false};
  std::mutex failureLock_;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

} // namespace ditron::runtime
