// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The device functions. What raises an error builds its text in a function of its own that has
// returned, with nothing left to destroy, before `leave` jumps out of the kernel.
#include "ditron/runtime/DeviceApi.h"
#include "ditron/runtime/Copy.h"
#include "ditron/runtime/DrainStores.h"
#include "ditron/runtime/Rank.h"
#include "ditron/runtime/Recording.h"
#include "ditron/runtime/Wait.h"
#include "ditron/runtime/transport/Transport.h"
#include "ditron/support/Message.h"
#include <algorithm>
#include <fmt/format.h>

using namespace ditron::runtime;

namespace {

/// Takes the time of a scope. Has nothing to destroy: a kernel may be left inside.
struct Stopwatch {
  uint64_t begin = nowNs();
  /// Ends the scope: an event in the log, whose time is added to a statistic.
  Event &stop(CoreContext *context, EventKind kind, uint64_t &total, bool waited) const {
    uint64_t end = nowNs();
    total += end - begin;
    return context->log->add(kind, begin, end, waited);
  }
};

[[noreturn]] void leave(CoreContext *context) { std::longjmp(context->leave, 1); }

const CoreContext::Role *role(const CoreContext *context) {
  int64_t depth = std::min<int64_t>(context->roleDepth, CoreContext::kMaxRoles);
  return depth > 0 ? &context->roles[depth - 1] : nullptr;
}

std::string place(const CoreContext *context) {
  std::string text = fmt::format("rank {}, core {}", context->rank, context->core);
  if (const CoreContext::Role *inside = role(context))
    text += fmt::format(", role '{}'", inside->name);
  return text + fmt::format(" of kernel '{}'", context->kernel);
}

__attribute__((noinline)) void raise(CoreContext *context, std::string_view what,
                                     Fault fault = Fault::program) {
  context->owner->control().raise(fmt::format("{}: {}", place(context), what), fault);
}

template <class... Values>
[[noreturn]] __attribute__((noinline)) void fail(CoreContext *context, std::string_view format,
                                                 Values... values) {
  raise(context, fmt::format(fmt::runtime(format), values...));
  leave(context);
}

/// Waits for `ready` within a bound. Returns false where it has passed; leaves the kernel where the
/// run has an error.
template <class Ready>
bool await(CoreContext *context, std::chrono::milliseconds bound, Ready &&ready) {
  Rank &rank = *context->owner;
  WaitResult result =
      waitUntil(ready, [&] { return rank.control().stopped(); }, bound, rank.crowded());
  if (result == WaitResult::stopped)
    leave(context);
  return result == WaitResult::ready;
}

/// Leaves the kernel unless a signal is one of this rank and launch.
void checkOwn(CoreContext *context, const SignalCell *cell) {
  if (cell < context->cells || size_t(cell - context->cells) >= context->cellCount)
    fail(context, "waits for a signal that is none of its rank's in this launch");
}

/// The path of the roles entered: "outer/inner".
std::string rolePath(const CoreContext *context) {
  std::string path;
  for (int64_t i = 0; i < std::min<int64_t>(context->roleDepth, CoreContext::kMaxRoles); ++i)
    path += fmt::format("{}{}", i ? "/" : "", context->roles[i].name);
  return path;
}

__attribute__((noinline)) uint32_t newPlace(CoreContext *context, const char *site) {
  return context->owner->watch().place(rolePath(context), site ? site : "");
}

/// The number of the line that a verb stands at, for reports.
uint32_t placeAt(CoreContext *context, const char *site) {
  const CoreContext::Role *inside = role(context);
  const char *name = inside ? inside->name : nullptr;
  PlaceCache::Entry &entry = context->places.of(name, site);
  if (!entry.known || entry.site != site || entry.role != name)
    entry = {name, site, newPlace(context, site), true};
  return entry.place;
}

/// Who notified a counter, to stand beside it where it is one of this launch.
void addStamp(CoreContext *context, SignalUpdate &update, const SignalCell *cell, uint64_t value,
              const char *site) {
  uint32_t place = placeAt(context, site);
  context->record->place.store(place, std::memory_order_relaxed);
  if (cell < context->cells || size_t(cell - context->cells) >= context->cellCount)
    return;
  update.stampDistance = context->pageOfStamps;
  update.stamp =
      Stamp{uint64_t(context->rank), uint64_t(context->core), place, context->epoch, value}.pack();
}

/// Notes a notify at `time`, in ticks. What the counter held is 0 where the transport does not say.
void recordNotify(CoreContext *context, uint64_t time, const SignalCell *cell,
                  const SignalChange &change, const char *site) {
  describe(context->log->add(EventKind::notify, time, time), site, addressOf(cell),
           int64_t(change.before), int64_t(change.after));
}

/// Notes that a role begins or ends.
void recordRole(CoreContext *context, EventKind kind, const char *name, int64_t first,
                int64_t count) {
  describe(context->log->add(kind, nowNs(), 0), name, first, count);
}

[[noreturn]] __attribute__((noinline)) void leaveLate(CoreContext *context) {
  Rank &rank = *context->owner;
  rank.control().raise(rank.reportLateWait());
  leave(context);
}

/// Meets the same cores of the other ranks, for all cores of this one.
void meetRanks(CoreContext *context, CoreBarrier &barrier, int first, int count) {
  Rank &rank = *context->owner;
  const Control &control = rank.control();
  uint64_t round = ++barrier.worldRounds;
  control.barrierRounds(first, count, rank.rank()).store(round, std::memory_order_release);
  int peer = 0;
  auto ready = [&] {
    while (peer < rank.size() &&
           control.barrierRounds(first, count, peer).load(std::memory_order_acquire) >= round)
      ++peer;
    return peer == rank.size();
  };
  if (!await(context, rank.meetingTimeout(), ready))
    leaveLate(context);
}

//===-- Peers ---------------------------------------------------------------------------------===//

Transport &reach(const CoreContext *context) { return context->owner->reach(); }

Caller callerOf(const CoreContext *context) { return {int(context->rank), int(context->core)}; }

/// An error unless `peer` is a rank and `memory` is symmetric.
void checkPeer(CoreContext *context, const void *memory, int64_t peer) {
  if (peer < 0 || peer >= context->ranks)
    fail(context, "reaches for rank {} of {}", peer, context->ranks);
  if (!context->owner->heap().contains(memory))
    fail(context, "reaches for rank {} through memory that is not symmetric", peer);
}

/// Waits until all that this core has begun is complete at the peers.
void awaitQuiet(CoreContext *context) {
  const Rank &rank = *context->owner;
  if (!await(context, rank.options().waitTimeout,
             [&] { return reach(context).isQuiet(callerOf(context)); })) {
    raise(context,
          fmt::format("waits for its puts and gets to complete: they outlive the bound of {} ms",
                      rank.options().waitTimeout.count()),
          Fault::machine);
    leave(context);
  }
  context->putsTo = CoreContext::kNowhere;
}

/// Before a notify: a transport orders it behind puts to the same peer, not to others.
void completeElsewhere(CoreContext *context, int64_t peer) {
  if (context->putsTo != CoreContext::kNowhere && context->putsTo != peer)
    awaitQuiet(context);
}

/// What a put or get moves. `own` is this rank's instance of the peer's side.
struct Move {
  CoreContext *context;
  int64_t peer;
  std::byte *own;
  ChunkShape chunk;
  const char *site;
};

/// An error for a shape that nothing can have, a peer that is no rank, or memory that it has not.
void check(const Move &move, int64_t dims) {
  if (dims < 0 || dims > int64_t(ChunkShape::kMaxDims) || int64_t(move.chunk.elementBytes) <= 0)
    fail(move.context, "moves a chunk of {} dimensions of {}-byte elements: expected at most {}",
         dims, int64_t(move.chunk.elementBytes), ChunkShape::kMaxDims);
  for (int64_t d = 0; d < dims; ++d)
    if (int64_t extent = move.chunk.extents[size_t(d)]; extent < 0)
      fail(move.context, "moves a chunk whose dimension {} has the negative extent {}", d, extent);
  // An empty chunk may lie behind the end of all memory.
  const void *begin = move.context->owner->heap().base();
  checkPeer(move.context, chunkBytes(move.chunk) ? move.own : begin, move.peer);
}

/// Times `work`, which moves the chunk, and notes it. Its bytes.
template <class Work> uint64_t transfer(const Move &move, EventKind kind, Work &&work) {
  CoreContext *context = move.context;
  Stopwatch stopwatch;
  work();
  Event &event = stopwatch.stop(context, kind, context->stats.transferNs, false);
  uint64_t bytes = chunkBytes(move.chunk);
  if (context->recording)
    describe(event, move.site, addressOf(context->owner->heap().peer(move.own, int(move.peer))),
             int64_t(bytes));
  return bytes;
}

} // namespace

