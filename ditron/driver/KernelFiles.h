// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code of kernels in files, for people who read or edit it. DITRON_DUMP_DIR is a folder that gets what kernels are compiled
// to, each as NAME-KEY.ptx or, of a CPU, NAME-KEY.o. What lies under such a name in DITRON_OVERRIDE_DIR is loaded instead.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace ditron {

/// Those of one kernel, as the environment says.
class KernelFiles {
public:
  /// `key`: of the cache.
  KernelFiles(std::string_view kernel, std::string_view key, std::string_view target);

  /// Writes the code where it is asked for. RuntimeError naming the folder where that cannot be.
  void dump(std::string_view code) const;
  /// What is to be loaded instead of the kernel's code; a line on stderr says so, once a process, or that there is only a
  /// file of the same kernel for another shape, say. RuntimeError where there is no such folder, or it or the file is not
  /// to be believed (see TrustedFolder.h).
  std::optional<std::string> replacement() const;

private:
  std::string kernel_, name_;
};

} // namespace ditron
