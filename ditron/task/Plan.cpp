// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/task/Plan.h"
#include "ditron/abi/LaunchWords.h"
#include "ditron/abi/Symmetric.h"
#include "ditron/support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <numeric>

namespace ditron::task {

size_t Plan::tasks() const {
  return std::accumulate(queues.begin(), queues.end(), size_t(0),
                         [](size_t sum, const auto &queue) { return sum + queue.size(); });
}

size_t Plan::waits() const {
  size_t sum = 0;
  for (const std::vector<Task> &queue : queues)
    for (const Task &task : queue)
      sum += task.waits.size();
  return sum;
}

size_t Plan::awaitedNode(const Wait &wait) const {
  if (wait.node)
    return *wait.node;
  return queues[static_cast<size_t>(wait.core)][static_cast<size_t>(wait.count) - 1].node;
}

Footprint::Tiles tilesOf(const Node &node, const Footprint &footprint, const Shapes &shapes,
                         const Machine &machine) {
  std::vector<int64_t> words;
  std::vector<std::vector<int64_t>> given;
  for (const Operand &operand : node.operands) {
    given.emplace_back();
    if (const auto *value = std::get_if<size_t>(&operand)) {
      given.back() = shapes[*value];
      abi::addView(words, 0, shapes[*value], abi::denseStrides(shapes[*value]));
    } else {
      const auto *integer = std::get_if<int64_t>(&operand);
      words.push_back(integer ? *integer : 0);
    }
  }
  return {footprint, std::move(words), std::move(given), machine.rank, machine.ranks};
}

int64_t tasksOf(int64_t tiles, const Machine &machine) {
  auto ceilDiv = [](int64_t x, int64_t y) { return (x + y - 1) / y; };
  return tiles == 0 ? 0 : ceilDiv(tiles, ceilDiv(tiles, machine.cores));
}

namespace {

/// More waits for tasks of one node become one for the node.
constexpr size_t kMany = 4;

/// Numbers of tiles have 32 bits in a kernel's tables.
constexpr int64_t kMostTiles = std::numeric_limits<int32_t>::max();

/// For each core, how many of its tasks are known to be done.
using Clock = std::vector<int64_t>;

void merge(Clock &clock, const Clock &other) {
  for (size_t core = 0; core < clock.size(); ++core)
    clock[core] = std::max(clock[core], other[core]);
}

/// What tasks have done to one value, for each core in the order of its queue.
class History {
public:
  explicit History(int64_t cores) : byCore_(static_cast<size_t>(cores)) {}

  /// Raises `needs` to the last task of each core that conflicts with an access to `box`.
  void require(const Boxes &boxes, bool writes, Clock &needs) const {
    for (size_t core = 0; core < byCore_.size(); ++core)
      for (size_t n = byCore_[core].size(); n-- > 0;) {
        const Entry &entry = byCore_[core][n];
        if (entry.count <= needs[core])
          break;
        if ((writes || entry.writes) && entry.boxes.overlaps(boxes)) {
          needs[core] = entry.count;
          break;
        }
      }
  }
  void add(size_t core, int64_t count, const Boxes &boxes, bool writes) {
    byCore_[core].push_back({count, boxes, writes});
  }

private:
  struct Entry {
    int64_t count; ///< of the core once the task is done
    Boxes boxes;
    bool writes;
  };
  std::vector<std::vector<Entry>> byCore_;
};

class Scheduler {
public:
  Scheduler(const Graph &graph, const std::vector<Footprint> &footprints, const Shapes &shapes,
            const Machine &machine, const std::vector<bool> &selfSignaling)
      : graph_(graph), footprints_(footprints), shapes_(shapes), machine_(machine),
        selfSignaling_(selfSignaling), histories_(graph.values.size(), History(machine.cores)),
        clocks_(static_cast<size_t>(machine.cores)), tasksOf_(graph.nodes.size()),
        nodeClocks_(graph.nodes.size()), ends_(static_cast<size_t>(machine.cores)) {
    plan_.queues.resize(static_cast<size_t>(machine.cores));
  }

  Plan run() {
    for (size_t node = 0; node < graph_.nodes.size(); ++node)
      add(node);
    for (const std::vector<Task> &queue : plan_.queues)
      for (const Task &task : queue)
        llvm::for_each(task.waits, [this](const Wait &wait) { tell(wait); });
    for (std::vector<Task> &queue : plan_.queues)
      for (Task &task : queue) // each counts somewhere
        if (!task.tellsNode && !task.tellsCore)
          (isSelfSignaling(graph_.nodes[task.node]) ? task.tellsQuietly : task.tellsCore) = true;
    return std::move(plan_);
  }

private:
  /// An access of a task, until it counts for others.
  struct Touched {
    size_t value, core;
    int64_t count;
    Boxes boxes;
    bool writes;
  };

