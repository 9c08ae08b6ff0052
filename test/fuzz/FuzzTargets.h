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
  /// Of bytes that the program reads in a child process first: whether they are refused there, so
  /// that a target may crash on them. Null: it reads them at once.
  bool (*isRefused)(std::string_view bytes) = nullptr;
};

extern const Target irTarget, optionsTarget, layoutTarget, calibrationTarget, kernelInfoTarget,
    entryTarget;

/// Does what may end with an error of ditron's.
template <class Read> void allowErrors(Read &&read) {
  try {
    read();
  } catch (const Error &) {
  }
}

} // namespace ditron::fuzz
