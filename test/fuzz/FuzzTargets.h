// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What reads bytes that somebody else may have written. A target reads them as the program does; it
// may refuse them with an error of ditron's, and do nothing else but return. One file each.
#pragma once
#include "ditron/support/Error.h"
#include <string>
#include <string_view>
#include <vector>

namespace ditron::fuzz {

struct Target {
  const char *name;
  void (*read)(std::string_view bytes);
  /// Where the program reads bytes in a child process first, and refuses those that crash it: the
  /// same with that child, so that no bytes may end it. Null: it reads them at once.
  void (*guarded)(std::string_view bytes) = nullptr;
};

extern const Target irTarget, optionsTarget, layoutTarget, calibrationTarget, kernelInfoTarget,
    entryTarget, meetingTarget, generateTarget;

/// Does what may end with an error of ditron's.
template <class Read> void allowErrors(Read &&read) {
  try {
    read();
  } catch (const Error &) {
  }
}

} // namespace ditron::fuzz
