// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What compiled kernels call: the verbs of the Device level on a CPU, as C functions.
//
// A function that meets an error does not return. It raises the error for all ranks and leaves the
// kernel by longjmp to the launch, so a kernel must hold nothing that a destructor would give back
// when it calls one of these.
//
// `site` is the user's line of a verb, such as "AllGatherGemm.cpp:69", for reports and timelines;
// or null. It must stay for as long as the kernel's code does.
#pragma once
#include "ditron/runtime/CoreContext.h"
#include <cstdint>
#include <span>

extern "C" {

/// The address on rank `peer` that matches the symmetric address `pointer`, an address of any
/// rank's heap seen from here as its own. Error where `peer` is no rank or `pointer` is not
/// symmetric memory of this rank.
void *ditron_peer(ditron::runtime::CoreContext *context, void *pointer, int64_t peer);

/// Copies a chunk of `rank` dimensions into another rank's memory. Strides count elements and may
/// be anything; an extent of zero copies nothing. What was put is visible to whoever observes the
/// next notify of this core, and everywhere after ditron_quiet.
void ditron_put(ditron::runtime::CoreContext *context, void *to, const void *from,
                int64_t elementBytes, int64_t rank, const int64_t *extents,
                const int64_t *fromStrides, const int64_t *toStrides, const char *site = nullptr);

/// Copies a chunk out of another rank's memory. Done when it returns.
void ditron_get(ditron::runtime::CoreContext *context, void *to, const void *from,
                int64_t elementBytes, int64_t rank, const int64_t *extents,
                const int64_t *fromStrides, const int64_t *toStrides, const char *site = nullptr);

/// Notifies a signal, which may be another rank's. Mode 0 adds `value` (>= 0), mode 1 raises it to
/// `value` (>= 0) and leaves a larger one; a signal is used in one mode only.
/// Release: whoever observes it in a wait sees every earlier write and put of this core.
void ditron_notify(ditron::runtime::CoreContext *context, void *cell, int64_t value, int64_t mode,
                   const char *site = nullptr);

/// Waits until a signal of this rank has reached `count` in this launch. Acquire. Bounded: ends the
/// launch on every rank with one error that says what every core waits for (Watchdog.h).
void ditron_wait(ditron::runtime::CoreContext *context, void *cell, int64_t count, int64_t mode,
                 const char *site = nullptr);

/// Orders the puts before it before the puts and notifies after it.
void ditron_fence(ditron::runtime::CoreContext *context);
/// Completes every put of this core, everywhere.
void ditron_quiet(ditron::runtime::CoreContext *context);

/// Meets the cores [first, first + count): of this rank (allRanks = 0) or of every rank (1). Every
/// write of any of them before it is seen by all of them after it. Bounded by a quarter more than a
/// wait.
void ditron_barrier(ditron::runtime::CoreContext *context, int64_t allRanks, int64_t first,
                    int64_t count, const char *site = nullptr);

/// Brackets the body of a role, so that errors name it. `name` must outlive the launch.
void ditron_role_enter(ditron::runtime::CoreContext *context, const char *name, int64_t first,
                       int64_t count);
void ditron_role_leave(ditron::runtime::CoreContext *context);

/// Ends the launch on every rank with this message, prefixed with rank, core and role. Each `{}` in
/// it stands for the next of `count` values.
void ditron_fail(ditron::runtime::CoreContext *context, const char *message, const int64_t *values,
                 int64_t count);
}

namespace ditron::runtime {

/// A function that compiled code may call.
struct DeviceSymbol {
  const char *name;
  void *address;
};

/// All functions above, and those of Recording.h.
std::span<const DeviceSymbol> deviceSymbols();

} // namespace ditron::runtime
