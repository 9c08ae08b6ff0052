// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/task/Plan.h"
#include "ditron/abi/LaunchWords.h"
#include "ditron/abi/Symmetric.h"
#include <algorithm>
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

namespace {

/// For each core, how many of its tasks are known to be done.
using Clock = std::vector<int64_t>;

void merge(Clock &clock, const Clock &other) {
  for (size_t core = 0; core < clock.size(); ++core)
    clock[core] = std::max(clock[core], other[core]);
}

/// The tiles of a node.
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
            const Machine &machine)
      : graph_(graph), footprints_(footprints), shapes_(shapes), machine_(machine),
        histories_(graph.values.size(), History(machine.cores)),
        clocks_(static_cast<size_t>(machine.cores)), loads_(static_cast<size_t>(machine.cores)) {
    plan_.queues.resize(static_cast<size_t>(machine.cores));
  }

  Plan run() {
    for (size_t node = 0; node < graph_.nodes.size(); ++node)
      add(node);
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
    const Node &node = graph_.nodes[number];
    const Footprint &footprint = footprints_[node.type];
    Footprint::Tiles tiles = tilesOf(node, footprint, shapes_, machine_);
    int64_t count = tiles.count();
    int64_t parts = footprint.isDealt() ? std::min(count, machine_.cores) : machine_.cores;
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

  /// All of them in order where there is work for all; otherwise those with the least work.
  std::vector<size_t> coresFor(int64_t parts) const {
    std::vector<size_t> cores(loads_.size());
    std::iota(cores.begin(), cores.end(), 0);
    if (parts < machine_.cores) {
      std::stable_sort(cores.begin(), cores.end(),
                       [&](size_t a, size_t b) { return loads_[a] < loads_[b]; });
      cores.resize(static_cast<size_t>(parts));
      std::sort(cores.begin(), cores.end());
    }
    return cores;
  }

  void append(Task task, const Node &node, const Footprint::Tiles &tiles, size_t core,
              std::vector<Touched> &touched) {
    std::vector<Task> &queue = plan_.queues[core];
    auto count = static_cast<int64_t>(queue.size()) + 1;
    Clock needs(plan_.queues.size(), 0);
    const std::vector<TileBox> &accesses = footprints_[node.type].accesses();
    for (size_t n = 0; n < accesses.size(); ++n) {
      const auto *value = std::get_if<size_t>(&node.operands[accesses[n].argument]);
      if (!value)
        continue;
      Boxes boxes = tiles.boxes(n, task.first, task.end);
      histories_[*value].require(boxes, accesses[n].writes, needs);
      loads_[core] += bytesOf(boxes, graph_.values[*value].type);
      touched.push_back({*value, core, count, std::move(boxes), accesses[n].writes});
    }
    task.waits = reduce(needs, core);
    queue.push_back(std::move(task));
  }

  static double bytesOf(const Boxes &boxes, DType type) {
    double elements = 0;
    for (const Box &box : boxes.all()) {
      double each = 1;
      for (size_t d = 0; d < box.first.size(); ++d)
        each *= double(box.end[d] - box.first[d]);
      elements += each;
    }
    return elements * double(byteSize(type));
  }

  /// The waits that do not follow from one another, nor from what the core has waited for.
  std::vector<Wait> reduce(const Clock &needs, size_t core) {
    std::vector<Clock> &mine = clocks_[core];
    Clock clock = mine.empty() ? Clock(needs.size(), 0) : mine.back();
    clock[core] = static_cast<int64_t>(mine.size());
    std::vector<Wait> waits;
    for (size_t other = 0; other < needs.size(); ++other)
      if (needs[other] > clock[other])
        waits.push_back({static_cast<int64_t>(other), needs[other]});
    auto follows = [&](const Wait &wait) {
      return std::any_of(waits.begin(), waits.end(), [&](const Wait &other) {
        return other.core != wait.core &&
               clockAt(other)[static_cast<size_t>(wait.core)] >= wait.count;
      });
    };
    std::vector<Wait> kept;
    std::copy_if(waits.begin(), waits.end(), std::back_inserter(kept),
                 [&](const Wait &wait) { return !follows(wait); });
    for (const Wait &wait : kept) {
      merge(clock, clockAt(wait));
      clock[static_cast<size_t>(wait.core)] =
          std::max(clock[static_cast<size_t>(wait.core)], wait.count);
    }
    mine.push_back(std::move(clock));
    return kept;
  }

  /// What is known to be done when a core's count has come there.
  const Clock &clockAt(const Wait &wait) const {
    return clocks_[static_cast<size_t>(wait.core)][static_cast<size_t>(wait.count) - 1];
  }

  const Graph &graph_;
  const std::vector<Footprint> &footprints_;
  const Shapes &shapes_;
  Machine machine_;
  Plan plan_;
  std::vector<History> histories_;         ///< of the values
  std::vector<std::vector<Clock>> clocks_; ///< of each core, before each of its tasks
  std::vector<double> loads_;              ///< bytes that each core touches
};

} // namespace

Plan schedule(const Graph &graph, const std::vector<Footprint> &footprints, const Shapes &shapes,
              const Machine &machine) {
  return Scheduler(graph, footprints, shapes, machine).run();
}

} // namespace ditron::task
