// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/Watchdog.h"
#include "ditron/runtime/WaitReport.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <set>
#include <span>
#include <sys/types.h>
#include <unistd.h>

namespace ditron::runtime {

namespace {

template <size_t N> void copyEnd(char (&to)[N], std::string_view from) {
  size_t length = std::min(from.size(), N - 1);
  std::memcpy(to, from.data() + (from.size() - length), length); // of a path the end says most
  to[length] = 0;
}

} // namespace

//===-- What a rank says ----------------------------------------------------------------------===//

uint32_t Watch::place(std::string_view role, std::string_view site) noexcept try {
  std::string key(role);
  key.push_back('\0');
  key += site;
  std::lock_guard guard(lock_);
  if (auto found = known_.find(key); found != known_.end())
    return found->second;
  RankRecord &table = record();
  uint32_t number = table.places.load(std::memory_order_relaxed) + 1;
  if (number > RankRecord::kMostPlaces)
    return 0;
  known_.emplace(std::move(key), number);
  copyEnd(table.texts[number].role, role);
  copyEnd(table.texts[number].site, site);
  table.places.store(number, std::memory_order_release);
  return number;
} catch (const std::exception &) { // no memory: the report knows one place less
  return 0;
}

void Watch::begin(std::string_view kernel, std::shared_ptr<const LaunchTasks> tasks) noexcept {
  uint32_t number = place(kernel, "");
  std::lock_guard guard(lock_);
  if (tasks || tasks_)
    record().task.set(tasks ? tasks->only() : "");
  tasks_ = std::move(tasks);
  record().kernel.store(number, std::memory_order_release);
}

std::shared_ptr<const LaunchTasks> Watch::tasks() const {
  std::lock_guard guard(lock_);
  return tasks_;
}

//===-- What it comes to ----------------------------------------------------------------------===//

namespace {

/// A core's record, read at once.
struct CoreView {
  uint32_t state, place;
  uint64_t words[4];

  explicit CoreView(const CoreRecord &record) {
    uint32_t before;
    for (int attempt = 0; attempt < 1000; ++attempt) { // a core may die half way
      before = record.version.load(std::memory_order_acquire);
      state = record.state.load(std::memory_order_acquire);
      place = record.place.load(std::memory_order_relaxed);
      for (size_t i = 0; i < 4; ++i)
        words[i] = record.words[i].load(std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_acquire);
      if (before % 2 == 0 && record.version.load(std::memory_order_relaxed) == before)
        return;
    }
  }
};

/// "rank 1 is missing", "ranks 1, 3 are missing".
std::string absence(const std::vector<int> &ranks) {
  if (ranks.empty())
    return "";
  return describeRanks(ranks) + (ranks.size() > 1 ? " are missing" : " is missing");
}

/// Whether somebody has stopped a process (SIGSTOP, a debugger).
bool isStopped(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string line;
  std::getline(file, line);
  size_t name = line.rfind(") "); // of the program, in which anything may stand
  return name != std::string::npos && (line[name + 2] == 'T' || line[name + 2] == 't');
}

class Reporter {
public:
  Reporter(const Control &control, const LaunchTasks *tasks) : control_(control), tasks_(tasks) {
    for (int rank = 0; rank < control.ranks(); ++rank)
      for (int core = 0; core <= control.cores(); ++core)
        views_.emplace_back(control.coreRecord(rank, core));
  }

  std::string report(std::chrono::milliseconds bound) {
    std::string common = commonKernel();
    std::vector<CoreLine> lines;
    for (int rank = 0; rank < control_.ranks(); ++rank)
      addLines(rank, common.empty(), lines);
    std::string headline =
        fmt::format("{}a wait outlived its bound of {} ms",
                    common.empty() ? "" : fmt::format("kernel '{}': ", common), bound.count());
    return formatReport(headline, lines);
  }

private:
  const CoreView &view(int rank, int64_t core) const {
    return views_[size_t(rank) * size_t(control_.cores() + 1) + size_t(core)];
  }

  std::string kernelOf(int rank) const {
    uint32_t place = control_.rankRecord(rank).kernel.load(std::memory_order_acquire);
    return place ? std::string(placeOf(rank, -1, place).role) : "";
  }

  /// The kernel of all ranks that run one; empty where they differ.
  std::string commonKernel() const {
    std::set<std::string> names;
    for (int rank = 0; rank < control_.ranks(); ++rank)
      if (std::string name = kernelOf(rank); !name.empty())
        names.insert(name);
    return names.size() == 1 ? *names.begin() : "";
  }

  CorePlace placeOf(int rank, int64_t core, uint64_t number) const {
    const RankRecord &table = control_.rankRecord(rank);
    if (number == 0 || number > table.places.load(std::memory_order_acquire))
      return {rank, core, "", ""};
    return {rank, core, table.texts[number].role, table.texts[number].site};
  }

