// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a launch failed: on all ranks alike.
#pragma once
#include "ditron/support/Error.h"
#include <cstdint>
#include <string>

namespace ditron::runtime {

/// Whose turn it is.
enum class Fault : uint32_t {
  machine, ///< a wait outlived its bound, or a rank or a device failed: RuntimeError
  program  ///< the kernel or its arguments are wrong: CompileError
};

struct Failure {
  std::string message;
  Fault fault = Fault::machine;
};

[[noreturn]] inline void throwFailure(const Failure &failure) {
  if (failure.fault == Fault::program)
    throw CompileError(failure.message);
  throw RuntimeError(failure.message);
}

} // namespace ditron::runtime
