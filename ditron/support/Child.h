// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work that may crash, never end or take all memory, done in a child process.
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <string>

namespace ditron {

/// What a child process may take.
struct ChildLimits {
  std::chrono::milliseconds time{10'000};
  /// Of memory beyond what this process has; less where the machine or a control group has less.
  size_t bytes = size_t(4) << 30;
  /// As much as this process may take.
  static constexpr size_t kAsMuch = std::numeric_limits<size_t>::max();
};

/// How the work ended.
struct ChildEnd {
  enum class Kind {
    answered, ///< it returned
    starved,  ///< it got no more memory
    crashed,  ///< a signal ended it, or it left the process
    late      ///< it was ended, its time being over
  };
  Kind kind = Kind::answered;
  std::string answer; ///< what it returned
  int signal = 0;     ///< that ended it; 0 where it left the process

  /// "signal 11 (Segmentation fault)".
  std::string text() const;
};

/// Does `work` in a copy of this process, whose stderr is discarded and which leaves nothing behind.
/// Other threads of this process do not exist there. RuntimeError where there can be no child.
ChildEnd inChild(const std::function<std::string()> &work, const ChildLimits &limits = {});

/// How a child that is the rest of a program ended: by its exit status, or by a signal.
struct ProgramEnd {
  int status = 0;
  int signal = 0; ///< 0: none
};

/// Does the rest of a program in a copy of this process, with its streams and without limits, so
/// that a crash can still be told. RuntimeError where there can be no child.
ProgramEnd runInChild(const std::function<int()> &program);

} // namespace ditron
