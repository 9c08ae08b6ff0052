// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a rank of `ditron run` does with its launches on any backend: agree on how many follow one
// another, say what goes on, verify.
#pragma once
#include "ditron/driver/Context.h"
#include "ditron/runtime/Gather.h"
#include "tools/ditron/launch/Execute.h"
#include <fmt/format.h>

namespace ditron::tools {

class RankSteps {
protected:
  RankSteps(Context &context, const Task &task, const RunOptions &options, Progress &progress)
      : context_(context), rank_(context.runtimeRank()), task_(task), options_(options),
        progress_(progress), seed_(runtime::gather<uint64_t>(rank_, {options.seed})[0][0]) {}

  /// How many launches follow one another with no pause: as many as fit in a quarter of the bytes
  /// of memory that this rank may count on, each with operands of its own, of the rank where these
  /// are fewest. Collective.
  int agreeOnSets(double bytes) {
    constexpr int kMost = 16;
    double fitting = std::min(bytes / 4 / operandBytes(task_), double(kMost));
    int count = std::clamp(int(fitting), 1, options_.launches);
    for (const auto &other : runtime::gather<int>(rank_, {count}))
      count = std::min(count, other[0]);
    return count;
  }

  /// Goes on to something that takes its time; throws where another rank has failed.
  void begin(const char *what, int launch) {
    rank_.enter();
    if (context_.rank() == 0)
      progress_.show(fmt::format("{}: {}, launch {} of {}", task_.entry.name, what, launch + 1,
                                 options_.launches));
  }

  kernels::Inputs inputsOf(int launch) const {
    return {task_.entry, task_.kernel, task_.problem, seed_ + uint64_t(launch)};
  }

  /// Holds what a launch left in its operands to the reference.
  void verifyLaunch(int launch, const Operands &operands) {
    Findings found = verify(task_, inputsOf(launch), context_.rank(), operands);
    if (!found.verdict.ok && options_.launches > 1)
      found.verdict.failure += fmt::format(" (launch {})", launch + 1);
    findings_.merge(found);
  }

  Context &context_;
  runtime::Rank &rank_;
  const Task &task_;
  const RunOptions &options_;
  Progress &progress_;
  uint64_t seed_; ///< rank 0's
  Findings findings_;
};

} // namespace ditron::tools
