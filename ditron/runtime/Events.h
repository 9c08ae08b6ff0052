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
  put,       ///< values: bytes
  get,       ///< values: bytes
  wait,      ///< values: counter, what stood in it before the launch, count waited for
  barrier,   ///< values: all ranks (1) or this one (0), first core, cores, which one of them it is
  notify,    ///< values: counter, what stood in it before and after
  roleEnter, ///< place: the role's name; values: first core, cores
  roleLeave,
  tile,    ///< no end; values: coordinates
  tilesEnd ///< of the last tile of a loop; no end
};

/// One thing that a core did. Without recording only the first four kinds are noted, and of them no
/// place, peer or values. 64 bytes: a cache line.
struct Event {
  uint64_t begin = 0, end = 0;
  EventKind kind = EventKind::put;
  bool waited = false;         ///< wait, barrier: it did not hold at once
  uint8_t dims = 0;            ///< tile: how many coordinates
  int32_t peer = -1;           ///< put, get, notify: the rank; -1 where none is to be seen
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
// Recorded kernels write the marks of tiles themselves (target/cpu DistToRuntime.cpp), which costs
// less than a call: a tile may take no more than a microsecond.
static_assert(sizeof(Event) == 64 && offsetof(Event, begin) == 0 && offsetof(Event, end) == 8 &&
              offsetof(Event, kind) == 16 && offsetof(Event, dims) == 18 &&
              offsetof(Event, peer) == 20 && offsetof(Event, place) == 24 &&
              offsetof(Event, values) == 32);
static_assert(int(EventKind::tile) == 7 && int(EventKind::tilesEnd) == 8);

/// The events of one core in one launch, in the order of their ends; they do not overlap.
class EventLog {
public:
  /// Address space for `capacity` events; memory is taken when they are written. RuntimeError where
  /// the address space is refused.
  explicit EventLog(size_t capacity);
  ~EventLog();
  EventLog(EventLog &&other) noexcept;
  EventLog(const EventLog &) = delete;
  EventLog &operator=(const EventLog &) = delete;

  /// Starts and ends a launch on this core, on the same thread. The thread's CPU time costs about a
  /// microsecond, so it is taken only where it is asked for.
  void start(bool takesCpuTime = false) {
    takesCpuTime_ = takesCpuTime;
    next_ = events_;
    dropped_ = 0;
    end_ = 0;
    cpu_ = takesCpuTime ? cpuTimeNs() : 0;
    readClocks(begin_, beginTicks_);
  }
  void finish() {
    readClocks(end_, endTicks_);
    cpu_ = takesCpuTime_ ? cpuTimeNs() - cpu_ : 0;
  }

  void add(const Event &event) {
    if (next_ != limit_) {
      *next_++ = event;
      // The log is long out of the cache, and a store that misses it holds up those behind it.
      __builtin_prefetch(next_ + kAhead, 1);
    } else if (dropped_++ == 0)
      firstDropped_ = event.inTicks() ? nowNs() : event.begin;
  }

  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }
  /// For how long the core had a CPU between the two; 0 where it was not asked for.
  uint64_t cpuNs() const { return cpu_; }
  std::span<const Event> events() const { return {events_, next_}; }
  /// The nanoseconds of a moment between begin() and end(), once the launch is over.
  uint64_t timeOf(uint64_t ticks) const;
  size_t capacity() const { return size_t(limit_ - events_); }
  /// Events that came when the log was full, and when the first of them began.
  uint64_t dropped() const { return dropped_; }
  uint64_t firstDropped() const { return firstDropped_; }

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
    static_assert(offsetof(EventLog, next_) == 0 && offsetof(EventLog, limit_) == 8);
  }

  Event *next_ = nullptr, *limit_ = nullptr; // the place of the next event, and the end of all
  Event *events_ = nullptr;
  bool takesCpuTime_ = false;
  uint64_t cpu_ = 0; // while a launch runs: at its start
  uint64_t begin_ = 0, end_ = 0, beginTicks_ = 0, endTicks_ = 0, dropped_ = 0, firstDropped_ = 0;
};

} // namespace ditron::runtime
