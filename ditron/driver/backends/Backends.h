// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The registry of backends. A line of Backends.def adds one, which defines its function.
#pragma once
#include "ditron/runtime/device/Backend.h"
#include <span>
#include <string_view>

namespace ditron::backends {

#define BACKEND(name) const runtime::Backend &name();
#include "ditron/driver/backends/Backends.def"

struct Entry {
  std::string_view name;
  const runtime::Backend &(*backend)();
};

/// Every backend, in the order of Backends.def.
std::span<const Entry> all();

/// The backend of that name; UsageError that lists them otherwise.
const runtime::Backend &find(std::string_view name);

} // namespace ditron::backends
