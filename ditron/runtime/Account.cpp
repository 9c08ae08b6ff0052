// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/Account.h"
#include <algorithm>
#include <vector>

namespace ditron::runtime {

namespace {

enum class State { absent, computes, pauses, waits, transfers };

/// What a core does during an event; `computes` where the event is none that counts.
State stateOf(const Event &event) {
  if (event.kind == EventKind::put || event.kind == EventKind::get)
    return State::transfers;
  return event.waited ? State::waits : State::computes;
}

/// The states of one core, one after the other.
class Walk {
public:
  explicit Walk(const CoreSpan &core) : core_(core), until_(core.begin) {}

  State state() const { return state_; }
  /// When the state ends.
  uint64_t until() const { return until_; }

  /// Goes on to the next state, that begins at until(); false after the last one.
  bool next() {
    if (until_ >= core_.end)
      return false;
    while (next_ < core_.events.size() && stateOf(core_.events[next_]) == State::computes)
      ++next_;
    uint64_t begin = next_ < core_.events.size() ? core_.events[next_].begin : core_.end;
    if (begin > until_) {
      setUntil(begin, begin - until_ < kPauseNs ? State::pauses : State::computes);
      return true;
    }
    const Event &event = core_.events[next_++];
    setUntil(event.end, stateOf(event));
    return true;
  }

private:
  void setUntil(uint64_t time, State state) {
    until_ = std::max(until_, time);
    state_ = state;
  }

  const CoreSpan &core_;
  size_t next_ = 0;
  State state_ = State::absent;
  uint64_t until_;
};

/// How many cores do what, and since when.
class Tally {
public:
  explicit Tally(uint64_t limit) : limit_(limit) {}

  void change(uint64_t time, State from, State to) {
    time = std::min(time, limit_);
    if (time > since_ && transferring_ > 0) {
      result_.transferNs += time - since_;
      result_.hiddenNs += computing_ > 0 ? time - since_ : 0;
    }
    since_ = time;
    transferring_ += (to == State::transfers) - (from == State::transfers);
    computing_ += (to == State::computes) - (from == State::computes);
  }
  TransferTime &result() { return result_; }

private:
  uint64_t limit_, since_ = 0;
  int transferring_ = 0, computing_ = 0;
  TransferTime result_;
};

} // namespace

CoreSpan::CoreSpan(const EventLog &log)
    : begin(log.begin()), end(log.end()), events(log.events()),
      knownUntil(log.dropped() ? log.firstDropped() : UINT64_MAX), dropped(log.dropped()) {}

TransferTime accountTransfers(std::span<const CoreSpan> cores) {
  uint64_t limit = UINT64_MAX, dropped = 0;
  std::vector<Walk> walks;
  for (const CoreSpan &core : cores) {
    limit = std::min(limit, core.knownUntil);
    dropped += core.dropped;
    walks.emplace_back(core);
  }
  Tally tally(limit);
  tally.result().dropped = dropped;
  auto later = [&](size_t a, size_t b) { return walks[a].until() > walks[b].until(); };
  std::vector<size_t> heap;
  for (size_t core = 0; core < walks.size(); ++core)
    heap.push_back(core);
  std::make_heap(heap.begin(), heap.end(), later);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    Walk &walk = walks[heap.back()];
    uint64_t time = walk.until();
    State before = walk.state();
    bool goesOn = walk.next();
    tally.change(time, before, goesOn ? walk.state() : State::absent);
    if (goesOn)
      std::push_heap(heap.begin(), heap.end(), later);
    else
      heap.pop_back();
  }
  return tally.result();
}

} // namespace ditron::runtime
