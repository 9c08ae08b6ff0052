// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/compiler/Cache.h"
#include "ditron/support/Env.h"
#include "ditron/support/Hash.h"
#include <atomic>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
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

std::optional<std::string> KernelCache::find(const std::string &key) const {
  if (folder_.empty())
    return std::nullopt;
  std::ifstream stream(file(key), std::ios::binary);
  std::string entry{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (!stream || entry.size() <= kDigestLength)
    return std::nullopt;
  std::string contents = entry.substr(kDigestLength);
  if (hexDigest(contents) != std::string_view(entry).substr(0, kDigestLength))
    return std::nullopt;
  return contents;
}

void KernelCache::store(const std::string &key, std::string_view contents) const {
  if (folder_.empty())
    return;
  static std::atomic<unsigned> count{0};
  std::error_code ignored;
  fs::create_directories(folder_, ignored);
  fs::path beside = folder_ / fmt::format("{}.{}.{}.tmp", key, getpid(), count++);
  std::ofstream stream(beside, std::ios::binary);
  stream << hexDigest(contents) << contents;
  stream.close();
  if (stream)
    fs::rename(beside, file(key), ignored);
  if (!stream || ignored)
    fs::remove(beside, ignored);
}

} // namespace ditron