  void add(size_t number) {
    try {
      addTasks(number);
    } catch (const CompileError &error) {
      graph_.fail(graph_.nodes[number], error.what());
    }
  }

  void addTasks(size_t number) {
    const Node &node = graph_.nodes[number];
    const Footprint &footprint = footprints_[node.type];
    Footprint::Tiles tiles = tilesOf(node, footprint, shapes_, machine_);
    int64_t count = tiles.count();
    if (count > kMostTiles)
      throw CompileError(fmt::format("it has {} tiles, expected less than 2^31", count));
    // As few tasks as end at the same time as one on each core would: the other cores are free for what
    // comes next, and what is read before a task waits is read by then. Without tiles one checks what
    // the kernel requires.
    int64_t parts =
        footprint.isDealt() ? std::max<int64_t>(task::tasksOf(count, machine_), 1) : machine_.cores;
    std::vector<size_t> cores = coresFor(parts);
    // Tasks of a node do not depend on one another.
    std::vector<Touched> touched;
    for (int64_t part = 0; part < parts; ++part) {
      Task task{.node = number};
      if (footprint.isDealt()) {
        task.first = count * part / parts;
        task.end = count * (part + 1) / parts;
      }
      append(std::move(task), node, tiles, cores[static_cast<size_t>(part)], touched);
    }
    for (Touched &access : touched)
      histories_[access.value].add(access.core, access.count, access.boxes, access.writes);
  }

  /// All of them in order where there is work for all; otherwise those that are free first.
  std::vector<size_t> coresFor(int64_t parts) const {
    std::vector<size_t> cores(ends_.size());
    std::iota(cores.begin(), cores.end(), 0);
    if (parts < machine_.cores) {
      std::stable_sort(cores.begin(), cores.end(),
                       [&](size_t a, size_t b) { return freeAt(a) < freeAt(b); });
      cores.resize(static_cast<size_t>(parts));
      std::sort(cores.begin(), cores.end());
    }
    return cores;
  }

  void append(Task task, const Node &node, const Footprint::Tiles &tiles, size_t core,
              std::vector<Touched> &touched) {
    std::vector<Task> &queue = plan_.queues[core];
    auto count = static_cast<int64_t>(queue.size()) + 1;
    Clock needs(plan_.queues.size(), 0), others = needs; // others: without a wait
    double bytes = kBytesOfTask;
    const std::vector<TileBox> &accesses = footprints_[node.type].accesses();
    for (size_t n = 0; n < accesses.size(); ++n) {
      const auto *value = std::get_if<size_t>(&node.operands[accesses[n].argument]);
      if (!value)
        continue;
      Boxes boxes = tiles.boxes(n, task.first, task.end);
      histories_[*value].require(boxes, accesses[n].writes,
                                 isSelfSignaling(*value) ? others : needs);
      bytes += bytesOf(boxes, graph_.values[*value].type);
      touched.push_back({*value, core, count, std::move(boxes), accesses[n].writes});
    }
    ends_[core].push_back(std::max({freeAt(core), readyAt(needs), readyAt(others)}) + bytes);
    task.waits = reduce(needs, core);
    tasksOf_[task.node].push_back({static_cast<int64_t>(core), count});
    queue.push_back(std::move(task));
  }

  bool isSelfSignaling(size_t value) const {
    return !selfSignaling_.empty() && selfSignaling_[value];
  }
  /// Whether all that a node writes is.
  bool isSelfSignaling(const Node &node) const {
    return llvm::all_of(footprints_[node.type].accesses(), [&](const TileBox &access) {
      const auto *value = std::get_if<size_t>(&node.operands[access.argument]);
      return !access.writes || (value && isSelfSignaling(*value));
    });
  }

  /// When a core has done what it has to do so far: time is counted in bytes.
  double freeAt(size_t core) const { return ends_[core].empty() ? 0 : ends_[core].back(); }
  /// When these tasks are done.
  double readyAt(const Clock &needs) const {
    double ready = 0;
    for (size_t core = 0; core < needs.size(); ++core)
      if (needs[core] > 0)
        ready = std::max(ready, ends_[core][static_cast<size_t>(needs[core]) - 1]);
    return ready;
  }

  static double bytesOf(const Boxes &boxes, DType type) {
    double elements = 0;
    for (const Box &box : boxes.all())
      elements += double(box.elements());
    return elements * double(byteSize(type));
  }

