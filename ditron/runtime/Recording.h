// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels compiled to be recorded call beside the verbs, and what the verbs note for them.
#pragma once
#include "ditron/runtime/CoreContext.h"
#include "ditron/runtime/Stats.h"
#include <string>

extern "C" {

/// This core begins the tile with these coordinates, of which there are `dims`; with 0 its loop is
/// over. `place` is the line of the loop, as the `site` of a verb in DeviceApi.h. Compiled code
/// calls it only where the log is full, and writes the event itself otherwise.
void ditron_record_tile(ditron::runtime::CoreContext *context, const char *place, int64_t dims,
                        int64_t a, int64_t b, int64_t c, int64_t d);
}

namespace ditron::runtime {

struct KernelCode;

//===-- Called by the verbs, while recording --------------------------------------------------===//

/// The time in ticks, or 0 where nothing is recorded.
inline uint64_t recordedTicks(const CoreContext *context) {
  return context->recording ? nowTicks() : 0;
}

/// Fills in a put or get: `remote` is the peer's side of it. Here and below, `site` is the verb's.
void describeTransfer(CoreContext *context, Event &event, const void *remote, uint64_t bytes,
                      const char *site);
void describeWait(CoreContext *context, Event &event, const SignalCell *cell, uint64_t base,
                  int64_t count, const char *site);
void describeBarrier(Event &event, int64_t allRanks, int64_t first, int64_t count,
                     uint64_t instance, const char *site);
/// Notes a wait that began at `begin`, in ticks, and held at once.
void recordHeldWait(CoreContext *context, uint64_t begin, const SignalCell *cell, uint64_t base,
                    int64_t count, const char *site);
/// Notes a notify that began at `begin`, in ticks; `cell` may be another rank's.
void recordNotify(CoreContext *context, uint64_t begin, const SignalCell *cell, uint64_t before,
                  uint64_t after, const char *site);
void recordRole(CoreContext *context, EventKind kind, const char *name, int64_t first,
                int64_t count);

//===-- Who is told ---------------------------------------------------------------------------===//

/// Told of every recorded launch of a rank, on the thread that launches, when it has gone well. The
/// logs are in Rank::log.
class LaunchObserver {
public:
  virtual ~LaunchObserver() = default;
  virtual void launched(Rank &rank, const KernelCode &code, const Workspace *workspace,
                        const LaunchStats &stats) = 0;
};

} // namespace ditron::runtime
