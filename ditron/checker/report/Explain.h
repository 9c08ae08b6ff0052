// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From what was observed to findings that a person can act on.
#pragma once
#include "ditron/checker/causality/Races.h"
#include "ditron/checker/causality/Witness.h"
#include "ditron/checker/trace/Recorder.h"

namespace ditron::checker {

/// A finding, and the ops of the trace that take part in it: their waivers count.
struct Explained {
  Finding finding;
  std::vector<uint32_t> ops;
  std::string memory = {}; ///< the name of what is accessed; empty where nothing is
};

/// A wait before an access, and a notify of the same signal behind the other one: what looks like
/// order between them.
struct Link {
  Position notify, wait;
};

/// A race in the order in which it is told: if there is a link, from `first` to `second`.
struct ToldRace {
  Position first, second;
  std::optional<Link> link;
  bool isReuse = false; ///< `second` overwrites what `first` was to read
};
/// Tells what was meant to come first. Without `causality` a reuse is not told from other races.
ToldRace tell(const Trace &trace, const Race &race, const Causality *causality = nullptr);
/// The two accesses of a race of two threads: kind, message and parties, no reason and no schedule.
Explained describeRace(const Trace &trace, const ToldRace &race, Bytes bytes);
/// An access of a thread to what a put of its own may not have finished with. No schedule.
Explained describeUnfinished(const Trace &trace, Position put, Position access, Bytes bytes);
/// Adds the wait of a link, which the notify named and others satisfy: as a party, and to the kind.
void addWrongWait(Explained &race, const Trace &trace, const Link &link,
                  const std::vector<Position> &others);

Explained explainRace(const Trace &trace, const Causality &causality, const Race &race);
/// Without a schedule.
Explained describeUndefined(const Trace &trace, const UndefinedRead &read);
Explained explainUndefined(const Trace &trace, const UndefinedRead &read);
/// A scope that does not reach: see findNarrowScopes.
Explained explainScope(const Trace &trace, const ScopeFault &fault);
/// A counter of several senders: see findSeveralSenders.
Explained explainSenders(const Trace &trace, const SenderFault &fault);
/// A notify that may come outside of its launch: see findStrayNotifies.
Explained explainStrayNotify(const Trace &trace, const StrayNotify &stray);
/// Without a schedule.
Explained describeFailure(const Trace &trace, const Failure &failure);
Explained explainFailure(const Trace &trace, const Failure &failure);

/// Of a run that is stuck: the waits that ask for more than is ever notified, and the cycles of the
/// others.
std::vector<Explained> explainStuck(const Recording &recording);

/// Cores that wait for what only cores would do that cannot start before others of their rank end:
/// neither is empty. No schedule.
Explained describeResidence(const Trace &trace, const std::vector<Position> &waiting,
                            const std::vector<Position> &starting);
/// Of a run that completes when all cores are resident, but not with as many as its launches wait
/// for. Nothing where it completes then too.
std::vector<Explained> explainResidence(const Trace &trace);

} // namespace ditron::checker
