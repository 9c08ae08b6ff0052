// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every core of a run did that others can observe, and names for it. Knows nothing of the IR.
#pragma once
#include "ditron/checker/trace/Footprint.h"
#include "ditron/support/DType.h"
#include <cstdint>
#include <string>
#include <vector>

namespace ditron::checker {

/// How far an order reaches; the same as device::Scope.
enum class Scope : uint8_t { core, device, system, network };

/// One step of a core that others can observe.
struct Event {
  enum class Kind : uint8_t {
    read,           ///< of a footprint, complete
    write,          ///< likewise
    atomic,         ///< read and write of each element at once
    putSource,      ///< read of a footprint, at any time until the core's next release or quiet
    putTarget,      ///< write of a footprint, likewise; stands behind its source
    notifyAdd,      ///< `object` grows by `value`; releases
    notifySet,      ///< `object` becomes `value` unless it is more; releases
    notifySubtract, ///< `object` shrinks by `value`; releases
    notifyStore,    ///< `object` becomes `value`; releases
    wait,           ///< until `object` is `value` or more; acquires
    fence,          ///< earlier puts come before later ones, at each peer
    quiet           ///< earlier puts are complete
  };
  Kind kind = Kind::read;
  bool continues = false; ///< of the same execution of an op as the event before
  uint16_t launch = 0;
  uint32_t site = 0;            ///< who did it: a number of Trace::sites
  uint32_t object = 0;          ///< the footprint of an access, the counter of a notify or wait
  Scope scope = Scope::network; ///< of a notify, wait or fence
  bool isStated : 1 = false;    ///< the scope: then a notify completes only puts that it reaches
  bool isExact : 1 = false;     ///< a wait for `value` itself
  bool takes : 1 = false;       ///< a wait that subtracts `value` as it sees it
  bool isRelaxed : 1 = false;   ///< a notify or wait that releases or acquires nothing
  uint64_t value = 0;

  bool isAccess() const { return kind <= Kind::putTarget; }
  bool isPut() const { return kind == Kind::putSource || kind == Kind::putTarget; }
  bool isRelease() const { return Kind::notifyAdd <= kind && kind <= Kind::notifyStore; }
  bool isSync() const { return isRelease() || kind == Kind::wait; }
  bool writes() const {
    return kind == Kind::write || kind == Kind::atomic || kind == Kind::putTarget;
  }
  bool shrinks() const { return kind == Kind::notifySubtract || kind == Kind::notifyStore; }
  /// Whether accesses to the same bytes race if nothing orders them.
  bool conflictsWith(const Event &other) const {
    bool areAtomic = kind == Kind::atomic && other.kind == Kind::atomic;
    return (writes() || other.writes()) && !areAtomic;
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
    int64_t rank = 0; ///< where a signal lives
  };

  int64_t cores = 1;           ///< of each rank: thread = rank * cores + core
  int64_t residentCores = 0;   ///< of each rank, that run at a time; 0: all
  bool hasCopyEngines = false; ///< the last core of each rank stands for them
  int64_t nodes = 1;           ///< into which the ranks divide
  std::vector<Thread> threads; ///< of the events executed
  std::vector<Op> ops;
  std::vector<std::string> roles;
  std::vector<Site> sites;
  std::vector<Memory> memories;
  std::vector<Counter> counters;
  /// Whether a wait is that of a core which starts when another one of its rank ends.
  bool waitsForResidence(uint32_t thread, const Event &wait) const {
    int64_t rank = thread / cores, core = thread % cores;
    return residentCores > 0 && core >= residentCores && wait.kind == Event::Kind::wait &&
           counters[wait.object].kind == Counter::Kind::launch &&
           counters[wait.object].rank == rank &&
           int64_t(wait.value) == wait.launch * cores + core - residentCores + 1;
  }

  Footprints footprints;

  const Event &at(Position position) const { return threads[position.thread][position.index]; }
  const Site &siteOf(const Event &event) const { return sites[event.site]; }
  const Op &opOf(const Event &event) const { return ops[sites[event.site].op]; }
  const Memory &memoryOf(const Event &access) const {
    return memories[footprints.memoryOf(access.object)];
  }
  /// The rank to which the put goes that an event, its source or its target, is a part of.
  int64_t peerOf(Position put) const {
    bool isSource = at(put).kind == Event::Kind::putSource;
    return memoryOf(threads[put.thread][put.index + isSource]).rank;
  }

  int64_t rankOf(uint32_t thread) const { return thread / cores; }
  bool isCopyEngine(uint32_t thread) const { return hasCopyEngines && thread % cores == cores - 1; }
  /// The scope that spans a thread and any other one of a rank.
  Scope toRank(uint32_t thread, int64_t rank) const {
    int64_t local = static_cast<int64_t>(threads.size()) / cores / nodes, own = rankOf(thread);
    return own == rank                   ? Scope::device
           : own / local == rank / local ? Scope::system
                                         : Scope::network;
  }
  /// The scope that spans two threads.
  Scope between(uint32_t one, uint32_t other) const {
    return one == other ? Scope::core : toRank(one, rankOf(other));
  }
};

} // namespace ditron::checker