  /// What is to be said about a rank beside what its cores do.
  std::string noteOn(int rank, bool namesKernel) const {
    std::string note;
    if (std::string kernel = kernelOf(rank); namesKernel && !kernel.empty())
      note = fmt::format(" (kernel '{}')", kernel);
    auto process = pid_t(control_.slot(rank).process.load(std::memory_order_relaxed));
    if (process != getpid() && isStopped(process))
      note += fmt::format("; its process {} is stopped", process);
    return note;
  }

  void addLines(int rank, bool namesKernel, std::vector<CoreLine> &lines) const {
    size_t first = lines.size();
    addStates(rank, lines);
    std::string note = noteOn(rank, namesKernel);
    for (CoreLine &line : std::span(lines).subspan(first))
      line.state += note;
  }

  void addStates(int rank, std::vector<CoreLine> &lines) const {
    const CoreView &first = view(rank, 0);
    std::string kernel = kernelOf(rank);
    if (first.state == CoreRecord::meeting || first.state == CoreRecord::launch) {
      lines.push_back({{rank, -1, "", ""}, describeRankWait(rank, first)});
    } else if (kernel.empty()) {
      bool left = control_.slot(rank).left.load(std::memory_order_acquire) != 0;
      lines.push_back({{rank, -1, "", ""}, left ? "has left the run" : "runs no kernel"});
    } else {
      for (int core = 0; core < control_.cores(); ++core)
        lines.push_back(coreLine(rank, core));
      if (view(rank, control_.cores()).state == CoreRecord::signal)
        lines.push_back(coreLine(rank, control_.cores()));
    }
  }

  CoreLine coreLine(int rank, int core) const {
    const CoreView &core_ = view(rank, core);
    CorePlace place = placeOf(rank, core, core_.place);
    if (core_.state != CoreRecord::done)
      place.task = taskOf(rank, core);
    switch (core_.state) {
    case CoreRecord::signal:
      return {place, describe(signalWait(rank, core_))};
    case CoreRecord::barrier:
      return {place, describe(barrierWait(rank, core_))};
    case CoreRecord::done:
      return {{rank, core, "", ""}, "has finished"};
    default:
      return {{rank, core, place.role, "", place.task},
              place.site.empty() ? "computes" : fmt::format("computes, after {}", place.site)};
    }
  }

  /// The signals of the launch in which a core waits.
  struct Signals {
    const WorkspaceDirectory &directory;
    std::byte *memory;
    uint64_t page;

    uint64_t word(uint64_t at) const {
      return reinterpret_cast<std::atomic<uint64_t> *>(memory + directory.signalStart + at)
          ->load(std::memory_order_acquire);
    }
    uint64_t counter(uint64_t number) const { return word(page + 8 * number); }
  };

  Signals signalsOf(int rank, const CoreView &core) const {
    std::byte *memory = control_.heap(rank) + core.words[0];
    const auto &directory = *reinterpret_cast<const WorkspaceDirectory *>(memory);
    return {directory, memory, core.words[1] / directory.pageBytes * directory.pageBytes};
  }

  /// The task that a core executes: what its rank says, or as many as it has done behind the first.
  std::string taskOf(int rank, int core) const {
    if (std::string only = control_.rankRecord(rank).task.get(); !only.empty())
      return only;
    if (!tasks_ || tasks_->counter().empty() || commonKernel().empty())
      return "";
    if (const CoreView &own = view(rank, core); own.state == CoreRecord::signal)
      if (std::string task = waitOf(rank, own).task; !task.empty())
        return task;
    for (int other = 0; other < control_.cores(); ++other) {
      if (view(rank, other).state != CoreRecord::signal)
        continue;
      Signals signals = signalsOf(rank, view(rank, other));
      for (size_t n = 0; n < signals.directory.arrays; ++n)
        if (const auto &array = signals.directory.array[n];
            array.name == tasks_->counter() && uint64_t(core) < array.count)
          return tasks_->at(rank, core, int64_t(signals.counter(array.first + uint64_t(core))));
    }
    return "";
  }

  /// "signal 'ready'[1]", or the task whose end the signal says.
  std::string awaited(int rank, const CoreView &core, const std::string &signal) const {
    std::string on = tasks_ && !commonKernel().empty() ? waitOf(rank, core).on : "";
    return fmt::format("{}signal {}", on.empty() ? "" : on + ": ", signal);
  }

  /// The wait of a core for a signal.
  TaskWait waitOf(int rank, const CoreView &core) const {
    Signals signals = signalsOf(rank, core);
    uint64_t counter = core.words[1] % signals.directory.pageBytes / 8;
    return tasks_->ofWait(rank, &core - &view(rank, 0), counterName(signals.directory, counter),
                          int64_t(core.words[2]));
  }

