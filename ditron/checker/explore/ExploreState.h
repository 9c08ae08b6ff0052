// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A state of a program in exploration, and the machine that leads from one to the next.
//
// What the cores share are counters, so a schedule is an order of notifies and waits. Whatever else
// a core does is done as soon as it comes: nobody can be kept from going on by it, and whether two
// accesses are ordered does not depend on which is executed first.
//
// Order is kept in vector clocks. A clock has a component for every thread, the number of its steps
// that come before, and one for every thread and peer that it puts to, the number of those puts
// that are complete before:
//
//   access   takes the clock of its thread
//   put      takes that clock as it is issued; and, at its peer, comes after puts that a fence
//            stands between. Nothing comes after the put until
//   quiet    of its thread: which then comes after all its puts
//   notify   of its thread: likewise, but for puts beyond the scope that the program states. It
//            leaves its clock with the counter. A relaxed one leaves the clocks of the puts that
//            are before a quiet, or, if they are to the rank of the counter, before a fence
//   wait     takes what was left with the counter by notifies since the last store to it, as far
//            as the scopes of both span the two threads. A relaxed one takes nothing
//
// Two accesses race if neither comes before the other, one of them writes, and not both are atomic.
#pragma once
#include "ditron/checker/trace/EventTrace.h"
#include <optional>
#include <set>

namespace ditron::checker {

using Clock = std::vector<uint32_t>;

/// What a notify left with a counter.
struct Message {
  uint32_t thread;
  Scope scope;
  uint32_t index; ///< of the last event of the thread that left something in this scope
  Clock clock;
};

/// Clocks and messages are left out, all of them, where the machine does not track order.
struct State {
  std::vector<uint32_t> at;     ///< of each thread: its next event
  std::vector<uint8_t> stopped; ///< of each thread: 1 if its next event is an error
  std::vector<uint64_t> counters;
  std::vector<Clock> clocks;         ///< of each thread
  std::vector<Clock> issued, fenced; ///< of each component of puts: of the last one issued, of
                                     ///< those before a fence
  std::vector<Clock> settled;        ///< of each thread: of its puts before a quiet
  std::vector<std::vector<Message>> messages; ///< of each counter

  /// What tells it from other states: `order` says whether clocks count.
  std::string key(bool order) const;
  /// The memory that it takes.
  size_t bytes() const;
};

/// What is wrong with an event in some state.
struct Fault {
  enum class Kind { race, narrowScope, uninitializedRead, negativeCounter, deadlock };
  Kind kind;
  Position at;                        ///< of a deadlock: the first wait
  std::optional<Position> other = {}; ///< the earlier access; the notify out of reach
  bool isUnfinishedPut = false; ///< a put was issued before the other access, and not complete
  Bytes bytes = {};             ///< of a race or read: the first of those
};

/// Executes the events of a trace, each thread's in its order, whatever the order between them.
class Machine {
public:
  /// The trace is borrowed.
  explicit Machine(const Trace &trace);

  const Trace &trace() const { return trace_; }
  /// Whether any two accesses could race, or a scope could be too narrow: if not, states need no
  /// clocks.
  bool tracksOrder() const { return tracksOrder_; }

  /// All threads before their first notify or wait.
  State start(std::vector<Fault> &faults) const;
  /// Executes the next notify or wait of a thread, which is enabled, and what stands up to the
  /// following one. Where that is an error the thread stops before it.
  void advance(State &state, uint32_t thread, std::vector<Fault> &faults) const;

  /// The next event of a thread: a notify or wait; null at its end, or where it has stopped.
  const Event *next(const State &state, uint32_t thread) const;
  bool isEnabled(const State &state, uint32_t thread) const;

  /// The last event of a thread that waits for, adds to or otherwise changes a counter; -1 if none
  /// does.
  struct LastUse {
    int64_t wait = -1, add = -1, change = -1; ///< a take is a change too
  };
  const LastUse &lastUse(uint32_t thread, uint32_t counter) const {
    return lastUses_[thread * trace_.counters.size() + counter];
  }
  /// Whether a counter is only added or set, only waited for by `>=`, and every scope reaches: then
  /// the earliest wait shows all that a later one does.
  bool isMonotone(uint32_t counter) const { return isMonotone_[counter]; }
  /// Whether every wait that is left for a monotone counter needs the add that is a thread's next
  /// event.
  bool isNeededByAll(const State &state, const Event &add) const;

private:
  /// Two accesses that race unless they are ordered.
  struct Conflict {
    Position other;
    Bytes bytes;
  };
  struct Info {
    std::vector<Conflict> conflicts;
    uint32_t component = 0; ///< of a put: its component of clocks, and its number in it
    uint32_t number = 0;
    /// Of a read of memory that a launch does not find defined: who writes there in it.
    std::vector<Position> writers;
  };
  void findComponents();
  void findUses();
  void findConflicts();
  void relate(Position one, Position other, Bytes bytes);

  void settle(State &state, uint32_t thread, std::vector<Fault> &faults) const;
  void step(State &state, uint32_t thread) const;
  void access(State &state, Position at, std::vector<Fault> &faults) const;
  void checkWritten(const State &state, Position at, const Clock &clock,
                    std::vector<Fault> &faults) const;
  bool isBefore(Position earlier, const Clock &clock) const;
  Fault raceOf(Position at, const Conflict &conflict, const Clock &clock) const;
  void fence(State &state, uint32_t thread, Scope scope) const;
  void quiet(State &state, uint32_t thread) const;
  void complete(State &state, uint32_t thread, Scope scope) const;
  void notify(State &state, Position at) const;
  void leave(State &state, Position at) const;
  void wait(State &state, Position at, std::vector<Fault> &faults) const;
  size_t putOf(uint32_t component) const { return component - trace_.threads.size(); }

  /// The components of a thread's puts: (peer, component).
  using Components = std::vector<std::pair<int64_t, uint32_t>>;

  const Trace &trace_;
  bool tracksOrder_ = false;
  size_t width_ = 0; ///< of a clock
  std::vector<Components> components_;
  std::vector<std::vector<Info>> infos_; ///< of each event
  std::vector<LastUse> lastUses_;
  std::vector<std::vector<Position>> adds_, waits_; ///< of each counter
  std::vector<bool> isMonotone_;
};

/// The clock that comes after both.
void join(Clock &clock, const Clock &other);

} // namespace ditron::checker
