// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/profile/Timeline.h"
#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace ditron::profile {

namespace {

/// A notify of a counter, which it raised from `before` to `after`.
struct Raise {
  int64_t after, before;
  SliceRef slice;
};

/// A counter: the rank that owns it, and its number there.
using Counter = std::pair<int64_t, int64_t>;

/// The notifies of every counter in the order in which they raised it.
std::map<Counter, std::vector<Raise>> raisesOf(const Timeline &timeline) {
  std::map<Counter, std::vector<Raise>> raises;
  for (size_t lane = 0; lane < timeline.lanes.size(); ++lane) {
    const std::vector<Slice> &slices = timeline.lanes[lane].slices;
    for (size_t n = 0; n < slices.size(); ++n)
      if (const Slice &slice = slices[n];
          slice.kind == Kind::notify && slice.values[2] > slice.values[1])
        raises[{slice.peer, slice.values[0]}].push_back(
            {slice.values[2], slice.values[1], {int32_t(lane), int32_t(n)}});
  }
  for (auto &[counter, all] : raises)
    std::sort(all.begin(), all.end(),
              [](const Raise &a, const Raise &b) { return a.after < b.after; });
  return raises;
}

/// The raise that brought a counter to `count`.
const Raise *raiseTo(const std::vector<Raise> &raises, int64_t count) {
  auto found = std::lower_bound(raises.begin(), raises.end(), count,
                                [](const Raise &raise, int64_t n) { return raise.after < n; });
  return found != raises.end() && found->before < count ? &*found : nullptr;
}

/// Which barrier: its rank (-1: all), first core, number of cores, and how many there were before.
using Meeting = std::array<int64_t, 4>;

void linkBarriers(Timeline &timeline) {
  std::map<Meeting, std::vector<SliceRef>> meetings;
  for (size_t lane = 0; lane < timeline.lanes.size(); ++lane) {
    const Lane &core = timeline.lanes[lane];
    for (size_t n = 0; n < core.slices.size(); ++n)
      if (const Slice &slice = core.slices[n]; slice.kind == Kind::barrier)
        meetings[{slice.values[0] ? -1 : core.rank, slice.values[1], slice.values[2],
                  slice.values[3]}]
            .push_back({int32_t(lane), int32_t(n)});
  }
  auto earlier = [&](SliceRef a, SliceRef b) {
    return timeline.at(a).begin < timeline.at(b).begin;
  };
  for (const auto &[meeting, cores] : meetings) {
    size_t expected = size_t(meeting[2]) * size_t(meeting[0] < 0 ? timeline.ranks : 1);
    if (cores.size() != expected)
      continue; // one was dropped: it may be the last
    SliceRef last = *std::max_element(cores.begin(), cores.end(), earlier);
    for (SliceRef core : cores)
      if (core != last)
        timeline.arrows.push_back({last, core});
  }
}

/// Moves slices of a lane back in time so that slice n begins at latest[n] or earlier: what lies
/// before it ends earlier with it, what nests goes on to nest, and nothing becomes empty.
void moveBack(Lane &lane, const std::vector<int64_t> &latest) {
  std::vector<int64_t> was, is(lane.slices.size());
  for (const Slice &slice : lane.slices)
    was.push_back(slice.begin);
  int64_t most = INT64_MAX;
  for (size_t n = lane.slices.size(); n-- > 0;) {
    is[n] = std::max(lane.begin, std::min({was[n], latest[n], most}));
    most = is[n] - 1;
  }
  for (size_t n = 0; n < lane.slices.size(); ++n) {
    Slice &slice = lane.slices[n];
    slice.begin = is[n];
    auto next = std::lower_bound(was.begin(), was.end(), slice.end) - was.begin();
    if (size_t(next) < is.size())
      slice.end = std::max(slice.begin, std::min(slice.end, is[size_t(next)]));
  }
}

/// The clocks of two lanes differ by what it takes to read them, so that a notify may seem to begin
/// when the wait that it let go on is over: it began before that.
void letCausesComeFirst(Timeline &timeline) {
  std::map<int32_t, std::vector<int64_t>> late; // of a lane, by when each of its slices begins
  for (const Arrow &arrow : timeline.arrows) {
    int64_t latest = timeline.at(arrow.to).end - 1;
    if (timeline.at(arrow.from).begin <= latest)
      continue;
    std::vector<int64_t> &limits = late[arrow.from.lane];
    limits.resize(timeline.lanes[size_t(arrow.from.lane)].slices.size(), INT64_MAX);
    int64_t &limit = limits[size_t(arrow.from.slice)];
    limit = std::min(limit, latest);
  }
  for (const auto &[lane, limits] : late)
    moveBack(timeline.lanes[size_t(lane)], limits);
}

} // namespace

const char *name(Kind kind) {
  constexpr const char *kNames[] = {"role", "tile", "put", "get", "wait", "barrier", "notify"};
  return kNames[size_t(kind)];
}

const std::string &Timeline::text(int32_t name) const {
  static const std::string none;
  return name < 0 ? none : names[size_t(name)];
}

double Timeline::seconds() const {
  int64_t begin = INT64_MAX, end = 0;
  for (const Lane &lane : lanes) {
    begin = std::min(begin, lane.begin);
    end = std::max(end, lane.end);
  }
  return lanes.empty() ? 0 : 1e-9 * double(end - begin);
}

size_t Timeline::slices() const {
  size_t count = 0;
  for (const Lane &lane : lanes)
    count += lane.slices.size();
  return count;
}

int64_t Timeline::dropped() const {
  int64_t count = 0;
  for (const Lane &lane : lanes)
    count += lane.dropped;
  return count;
}

void Timeline::link() {
  arrows.clear();
  std::map<Counter, std::vector<Raise>> raises = raisesOf(*this);
  for (size_t lane = 0; lane < lanes.size(); ++lane)
    for (size_t n = 0; n < lanes[lane].slices.size(); ++n) {
      const Slice &slice = lanes[lane].slices[n];
      if (slice.kind != Kind::wait)
        continue;
      auto counter = raises.find({lanes[lane].rank, slice.values[0]});
      const Raise *raise =
          counter == raises.end() ? nullptr : raiseTo(counter->second, slice.values[1]);
      if (raise)
        arrows.push_back({raise->slice, {int32_t(lane), int32_t(n)}});
    }
  linkBarriers(*this);
  letCausesComeFirst(*this);
}

} // namespace ditron::profile
