// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/profile/Profiler.h"
#include "ditron/profile/RankRecord.h"
#include "ditron/profile/TaskRecord.h"
#include "ditron/runtime/Events.h"
#include "ditron/runtime/Launch.h"
#include "ditron/runtime/Recording.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <fmt/format.h>

namespace ditron::profile {

struct Profiler::Impl final : runtime::LaunchObserver {
  explicit Impl(Context &context) : context(context), last(context.runtimeRank()) {
    if (context.backend() != "cpu" && !context.device()->keepsRecords())
      throw UnavailableError(fmt::format("launches on backend '{}' are not recorded: expected "
                                         "backend 'cpu' or 'nvidia'",
                                         context.backend()));
    if (context.runtimeRank().observer())
      throw UsageError("the context has a profiler already: expected one at a time");
    context.runtimeRank().observe(this);
  }
  /// Launches may be under way that tell it.
  ~Impl() override {
    try {
      context.stream().record().wait();
    } catch (const Error &) { // nothing is: the context has ended, or is another process's
    }
    context.runtimeRank().observe(nullptr);
  }

  void launched(runtime::Rank &rank, const runtime::KernelCode &code,
                const runtime::Workspace *workspace, const LaunchStats &) override {
    last.take(rank, code.name, workspace);
    if (mostLaunches > 0)
      keep(rank);
  }

  /// Keeps a launch of a stream. On one rank, what that takes is taken out of the times behind it.
  void keep(const runtime::Rank &rank) {
    uint64_t begin = runtime::nowNs();
    RankRecord record = last.read(rank);
    moveBack(record, keeping);
    launches.add(std::move(record), mostLaunches);
    if (rank.size() == 1)
      keeping += static_cast<int64_t>(runtime::nowNs() - begin);
  }

  /// The graph that was launched last; null: none.
  const TaskProgram *lastGraph() const {
    auto later = [](const TaskProgram &a, const TaskProgram &b) {
      return a.lastLaunch() < b.lastLaunch();
    };
    auto found = std::max_element(graphs.begin(), graphs.end(), later);
    return found == graphs.end() ? nullptr : &*found;
  }

  /// The last launches that the device has kept.
  std::vector<RankRecord> keptByDevice(size_t count) const {
    std::vector<runtime::LaunchRecord> kept = context.device()->records(count);
    size_t cores = 0;
    for (const runtime::LaunchRecord &launch : kept)
      cores = std::max(cores, launch.cores.size());
    std::vector<RankRecord> records;
    for (const runtime::LaunchRecord &launch : kept)
      records.push_back(readRecord(launch, context.rank(), cores));
    return records;
  }

  RankRecord lastLaunch() const {
    if (!context.device()->keepsRecords())
      return last.read(context.runtimeRank());
    std::vector<RankRecord> kept = keptByDevice(1);
    return kept.empty() ? RankRecord() : std::move(kept.front());
  }

  /// The last step of a graph whose tasks are launches.
  RankRecord stepOf(const task::Graph &graph) const {
    if (!context.device()->keepsRecords())
      return launches.join(graph);
    TaskLaunches kept;
    for (RankRecord &launch : keptByDevice(graph.nodes.size()))
      kept.add(std::move(launch), graph.nodes.size());
    return kept.join(graph);
  }

  RankRecord record() const {
    const TaskProgram *graph = lastGraph();
    if (graph && graph->mode() != Mode::megakernel)
      return stepOf(graph->graph());
    RankRecord record = lastLaunch();
    if (const task::Plan *plan = graph ? graph->lastPlan() : nullptr)
      nameTasks(record, graph->graph(), *plan);
    return record;
  }

  Context &context;
  Recorded last;
  std::vector<TaskProgram> graphs; ///< that were compiled
  TaskLaunches launches;           ///< of those that are several launches
  size_t mostLaunches = 0;         ///< of one of them
  int64_t keeping = 0;             ///< nanoseconds that keeping launches has taken
};

Profiler::Profiler(Context &context) : impl_(std::make_unique<Impl>(context)) {}
Profiler::~Profiler() = default;

Program Profiler::compile(const Kernel &kernel, const Schedule &schedule) {
  return impl_->context.compile(kernel, schedule, {.recorded = true});
}

TaskProgram Profiler::compile(const TaskGraph &graph, const TaskOptions &options) {
  TaskOptions recorded = options;
  recorded.recorded = true;
  if (options.mode != Mode::megakernel)
    impl_->mostLaunches = std::max(impl_->mostLaunches, graph.graph().nodes.size());
  return impl_->graphs.emplace_back(impl_->context.compile(graph, recorded));
}

Timeline Profiler::timeline() {
  impl_->context.sync();
  runtime::Rank &rank = impl_->context.runtimeRank();
  std::vector<std::string> all = gatherBytes(rank, pack(impl_->record()));
  std::vector<RankRecord> records;
  for (const std::string &bytes : all) {
    records.push_back(unpack(bytes));
    if (records.back().lanes.empty())
      throw RuntimeError(fmt::format("rank {} has recorded no launch", records.size() - 1));
  }
  if (records.empty())
    return {};
  Timeline timeline = merge(std::move(records));
  if (const TaskProgram *graph = impl_->lastGraph())
    timeline.tasks = namesOf(graph->graph());
  timeline.link();
  return timeline;
}

} // namespace ditron::profile
