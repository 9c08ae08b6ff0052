// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Independent work of the host on every CPU that this process may use.
#pragma once
#include <cstdint>
#include <functional>

namespace ditron {

/// The CPUs that this process may use.
int usableCpus();

/// Calls body(begin, end) for runs that together are [0, count), each once and none of fewer than
/// `grain` unless it is the only one, on as many threads at a time. Returns when all are done, and
/// throws what a body threw.
/// Where the system has no room for a thread, this one does its part.
void inParallel(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)> &body);

} // namespace ditron
