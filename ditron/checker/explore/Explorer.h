// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Explores every order in which the notifies and waits of a program can happen.
//
// For the kernels that the language can express, one run speaks for all (see Causality.h). This is
// for the others, which exist as textual IR: counters that shrink, exact waits, orders that are
// left out. It enumerates states, breadth first, so what it finds first is near; then it looks for
// the shortest schedule there.
//
// Where threads can go on without touching one another, one order stands for all (persistent sets):
// from a state it is enough to follow a set of threads such that nothing the others still have to
// do depends on the next steps of those in the set. Two adds to one counter do not depend on each
// other; an add and a wait do, unless every wait that is left needs that add anyway.
//
// A program with more states than the budget is sampled beyond it: schedules by chance, every other
// one by priorities that change at a few random points, which finds what needs few coincidences.
#pragma once
#include "ditron/checker/Check.h"
#include "ditron/checker/report/Explain.h"
#include <chrono>

namespace ditron::checker {

struct ExploreOptions {
  uint64_t states = 100'000; ///< the budget
  /// What the states that wait to be expanded may take.
  size_t bytes = size_t(1) << 30;
  int64_t schedules = 1000; ///< how many are sampled beyond it
  uint64_t seed = 1;
  /// When no further state is visited and no further schedule sampled.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  bool reduce = true; ///< false: every order, also of steps that cannot touch one another
};

struct Exploration {
  bool isExhaustive = true;
  bool isLate = false;     ///< the time ended it
  bool isTooLarge = false; ///< the memory ended it
  uint64_t states = 0;     ///< distinct ones
  int64_t schedules = 0;   ///< sampled
  std::vector<Explained> findings;
};

/// Explores what cores do that do the same in every schedule: a recording of each core alone. The
/// same for the same trace and options.
Exploration explore(const Trace &trace, const ExploreOptions &options);

/// What the one schedule of a recorded run shows: its accesses that no release and acquire orders,
/// its waits that are stuck.
std::vector<Explained> exploreRun(const Recording &recording);

} // namespace ditron::checker
