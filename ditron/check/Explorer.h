// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Explores every order in which the notifies and waits of a program can happen.
//
// For the kernels that the language can express, one run speaks for all (see Check.h). This is for
// the others: counters that shrink, exact waits, orders that are left out. It enumerates states,
// breadth first, so what it finds first is near; then it looks for the shortest schedule there.
//
// Where threads can go on without touching one another, one order stands for all (persistent sets):
// from a state it is enough to follow a set of threads such that nothing the others still have to
// do depends on the next steps of those in the set. Two adds to one counter do not depend on each
// other; an add and a wait do, unless every wait that is left needs that add anyway.
//
// A program with more states than the budget is sampled beyond it: schedules by chance, every other
// one by priorities that change at a few random points, which finds what needs few coincidences.
#pragma once
#include "ditron/check/Check.h"
#include "ditron/check/ExploreProgram.h"

namespace ditron::explorer {

struct ExploreOptions {
  uint64_t states = 100'000; ///< the budget
  int64_t schedules = 1000;  ///< how many are sampled beyond it
  uint64_t seed = 1;
  bool reduce = true; ///< false: every order, also of steps that cannot touch one another
};

struct Exploration {
  Method method = Method::exhaustive; ///< or sampled
  uint64_t states = 0;                ///< distinct ones
  uint64_t schedules = 0;             ///< sampled
  std::vector<Finding> findings;
};

/// Explores a program. The same for the same program and options.
Exploration explore(const Program &program, const ExploreOptions &options);

/// Records a kernel and explores it: once if it does the same in every schedule, otherwise what it
/// did in `runs` runs, each in a schedule of its own. CompileError as the interpreter throws it.
Exploration explore(mlir::func::FuncOp kernel,
                    const std::vector<std::vector<reference::ArgumentValue>> &arguments,
                    const reference::Options &options, const ExploreOptions &explore,
                    int64_t runs = 16);

/// What happens in a finding's schedule, step by step. CompileError where it is no schedule of the
/// program.
std::vector<std::string> follow(const Program &program, std::string_view schedule);

} // namespace ditron::explorer
