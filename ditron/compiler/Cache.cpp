// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/compiler/Cache.h"
#include "ditron/support/Env.h"
#include "ditron/support/Error.h"
#include "ditron/support/Hash.h"
#include <fmt/format.h>

namespace ditron {

namespace fs = std::filesystem;

/// Length of the hash that precedes the contents of an entry.
static constexpr size_t kDigestLength = 32;

static std::string digestOf(const std::string &key, std::string_view contents) {
  return Hasher().add(key).add(contents).hex();
}

static std::string nameOf(const std::string &key) { return key + ".kernel"; }

static fs::path folderOfEnvironment() {
  if (!envFlag("DITRON_CACHE").value_or(true))
    return {};
  if (auto folder = envString("DITRON_CACHE_DIR"))
    return *folder;
  if (auto folder = envString("XDG_CACHE_HOME"))
    return fs::path(*folder) / "ditron";
  if (auto home = envString("HOME"))
    return fs::path(*home) / ".cache" / "ditron";
  return {};
}

KernelCache KernelCache::fromEnvironment() {
  std::string trust = envChoice("DITRON_CACHE_TRUST", {"user", "group"}).value_or("user");
  return KernelCache(folderOfEnvironment(), trust == "group" ? Trust::group : Trust::user);
}

fs::path KernelCache::file(const std::string &key) const { return folder_.path() / nameOf(key); }

std::optional<std::string> KernelCache::find(const std::string &key) {
  if (isOff())
    return std::nullopt;
  try {
    std::optional<std::string> entry = folder_.read(nameOf(key));
    if (!entry)
      return std::nullopt;
    std::string contents = entry->substr(std::min(kDigestLength, entry->size()));
    if (digestOf(key, contents) == entry->substr(0, kDigestLength))
      return contents;
    reject(key, "is damaged: its contents have not the hash that it gives");
  } catch (const RuntimeError &error) {
    problem_ = fmt::format("kernel cache: {}; the kernel is compiled anew", error.what());
  }
  return std::nullopt;
}

void KernelCache::reject(const std::string &key, std::string_view why) {
  problem_ =
      fmt::format("kernel cache: '{}' {}; the kernel is compiled anew", file(key).string(), why);
}

void KernelCache::store(const std::string &key, std::string_view contents) {
  if (isOff())
    return;
  try {
    folder_.write(nameOf(key), digestOf(key, contents) + std::string(contents));
  } catch (const RuntimeError &error) {
    problem_ = fmt::format("kernel cache: {}; DITRON_CACHE_DIR names another folder, "
                           "DITRON_CACHE=0 turns the cache off",
                           error.what());
  }
}

} // namespace ditron
