// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Environment variables with a type. A variable that is unset or empty gives nothing, so that the
// default stands where it is used; one that does not read as its type is a UsageError naming the
// variable, what was found and what was expected:
//
//   auto bound = envInteger("DITRON_WAIT_TIMEOUT_MS", 1, 86'400'000).value_or(10'000);
//
//   DITRON_WAIT_TIMEOUT_MS is '10s': expected an integer from 1 to 86400000
//
#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace ditron {

/// The text of the variable.
std::optional<std::string> envString(const char *variable);

/// A decimal integer in [least, most].
std::optional<int64_t> envInteger(const char *variable, int64_t least, int64_t most);

/// A switch: 1, on, true, yes or 0, off, false, no.
std::optional<bool> envFlag(const char *variable);

/// One of `choices`.
std::optional<std::string> envChoice(const char *variable,
                                     std::initializer_list<std::string_view> choices);

} // namespace ditron
