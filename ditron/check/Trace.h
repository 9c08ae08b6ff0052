// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every core of a run did that others can observe, and names for it. Knows nothing of the IR.
#pragma once
#include "ditron/check/Footprint.h"
#include "ditron/support/DType.h"
#include <cstdint>
#include <string>
#include <vector>

namespace ditron::checker {

/// One step of a core that others can observe.
struct Event {
  enum class Kind : uint8_t {
    read,      ///< of a footprint, complete
    write,     ///< likewise
    atomic,    ///< read and write of each element at once
    putSource, ///< read of a footprint, at any time until the core's next release or quiet
    putTarget, ///< write of a footprint, likewise
    notifyAdd, ///< `object` grows by `value`; releases
    notifySet, ///< `object` becomes `value` unless it is more; releases
    wait,      ///< until `object` is `value` or more; acquires
    fence,     ///< earlier puts come before later ones, at each peer
    quiet      ///< earlier puts are complete
  };
  Kind kind = Kind::read;
  bool continues = false; ///< of the same execution of an op as the event before
  uint16_t launch = 0;
  uint32_t site = 0;   ///< who did it: a number of Trace::sites
  uint32_t object = 0; ///< the footprint of an access, the counter of a notify or wait
  uint64_t value = 0;

  bool isAccess() const { return kind <= Kind::putTarget; }
  bool isPut() const { return kind == Kind::putSource || kind == Kind::putTarget; }
  bool isRelease() const { return kind == Kind::notifyAdd || kind == Kind::notifySet; }
  bool isSync() const { return isRelease() || kind == Kind::wait; }
  bool writes() const {
    return kind == Kind::write || kind == Kind::atomic || kind == Kind::putTarget;
  }
  bool operator==(const Event &) const = default;
};

/// The events of one core, in program order.
using Thread = std::vector<Event>;

/// An event of a trace.
struct Position {
  uint32_t thread = 0, index = 0;
  auto operator<=>(const Position &) const = default;
};

/// A waiver as it stands on an op.
struct WaiverText {
  std::string name, reason;
  auto operator<=>(const WaiverText &) const = default;
};

struct Trace {
  /// An operation of the program.
  struct Op {
    std::string name, file;
    int64_t line = 0;
    std::vector<WaiverText> waivers;
  };
  /// An operation at one place of the iteration space.
  struct Site {
    uint32_t op = 0, role = 0;
    std::vector<int64_t> tile;
  };
  struct Memory {
    std::string name; ///< of the argument or buffer
    int64_t rank = 0;
    DType type = DType::f32;
    bool isSymmetric = false;
    /// What it holds at the start of a launch is defined.
    bool isDefined = false;
  };
  struct Counter {
    std::string name; ///< "signal 'ready'[2] of rank 1"
    enum class Kind : uint8_t { signal, barrier, launch } kind = Kind::signal;
  };

  int64_t cores = 1;           ///< of each rank: thread = rank * cores + core
  std::vector<Thread> threads; ///< of the events executed
  std::vector<Op> ops;
  std::vector<std::string> roles;
  std::vector<Site> sites;
  std::vector<Memory> memories;
  std::vector<Counter> counters;
  Footprints footprints;

  const Event &at(Position position) const { return threads[position.thread][position.index]; }
  const Site &siteOf(const Event &event) const { return sites[event.site]; }
  const Op &opOf(const Event &event) const { return ops[sites[event.site].op]; }
  const Memory &memoryOf(const Event &access) const {
    return memories[footprints.memoryOf(access.object)];
  }
};

} // namespace ditron::checker
