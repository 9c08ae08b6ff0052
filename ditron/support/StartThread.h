// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <functional>
#include <string_view>
#include <thread>

namespace ditron {

/// A new thread, with a stack of at least 1 MiB whatever the limit (ulimit -s). RuntimeError where the system has no room for it, naming the thread ("the thread of
/// rank 3"), the limits that may be at work and what needs fewer threads.
std::thread startThread(std::string_view what, std::function<void()> body);

/// The process in which somebody has threads, which a child that it forks does not have.
class OwnProcess {
public:
  OwnProcess();
  /// Whether this is a child, forked since.
  bool isForked() const;

private:
  uint64_t forks_;
};

/// Calls a body that throws nothing: here, or, if it can be had, on a thread of its own where this
/// one's stack may be smaller than 1 MiB.
void callOnLargeStack(const std::function<void()> &body);

} // namespace ditron
