// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/runtime/Events.h"
#include "ditron/runtime/Stats.h"
#include "ditron/runtime/Watchdog.h"
#include "ditron/runtime/Workspace.h"
#include <csetjmp>
#include <cstddef>
#include <cstdint>

namespace ditron::runtime {

class Rank;

/// What a core knows while it runs a kernel. Compiled code reads the first fields at fixed offsets;
/// the rest belongs to the functions of DeviceApi.h.
struct CoreContext {
  int64_t rank;
  int64_t ranks;
  int64_t core;
  int64_t cores;
  int64_t heapStride; ///< bytes between the heaps of neighbouring ranks
  std::byte *scratch; ///< memory of this core, 64-byte aligned
  int64_t scratchBytes;
  EventLog *log;

  static constexpr int kMaxRoles = 16;
  struct Role {
    const char *name;
    int64_t first, count;
  };

  Rank *owner;
  Workspace *workspace; ///< null: a kernel without symmetric memory
  const char *kernel;
  uint64_t epoch;
  SignalCell *cells; ///< the counters of this launch, and their bases
  const uint64_t *bases;
  uint64_t cellCount;
  uint64_t pageOfStamps; ///< bytes from a counter to its stamp; 0: there are none
  Role roles[kMaxRoles]; ///< the roles entered, innermost last
  int64_t roleDepth;
  CoreStats stats;
  CoreRecord *record; ///< what this core says about itself
  PlaceCache places;
  bool recording;     ///< everything goes to the log
  std::jmp_buf leave; ///< the launch's frame on this core
};

static_assert(offsetof(CoreContext, rank) == 0 && offsetof(CoreContext, ranks) == 8 &&
              offsetof(CoreContext, core) == 16 && offsetof(CoreContext, cores) == 24 &&
              offsetof(CoreContext, heapStride) == 32 && offsetof(CoreContext, scratch) == 40 &&
              offsetof(CoreContext, scratchBytes) == 48 && offsetof(CoreContext, log) == 56);

} // namespace ditron::runtime
