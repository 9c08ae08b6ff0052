// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conflicting accesses with no order between them.
#pragma once
#include "ditron/checker/causality/Causality.h"
#include <set>
#include <tuple>

namespace ditron::checker {

/// A read of bytes that nobody wrote in its launch.
struct UndefinedRead {
  Position at;
  Bytes bytes;
};

/// Two accesses to the same bytes, not both reads and not both atomic, that can be made in either
/// order; or, of one thread, an access to what a put before it may still read or write.
struct Race {
  Position first, second;
  Bytes bytes; ///< the first run of bytes that both touch
  /// How many pairs of the same two operations on the same kind of memory race.
  uint64_t pairs = 1;
};

struct RaceReport {
  /// One race for every pair of operations and name of memory, the one that the shortest prefixes
  /// lead to; in the order of the trace.
  std::vector<Race> races;
  /// Atomic operations on the same bytes that can happen in either order.
  bool hasUnorderedAtomics = false;
};

RaceReport findRaces(const Trace &trace, const Causality &causality);

/// A wait and a notify that it may see, one of which has a scope that does not span the two cores.
struct ScopeFault {
  Position wait, notify;
};

/// One for every pair of operations.
std::vector<ScopeFault> findNarrowScopes(const Trace &trace, const Causality &causality);

/// Notifies of one counter by the copy engines of two ranks.
struct SenderFault {
  Position first, second;
};

/// One for every pair of operations. Copy engines write words and cannot add, so a counter that they
/// notify has one sender.
std::vector<SenderFault> findSeveralSenders(const Trace &trace);

/// A notify by a core of a signal of another rank that copy engines notify or wait for. On GPUs such a
/// signal has one place in all launches, and the end of a launch clears it. Hence the notify stands
/// behind something that the other rank does in the launch, and in front of something.
struct StrayNotify {
  Position notify;
  bool isEarly =
      false; ///< it may come before the other rank has begun the launch; else when it is over
};

/// One for every operation. Of a run that is complete.
std::vector<StrayNotify> findStrayNotifies(const Trace &trace, const Causality &causality);

/// Two ops that race on memory of this name.
using RacedOps = std::set<std::tuple<uint32_t, uint32_t, std::string>>;
RacedOps::value_type racedOps(const Trace &trace, Position one, Position other);

/// The writes of a trace by memory, to tell what is read too early from what nobody writes.
class RacingWrites {
public:
  /// Both are borrowed.
  RacingWrites(const Trace &trace, const Causality &causality)
      : trace_(trace), causality_(causality) {}
  /// Whether a write of the bytes read is in no order with the read, and the two ops are among these.
  bool any(const UndefinedRead &read, const RacedOps &raced);

private:
  void collect();

  const Trace &trace_;
  const Causality &causality_;
  bool isCollected_ = false;
  std::vector<std::vector<Position>> ofMemory_;
};

} // namespace ditron::checker
