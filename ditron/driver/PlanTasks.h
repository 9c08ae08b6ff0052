// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tasks of a graph, as reports of waits name them. Of a megakernel they follow from its schedule,
// which is made again on the host when a report is written: the kernel has nothing to do with it.
#pragma once
#include "ditron/runtime/LaunchTasks.h"
#include "ditron/task/Plan.h"
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace ditron {

/// "task 'layer 0 up'".
std::string textOf(const task::Node &node);

/// What the schedule of a megakernel is made of.
struct PlanSource {
  std::shared_ptr<const task::Graph> graph;
  std::shared_ptr<const std::vector<task::Footprint>> footprints; ///< of its types
  task::Shapes shapes;                                            ///< of its values
  task::Machine machine;                                          ///< of any rank
  std::vector<bool> selfSignaling;                                ///< of its values
};

class PlanTasks final : public runtime::LaunchTasks {
public:
  explicit PlanTasks(PlanSource source) : LaunchTasks(""), source_(std::move(source)) {}

  std::string_view counter() const override { return task::kDoneSignal; }
  std::string at(int64_t rank, int64_t core, int64_t done) const override;
  runtime::TaskWait ofWait(int64_t rank, int64_t core, std::string_view signal,
                           int64_t expected) const override;

private:
  using Queue = std::vector<task::Task>;
  /// Null where there is no such core.
  const Queue *queueOf(int64_t rank, int64_t core) const;
  std::string textOf(const task::Task &task) const;
  std::string awaitedText(int64_t rank, const task::Wait &wait) const;
  std::optional<size_t> nodeOf(std::string_view array, int64_t instance) const;

  PlanSource source_;
  mutable std::mutex lock_;                     ///< of what follows
  mutable std::map<int64_t, task::Plan> plans_; ///< by rank, of those that were asked for
};

} // namespace ditron
