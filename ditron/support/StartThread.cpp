// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/StartThread.h"
#include "ditron/support/Error.h"
#include <fmt/format.h>
#include <system_error>

namespace ditron {

std::thread startThread(std::string_view what, std::function<void()> body) {
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error &) {
    throw RuntimeError(
        fmt::format("{} cannot be started: limits on threads (ulimit -u, pids.max) or "
                    "memory (ulimit -v) leave no room for it; fewer ranks or cores "
                    "need fewer threads",
                    what));
  }
}

} // namespace ditron
