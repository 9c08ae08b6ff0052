// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/profile/TaskSummary.h"
#include "ditron/support/Message.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>

namespace ditron::profile {

namespace {

constexpr double kSeconds = 1e-9;

/// The tasks of a lane, to be asked for by their time.
class LaneTasks {
public:
  explicit LaneTasks(const Lane &lane) {
    for (const Slice &slice : lane.slices)
      if (slice.kind == Kind::role && slice.task >= 0)
        tasks_.push_back(&slice);
  }
  const std::vector<const Slice *> &all() const { return tasks_; }

  /// The task that a moment is in, or the next one: what stands between two is the second's.
  const Slice *at(int64_t time) const {
    auto found = std::upper_bound(tasks_.begin(), tasks_.end(), time,
                                  [](int64_t t, const Slice *task) { return t < task->end; });
    return found == tasks_.end() ? nullptr : *found;
  }

private:
  std::vector<const Slice *> tasks_;
};

class TaskSummarizer {
public:
  TaskSummarizer(const Timeline &timeline, const Summary &summary)
      : timeline_(timeline), summary_(summary) {
    for (const Lane &lane : timeline.lanes)
      tasks_.emplace_back(lane);
  }

  TaskSummary run() {
    for (size_t lane = 0; lane < timeline_.lanes.size(); ++lane)
      addLane(lane);
    for (const Step &step : summary_.path.steps)
      addStep(step);
    addHops();
    for (Times *all : {&types_, &labels_})
      for (auto &[name, times] : *all)
        times.behind = hopsOf(behind_[&times]).median;
    result_.types = sorted(types_);
    result_.labels = sorted(labels_);
    for (auto &[key, waits] : waits_)
      result_.waits.push_back(std::move(waits));
    std::sort(result_.waits.begin(), result_.waits.end(),
              [](const TaskWaits &a, const TaskWaits &b) { return b.seconds < a.seconds; });
    return std::move(result_);
  }

private:
  using Times = std::map<std::string, TaskTimes>;

  static std::vector<TaskTimes> sorted(Times &all) {
    std::vector<TaskTimes> result;
    for (auto &[name, times] : all) {
      times.name = name;
      result.push_back(std::move(times));
    }
    auto larger = [](const TaskTimes &a, const TaskTimes &b) {
      return b.compute + b.transfer + b.wait < a.compute + a.transfer + a.wait;
    };
    std::sort(result.begin(), result.end(), larger);
    return result;
  }

  const TaskName &nameOf(const Slice &task) const {
    return timeline_.tasks[static_cast<size_t>(task.task)];
  }

  void addLane(size_t number) {
    const Lane &lane = timeline_.lanes[number];
    CoreTasks core{lane.rank, lane.core, {}};
    std::map<const Slice *, double> busy;
    std::map<const Slice *, int64_t> waited; // until when
    for (const Slice *task : tasks_[number].all()) {
      ++types_[nameOf(*task).kernel].tasks;
      ++labels_[nameOf(*task).label].tasks;
      ++core.times.tasks;
      busy[task] = 0;
    }
    for (const Piece &piece : piecesOf(lane))
      eachTask(number, piece, [&](const Slice &task, int64_t begin, int64_t end) {
        double seconds = kSeconds * double(end - begin);
        for (TaskTimes *times :
             {&types_[nameOf(task).kernel], &labels_[nameOf(task).label], &core.times})
          partOf(*times, piece.state) += seconds;
        if (piece.state == State::waits)
          addWait(lane, piece, task, seconds), waited[&task] = end;
        else
          busy[&task] += seconds;
      });
    for (const auto &[task, end] : waited)
      for (TaskTimes *times : {&types_[nameOf(*task).kernel], &labels_[nameOf(*task).label]})
        behind_[times].push_back(kSeconds * double(task->end - end));
    for (const auto &[task, seconds] : busy)
      for (TaskTimes *times :
           {&types_[nameOf(*task).kernel], &labels_[nameOf(*task).label], &core.times})
        times->longest = std::max(times->longest, seconds);
    result_.cores.push_back(std::move(core));
  }

  static double &partOf(TaskTimes &times, State state) {
    return state == State::computes    ? times.compute
           : state == State::transfers ? times.transfer
                                       : times.wait;
  }

  /// The parts of a piece that are each in one task. Pieces of tasks of one name may be one.
  template <class Fn> void eachTask(size_t lane, const Piece &piece, const Fn &fn) const {
    for (int64_t begin = piece.begin; begin < piece.end;) {
      const Slice *task = tasks_[lane].at(begin);
      if (!task)
        return;
      int64_t end = std::min(piece.end, task->end);
      fn(*task, begin, end);
      begin = end;
    }
  }

  /// What a slice waits for.
  std::string onOf(const Slice &slice) const {
    if (slice.task >= 0)
      return timeline_.tasks[static_cast<size_t>(slice.task)].label;
    if (slice.kind == Kind::barrier)
      return slice.name < 0 ? "the slowest core" : timeline_.text(slice.name);
    return timeline_.text(slice.name);
  }

  void addWait(const Lane &lane, const Piece &piece, const Slice &task, double seconds) {
    std::string on = onOf(lane.slices[static_cast<size_t>(piece.slice)]);
    TaskWaits &waits = waits_[{nameOf(task).label, on}];
    waits.task = nameOf(task).label;
    waits.on = on;
    ++waits.waits;
    waits.seconds += seconds;
    waits.longest = std::max(waits.longest, seconds);
  }

