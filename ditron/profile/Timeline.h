// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The timeline of one launch: what every core of every rank did when, and which notify let which
// wait go on.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace ditron::profile {

enum class Kind : uint8_t { role, tile, put, get, wait, barrier, notify };

const char *name(Kind kind);

/// Something that a core did, from `begin` to `end`. Slices of a core nest: tiles lie in roles, the
/// verbs in both.
struct Slice {
  int64_t begin = 0, end = 0; ///< nanoseconds from the start of the timeline
  Kind kind = Kind::role;
  bool waited = false; ///< wait: the count was not there at once; barrier: always
  uint8_t dims = 0;    ///< tile: how many coordinates
  int32_t peer = -1;   ///< put, get, notify: the rank; -1 where it is not known
  int32_t name = -1;   ///< in Timeline::names, of a role or of a counter, "ready[1, 2]"; -1: none
  int32_t place = -1;  ///< in Timeline::names: "AllGatherGemm.cpp:31"; -1: not known
  /// In Timeline::tasks: of a role, the task that it is; of a wait, the one it waits for. -1: none.
  int32_t task = -1;
  /// tile: coordinates. put, get: bytes. wait: counter, what stood in it before the launch, count
  /// waited for. notify: counter, what stood in it before, and after. barrier: all ranks (1) or
  /// one (0), first core, number of cores, which of their barriers it is.
  int64_t values[4] = {};

  bool transfers() const { return kind == Kind::put || kind == Kind::get; }
};

/// What one core did.
struct Lane {
  int32_t rank = 0, core = 0;
  int64_t begin = 0, end = 0;     ///< of the kernel on this core
  int64_t knownUntil = INT64_MAX; ///< when its log was full
  int64_t dropped = 0;            ///< events from there on
  int64_t cpu = 0;                ///< nanoseconds for which the core had a CPU; 0: not known
  std::vector<Slice> slices;      ///< by begin, the outer of two first

  /// Up to when it is known what the core did.
  int64_t knownEnd() const { return std::min(end, knownUntil); }
};

/// A slice of a lane, by their numbers.
struct SliceRef {
  int32_t lane = -1, slice = -1;
  bool operator==(const SliceRef &) const = default;
};

/// From the notify to the wait that it let go on, or from the core that came last to a barrier to
/// another one. It starts where `from` begins and ends where `to` does, which is later.
struct Arrow {
  SliceRef from, to;
};

/// A node of a graph of tasks.
struct TaskName {
  std::string label, kernel;
};

struct Timeline {
  std::string kernel;
  int ranks = 0, cores = 0;
  std::vector<std::string> names;
  std::vector<TaskName> tasks; ///< the nodes of the graph that was launched; of a kernel, none
  std::vector<Lane> lanes;     ///< ranks * cores of them, rank by rank
  std::vector<Arrow> arrows;

  const Slice &at(SliceRef ref) const { return lanes[size_t(ref.lane)].slices[size_t(ref.slice)]; }
  /// The text of a name, empty for -1.
  const std::string &text(int32_t name) const;
  /// From the first core's start to the last core's end, in seconds.
  double seconds() const;
  size_t slices() const;
  /// Events that the logs of the cores had no room for.
  int64_t dropped() const;
  /// Finds the arrows. A wait has none where it held from the start, or where its notify was
  /// dropped. Where the clocks say that a cause came after its effect, the cause is moved back.
  void link();
};

} // namespace ditron::profile
