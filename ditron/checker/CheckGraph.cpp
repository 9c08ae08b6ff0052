// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/checker/CheckGraph.h"
#include "ditron/checker/CheckSubject.h"
#include "ditron/checker/TimeOfMutants.h"
#include "ditron/support/Error.h"
#include "ditron/task/Fuse.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ditron {

namespace {

using task::ValueKind;

/// Of each rank.
using Plans = std::vector<task::Plan>;
using RankTables = std::vector<task::Tables>;

/// The row of a table; 0 behind its end, which no queue leads to: a rank with fewer tasks or waits than
/// another one has as large a table.
double wordOf(const std::vector<int64_t> &table, int64_t element) {
  auto at = static_cast<size_t>(element);
  return at < table.size() ? double(table[at]) : 0;
}

/// A graph as a kernel with a schedule for each rank.
class GraphSubject {
public:
  GraphSubject(const TaskGraph &graph, const GraphCheckOptions &options)
      : graph_(task::requireTasks(graph.graph())), given_(sensible(options)),
        footprints_(graph_.types.begin(), graph_.types.end()), fused_(graph_, footprints_),
        shapes_(task::shapesOf(graph_, options.shape, options.ranks)) {
    for (int64_t rank = 0; rank < options.ranks; ++rank)
      plans_.push_back(
          task::schedule(graph_, footprints_, shapes_,
                         {.cores = options.cores, .rank = rank, .ranks = options.ranks}));
  }

  const Plans &plans() const { return plans_; }
  const task::Graph &graph() const { return graph_; }

  Verdict check(const Plans &plans) const { return check(plans, given_.time); }

  Verdict check(const Plans &plans, std::chrono::seconds time) const {
    RankTables tables = tablesOf(plans);
    CheckOptions options = optionsFor(tables);
    options.time = time;
    checker::Subject subject = checker::Subject::of(fused_.kernel(), options);
    for (size_t table : {0, 1, 2})
      subject.arguments[fused_.inputs().size() + table].isOfProgram = true;
    Verdict verdict = checker::checkSubject(subject, options).verdict;
    verdict.options.input = {}; // refers to the tables
    verdict.options.shape = given_.shape;
    return verdict;
  }

  std::vector<std::string> replay(const std::string &schedule) const {
    RankTables tables = tablesOf(plans_);
    return ditron::replay(fused_.kernel(), optionsFor(tables), schedule);
  }

private:
  RankTables tablesOf(const Plans &plans) const {
    RankTables tables;
    for (const task::Plan &plan : plans)
      tables.push_back(fused_.tablesOf(plan));
    return tables;
  }

  static const GraphCheckOptions &sensible(const GraphCheckOptions &given) {
    checker::requireSense(numbersOf(given));
    return given;
  }

  static CheckOptions numbersOf(const GraphCheckOptions &given) {
    CheckOptions options;
    options.ranks = given.ranks;
    options.cores = given.cores;
    options.launches = given.launches;
    options.schedules = given.schedules;
    options.seed = given.seed;
    options.time = given.time;
    return options;
  }

  CheckOptions optionsFor(const RankTables &tables) const {
    CheckOptions options = numbersOf(given_);
    options.shape = extents(tables);
    options.input = [this, &tables](int64_t rank, size_t argument, int64_t element) {
      return this->element(tables[static_cast<size_t>(rank)], argument, element);
    };
    return options;
  }

  /// Extents by the names that the fused kernel's signature has for them.
  Dimensions extents(const RankTables &tables) const {
    Dimensions result;
    for (size_t value = 0; value < shapes_.size(); ++value)
      for (size_t d = 0; d < shapes_[value].size(); ++d)
        result[fmt::format("v{}_{}", value, d)] = shapes_[value][d];
    for (const task::Tables &one : tables) {
      auto atLeast = [&](const char *name, int64_t extent) {
        result[name] = std::max(result[name], extent);
      };
      atLeast("Q", static_cast<int64_t>(one.queue.size()));
      atLeast("C", one.columns);
      atLeast("T", static_cast<int64_t>(one.tasks.size()) / one.columns);
      atLeast("W", static_cast<int64_t>(one.waits.size()) / 2);
    }
    return result;
  }

  double element(const task::Tables &tables, size_t argument, int64_t element) const {
    size_t inputs = fused_.inputs().size();
    if (argument == inputs)
      return wordOf(tables.queue, element);
    if (argument == inputs + 1)
      return wordOf(tables.tasks, element);
    if (argument == inputs + 2)
      return wordOf(tables.waits, element);
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
  Plans plans_;
};

/// Where a wait stands.
struct WaitPlace {
  size_t rank, core, task, wait;
};

std::vector<WaitPlace> waitsOf(const Plans &plans) {
  std::vector<WaitPlace> places;
  for (size_t rank = 0; rank < plans.size(); ++rank)
    for (size_t core = 0; core < plans[rank].queues.size(); ++core)
      for (size_t task = 0; task < plans[rank].queues[core].size(); ++task)
        for (size_t wait = 0; wait < plans[rank].queues[core][task].waits.size(); ++wait)
          places.push_back({rank, core, task, wait});
  return places;
}

std::string sourceOf(const task::Graph &graph, const task::Task &task, const WaitPlace &place,
                     size_t ranks) {
  return fmt::format("task {}{}, core {}", graph.describe(graph.nodes[task.node]),
                     ranks > 1 ? fmt::format(", rank {}", place.rank) : "", place.core);
}

/// What a mutant waits for.
std::string shortened(const task::Graph &graph, const task::Wait &wait) {
  std::string whose =
      wait.node ? graph.describe(graph.nodes[*wait.node]) : fmt::format("core {}", wait.core);
  return fmt::format("wait for {} tasks of {}, not {}", wait.count, whose, wait.count + 1);
}

} // namespace

Verdict check(const TaskGraph &graph, const GraphCheckOptions &options) {
  GraphSubject subject(graph, options);
  return subject.check(subject.plans());
}

std::vector<std::string> replay(const TaskGraph &graph, const GraphCheckOptions &options,
                                const std::string &schedule) {
  return GraphSubject(graph, options).replay(schedule);
}

std::vector<Mutant> mutate(const TaskGraph &graph, const GraphCheckOptions &options) {
  GraphSubject subject(graph, options);
  checker::TimeOfMutants time(graph.name(), options.time);
  if (Verdict verdict = subject.check(subject.plans()); !verdict.clean())
    throw CompileError(fmt::format("{} is not clean: {}", graph.name(), verdict.text()));
  std::vector<Mutant> mutants;
  for (const WaitPlace &place : waitsOf(subject.plans())) {
    Plans plans = subject.plans();
    task::Task &task = plans[place.rank].queues[place.core][place.task];
    task::Wait &changed = task.waits[place.wait];
    --changed.count;
    Verdict verdict = subject.check(plans, time.left(mutants.size()));
    mutants.push_back(
        {.kind = "shorten-edge",
         .source = sourceOf(subject.graph(), task, place, plans.size()),
         .what = shortened(subject.graph(), changed),
         .outcome = verdict.clean() ? Mutant::Outcome::missed : Mutant::Outcome::killed,
         .finding = verdict.clean() ? "" : std::string(name(verdict.findings.front().kind))});
  }
  return mutants;
}

} // namespace ditron
