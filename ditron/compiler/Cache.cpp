// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/compiler/Cache.h"
#include "ditron/support/Env.h"
#include "ditron/support/Hash.h"
#include <atomic>
#include <cerrno>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace ditron {

namespace fs = std::filesystem;

/// Length of the hash that precedes the contents of an entry.
static constexpr size_t kDigestLength = 32;

KernelCache KernelCache::fromEnvironment() {
  if (!envFlag("DITRON_CACHE").value_or(true))
    return KernelCache(fs::path());
  if (auto folder = envString("DITRON_CACHE_DIR"))
    return KernelCache(fs::path(*folder));
  if (auto folder = envString("XDG_CACHE_HOME"))
    return KernelCache(fs::path(*folder) / "ditron");
  if (auto home = envString("HOME"))
    return KernelCache(fs::path(*home) / ".cache" / "ditron");
  return KernelCache(fs::path());
}

fs::path KernelCache::file(const std::string &key) const { return folder_ / (key + ".kernel"); }

std::optional<std::string> KernelCache::find(const std::string &key) {
  std::error_code ignored;
  if (folder_.empty() || !fs::exists(file(key), ignored))
    return std::nullopt;
  std::ifstream stream(file(key), std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  std::string entry = text.str();
  std::string_view digest = std::string_view(entry).substr(0, kDigestLength);
  std::string contents = entry.substr(digest.size());
  if (hexDigest(contents) == digest)
    return contents;
  reject(key, stream && !text.bad() ? "is damaged: its contents have not the hash that it gives"
                                    : "cannot be read");
  return std::nullopt;
}

void KernelCache::reject(const std::string &key, std::string_view why) {
  problem_ =
      fmt::format("kernel cache: '{}' {}; the kernel is compiled anew", file(key).string(), why);
}

void KernelCache::store(const std::string &key, std::string_view contents) {
  if (folder_.empty())
    return;
  static std::atomic<unsigned> count{0};
  std::error_code error;
  fs::create_directories(folder_, error);
  fs::path beside = folder_ / fmt::format("{}.{}.{}.tmp", key, getpid(), count++);
  std::ofstream stream(beside, std::ios::binary);
  stream << hexDigest(contents) << contents;
  stream.close();
  if (!error && !stream)
    error = std::error_code(errno, std::generic_category());
  if (!error)
    fs::rename(beside, file(key), error);
  if (!error)
    return;
  problem_ = fmt::format("kernel cache: '{}' cannot be written: {}; DITRON_CACHE_DIR names another "
                         "folder, DITRON_CACHE=0 turns the cache off",
                         folder_.string(), error.message());
  fs::remove(beside, error);
}

} // namespace ditron
