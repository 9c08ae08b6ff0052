// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that a user has named.
#pragma once
#include <string>
#include <string_view>

namespace ditron {

/// Writes a file, over what is there. RuntimeError "'a.json' cannot be written: No space left on
/// device" where that fails.
void writeFile(const std::string &path, std::string_view contents);

/// The same error, where it can be told before there is anything to write. Changes nothing.
void requireWritable(const std::string &path);

} // namespace ditron
