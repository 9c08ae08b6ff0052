// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/abi/LaunchWords.h"
#include "ditron/runtime/Events.h"
#include "ditron/runtime/Stats.h"
#include "ditron/runtime/Watchdog.h"
#include "ditron/runtime/Workspace.h"
#include <csetjmp>
#include <cstddef>
#include <cstdint>

namespace ditron::runtime {

class Rank;

/// What a core knows while it runs a kernel. Compiled code reads the first fields, by
/// abi::CoreField; the rest belongs to the functions of DeviceApi.h.
struct CoreContext {
  int64_t rank;
  int64_t ranks;
  int64_t core;
  int64_t cores;
  int64_t localRanks; ///< of each node
  std::byte *scratch; ///< memory of this core, 64-byte aligned
  int64_t scratchBytes;
  EventLog *log;
  const int64_t *words; ///< of the launch

  static constexpr int kMaxRoles = 16;
  struct Role {
    const char *name;
    int64_t first, count;
  };

  Rank *owner;
  Workspace *workspace; ///< null: a kernel without symmetric memory
  const char *kernel;
  uint64_t epoch;
  SignalCell *cells; ///< the counters of this launch
  uint64_t cellCount;
  uint64_t pageOfStamps; ///< bytes from a counter to its stamp; 0: there are none
  Role roles[kMaxRoles]; ///< the roles entered, innermost last
  int64_t roleDepth;
  CoreStats stats;
  CoreRecord *record; ///< what this core says about itself
  PlaceCache places;
  int64_t putsTo; ///< the peer of the puts since this core was quiet, or one of those below
  static constexpr int64_t kNowhere = -1, kSeveral = -2;
  bool recording;     ///< everything goes to the log
  std::jmp_buf leave; ///< the launch's frame on this core
};

#define DITRON_FIELD(name) (offsetof(CoreContext, name) == size_t(abi::CoreField::name))
static_assert(DITRON_FIELD(rank) && DITRON_FIELD(ranks) && DITRON_FIELD(core) &&
              DITRON_FIELD(cores) && DITRON_FIELD(localRanks) && DITRON_FIELD(scratch) &&
              DITRON_FIELD(scratchBytes) && DITRON_FIELD(log) && DITRON_FIELD(words));
#undef DITRON_FIELD

} // namespace ditron::runtime
