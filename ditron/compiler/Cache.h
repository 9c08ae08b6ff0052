// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel cache on disk: compiled objects by key, one file each, under DITRON_CACHE_DIR (default
// $XDG_CACHE_HOME/ditron or ~/.cache/ditron). An entry is written beside its place and renamed into
// it, so that concurrent processes see a whole one or none, and carries the hash of its key and its
// contents: a truncated or corrupt one, or another key's, counts as absent and is written anew. One
// that others can have written does too (see TrustedFolder.h). No trouble with the cache is an error;
// problem() tells of it.
#pragma once
#include "ditron/support/TrustedFolder.h"
#include <optional>
#include <string>
#include <string_view>

namespace ditron {

class KernelCache {
public:
  /// The cache of the environment. DITRON_CACHE=0 turns it off, DITRON_CACHE_TRUST says whom it
  /// trusts.
  static KernelCache fromEnvironment();
  /// A cache in `folder`; off if its path is empty.
  explicit KernelCache(std::filesystem::path folder, Trust trust = Trust::user)
      : folder_(std::move(folder), trust) {}

  /// The entry of a key (hexadecimal digits), if there is a sound one.
  std::optional<std::string> find(const std::string &key);
  /// Keeps an entry, if the folder can be written: else the next run compiles again.
  void store(const std::string &key, std::string_view contents);
  /// The entry of a key was found to be no good, `why`.
  void reject(const std::string &key, std::string_view why);
  /// What is wrong with the cache, for people; empty: nothing so far.
  const std::string &problem() const { return problem_; }

  /// The file of a key.
  std::filesystem::path file(const std::string &key) const;
  bool isOff() const { return folder_.path().empty(); }
  /// Where the entries are, and what else is kept of a machine.
  const TrustedFolder &folder() const { return folder_; }

private:
  TrustedFolder folder_;
  std::string problem_;
};

} // namespace ditron
