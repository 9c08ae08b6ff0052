// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What must come before what, in every schedule, decided from one run.
//
// Checking a concurrent program usually means trying its schedules. ditron's synchronisation makes
// that unnecessary: counters only grow, and a wait asks for "at least". Whatever can run now can
// still run after anybody else has moved, so the cores cannot spoil anything for one another; they
// are an abelian network, as chip-firing games are.
//
//     Confluence. Two schedules that go as far as they can end in the same place. So if one
//     schedule completes, all do; if one is stuck, all are, at the same waits.
//
// One run hence decides about deadlock. It also decides about order. Stop core p just before its
// k-th event and let everybody else go as far as they can. By confluence where they come to rest
// depends on (p, k) alone; call it reach(p, k), one position for every core.
//
//     core p   ... notify | k ...            stopped before k
//     core q   ... wait ✓ ... wait | m ...   the second wait needs a notify of p at or after k:
//                                            reach(p, k)[q] is where it stands
//
//     Order. Event m of core q comes after event k of core p in every schedule if and only if
//     m >= reach(p, k)[q].
//
// If: as nobody gets to m without k. Only if: the run that defines reach has m in it and not k.
//
// Two accesses that conflict are therefore in order, or there is a schedule for each order: no
// third case, no heuristic, no false alarm. And when they are in order, the order is not one of
// time only:
//
//     Visibility. If m needs k, then k happens before m, in the sense of release and acquire.
//
// Take any execution, and in it what happens before m: m's own past, for each wait in it the
// notifies that it saw the sum of, their pasts, and so on. Every wait of this set is satisfied by
// notifies of this set, so the set is an execution too, one that gets to m. As m needs k, k is in
// it. (An add is an atomic read-modify-write, so whoever sees a sum sees the releases of all that
// it is the sum of. The smaller of two values that are set may be seen by nobody; but then no wait
// needs it.) Puts ride on the same argument: one that is issued at i is complete at the next
// release or quiet j of its core, between i and j the core releases nothing, so reach(p, i) and
// reach(p, j) agree about the others. What is special about puts is the own core, between i and j.
//
// A program without races reads the same values in every schedule, by induction over one schedule:
// the first read that differed would have to see a write that it is unordered with. So the events
// of each core are the same in every schedule, even where branches depend on data, and what was
// recorded once speaks for all. Atomic additions are the exception: their order is open, the values
// that they return differ from run to run. Where branches can depend on such, a verdict counts as
// sampled.
//
// Cost. As k grows, reach(p, k) only grows, and it changes only at the releases of p: one run for
// each core, which goes over the notifies and waits of all of them. Between an access of p and the
// accesses of q the unordered ones are a range: a binary search.
//
// None of this holds for a wait that asks for "exactly", or for counters that are set back. The
// language has neither; textual IR that has is explored (Explorer.h).
//
#pragma once
#include "ditron/checker/trace/EventTrace.h"

namespace ditron::checker {

/// Some threads, as far as limits and waits let them go.
class Front {
public:
  /// All threads stand at their first event and may not move.
  Front(const std::vector<Thread> &threads, size_t counters);

  /// Lets a thread execute the events below `limit`. Limits only grow.
  void allow(uint32_t thread, uint32_t limit);
  /// Lets all threads go to their ends.
  void allowAll();
  /// Runs until nobody can go on.
  void run();
  /// Moves one thread only, as far as it can go; others that it wakes go on in the next run().
  void runOnly(uint32_t thread);

  /// The first event that the thread has not executed.
  uint32_t position(uint32_t thread) const;
  std::vector<uint32_t> positions() const;
  /// Whether the thread stands at a wait that is not satisfied.
  bool isBlocked(uint32_t thread) const;
  uint64_t value(uint32_t counter) const { return values_[counter]; }

private:
  struct Sync {
    uint32_t index, counter;
    uint64_t value;
    Event::Kind kind;
  };
  struct Core {
    std::vector<Sync> syncs;
    size_t next = 0;
    uint32_t length = 0, limit = 0;
    bool isQueued = false;
  };
  void advance(uint32_t thread);
  void raise(const Sync &notify);
  void enqueue(uint32_t thread);

  std::vector<Core> cores_;
  std::vector<uint64_t> values_;
  std::vector<std::vector<uint32_t>> waiters_; ///< of each counter
  std::vector<uint32_t> queue_;
};

class Causality {
public:
  /// Events [first, limit) of a thread.
  struct Range {
    uint32_t first, limit;
    bool contains(uint32_t index) const { return first <= index && index < limit; }
  };

  Causality(const std::vector<Thread> &threads, size_t counters);

  /// Whether `b` comes after `a` in every schedule.
  bool mustPrecede(Position a, Position b) const;
  /// The events of another thread that are not ordered with `a`.
  Range unordered(Position a, uint32_t thread) const;
  /// How far `thread` comes without event `stopped` and what its core does later.
  uint32_t reach(Position stopped, uint32_t thread) const;

private:
  /// From this many releases of the stopped thread on, the other one reaches `position`.
  struct Step {
    uint32_t epoch, position;
  };
  void follow(uint32_t stopped, Front front);
  const std::vector<Step> &steps(uint32_t stopped, uint32_t thread) const {
    return steps_[stopped * releases_.size() + thread];
  }

  std::vector<std::vector<uint32_t>> releases_; ///< of each thread, the indices of its releases
  std::vector<std::vector<Step>> steps_;        ///< [stopped * threads + thread], ascending
};

} // namespace ditron::checker
