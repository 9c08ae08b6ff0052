// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/profile/TaskRecord.h"
#include <algorithm>
#include <fmt/format.h>

namespace ditron::profile {

std::vector<TaskName> namesOf(const task::Graph &graph) {
  std::vector<TaskName> names;
  for (const task::Node &node : graph.nodes)
    names.push_back({node.name, graph.kernelOf(node).name()});
  return names;
}

namespace {

int32_t addName(RankRecord &record, const std::string &text) {
  auto found = std::find(record.names.begin(), record.names.end(), text);
  if (found == record.names.end())
    found = record.names.insert(found, text);
  return static_cast<int32_t>(found - record.names.begin());
}

/// The names of the nodes as those of roles, added to a record.
std::vector<int32_t> addNodes(RankRecord &record, const task::Graph &graph) {
  std::vector<int32_t> names;
  for (const task::Node &node : graph.nodes)
    names.push_back(addName(record, node.name));
  return names;
}

Slice roleOf(size_t node, int32_t name, int64_t begin) {
  Slice role;
  role.begin = role.end = begin;
  role.kind = Kind::role;
  role.name = name;
  role.task = static_cast<int32_t>(node);
  return role;
}

/// Cuts a lane of a megakernel into its tasks.
class TaskCutter {
public:
  TaskCutter(const RankRecord &record, const task::Plan &plan, const std::vector<int32_t> &names)
      : record_(record), plan_(plan), names_(names) {}

  void cut(Lane &lane) {
    queue_ = &plan_.queues[static_cast<size_t>(lane.core)];
    slices_.clear();
    next_ = 0;
    begin(lane.begin);
    for (const Slice &slice : lane.slices)
      add(slice, lane);
    if (isOpen())
      slices_[open_].end = lane.knownEnd();
    lane.slices = std::move(slices_);
  }

private:
  bool isOpen() const { return next_ < queue_->size(); }

  void begin(int64_t time) {
    if (!isOpen())
      return;
    open_ = slices_.size();
    waits_ = 0;
    told_ = 0;
    size_t node = (*queue_)[next_].node;
    slices_.push_back(roleOf(node, names_[node], time));
  }

  void add(Slice slice, const Lane &lane) {
    bool isDone = isOpen() && isDoneCounter(slice.name);
    if (isDone && slice.kind == Kind::wait)
      nameWait(slice);
    slices_.push_back(slice);
    if (!isDone || slice.kind != Kind::notify || slice.peer != lane.rank)
      return;
    slices_[open_].end = slice.end;
    const task::Task &task = (*queue_)[next_];
    if (++told_ < int(task.tellsNode) + int(task.tellsCore) + int(task.tellsQuietly))
      return;
    ++next_;
    begin(slice.end);
  }

  /// The waits of a task stand in the order of the schedule.
  void nameWait(Slice &slice) {
    const std::vector<task::Wait> &waits = (*queue_)[next_].waits;
    if (waits_ == waits.size())
      return;
    slice.task = static_cast<int32_t>(plan_.awaitedNode(waits[waits_++]));
  }

  /// "done[1]": names of the counters of kernels have a point in them.
  bool isDoneCounter(int32_t name) const {
    return name >= 0 && record_.names[static_cast<size_t>(name)].starts_with("done[");
  }

  const RankRecord &record_;
  const task::Plan &plan_;
  const std::vector<int32_t> &names_; ///< of the nodes
  const std::vector<task::Task> *queue_ = nullptr;
  std::vector<Slice> slices_;
  size_t next_ = 0, open_ = 0, waits_ = 0;
  int told_ = 0; ///< notifies of the open task
};

} // namespace

void nameTasks(RankRecord &record, const task::Graph &graph, const task::Plan &plan) {
  std::vector<int32_t> names = addNodes(record, graph);
  TaskCutter cutter(record, plan, names);
  for (Lane &lane : record.lanes)
    cutter.cut(lane);
  record.kernel = graph.name;
}

//===-- A stream ------------------------------------------------------------------------------===//

void TaskLaunches::add(RankRecord record, size_t most) {
  records_.push_back(std::move(record));
  if (records_.size() > most)
    records_.pop_front();
}

namespace {

/// Adds a launch to a lane.
void append(Lane &lane, const Lane &launch, const Slice &role, int32_t cores) {
  if (!lane.slices.empty()) {
    Slice meeting;
    meeting.begin = lane.end;
    meeting.end = std::max(lane.end, launch.begin);
    meeting.kind = Kind::barrier;
    meeting.waited = true;
    meeting.values[2] = cores;
    meeting.values[3] = role.task;
    lane.slices.push_back(meeting);
  }
  lane.slices.push_back(role);
  lane.slices.back().end = launch.end;
  lane.slices.insert(lane.slices.end(), launch.slices.begin(), launch.slices.end());
  lane.end = launch.end;
  lane.cpu += launch.cpu;
  lane.dropped += launch.dropped;
  lane.knownUntil = std::min(lane.knownUntil, launch.knownUntil);
}

} // namespace

RankRecord TaskLaunches::join(const task::Graph &graph) const {
  RankRecord step;
  size_t nodes = graph.nodes.size();
  if (records_.size() < nodes || nodes == 0)
    return step;
  step.kernel = graph.name;
  std::vector<int32_t> names = addNodes(step, graph);
  size_t first = records_.size() - nodes;
  for (const Lane &launch : records_[first].lanes) {
    Lane &lane = step.lanes.emplace_back();
    lane.rank = launch.rank;
    lane.core = launch.core;
    lane.begin = lane.end = launch.begin;
  }
  for (size_t node = 0; node < nodes; ++node) {
    const RankRecord &record = records_[first + node];
    auto renamed = [&](int32_t name) {
      return name < 0 ? name : addName(step, record.names[static_cast<size_t>(name)]);
    };
    for (size_t core = 0; core < step.lanes.size(); ++core) {
      Lane launch = record.lanes[core];
      for (Slice &slice : launch.slices) {
        slice.name = renamed(slice.name);
        slice.place = renamed(slice.place);
      }
      append(step.lanes[core], launch, roleOf(node, names[node], launch.begin),
             static_cast<int32_t>(step.lanes.size()));
    }
  }
  return step;
}

void moveBack(RankRecord &record, int64_t nanoseconds) {
  for (Lane &lane : record.lanes) {
    lane.begin -= nanoseconds;
    lane.end -= nanoseconds;
    if (lane.dropped)
      lane.knownUntil -= nanoseconds;
    for (Slice &slice : lane.slices) {
      slice.begin -= nanoseconds;
      slice.end -= nanoseconds;
    }
  }
}

} // namespace ditron::profile
