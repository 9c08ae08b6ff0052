// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a notify does to a counter, wherever the counter is: by the core that notifies where memory
// is mapped, by whoever serves the rank where it is not.
#pragma once
#include "ditron/runtime/Workspace.h"

namespace ditron::runtime {

struct SignalUpdate {
  bool raises = false; ///< to `value`, unless more is there; else adds it
  uint64_t value = 0;
  uint64_t stamp = 0;         ///< a Stamp: who notified
  uint64_t stampDistance = 0; ///< bytes from a counter to where its stamp goes; 0: nowhere
};

/// What stood in a counter before and after.
struct SignalChange {
  uint64_t before = 0, after = 0;
};

/// Changes a counter. Release, and acquire too: a signal that several cores notify hands on what
/// each of them released. The stamp follows the value.
inline SignalChange changeSignal(SignalCell &cell, const SignalUpdate &update) noexcept {
  SignalChange change;
  if (update.raises) {
    change.before = cell.load(std::memory_order_relaxed);
    while (change.before < update.value &&
           !cell.compare_exchange_weak(change.before, update.value, std::memory_order_acq_rel,
                                       std::memory_order_relaxed)) {
    }
    change.after = change.before < update.value ? update.value : change.before;
  } else {
    change.before = cell.fetch_add(update.value, std::memory_order_acq_rel);
    change.after = change.before + update.value;
  }
  bool isStamped = update.stampDistance != 0 && (!update.raises || change.after != change.before);
  if (isStamped)
    reinterpret_cast<SignalCell *>(reinterpret_cast<std::byte *>(&cell) + update.stampDistance)
        ->store(update.stamp, std::memory_order_release);
  return change;
}

} // namespace ditron::runtime
