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

/// ditron_wait where a tile has just been marked: the wait has its time if it holds at once.
void ditron_first_wait(ditron::runtime::CoreContext *context, void *cell, int64_t count,
                       int64_t mode, const char *site);
}

namespace ditron::runtime {

struct KernelCode;

//===-- Called by the verbs, while recording --------------------------------------------------===//

/// Says where an event was, and what it was about; `site` is the verb's.
inline void describe(Event &event, const char *site, int64_t a, int64_t b = 0, int64_t c = 0,
                     int64_t d = 0) {
  event.place = site;
  event.values[0] = a;
  event.values[1] = b;
  event.values[2] = c;
  event.values[3] = d;
}
inline int64_t addressOf(const void *memory) { return reinterpret_cast<int64_t>(memory); }

//===-- Who is told ---------------------------------------------------------------------------===//

/// Told of every recorded launch of a rank, on the thread that launches, when it has gone well. The
/// logs are in Rank::log. The next launch waits for it: what takes time is for later.
class LaunchObserver {
public:
  virtual ~LaunchObserver() = default;
  virtual void launched(Rank &rank, const KernelCode &code, const Workspace *workspace,
                        const LaunchStats &stats) = 0;
};

} // namespace ditron::runtime
