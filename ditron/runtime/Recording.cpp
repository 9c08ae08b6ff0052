// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/Recording.h"

using namespace ditron::runtime;

void ditron_record_tile(CoreContext *context, const char *place, int64_t dims, int64_t a, int64_t b,
                        int64_t c, int64_t d) {
  EventKind kind = dims ? EventKind::tile : EventKind::tilesEnd;
  Event &event = context->log->add(kind, nowTicks(), 0);
  event.dims = uint8_t(dims);
  describe(event, place, a, b, c, d);
}
