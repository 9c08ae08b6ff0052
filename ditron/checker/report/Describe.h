// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Events of a trace in words.
#pragma once
#include "ditron/checker/Check.h"
#include "ditron/checker/causality/Witness.h"
#include "ditron/checker/trace/EventTrace.h"
#include <optional>

namespace ditron::checker {

/// "writes bytes 0 to 63 of 'full' of rank 1", "notifies signal 'ready'[0] of rank 1 by 1".
std::string describeAction(const Trace &trace, const Event &event,
                           std::optional<Bytes> bytes = std::nullopt);

/// "1 core waits", "2 cores wait".
std::string coresWait(size_t cores);

/// Who executes an event, and what it does; `what` instead of that if it is not empty.
Party partyOf(const Trace &trace, uint32_t thread, const Event &event, std::string what = "");

/// "rank 0, core 1, role 'gather', launch 0, tile (1, 0): notifies ... (gemm.cpp:12)"
std::string describe(const Party &party);

/// A schedule for people, one line a segment.
std::vector<std::string> describeSchedule(const Trace &trace, const Schedule &schedule);

} // namespace ditron::checker
