// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one way in which ditron writes a file: as a whole, or not at all.
//
// A new file has no name while it is written, so a process that is killed leaves nothing; then it
// gets a name that nobody can guess, and is renamed over its target. Whoever reads sees the old file
// or the new one. Links are not followed.
#pragma once
#include "ditron/support/OpenFile.h"
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <system_error>

namespace ditron {

/// Whose a file is, and who may do what with it.
struct FileAttributes {
  std::optional<mode_t> mode = std::nullopt; ///< none: what the umask leaves of 0666
  uid_t user = uid_t(-1);                    ///< -1: who writes it
  gid_t group = gid_t(-1);                   ///< -1: as the system chooses
};

/// Puts a file into an open folder, over one that is there.
std::error_code replaceFile(const OpenFile &folder, const std::string &name,
                            std::string_view contents, const FileAttributes &attributes);

/// Writes all of it to an open file.
std::error_code writeAll(const OpenFile &file, std::string_view contents);

/// The reason why the last system call failed.
std::error_code lastError();

/// 32 hexadecimal digits that nobody can guess.
std::string unguessable();

} // namespace ditron
