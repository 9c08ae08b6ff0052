// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/Error.h"
#include <fmt/format.h>
#include <string_view>

namespace ditron {

std::string describe(std::source_location where) {
  std::string_view file = where.file_name();
  file.remove_prefix(file.find_last_of('/') + 1); // npos + 1 is 0: no folder, nothing removed
  return fmt::format("{}:{}", file, where.line());
}

CompileError::CompileError(const std::string &message, std::source_location where)
    : Error(fmt::format("{}: {}", describe(where), message)) {}

InternalError::InternalError(const std::string &message, std::source_location where)
    : Error(fmt::format("internal error at {}: {}", describe(where), message)) {}

} // namespace ditron