  /// The waits that do not follow from one another, nor from what the core has waited for.
  std::vector<Wait> reduce(const Clock &needs, size_t core) {
    std::vector<Clock> &mine = clocks_[core];
    Clock clock = mine.empty() ? Clock(needs.size(), 0) : mine.back();
    clock[core] = static_cast<int64_t>(mine.size());
    std::vector<Wait> kept = waitForNodes(needs, clock);
    std::vector<Wait> waits = openWaits(needs, clock);
    auto follows = [&](const Wait &wait) {
      return std::any_of(waits.begin(), waits.end(), [&](const Wait &other) {
        return other.core != wait.core &&
               clockAt(other)[static_cast<size_t>(wait.core)] >= wait.count;
      });
    };
    std::copy_if(waits.begin(), waits.end(), std::back_inserter(kept),
                 [&](const Wait &wait) { return !follows(wait); });
    for (const Wait &wait : kept)
      if (!wait.node)
        learn(clock, wait);
    mine.push_back(std::move(clock));
    return kept;
  }

  /// Those for tasks that are not known to be done.
  static std::vector<Wait> openWaits(const Clock &needs, const Clock &clock) {
    std::vector<Wait> waits;
    for (size_t core = 0; core < needs.size(); ++core)
      if (needs[core] > clock[core])
        waits.push_back({static_cast<int64_t>(core), needs[core]});
    return waits;
  }

  /// Whether so many waits for a node's tasks become one: there are many, or the node has few others.
  bool isForNode(size_t node, size_t count) const {
    return count > kMany || (count > 1 && 2 * count > tasksOf_[node].size());
  }

  /// Waits for nodes of which many tasks are needed, the last ones first: they may follow the others.
  std::vector<Wait> waitForNodes(const Clock &needs, Clock &clock) {
    std::map<size_t, size_t, std::greater<>> counts;
    for (const Wait &wait : openWaits(needs, clock))
      ++counts[plan_.awaitedNode(wait)];
    std::vector<Wait> waits;
    for (auto [node, count] : counts)
      if (isForNode(node, count) && isOpen(node, needs, clock)) {
        waits.push_back({0, static_cast<int64_t>(tasksOf_[node].size()), node});
        merge(clock, clockOf(node));
      }
    return waits;
  }

  /// Whether a task of the node is needed that is not known to be done.
  bool isOpen(size_t node, const Clock &needs, const Clock &clock) const {
    return llvm::any_of(tasksOf_[node], [&](const Wait &task) {
      auto core = static_cast<size_t>(task.core);
      return needs[core] == task.count && clock[core] < task.count;
    });
  }

  void learn(Clock &clock, const Wait &wait) const {
    merge(clock, clockAt(wait));
    int64_t &own = clock[static_cast<size_t>(wait.core)];
    own = std::max(own, wait.count);
  }

  /// What is known to be done when a core's count has come there.
  const Clock &clockAt(const Wait &wait) const {
    return clocks_[static_cast<size_t>(wait.core)][static_cast<size_t>(wait.count) - 1];
  }

  /// What is known to be done when all tasks of a node are.
  const Clock &clockOf(size_t node) {
    Clock &clock = nodeClocks_[node];
    if (clock.empty()) {
      clock.resize(plan_.queues.size());
      for (const Wait &task : tasksOf_[node])
        learn(clock, task);
    }
    return clock;
  }

  /// Somebody waits for these tasks.
  void tell(const Wait &wait) {
    auto taskAt = [&](const Wait &at) -> Task & {
      return plan_.queues[static_cast<size_t>(at.core)][static_cast<size_t>(at.count) - 1];
    };
    if (!wait.node)
      taskAt(wait).tellsCore = true;
    else if (const Wait &first = tasksOf_[*wait.node].front(); !taskAt(first).tellsNode)
      for (const Wait &task : tasksOf_[*wait.node])
        taskAt(task).tellsNode = true;
  }

  const Graph &graph_;
  const std::vector<Footprint> &footprints_;
  const Shapes &shapes_;
  Machine machine_;
  const std::vector<bool> &selfSignaling_; ///< of the values
  Plan plan_;
  std::vector<History> histories_;         ///< of the values
  std::vector<std::vector<Clock>> clocks_; ///< of each core, before each of its tasks
  std::vector<std::vector<Wait>> tasksOf_; ///< of each node: its tasks, as waits for them
  std::vector<Clock> nodeClocks_;          ///< of each node, once it was asked for
  /// A task that reads little takes as long as some bytes do: it waits, and others wait for it.
  static constexpr double kBytesOfTask = 128 * 1024;
  std::vector<std::vector<double>> ends_; ///< of each core: when each of its tasks is done
};

} // namespace

Plan schedule(const Graph &graph, const std::vector<Footprint> &footprints, const Shapes &shapes,
              const Machine &machine, const std::vector<bool> &selfSignaling) {
  return Scheduler(graph, footprints, shapes, machine, selfSignaling).run();
}

} // namespace ditron::task
