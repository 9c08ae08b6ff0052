// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The watchdog: what a user is told when a wait outlives its bound. Every core that blocks says in
// its record what for (Records.h), every notify leaves a stamp beside the counter, and whoever
// times out first reads all of it, of all ranks, into one report (WaitReport.h) that becomes the
// error of the run. While all goes well a blocked wait costs a few stores into a line of its own,
// and a notify one store.
#pragma once
#include "ditron/runtime/ControlBlock.h"
#include "ditron/runtime/LaunchTasks.h"
#include "ditron/runtime/Records.h"
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace ditron::runtime {

/// What one rank says about itself.
class Watch {
public:
  Watch(Control control, int rank) : control_(control), rank_(rank) {}

  CoreRecord &core(int core) const { return control_.coreRecord(rank_, core); }
  /// The number of a place, the same for the same texts; 0 where the table is full. Any thread.
  uint32_t place(std::string_view role, std::string_view site) noexcept;
  /// The rank launches this kernel, which does these tasks of a graph; null: none.
  void begin(std::string_view kernel, std::shared_ptr<const LaunchTasks> tasks = nullptr) noexcept;
  /// Those of the launch that runs, or ran last.
  std::shared_ptr<const LaunchTasks> tasks() const;
  /// The launch is over.
  void end() noexcept { record().kernel.store(0, std::memory_order_release); }

private:
  RankRecord &record() const { return control_.rankRecord(rank_); }

  Control control_;
  int rank_;
  mutable std::mutex lock_; ///< of what follows
  std::unordered_map<std::string, uint32_t> known_;
  std::shared_ptr<const LaunchTasks> tasks_;
};

/// Numbers of places that a core used last, found by the addresses of their texts.
struct PlaceCache {
  struct Entry {
    const char *role, *site;
    uint32_t place;
    bool known;
  };
  static constexpr size_t kEntries = 32;
  Entry entries[kEntries];

  Entry &of(const char *role, const char *site) {
    uint64_t key = (reinterpret_cast<uint64_t>(role) * 31) ^ reinterpret_cast<uint64_t>(site);
    return entries[(key * 0x9E3779B97F4A7C15u) >> 59];
  }
};

/// The report of a wait that outlived `bound`: every rank and core, by number. Call it before the
/// error is raised, while those who wait still do. `tasks`: of the launch of the rank that reports, as
/// Watch has them; other ranks that run the same kernel launch the same graph.
std::string reportLateWait(const Control &control, std::chrono::milliseconds bound,
                           const LaunchTasks *tasks);

/// "'ready'[1, 0]" of a counter.
std::string counterName(const WorkspaceDirectory &directory, size_t counter);

} // namespace ditron::runtime
