// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that a user has named.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace ditron {

/// All that a file holds, or a pipe brings. RuntimeError "'a.json' cannot be read: Is a directory"
/// where that fails, or is more than `most` bytes.
std::string readFile(const std::string &path, size_t most);

/// Writes a file as a whole over what is there, which stays where that fails (see ReplaceFile.h). A
/// device, a pipe and what lies in /dev or /proc are written through. RuntimeError "'a.json' cannot
/// be written: No space left on device" where that fails.
void writeFile(const std::string &path, std::string_view contents);

/// Writes a file of lines anew, with one more. RuntimeError as above.
void appendLine(const std::string &path, std::string_view line);

/// The same error, where it can be told before there is anything to write. Changes nothing.
void requireWritable(const std::string &path);

} // namespace ditron
