// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <chrono>

namespace ditron::tools {

/// The time of one command (--seconds), whatever it does. Who works step by step asks what is left
/// of it. What looks at no clock, such as the analysis of a long run, has a moment more; then the
/// process ends with one line and exit status 3.
class CommandTime {
public:
  static CommandTime &get();

  /// From now on.
  void begin(std::chrono::seconds most);
  /// At least a second. UnavailableError where nothing is left.
  std::chrono::seconds left() const;

private:
  using Clock = std::chrono::steady_clock;

  std::chrono::seconds most_{};
  Clock::time_point end_ = Clock::time_point::max();
};

} // namespace ditron::tools
