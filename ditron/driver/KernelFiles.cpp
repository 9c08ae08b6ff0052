// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/driver/KernelFiles.h"
#include "ditron/support/Env.h"
#include "ditron/support/Error.h"
#include "ditron/support/TrustedFolder.h"
#include "ditron/targets/Targets.h"
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <mutex>
#include <set>

namespace ditron {

/// A name without what files or shells may not like.
static std::string plain(std::string_view name) {
  std::string result(name);
  auto isPlain = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; };
  std::replace_if(result.begin(), result.end(), std::not_fn(isPlain), '_');
  return result;
}

static constexpr size_t kDigits = 16; ///< of a key, in names of files

KernelFiles::KernelFiles(std::string_view kernel, std::string_view key, std::string_view target)
    : kernel_(kernel) {
  const Target *found = findTarget(target);
  name_ = fmt::format("{}-{}.{}", plain(kernel), key.substr(0, kDigits),
                      found && found->launchesAssembly() ? "ptx" : "o");
}

void KernelFiles::dump(std::string_view code) const {
  std::optional<std::string> folder = envString("DITRON_DUMP_DIR");
  if (!folder)
    return;
  try {
    TrustedFolder(*folder).write(name_, code);
  } catch (const RuntimeError &error) {
    throw RuntimeError(fmt::format("DITRON_DUMP_DIR: {}", error.what()));
  }
}

/// Once for all ranks of a process.
static void tell(const std::string &line) {
  static std::mutex mutex;
  static std::set<std::string> told;
  std::lock_guard lock(mutex);
  if (told.insert(line).second)
    fmt::print(stderr, "ditron: {}\n", line);
}

/// The first file of a folder that is of the same kernel, as it is compiled for something else.
static std::optional<std::string> sibling(const std::filesystem::path &folder,
                                          const std::string &name) {
  size_t digits = name.rfind('.') - kDigits;
  std::optional<std::string> first;
  std::error_code error; // a folder that cannot be listed has none
  for (const auto &entry : std::filesystem::directory_iterator(folder, error)) {
    std::string other = entry.path().filename();
    bool isOfSame = other.size() == name.size() && other.compare(0, digits, name, 0, digits) == 0;
    if (isOfSame && (!first || other < *first))
      first = other;
  }
  return first;
}

std::optional<std::string> KernelFiles::replacement() const {
  std::optional<std::string> folder = envString("DITRON_OVERRIDE_DIR");
  if (!folder)
    return std::nullopt;
  if (std::error_code error; !std::filesystem::is_directory(*folder, error))
    throw RuntimeError(fmt::format(
        "DITRON_OVERRIDE_DIR is '{}', expected a folder with code of kernels", *folder));
  try {
    std::optional<std::string> code = TrustedFolder(*folder).read(name_);
    if (code)
      tell(fmt::format("{}: its code is that of {}/{} (DITRON_OVERRIDE_DIR)", kernel_, *folder,
                       name_));
    else if (std::optional<std::string> other = sibling(*folder, name_))
      tell(fmt::format("{}: its code is that of the compiler, as {} has {}, and no {} "
                       "(DITRON_OVERRIDE_DIR)",
                       kernel_, *folder, *other, name_));
    return code;
  } catch (const RuntimeError &error) {
    throw RuntimeError(fmt::format("DITRON_OVERRIDE_DIR: {}", error.what()));
  }
}

} // namespace ditron
