// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <functional>
#include <string_view>
#include <thread>

namespace ditron {

/// A new thread. RuntimeError where the system has no room for it, naming the thread ("the thread of
/// rank 3"), the limits that may be at work and what needs fewer threads.
std::thread startThread(std::string_view what, std::function<void()> body);

} // namespace ditron
