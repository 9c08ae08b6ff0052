// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/driver/backends/Backends.h"
#include "ditron/support/Error.h"
#include <fmt/format.h>

namespace ditron::backends {

std::span<const Entry> all() {
#define BACKEND(name) {#name, name},
  static constexpr Entry entries[] = {
#include "ditron/driver/backends/Backends.def"
  };
  return entries;
}

const runtime::Backend &find(std::string_view name) {
  std::string names;
  for (const Entry &entry : all()) {
    if (entry.name == name)
      return entry.backend();
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", entry.name);
  }
  throw UsageError(fmt::format("backend is '{}', expected one of {}", name, names));
}

} // namespace ditron::backends
