// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/profile/Profiler.h"
#include "ditron/profile/RankRecord.h"
#include "ditron/profile/TaskRecord.h"
#include "ditron/runtime/Launch.h"
#include "ditron/runtime/Recording.h"
#include "ditron/support/Error.h"
#include <fmt/format.h>
#include <optional>

namespace ditron::profile {

struct Profiler::Impl final : runtime::LaunchObserver {
  explicit Impl(Context &context) : context(context), last(context.runtimeRank()) {
    if (context.backend() != "cpu")
      throw UnavailableError(fmt::format("launches on backend '{}' are not recorded: expected "
                                         "backend 'cpu'",
                                         context.backend()));
    context.runtimeRank().observe(this);
  }
  ~Impl() override { context.runtimeRank().observe(nullptr); }

  void launched(runtime::Rank &rank, const runtime::KernelCode &code,
                const runtime::Workspace *workspace, const LaunchStats &) override {
    last.take(rank, code.name, workspace);
    if (tasks && tasks->mode() == Mode::stream)
      launches.add(last.read(rank), tasks->graph());
  }

  RankRecord record() {
    RankRecord record = last.read(context.runtimeRank());
    if (!tasks)
      return record;
    if (tasks->mode() == Mode::stream)
      return launches.join(tasks->graph());
    if (const task::Plan *plan = tasks->lastPlan())
      nameTasks(record, tasks->graph(), *plan);
    return record;
  }

  Context &context;
  Recorded last;
  std::optional<TaskProgram> tasks; ///< what is recorded, where that is a graph
  TaskLaunches launches;
};

Profiler::Profiler(Context &context) : impl_(std::make_unique<Impl>(context)) {}
Profiler::~Profiler() = default;

Program Profiler::compile(const Kernel &kernel, const Schedule &schedule) {
  return impl_->context.compile(kernel, schedule, {.recorded = true});
}

TaskProgram Profiler::compile(const TaskGraph &graph, const TaskOptions &options) {
  if (options.mode == Mode::graph)
    throw CompileError(graph.name() + ": launches of Mode::graph are not recorded, expected "
                                      "Mode::megakernel or Mode::stream");
  TaskOptions recorded = options;
  recorded.recorded = true;
  impl_->tasks = impl_->context.compile(graph, recorded);
  return *impl_->tasks;
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
  if (impl_->tasks)
    timeline.tasks = namesOf(impl_->tasks->graph());
  timeline.link();
  return timeline;
}

} // namespace ditron::profile
