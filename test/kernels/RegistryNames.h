// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests for each kernel of the registry, named as it.
#pragma once
#include "ditron/kernels/Registry.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace ditron::kernels {

inline std::vector<std::string> kernelNames() {
  std::vector<std::string> result;
  for (const KernelEntry &entry : registry())
    result.push_back(entry.name);
  return result;
}

/// Those that several ranks run together.
inline std::vector<std::string> distributedNames() {
  std::vector<std::string> result = kernelNames();
  std::erase_if(result, [](const std::string &name) { return !findKernel(name).isDistributed; });
  return result;
}

/// The name of the test of a kernel.
inline std::string testName(const testing::TestParamInfo<std::string> &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

} // namespace ditron::kernels
