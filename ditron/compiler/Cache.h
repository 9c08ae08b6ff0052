// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel cache on disk: compiled objects by key, one file each, under DITRON_CACHE_DIR (default
// $XDG_CACHE_HOME/ditron or ~/.cache/ditron). An entry is written beside its place and renamed into
// it, so that concurrent processes see a whole one or none, and carries the hash of its contents: a
// truncated or corrupt one counts as absent and is written anew. No trouble with the cache is an
// error; problem() tells of it.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace ditron {

class KernelCache {
public:
  /// The cache of the environment. DITRON_CACHE=0 turns it off.
  static KernelCache fromEnvironment();
  /// A cache in `folder`; off if it is empty.
  explicit KernelCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// The entry of a key (hexadecimal digits), if there is a sound one.
  std::optional<std::string> find(const std::string &key);
  /// Keeps an entry, if the folder can be written: else the next run compiles again.
  void store(const std::string &key, std::string_view contents);
  /// The entry of a key was found to be no good, `why`.
  void reject(const std::string &key, std::string_view why);
  /// What is wrong with the cache, for people; empty: nothing so far.
  const std::string &problem() const { return problem_; }

  const std::filesystem::path &folder() const { return folder_; }
  /// The file of a key.
  std::filesystem::path file(const std::string &key) const;

private:
  std::filesystem::path folder_;
  std::string problem_;
};

} // namespace ditron
