// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/checker/CheckGraph.h"
#include "ditron/support/Error.h"
#include "ditron/task/Fuse.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ditron {

namespace {

using task::ValueKind;

/// A graph as a kernel with a schedule.
class GraphSubject {
public:
  GraphSubject(const TaskGraph &graph, const GraphCheckOptions &options)
      : graph_(task::requireTasks(graph.graph())), given_(options),
        footprints_(graph_.types.begin(), graph_.types.end()), fused_(graph_, footprints_),
        shapes_(task::shapesOf(graph_, options.shape, options.ranks)),
        plan_(task::schedule(graph_, footprints_, shapes_,
                             {.cores = options.cores, .ranks = options.ranks})) {}

  const task::Plan &plan() const { return plan_; }
  const task::Graph &graph() const { return graph_; }

  Verdict check(const task::Plan &plan) const {
    task::Tables tables = fused_.tablesOf(plan);
    Verdict verdict = ditron::check(fused_.kernel(), optionsFor(tables));
    verdict.options.input = {}; // refers to the tables
    verdict.options.shape = given_.shape;
    return verdict;
  }

  std::vector<std::string> replay(const std::string &schedule) const {
    task::Tables tables = fused_.tablesOf(plan_);
    return ditron::replay(fused_.kernel(), optionsFor(tables), schedule);
  }

private:
  CheckOptions optionsFor(const task::Tables &tables) const {
    CheckOptions options;
    options.ranks = given_.ranks;
    options.cores = given_.cores;
    options.launches = given_.launches;
    options.schedules = given_.schedules;
    options.seed = given_.seed;
    options.time = given_.time;
    options.shape = extents(tables);
    options.input = [this, &tables](int64_t, size_t argument, int64_t element) {
      return this->element(tables, argument, element);
    };
    return options;
  }

  /// Extents by the names that the fused kernel's signature has for them.
  Dimensions extents(const task::Tables &tables) const {
    Dimensions result;
    for (size_t value = 0; value < shapes_.size(); ++value)
      for (size_t d = 0; d < shapes_[value].size(); ++d)
        result[fmt::format("v{}_{}", value, d)] = shapes_[value][d];
    result["Q"] = static_cast<int64_t>(tables.queue.size());
    result["C"] = tables.columns;
    result["T"] = static_cast<int64_t>(tables.tasks.size()) / tables.columns;
    result["W"] = static_cast<int64_t>(tables.waits.size()) / 2;
    return result;
  }

  double element(const task::Tables &tables, size_t argument, int64_t element) const {
    size_t inputs = fused_.inputs().size();
    auto at = static_cast<size_t>(element);
    if (argument == inputs)
      return double(tables.queue[at]);
    if (argument == inputs + 1)
      return double(tables.tasks[at]);
    if (argument == inputs + 2)
      return double(tables.waits[at]);
    size_t number =
        argument < inputs ? fused_.inputs()[argument] : fused_.outputs()[argument - inputs - 3];
    return valueOf(graph_.values[number], element);
  }

  double valueOf(const task::Value &value, int64_t element) const {
    if (value.kind == ValueKind::input && given_.input)
      return given_.input(value.name, element);
    if (value.kind != ValueKind::constant || value.isUnfilled() || !value.tensor.isHostAccessible())
      return standardOf(value, element);
    std::vector<int64_t> index(value.tensor.shape().size());
    for (size_t d = index.size(); d-- > 0; element /= value.tensor.shape()[d])
      index[d] = element % value.tensor.shape()[d];
    return value.tensor.at(index);
  }

  /// Small numbers; integers count: where they say which row of something a task has, no two are alike.
  static double standardOf(const task::Value &value, int64_t element) {
    constexpr int64_t kMostOfByte = 100;
    if (isFloat(value.type))
      return double((element * 7 + 3) % 5);
    return double(byteSize(value.type) == 1 ? element % kMostOfByte : element);
  }

  const task::Graph &graph_;
  const GraphCheckOptions &given_;
  std::vector<task::Footprint> footprints_;
  task::FusedKernel fused_;
  task::Shapes shapes_;
  task::Plan plan_;
};

/// What a mutant waits for.
std::string shortened(const task::Graph &graph, const task::Wait &wait) {
  std::string whose =
      wait.node ? graph.describe(graph.nodes[*wait.node]) : fmt::format("core {}", wait.core);
  return fmt::format("wait for {} tasks of {}, not {}", wait.count, whose, wait.count + 1);
}

} // namespace

Verdict check(const TaskGraph &graph, const GraphCheckOptions &options) {
  GraphSubject subject(graph, options);
  return subject.check(subject.plan());
}

std::vector<std::string> replay(const TaskGraph &graph, const GraphCheckOptions &options,
                                const std::string &schedule) {
  return GraphSubject(graph, options).replay(schedule);
}

std::vector<Mutant> mutate(const TaskGraph &graph, const GraphCheckOptions &options) {
  GraphSubject subject(graph, options);
  if (Verdict verdict = subject.check(subject.plan()); !verdict.clean())
    throw CompileError(fmt::format("{} is not clean: {}", graph.name(), verdict.text()));
  std::vector<Mutant> mutants;
  for (size_t core = 0; core < subject.plan().queues.size(); ++core)
    for (size_t number = 0; number < subject.plan().queues[core].size(); ++number)
      for (size_t wait = 0; wait < subject.plan().queues[core][number].waits.size(); ++wait) {
        task::Plan plan = subject.plan();
        task::Wait &changed = plan.queues[core][number].waits[wait];
        --changed.count;
        const task::Node &node = subject.graph().nodes[plan.queues[core][number].node];
        Verdict verdict = subject.check(plan);
        mutants.push_back(
            {.kind = "shorten-edge",
             .source = fmt::format("task {}, core {}", subject.graph().describe(node), core),
             .what = shortened(subject.graph(), changed),
             .outcome = verdict.clean() ? Mutant::Outcome::missed : Mutant::Outcome::killed,
             .finding = verdict.clean() ? "" : std::string(name(verdict.findings.front().kind))});
      }
  return mutants;
}

} // namespace ditron