void ditron_put(CoreContext *context, int64_t peer, void *to, const void *from,
                int64_t elementBytes, int64_t dims, const int64_t *extents,
                const int64_t *fromStrides, const int64_t *toStrides, const char *site) {
  auto size = size_t(dims);
  Move move{context,
            peer,
            static_cast<std::byte *>(to),
            {size_t(elementBytes), {extents, size}, {fromStrides, size}, {toStrides, size}},
            site};
  check(move, dims);
  context->stats.bytesPut += transfer(move, EventKind::put, [&] {
    reach(context).put(callerOf(context), int(peer), move.own, static_cast<const std::byte *>(from),
                       move.chunk);
  });
  bool isOnly = context->putsTo == CoreContext::kNowhere || context->putsTo == peer;
  context->putsTo = isOnly ? peer : CoreContext::kSeveral;
}

void ditron_get(CoreContext *context, int64_t peer, void *to, const void *from,
                int64_t elementBytes, int64_t dims, const int64_t *extents,
                const int64_t *fromStrides, const int64_t *toStrides, const char *site) {
  auto size = size_t(dims);
  Move move{context,
            peer,
            static_cast<std::byte *>(const_cast<void *>(from)),
            {size_t(elementBytes), {extents, size}, {fromStrides, size}, {toStrides, size}},
            site};
  check(move, dims);
  context->stats.bytesGot += transfer(move, EventKind::get, [&] {
    reach(context).get(callerOf(context), int(peer), static_cast<std::byte *>(to), move.own,
                       move.chunk);
    awaitQuiet(context);
  });
}

