// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/support/Error.h"
#include <functional>
#include <gtest/gtest.h>
#include <string>

namespace ditron::testing_graphs {

/// What a CompileError says that fn ends with.
inline std::string errorOf(const std::function<void()> &fn) {
  try {
    fn();
  } catch (const CompileError &error) {
    return error.what();
  }
  return "no error";
}

} // namespace ditron::testing_graphs

#define EXPECT_ERROR(text, ...)                                                                    \
  EXPECT_NE(ditron::testing_graphs::errorOf([&] { __VA_ARGS__; }).find(text), std::string::npos)   \
      << ditron::testing_graphs::errorOf([&] { __VA_ARGS__; })
