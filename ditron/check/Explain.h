// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From what was observed to findings that a person can act on.
#pragma once
#include "ditron/check/Races.h"
#include "ditron/check/Recorder.h"

namespace ditron::checker {

/// A finding, and the ops of the trace that take part in it: their waivers count.
struct Explained {
  Finding finding;
  std::vector<uint32_t> ops;
};

Explained explainRace(const Trace &trace, const Causality &causality, const Race &race);
Explained explainUndefined(const Trace &trace, const UndefinedRead &read);
Explained explainFailure(const Trace &trace, const Failure &failure);

/// Of a run that is stuck: the waits that ask for more than is ever notified, and the cycles of the
/// others.
std::vector<Explained> explainStuck(const Recording &recording);

/// Of a run that completes when all cores are resident, but not when `resident` of each rank are.
/// Nothing where it completes then too.
std::vector<Explained> explainResidence(const Trace &trace, int64_t resident);

} // namespace ditron::checker