void ditron_notify(CoreContext *context, int64_t peer, void *cell, int64_t value, int64_t mode,
                   const char *site) {
  auto *signal = static_cast<SignalCell *>(cell);
  checkPeer(context, cell, peer);
  bool raises = NotifyMode(mode) != NotifyMode::add;
  if (value < 0)
    fail(context, "{}: {} {}, expected 0 or more: counters only grow", site ? site : "?",
         raises ? "notifySet sets a signal to" : "notify adds", value);
  drainStores();
  completeElsewhere(context, peer);
  uint64_t time = context->recording ? nowTicks() : 0;
  SignalUpdate update{.raises = raises, .value = uint64_t(value)};
  addStamp(context, update, signal, uint64_t(value), site);
  auto change = reach(context).notify(callerOf(context), int(peer), signal, update);
  if (context->recording)
    recordNotify(context, time, context->owner->heap().peer(signal, int(peer)),
                 change.value_or(SignalChange{}), site);
}

/// `isFirst`: a tile has just been marked.
static void wait(CoreContext *context, void *cell, int64_t count, int64_t mode, const char *site,
                 bool isFirst) {
  auto *signal = static_cast<SignalCell *>(cell);
  if (count <= 0)
    return; // holds from the start
  checkOwn(context, signal);
  auto target = uint64_t(count);
  if (signal->load(std::memory_order_acquire) >= target) {
    if (context->recording) {
      uint64_t time = isFirst ? context->log->lastBegin() : nowTicks();
      describe(context->log->add(EventKind::wait, time, time), site, addressOf(signal), count);
    }
    return;
  }
  context->record->wait(CoreRecord::signal, placeAt(context, site),
                        context->workspace->heapOffset(), context->workspace->counterOffset(signal),
                        target, uint64_t(mode));
  Stopwatch stopwatch;
  if (!await(context, context->owner->options().waitTimeout,
             [&] { return signal->load(std::memory_order_acquire) >= target; }))
    leaveLate(context);
  context->record->set(CoreRecord::computing);
  Event &event = stopwatch.stop(context, EventKind::wait, context->stats.waitNs, true);
  if (context->recording)
    describe(event, site, addressOf(signal), count);
}

