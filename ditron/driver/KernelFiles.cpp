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

KernelFiles::KernelFiles(std::string_view kernel, std::string_view key, std::string_view target)
    : kernel_(kernel) {
  constexpr size_t kDigits = 16;
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
    return code;
  } catch (const RuntimeError &error) {
    throw RuntimeError(fmt::format("DITRON_OVERRIDE_DIR: {}", error.what()));
  }
}

} // namespace ditron
