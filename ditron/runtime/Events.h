// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a core does beside computing, with the times at which it does it. A core writes its own log
// and nobody else's; the log is read when the launch is over. Writing takes no lock and no memory:
// the log has a fixed capacity, and what comes when it is full is counted and not kept.
//
// Every launch notes its transfers, and the waits that had to wait: what Account.h needs. A kernel
// compiled to be recorded notes everything else too, and the places of all in the source: what
// ditron/profile shows.
//
// Times are nanoseconds of CLOCK_MONOTONIC, which all processes of a host share.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <span>
#include <string>

namespace ditron::runtime {

inline uint64_t nowNs() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return uint64_t(time.tv_sec) * 1'000'000'000u + uint64_t(time.tv_nsec);
}

/// The time for which this thread had a CPU. A system call.
inline uint64_t cpuTimeNs() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return uint64_t(time.tv_sec) * 1'000'000'000u + uint64_t(time.tv_nsec);
}

/// A clock that counts on its own and does not wait for the memory accesses before it, as
/// CLOCK_MONOTONIC does: a mark in a stream of memory traffic must not hold it up. EventLog::timeOf
/// turns its ticks into nanoseconds.
inline uint64_t nowTicks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return nowNs();
#endif
}

enum class EventKind : uint8_t {
  put,       ///< values: the address at the peer, bytes
  get,       ///< values: the address at the peer, bytes
  wait,      ///< values: the counter's address, count waited for
  barrier,   ///< values: all ranks (1) or this one (0), first core, cores, which one of them it is
  notify,    ///< values: the counter's address, what stood in it before and after
  roleEnter, ///< place: the role's name; values: first core, cores
  roleLeave,
  tile,    ///< no end; values: coordinates
  tilesEnd ///< of the last tile of a loop; no end
};

/// One thing that a core did. Without recording only the first four kinds are noted, and of them
/// only kind and times: place and values are what stood there before. Addresses are as this rank
/// sees them; who owns them is found out when the log is read. 64 bytes: a cache line.
struct Event {
  uint64_t begin = 0, end = 0; ///< marks have no end
  EventKind kind = EventKind::put;
  bool waited = false;         ///< wait, barrier: it did not hold at once
  uint8_t dims = 0;            ///< tile: how many coordinates
  const char *place = nullptr; ///< "AllGatherGemm.cpp:31", as long as the kernel's code is there
  int64_t values[4] = {};

  /// Whether it is a moment: it has no end.
  bool isMark() const {
    return kind == EventKind::roleEnter || kind == EventKind::roleLeave ||
           kind == EventKind::tile || kind == EventKind::tilesEnd;
  }
  /// Whether the times are those of nowTicks, which what is only noted while recording uses: tiles,
  /// notifies, and waits that held at once.
  bool inTicks() const {
    return kind == EventKind::tile || kind == EventKind::tilesEnd || kind == EventKind::notify ||
           (kind == EventKind::wait && !waited);
  }
};
// Recorded kernels write the marks of tiles themselves (targets/cpu DistToRuntime.cpp), which costs
// less than a call: a tile may take no more than a microsecond.
static_assert(sizeof(Event) == 64 && offsetof(Event, begin) == 0 && offsetof(Event, end) == 8 &&
              offsetof(Event, kind) == 16 && offsetof(Event, dims) == 18 &&
              offsetof(Event, place) == 24 && offsetof(Event, values) == 32);
static_assert(int(EventKind::tile) == 7 && int(EventKind::tilesEnd) == 8);

/// The events of one core in one launch, in the order of their ends; they do not overlap.
class EventLog {
public:
  /// Address space for `capacity` events; memory is taken when they are written. RuntimeError where
  /// the address space is refused.
  explicit EventLog(size_t capacity);
  ~EventLog();
  EventLog(const EventLog &) = delete;
  EventLog &operator=(const EventLog &) = delete;

  /// Starts and ends a launch on this core, on the same thread. The thread's CPU time, which costs
  /// most of a microsecond, is taken only where it is asked for.
  void start(bool takesCpuTime = false) {
    takesCpuTime_ = takesCpuTime;
    count_ = 0;
    end_ = 0;
    cpu_ = takesCpuTime ? cpuTimeNs() : 0;
    readClocks(begin_, beginTicks_);
  }
  void finish() {
    readClocks(end_, endTicks_);
    cpu_ = takesCpuTime_ ? cpuTimeNs() - cpu_ : 0;
  }

  /// The place of the next event, to be written at once: what stands there is an old one.
  Event &add(EventKind kind, uint64_t begin, uint64_t end, bool waited = false) {
    Event &event = events_[std::min(count_++, last_)];
    // The log is long out of the cache, and a store that misses it holds up those behind it.
    __builtin_prefetch(&event + kAhead, 1);
    event.begin = begin;
    event.end = end;
    event.kind = kind;
    event.waited = waited;
    event.dims = 0;
    return event;
  }

  /// When the event added last began.
  uint64_t lastBegin() const { return events_[std::min(count_ - 1, last_)].begin; }

  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }
  /// For how long the core had a CPU between the two; 0 where it was not asked for.
  uint64_t cpuNs() const { return cpu_; }
  std::span<const Event> events() const { return {events_, size_t(std::min(count_, capacity()))}; }
  /// The nanoseconds of a moment between begin() and end(), once the launch is over.
  uint64_t timeOf(uint64_t ticks) const;
  uint64_t capacity() const { return last_ - 1; }
  /// Events that came when the log was full, and when the first of them began.
  uint64_t dropped() const { return count_ - std::min(count_, capacity()); }
  uint64_t firstDropped() const {
    const Event &first = events_[capacity()];
    return first.inTicks() ? timeOf(first.begin) : first.begin;
  }

private:
  static constexpr size_t kAhead = 2; ///< events

  /// Both clocks at one moment, unless the core lost its CPU in between several times.
  static void readClocks(uint64_t &ns, uint64_t &ticks) {
    constexpr uint64_t kAtOnce = 1000; // ticks
    uint64_t before, after;
    int attempts = 4;
    do {
      before = nowTicks();
      ns = nowNs();
      after = nowTicks();
    } while (after - before > kAtOnce && --attempts > 0);
    ticks = before + (after - before) / 2;
  }
  static void checkLayout() { // for compiled code
    static_assert(offsetof(EventLog, events_) == 0 && offsetof(EventLog, count_) == 8 &&
                  offsetof(EventLog, last_) == 16);
  }

  Event *events_ = nullptr; // capacity() that are kept, the first that is not, and the last such
  uint64_t count_ = 0;      // of all events that came
  uint64_t last_ = 0;       // the place of those behind the first that is not kept
  bool takesCpuTime_ = false;
  uint64_t cpu_ = 0; // while a launch runs: at its start
  uint64_t begin_ = 0, end_ = 0, beginTicks_ = 0, endTicks_ = 0;
};

} // namespace ditron::runtime
