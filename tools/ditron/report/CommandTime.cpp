// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ditron/report/CommandTime.h"
#include "ditron/support/StartThread.h"
#include "tools/ditron/report/Report.h"
#include "tools/ditron/verbs/Verbs.h"
#include <fmt/format.h>

namespace ditron::tools {

static std::string describe(std::chrono::seconds most) {
  return fmt::format("the time of {} s (--seconds) is over: what follows is not checked; check "
                     "less, or give it more",
                     most.count());
}

CommandTime &CommandTime::get() {
  static CommandTime time;
  return time;
}

void CommandTime::begin(std::chrono::seconds most) {
  constexpr std::chrono::seconds kMoment{10};
  most_ = most;
  end_ = Clock::now() + most;
  startThread("the thread that ends a check in time", [most, end = end_ + kMoment] {
    std::this_thread::sleep_until(end);
    printError(describe(most));
    std::_Exit(kUnavailable);
  }).detach();
}

std::chrono::seconds CommandTime::left() const {
  auto left = end_ - Clock::now();
  if (left <= left.zero())
    throw UnavailableError(describe(most_));
  return std::chrono::ceil<std::chrono::seconds>(left);
}

} // namespace ditron::tools
