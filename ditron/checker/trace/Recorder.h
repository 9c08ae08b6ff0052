// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a kernel in the interpreter and records what its cores do.
#pragma once
#include "ditron/checker/Subject.h"
#include "ditron/checker/causality/Races.h"
#include "ditron/checker/trace/EventTrace.h"

namespace ditron::checker {

/// A wait that is not satisfied although nobody can go on.
struct StuckWait {
  uint32_t thread;
  Event wait;
  uint64_t seen;
};

/// An error that the interpreter raised.
struct Failure {
  uint32_t thread;
  Event event; ///< its site and launch
  std::string message;
};

/// What became of a run.
struct Recording {
  Trace trace;
  std::vector<UndefinedRead> undefinedReads; ///< the first for every op and window of memory
  std::optional<Failure> failure;
  std::vector<StuckWait> stuck;
  /// Of a run that is stuck: the events executed and those that would follow if every wait passed.
  std::vector<Thread> hypothetical;
  std::vector<uint32_t> order; ///< the threads of the notifies and waits, as they were executed
  bool isComplete = false;     ///< every core ended its last launch
  bool isOverBudget = false;   ///< in operations or time
  bool isLate = false;         ///< in time
  uint64_t operations = 0;
  /// Of each thread: the same in two runs if it did the same.
  std::vector<uint64_t> fingerprints;
  std::vector<std::byte> outputs; ///< all that the kernel may have written
};

/// How a run is scheduled.
struct RunMode {
  /// Priorities that change by chance, and puts made as late as they may be; else one core after
  /// the other, each as far as it comes.
  std::optional<uint64_t> seed = {};
  /// Each core by itself, launch by launch, with waits that pass at once: what it would do if it
  /// got that far. What it reads from others is not there, so undefinedReads stays empty.
  bool isAlone = false;
  /// When the run is ended.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

Recording record(const Subject &subject, const CheckOptions &options, const RunMode &mode = {});

/// Follows a schedule, and tells what happens.
std::vector<std::string> recordSchedule(const Subject &subject, const CheckOptions &options,
                                        std::string_view schedule);

} // namespace ditron::checker