  WaitProgress signalWait(int rank, const CoreView &core) const {
    Signals signals = signalsOf(rank, core);
    const WorkspaceDirectory &directory = signals.directory;
    uint64_t offset = core.words[1], counter = offset % directory.pageBytes / 8;
    uint64_t pages = directory.pageBytes * abi::kSignalPages;
    uint64_t seen = signals.word(offset);
    std::string name = counterName(directory, counter);
    WaitProgress wait{"waits for " + awaited(rank, core, name), core.words[2], seen,
                      std::string(kNeverNotified)};
    Stamp last = Stamp::unpack(signals.word(pages + offset));
    uint64_t launch = directory.completed(rank).load(std::memory_order_relaxed) + 1;
    if (last.isOf(launch) && last.rank < uint64_t(control_.ranks())) {
      bool sets = NotifyMode(core.words[3]) == NotifyMode::set;
      wait.note = describeNotifier(placeOf(int(last.rank), int64_t(last.core), last.place),
                                   sets ? "set it to" : "added", last.value);
      if (last.value == Stamp::kLargestValue)
        wait.note += " or more";
    } else if (seen > 0) {
      wait.note = "";
    }
    return wait;
  }

  /// How many of the barrier's cores on `rank` have come to the round of `core`.
  uint64_t arrived(int rank, const CoreView &core) const {
    auto first = int64_t(core.words[0]), count = int64_t(core.words[1]);
    if (core.words[2] &&
        control_.barrierRounds(int(first), int(count), rank).load(std::memory_order_acquire) >=
            core.words[3])
      return uint64_t(count);
    uint64_t here = 0;
    for (int64_t other = first; other < first + count; ++other) {
      const CoreView &theirs = view(rank, other);
      here += theirs.state == CoreRecord::barrier &&
              std::equal(std::begin(core.words), std::end(core.words), theirs.words);
    }
    return here;
  }

  WaitProgress barrierWait(int rank, const CoreView &core) const {
    uint64_t count = core.words[1];
    if (!core.words[2])
      return {fmt::format("waits at a barrier of {} cores", count), count, arrived(rank, core), ""};
    uint64_t all = count * uint64_t(control_.ranks()), seen = 0;
    for (int peer = 0; peer < control_.ranks(); ++peer)
      seen += arrived(peer, core);
    return {fmt::format("waits at a barrier of {} cores, {} of every rank", all, count), all, seen,
            ""};
  }

  std::string describeRankWait(int rank, const CoreView &core) const {
    auto ranks = uint64_t(control_.ranks());
    std::vector<int> absent;
    if (core.state == CoreRecord::meeting) {
      uint64_t meeting = core.words[0];
      for (int peer = 0; peer < control_.ranks(); ++peer)
        if (control_.slot(peer).arrived.load(std::memory_order_acquire) < meeting)
          absent.push_back(peer);
      return describe(
          WaitProgress{describe(control_.slot(rank).requests[meeting & 1]) + " with all ranks",
                       ranks, ranks - absent.size(), absence(absent)});
    }
    auto *directory =
        reinterpret_cast<const WorkspaceDirectory *>(control_.heap(rank) + core.words[0]);
    for (int peer = 0; peer < control_.ranks(); ++peer)
      if (directory->completed(peer).load(std::memory_order_acquire) < core.words[1])
        absent.push_back(peer);
    std::string what = fmt::format("waits to begin launch {} until all ranks have completed {}",
                                   core.words[2], core.words[1]);
    return describe(WaitProgress{what, ranks, ranks - absent.size(), absence(absent)});
  }

  const Control &control_;
  const LaunchTasks *tasks_;
  std::vector<CoreView> views_;
};

} // namespace

std::string reportLateWait(const Control &control, std::chrono::milliseconds bound,
                           const LaunchTasks *tasks) {
  return Reporter(control, tasks).report(bound);
}

std::string counterName(const WorkspaceDirectory &directory, size_t counter) {
  for (size_t i = 0; i < directory.arrays; ++i) {
    const WorkspaceDirectory::Array &array = directory.array[i];
    if (counter < array.first || counter - array.first >= array.count)
      continue;
    int64_t index = int64_t(counter - array.first);
    std::vector<int64_t> indices(std::max<size_t>(array.dims, 1), index);
    for (size_t d = array.dims; d-- > 0; index /= array.extents[d])
      indices[d] = index % array.extents[d];
    return fmt::format("'{}'[{}]", array.name, fmt::join(indices, ", "));
  }
  return fmt::format("counter {}", counter);
}

} // namespace ditron::runtime
