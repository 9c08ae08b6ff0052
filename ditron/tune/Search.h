// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The search for a fast configuration: coordinate descent from the default, then a run-off.
//
// One choice after another is varied over its candidates while the others stay, as long as that
// helps; a kernel's choices interact little enough for it, and it takes tens of trials where the
// product of the candidates has hundreds. Machines are noisy, and the fastest of many noisy times
// is a lucky one: the best few and the default are timed again, in turns, and the default stays
// unless another is faster by more than the noise.
#pragma once
#include "ditron/kernels/Config.h"
#include <functional>
#include <string>
#include <vector>

namespace ditron::tune {

/// A configuration, and how fast it is.
struct Trial {
  kernels::Config config;
  double seconds = 0;  ///< of a launch
  std::string refusal; ///< why it makes no kernel; empty: it does
};

struct Limits {
  int trials = 100;    ///< configurations
  double seconds = 60; ///< for all of them; the default is tried in any case
};

/// What the search found.
struct Outcome {
  Trial best, first;         ///< first: the default
  std::vector<Trial> trials; ///< each configuration once, in the order they were tried
  bool isComplete = false;   ///< no choice varied alone is faster; else a limit ended the search

  double speedup() const { return first.seconds / best.seconds; }
};

/// The seconds of a launch of a configuration. Throws CompileError where it makes no kernel.
using Measure = std::function<double(const kernels::Config &)>;
/// Told of each trial.
using Watch = std::function<void(const Trial &)>;

/// What helps a search along; either may be empty.
struct Guide {
  /// Told of the configurations that are tried next, so that they are compiled together: for each
  /// of them why it makes no kernel, or an empty text.
  std::function<std::vector<std::string>(const std::vector<kernels::Config> &)> prepare;
  /// Seconds of a launch, on any scale: what promises most is tried first, and what promises
  /// kHopeless times as many as the best so far is not. 0: unknown.
  std::function<double(const kernels::Config &)> predict;
};
inline constexpr double kHopeless = 1.5;

/// Searches from `start` over the candidates of `choices`; what has none stays as it is, and
/// configurations in which a choice has no effect are not tried. Any other
/// error than CompileError ends the search. CompileError where `start` makes no kernel.
Outcome search(const std::vector<kernels::ConfigParameter> &choices, const kernels::Config &start,
               const Measure &measure, const Limits &limits = {}, const Watch &watch = {},
               const Guide &guide = {});

} // namespace ditron::tune
