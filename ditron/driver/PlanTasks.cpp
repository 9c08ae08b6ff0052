// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/driver/PlanTasks.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace ditron {

std::string textOf(const task::Node &node) { return fmt::format("task '{}'", node.name); }

namespace {

/// "'all-reduce.2.arrived'[0, 1]", taken apart.
struct SignalName {
  std::string_view array;
  int64_t first = 0; ///< index

  static std::optional<SignalName> parse(std::string_view text) {
    size_t end = text.find("'[");
    SignalName name;
    if (!text.starts_with('\'') || end == std::string_view::npos)
      return std::nullopt;
    name.array = text.substr(1, end - 1);
    const char *digits = text.data() + end + 2;
    bool isNumber =
        std::from_chars(digits, text.data() + text.size(), name.first).ec == std::errc();
    return isNumber ? std::optional(name) : std::nullopt;
  }
};

} // namespace

const PlanTasks::Queue *PlanTasks::queueOf(int64_t rank, int64_t core) const {
  std::lock_guard guard(lock_);
  auto found = plans_.find(rank);
  if (found == plans_.end()) {
    task::Machine machine = source_.machine;
    machine.rank = rank;
    found = plans_
                .emplace(rank, task::schedule(*source_.graph, *source_.footprints, source_.shapes,
                                              machine, source_.selfSignaling))
                .first;
  }
  const std::vector<Queue> &queues = found->second.queues;
  return core >= 0 && core < std::ssize(queues) ? &queues[size_t(core)] : nullptr;
}

std::string PlanTasks::textOf(const task::Task &task) const {
  const task::Node &node = source_.graph->nodes[task.node];
  std::string text = ditron::textOf(node);
  if (!(*source_.footprints)[node.type].isDealt())
    return text;
  int64_t last = task.end - 1;
  return text + (last == task.first ? fmt::format(" (tile {})", last)
                                    : fmt::format(" (tiles {} to {})", task.first, last));
}

std::string PlanTasks::at(int64_t rank, int64_t core, int64_t done) const {
  const Queue *queue = queueOf(rank, core);
  if (!queue || done < 0 || done >= std::ssize(*queue))
    return "";
  // A core counts some of its tasks together with those before them.
  auto first = queue->begin() + done;
  auto told = std::find_if(first, queue->end(),
                           [](const task::Task &one) { return one.tellsCore || one.tellsQuietly; });
  int64_t others = std::min<int64_t>(told - first, queue->end() - first - 1);
  return textOf(*first) + (others > 0 ? fmt::format(" or one of {} behind it", others) : "");
}

/// The node whose own signal this is: see task/NodeMemory.h.
std::optional<size_t> PlanTasks::nodeOf(std::string_view array, int64_t instance) const {
  const task::Graph &graph = *source_.graph;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    size_t type = graph.nodes[n].type;
    if (array.starts_with(task::memoryName(graph, type) + ".") && instance-- == 0)
      return n;
  }
  return std::nullopt;
}

/// "task 'up' (tile 3) of core 1"; of a node "task 'up' of all cores".
std::string PlanTasks::awaitedText(int64_t rank, const task::Wait &wait) const {
  if (wait.node)
    return *wait.node < source_.graph->nodes.size()
               ? ditron::textOf(source_.graph->nodes[*wait.node]) + " of all cores"
               : "";
  const Queue *queue = queueOf(rank, wait.core);
  if (!queue || wait.count < 1 || wait.count > std::ssize(*queue))
    return "";
  return fmt::format("{} of core {}", textOf((*queue)[size_t(wait.count) - 1]), wait.core);
}

runtime::TaskWait PlanTasks::ofWait(int64_t rank, int64_t core, std::string_view signal,
                                    int64_t expected) const {
  std::optional<SignalName> name = SignalName::parse(signal);
  const Queue *queue = queueOf(rank, core);
  if (!name || !queue)
    return {};
  if (name->array != counter()) {
    std::optional<size_t> node = nodeOf(name->array, name->first);
    auto own = std::find_if(queue->begin(), queue->end(),
                            [&](const task::Task &task) { return node == task.node; });
    return {own == queue->end() ? "" : textOf(*own), ""};
  }
  // A core waits for a count of another one, or of a node, once: see task/Plan.h.
  task::Wait wait{name->first, expected};
  if (int64_t node = name->first - source_.machine.cores; node >= 0)
    wait = {0, expected, size_t(node)};
  auto waiting = std::find_if(queue->begin(), queue->end(), [&](const task::Task &task) {
    return std::find(task.waits.begin(), task.waits.end(), wait) != task.waits.end();
  });
  return {waiting == queue->end() ? "" : textOf(*waiting), awaitedText(rank, wait)};
}

} // namespace ditron
