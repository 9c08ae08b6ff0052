// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/profile/Summary.h"
#include "ditron/runtime/Account.h"
#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace ditron::profile {

namespace {

constexpr double kSeconds = 1e-9;

double secondsOf(const Piece &piece) { return kSeconds * double(piece.end - piece.begin); }

/// Cuts a lane into pieces.
class Cutter {
public:
  explicit Cutter(const Lane &lane) : lane_(lane), at_(lane.begin) {}

  std::vector<Piece> run() {
    for (size_t n = 0; n < lane_.slices.size(); ++n)
      take(int32_t(n), lane_.slices[n]);
    closeUntil(lane_.knownEnd());
    compute(lane_.knownEnd());
    return std::move(pieces_);
  }

private:
  void take(int32_t number, const Slice &slice) {
    closeUntil(slice.begin);
    if (slice.kind == Kind::role || slice.kind == Kind::tile) {
      compute(slice.begin);
      open_.push_back(&slice);
    } else if (slice.transfers() || slice.waited) {
      compute(slice.begin);
      State state = slice.transfers() ? State::transfers : State::waits;
      add({slice.begin, slice.end, state, number, role(), slice.place});
    }
  }

  /// Leaves the roles and tiles that end by `time`.
  void closeUntil(int64_t time) {
    while (!open_.empty() && open_.back()->end <= time) {
      compute(open_.back()->end);
      open_.pop_back();
    }
  }

  /// What has not been taken up to `time` is computation.
  void compute(int64_t time) {
    if (time > at_)
      add({at_, time, State::computes, -1, role(), open_.empty() ? -1 : open_.back()->place});
  }

  int32_t role() const {
    for (size_t n = open_.size(); n-- > 0;)
      if (open_[n]->kind == Kind::role)
        return open_[n]->name;
    return -1;
  }

  void add(const Piece &piece) {
    at_ = piece.end;
    Piece *last = pieces_.empty() ? nullptr : &pieces_.back();
    bool goesOn = last && piece.slice < 0 && last->slice < 0 && last->role == piece.role &&
                  last->place == piece.place;
    if (goesOn)
      last->end = piece.end;
    else
      pieces_.push_back(piece);
  }

  const Lane &lane_;
  int64_t at_;
  std::vector<const Slice *> open_;
  std::vector<Piece> pieces_;
};

/// Walks back from the end of the launch.
class Walker {
public:
  explicit Walker(const Timeline &timeline) : timeline_(timeline) {
    for (const Lane &lane : timeline.lanes)
      pieces_.push_back(piecesOf(lane));
    for (const Arrow &arrow : timeline.arrows)
      causes_[key(arrow.to)] = arrow.from;
  }

  CriticalPath run() {
    int32_t lane = 0;
    for (size_t n = 0; n < timeline_.lanes.size(); ++n)
      if (timeline_.lanes[n].end > timeline_.lanes[size_t(lane)].end)
        lane = int32_t(n);
    int64_t time = timeline_.lanes[size_t(lane)].end;
    while (const Piece *piece = pieceBefore(lane, time)) {
      SliceRef cause = causeOf(lane, *piece, time);
      int64_t begin = cause.lane >= 0 ? timeline_.at(cause).begin : piece->begin;
      Step step{lane, *piece};
      step.piece.begin = begin;
      step.piece.end = time;
      path_.steps.push_back(step);
      path_.signals += cause.lane >= 0;
      time = begin;
      lane = cause.lane >= 0 ? cause.lane : lane;
    }
    path_.before = kSeconds * double(time);
    path_.isKnown = true;
    std::reverse(path_.steps.begin(), path_.steps.end());
    sumUp();
    return std::move(path_);
  }

private:
  static uint64_t key(SliceRef ref) { return uint64_t(ref.lane) << 32 | uint32_t(ref.slice); }

  /// The piece of the lane that holds the moment before `time`.
  const Piece *pieceBefore(int32_t lane, int64_t time) const {
    const std::vector<Piece> &all = pieces_[size_t(lane)];
    auto after = std::lower_bound(all.begin(), all.end(), time,
                                  [](const Piece &piece, int64_t t) { return piece.begin < t; });
    return after == all.begin() ? nullptr : &*(after - 1);
  }

  /// What the core waited for: the slice on whose core the path goes on, from before `time`.
  SliceRef causeOf(int32_t lane, const Piece &piece, int64_t time) const {
    if (piece.state != State::waits)
      return {};
    auto found = causes_.find(key({lane, piece.slice}));
    if (found == causes_.end())
      return {};
    int64_t begin = timeline_.at(found->second).begin;
    return begin > piece.begin && begin < time ? found->second : SliceRef{};
  }

