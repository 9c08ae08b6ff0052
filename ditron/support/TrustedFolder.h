// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A folder whose files are believed: machine code that is loaded, numbers that decide what is
// compiled. Who may write there runs code as this user. So a folder counts, and a file in it, only
// where nobody may write but the user and root, or, by choice, a group (see docs/security.md).
#pragma once
#include "ditron/support/OpenFile.h"
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace ditron {

/// Whose files are believed, beside those of root.
enum class Trust : uint8_t {
  user,  ///< this user's
  group, ///< those of every member of the group that the folder has
};

class TrustedFolder {
public:
  explicit TrustedFolder(std::filesystem::path path, Trust trust = Trust::user)
      : path_(std::move(path)), trust_(trust) {}

  const std::filesystem::path &path() const { return path_; }

  /// Opens it; an empty file where there is none. RuntimeError naming the owner or the mode where it
  /// is not to be believed.
  OpenFile open() const;
  /// The same. Makes it, with mode 0700 (02770 for a group) whatever the umask, where there is none.
  OpenFile openOrMake() const;

  /// The contents of a file; none where there is no such file. RuntimeError where folder or file are
  /// not to be believed: other owners, modes that let others write, links, what is no regular file.
  std::optional<std::string> read(const std::string &name) const;
  /// Writes a file as a whole, with mode 0600 (0660). RuntimeError where folder or disk refuse.
  void write(const std::string &name, std::string_view contents) const;

private:
  std::filesystem::path path_;
  Trust trust_;
};

} // namespace ditron
