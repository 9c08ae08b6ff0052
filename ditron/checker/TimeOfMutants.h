// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/support/Error.h"
#include <chrono>
#include <fmt/format.h>
#include <string>

namespace ditron::checker {

/// The time of a check whose mutants are judged one after the other.
class TimeOfMutants {
public:
  TimeOfMutants(std::string name, std::chrono::seconds time)
      : name_(std::move(name)), end_(std::chrono::steady_clock::now() + time) {}

  /// What is left for the next mutant. RuntimeError where that is nothing.
  std::chrono::seconds left(size_t judged) const {
    auto left = end_ - std::chrono::steady_clock::now();
    if (left <= left.zero())
      throw RuntimeError(
          fmt::format("the time of the check is over after {} mutants of {}", judged, name_));
    return std::chrono::ceil<std::chrono::seconds>(left);
  }

private:
  std::string name_;
  std::chrono::steady_clock::time_point end_;
};

} // namespace ditron::checker