  void sumUp() {
    std::map<std::tuple<State, int32_t, int32_t>, Contribution> parts;
    for (const Step &step : path_.steps) {
      const Piece &piece = step.piece;
      double seconds = secondsOf(piece);
      double &total = piece.state == State::computes    ? path_.compute
                      : piece.state == State::transfers ? path_.transfer
                                                        : path_.wait;
      total += seconds;
      Contribution &part = parts[{piece.state, piece.role, piece.place}];
      part.state = piece.state;
      part.role = timeline_.text(piece.role);
      part.place = timeline_.text(piece.place);
      part.seconds += seconds;
      ++part.steps;
    }
    for (auto &[what, part] : parts)
      path_.contributions.push_back(part);
    auto larger = [](const Contribution &a, const Contribution &b) {
      return std::tie(b.seconds, a.role, a.place) < std::tie(a.seconds, b.role, b.place);
    };
    std::sort(path_.contributions.begin(), path_.contributions.end(), larger);
  }

  const Timeline &timeline_;
  std::vector<std::vector<Piece>> pieces_; // by lane
  std::unordered_map<uint64_t, SliceRef> causes_;
  CriticalPath path_;
};

/// The rank's transfers, as its own launch accounts for them.
runtime::TransferTime transfersOf(const Timeline &timeline, size_t first) {
  std::vector<std::vector<runtime::Event>> events;
  for (size_t n = 0; n < size_t(timeline.cores); ++n) {
    auto &core = events.emplace_back();
    for (const Slice &slice : timeline.lanes[first + n].slices)
      if (slice.transfers() || slice.waited)
        core.push_back({uint64_t(slice.begin), uint64_t(slice.end),
                        slice.transfers() ? runtime::EventKind::put : runtime::EventKind::wait,
                        slice.waited});
  }
  std::vector<runtime::CoreSpan> spans;
  for (size_t n = 0; n < events.size(); ++n) {
    const Lane &lane = timeline.lanes[first + n];
    runtime::CoreSpan &span =
        spans.emplace_back(uint64_t(lane.begin), uint64_t(lane.end), events[n]);
    span.knownUntil = uint64_t(lane.knownUntil);
    span.dropped = uint64_t(lane.dropped);
  }
  return runtime::accountTransfers(spans);
}

} // namespace

const char *name(State state) {
  constexpr const char *kNames[] = {"compute", "transfer", "wait"};
  return kNames[size_t(state)];
}

std::vector<Piece> piecesOf(const Lane &lane) { return Cutter(lane).run(); }

CriticalPath criticalPath(const Timeline &timeline) {
  if (timeline.lanes.empty() || timeline.dropped() > 0)
    return {};
  return Walker(timeline).run();
}

double CoreTimes::cpuShare() const {
  double busy = compute + transfer;
  return busy > 0 ? std::min(1.0, cpu / busy) : 0;
}

CoreTimes Summary::times() const {
  CoreTimes total;
  for (const RankSummary &rank : ranks) {
    total.compute += rank.times.compute;
    total.transfer += rank.times.transfer;
    total.wait += rank.times.wait;
    total.absent += rank.times.absent;
    total.unknown += rank.times.unknown;
    total.cpu += rank.times.cpu;
  }
  auto isUnknown = [](const RankSummary &rank) { return rank.times.cpu == 0; };
  if (std::any_of(ranks.begin(), ranks.end(), isUnknown))
    total.cpu = 0;
  return total;
}

runtime::TransferTime Summary::transfers() const {
  runtime::TransferTime total;
  for (const RankSummary &rank : ranks)
    total += rank.transfers;
  return total;
}

Summary summarize(const Timeline &timeline) {
  Summary summary;
  summary.seconds = timeline.seconds();
  for (size_t first = 0; first < timeline.lanes.size(); first += size_t(timeline.cores)) {
    RankSummary &rank = summary.ranks.emplace_back();
    for (size_t n = first; n < first + size_t(timeline.cores); ++n) {
      const Lane &lane = timeline.lanes[n];
      for (const Piece &piece : piecesOf(lane))
        (piece.state == State::computes    ? rank.times.compute
         : piece.state == State::transfers ? rank.times.transfer
                                           : rank.times.wait) += secondsOf(piece);
      rank.times.absent += summary.seconds - kSeconds * double(lane.end - lane.begin);
      rank.times.unknown += kSeconds * double(lane.end - lane.knownEnd());
      rank.times.cpu += kSeconds * double(lane.cpu);
    }
    rank.transfers = transfersOf(timeline, first);
  }
  summary.path = criticalPath(timeline);
  return summary;
}

} // namespace ditron::profile