  void addHops() {
    std::vector<double> inside, between;
    for (const Arrow &arrow : timeline_.arrows) {
      const Slice &from = timeline_.at(arrow.from), &to = timeline_.at(arrow.to);
      if (from.kind != Kind::notify || !to.waited || from.begin < to.begin)
        continue;
      bool isInside = timeline_.lanes[size_t(arrow.from.lane)].rank ==
                      timeline_.lanes[size_t(arrow.to.lane)].rank;
      (isInside ? inside : between).push_back(kSeconds * double(to.end - from.begin));
    }
    result_.inside = hopsOf(inside);
    result_.between = hopsOf(between);
  }

  static Hops hopsOf(std::vector<double> &seconds) {
    if (seconds.empty())
      return {};
    std::sort(seconds.begin(), seconds.end());
    return {std::ssize(seconds), seconds[seconds.size() / 2], seconds.back()};
  }

  void addStep(const Step &step) {
    const Lane &lane = timeline_.lanes[static_cast<size_t>(step.lane)];
    eachTask(static_cast<size_t>(step.lane), step.piece,
             [&](const Slice &task, int64_t begin, int64_t end) {
               TaskStep part{lane.rank, lane.core, nameOf(task).label, "", step.piece.state};
               if (step.piece.slice >= 0 && step.piece.state == State::waits)
                 part.on = onOf(lane.slices[static_cast<size_t>(step.piece.slice)]);
               part.begin = kSeconds * double(begin);
               part.seconds = kSeconds * double(end - begin);
               result_.path.push_back(std::move(part));
             });
  }

  const Timeline &timeline_;
  const Summary &summary_;
  std::vector<LaneTasks> tasks_; ///< by lane
  Times types_, labels_;
  std::map<const TaskTimes *, std::vector<double>> behind_; ///< waits, of each task
  std::map<std::pair<std::string, std::string>, TaskWaits> waits_;
  TaskSummary result_;
};

std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.0f} %", 100 * part / whole) : "";
}

Table typesTable(const std::vector<TaskTimes> &types, size_t most) {
  Table table{{"type", "tasks", "compute", "transfer", "wait", "longest", "behind waits"}, {}};
  for (size_t n = 0; n < std::min(most, types.size()); ++n)
    table.rows.push_back({types[n].name, std::to_string(types[n].tasks),
                          formatSeconds(types[n].compute), formatSeconds(types[n].transfer),
                          formatSeconds(types[n].wait), formatSeconds(types[n].longest),
                          formatSeconds(types[n].behind)});
  return table;
}

Table coresTable(const std::vector<CoreTasks> &cores, size_t most) {
  Table table{{"core", "tasks", "compute", "transfer", "wait", "longest"}, {}};
  for (size_t n = 0; n < std::min(most, cores.size()); ++n) {
    const TaskTimes &times = cores[n].times;
    table.rows.push_back({fmt::format("rank {}, core {}", cores[n].rank, cores[n].core),
                          std::to_string(times.tasks), formatSeconds(times.compute),
                          formatSeconds(times.transfer), formatSeconds(times.wait),
                          formatSeconds(times.longest)});
  }
  return table;
}

Table waitsTable(const std::vector<TaskWaits> &waits, size_t most) {
  Table table{{"task", "waits for", "waits", "time", "longest"}, {}};
  for (size_t n = 0; n < std::min(most, waits.size()); ++n)
    table.rows.push_back({waits[n].task, waits[n].on, std::to_string(waits[n].waits),
                          formatSeconds(waits[n].seconds), formatSeconds(waits[n].longest)});
  return table;
}

/// "inside a rank: 1.2 us, 3.4 us at most, of 96"
std::string describe(const Hops &hops, const char *where) {
  return fmt::format("  {}: {}, {} at most, of {}\n", where, formatSeconds(hops.median),
                     formatSeconds(hops.longest), hops.count);
}

/// The steps of the path by task and what it does there, the largest first.
Table pathTable(const std::vector<TaskStep> &path, size_t most) {
  std::map<std::tuple<std::string, State, std::string>, double> parts;
  double all = 0;
  for (const TaskStep &step : path) {
    parts[{step.task, step.state, step.on}] += step.seconds;
    all += step.seconds;
  }
  std::vector<std::pair<double, std::tuple<std::string, State, std::string>>> order;
  for (const auto &[what, seconds] : parts)
    order.emplace_back(seconds, what);
  std::sort(order.begin(), order.end(),
            [](const auto &a, const auto &b) { return b.first < a.first; });
  Table table{{"time", "part", "what", "task", "waits for"}, {}};
  for (size_t n = 0; n < std::min(most, order.size()); ++n) {
    const auto &[task, state, on] = order[n].second;
    table.rows.push_back(
        {formatSeconds(order[n].first), percent(order[n].first, all), name(state), task, on});
  }
  return table;
}

} // namespace

TaskSummary summarizeTasks(const Timeline &timeline, const Summary &summary) {
  return TaskSummarizer(timeline, summary).run();
}

std::string describeTasks(const TaskSummary &summary, size_t most) {
  std::string text = "tasks by type\n" + format(typesTable(summary.types, most), {0}, "  ");
  text += "\ntasks by core\n" + format(coresTable(summary.cores, most), {0}, "  ");
  if (!summary.waits.empty())
    text += "\nwaits\n" + format(waitsTable(summary.waits, most), {0, 1}, "  ");
  if (summary.inside.count + summary.between.count > 0)
    text += "\nfrom a notify to the wait that it let go on\n";
  if (summary.inside.count > 0)
    text += describe(summary.inside, "inside a rank");
  if (summary.between.count > 0)
    text += describe(summary.between, "between ranks");
  if (!summary.path.empty())
    text += "\ncritical path\n" + format(pathTable(summary.path, most), {2, 3, 4}, "  ");
  return text;
}

} // namespace ditron::profile