void ditron_wait(CoreContext *context, void *cell, int64_t count, int64_t mode, const char *site) {
  wait(context, cell, count, mode, site, false);
}

void ditron_first_wait(CoreContext *context, void *cell, int64_t count, int64_t mode,
                       const char *site) {
  wait(context, cell, count, mode, site, true);
}

void ditron_fence(CoreContext *context) {
  drainStores();
  __atomic_thread_fence(__ATOMIC_RELEASE);
  awaitQuiet(context); // a transport orders notifies behind puts, not puts among themselves
}

void ditron_quiet(CoreContext *context) {
  drainStores();
  awaitQuiet(context);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void ditron_barrier(CoreContext *context, int64_t allRanks, int64_t first, int64_t count,
                    const char *site) {
  Rank &rank = *context->owner;
  if (first < 0 || count < 1 || first > rank.cores() - count)
    fail(context, "is at a barrier of {} cores from {} on, but its rank has {}", count, first,
         rank.cores());
  Stopwatch stopwatch;
  CoreBarrier &barrier = rank.coreBarrier(int(first), int(count));
  drainStores();
  awaitQuiet(context);
  uint32_t round = barrier.round.load(std::memory_order_acquire);
  context->record->wait(CoreRecord::barrier, placeAt(context, site), uint64_t(first),
                        uint64_t(count), allRanks != 0, allRanks ? barrier.worldRounds + 1 : round);
  uint32_t before = barrier.arrived.fetch_add(1, std::memory_order_acq_rel);
  if (before + 1 == uint32_t(count)) {
    if (allRanks)
      meetRanks(context, barrier, int(first), int(count));
    barrier.arrived.store(0, std::memory_order_relaxed);
    barrier.round.store(round + 1, std::memory_order_release);
  } else if (!await(context, rank.meetingTimeout(),
                    [&] { return barrier.round.load(std::memory_order_acquire) != round; })) {
    leaveLate(context);
  }
  context->record->set(CoreRecord::computing);
  Event &event = stopwatch.stop(context, EventKind::barrier, context->stats.waitNs, true);
  if (context->recording)
    describe(event, site, allRanks, first, count,
             allRanks ? int64_t(barrier.worldRounds) : int64_t(round));
}

void ditron_role_enter(CoreContext *context, const char *name, int64_t first, int64_t count) {
  if (context->roleDepth < CoreContext::kMaxRoles)
    context->roles[context->roleDepth] = {name, first, count};
  ++context->roleDepth;
  if (context->recording)
    recordRole(context, EventKind::roleEnter, name, first, count);
}

void ditron_role_leave(CoreContext *context) {
  --context->roleDepth;
  if (context->recording)
    recordRole(context, EventKind::roleLeave, nullptr, 0, 0);
}

__attribute__((noinline)) static void raiseMessage(CoreContext *context, const char *message,
                                                   std::span<const int64_t> values) {
  raise(context, ditron::fillIn(message, values));
}

void ditron_fail(CoreContext *context, const char *message, const int64_t *values, int64_t count) {
  raiseMessage(context, message, {values, size_t(count)});
  leave(context);
}

std::span<const DeviceSymbol> ditron::runtime::deviceSymbols() {
#define DITRON_SYMBOL(function) {#function, reinterpret_cast<void *>(&function)}
  static const DeviceSymbol symbols[] = {
      DITRON_SYMBOL(ditron_put),         DITRON_SYMBOL(ditron_get),
      DITRON_SYMBOL(ditron_notify),      DITRON_SYMBOL(ditron_wait),
      DITRON_SYMBOL(ditron_fence),       DITRON_SYMBOL(ditron_quiet),
      DITRON_SYMBOL(ditron_barrier),     DITRON_SYMBOL(ditron_role_enter),
      DITRON_SYMBOL(ditron_role_leave),  DITRON_SYMBOL(ditron_fail),
      DITRON_SYMBOL(ditron_record_tile), DITRON_SYMBOL(ditron_first_wait),
  };
#undef DITRON_SYMBOL
  return symbols;
}
