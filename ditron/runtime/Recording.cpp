// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/Recording.h"
#include "ditron/runtime/Rank.h"
#include <algorithm>

using namespace ditron::runtime;

namespace {

/// Symmetric memory by its owner, and where the owner's lies on this rank.
struct Owner {
  int peer = -1;
  const std::byte *here = nullptr;
};

Owner ownerOf(const CoreContext *context, const void *address) {
  const SymmetricHeap &heap = context->owner->heap();
  auto stride = intptr_t(heap.stride());
  intptr_t offset = static_cast<const std::byte *>(address) - heap.base();
  intptr_t ranks = offset >= 0 ? offset / stride : -((-offset + stride - 1) / stride);
  intptr_t peer = context->rank + ranks;
  if (peer < 0 || peer >= context->ranks)
    return {};
  return {int(peer), static_cast<const std::byte *>(address) - ranks * stride};
}

int64_t counterOf(const CoreContext *context, const void *cellHere) {
  return static_cast<const SignalCell *>(cellHere) - context->cells;
}

} // namespace

void ditron_record_tile(CoreContext *context, const char *place, int64_t dims, int64_t a, int64_t b,
                        int64_t c, int64_t d) {
  Event event;
  event.begin = nowTicks();
  event.kind = dims ? EventKind::tile : EventKind::tilesEnd;
  event.dims = uint8_t(dims);
  event.place = place;
  std::copy_n(std::begin({a, b, c, d}), 4, event.values);
  context->log->add(event);
}

namespace ditron::runtime {

void describeTransfer(CoreContext *context, Event &event, const void *remote, uint64_t bytes,
                      const char *site) {
  event.place = site;
  event.peer = ownerOf(context, remote).peer;
  event.values[0] = int64_t(bytes);
}

void describeWait(CoreContext *context, Event &event, const SignalCell *cell, uint64_t base,
                  int64_t count, const char *site) {
  event.place = site;
  event.values[0] = counterOf(context, cell);
  event.values[1] = int64_t(base);
  event.values[2] = count;
}

void describeBarrier(Event &event, int64_t allRanks, int64_t first, int64_t count,
                     uint64_t instance, const char *site) {
  event.place = site;
  std::copy_n(std::begin({allRanks, first, count, int64_t(instance)}), 4, event.values);
}

void recordHeldWait(CoreContext *context, uint64_t begin, const SignalCell *cell, uint64_t base,
                    int64_t count, const char *site) {
  Event event{begin, nowTicks(), EventKind::wait};
  describeWait(context, event, cell, base, count, site);
  context->log->add(event);
}

void recordNotify(CoreContext *context, uint64_t begin, const SignalCell *cell, uint64_t before,
                  uint64_t after, const char *site) {
  Event event{begin, nowTicks(), EventKind::notify};
  Owner owner = ownerOf(context, cell);
  event.place = site;
  event.peer = owner.peer;
  event.values[0] = counterOf(context, owner.here);
  event.values[1] = int64_t(before);
  event.values[2] = int64_t(after);
  context->log->add(event);
}

void recordRole(CoreContext *context, EventKind kind, const char *name, int64_t first,
                int64_t count) {
  Event event;
  event.begin = event.end = nowNs();
  event.kind = kind;
  event.place = name;
  event.values[0] = first;
  event.values[1] = count;
  context->log->add(event);
}

} // namespace ditron::runtime
