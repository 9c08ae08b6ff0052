// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/support/SystemMemory.h"
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace ditron::runtime {

/// Empty where `bytes` of memory are to be had, else the message that says how many bytes `what`
/// asks for and how many there are. Touches nothing.
std::string memoryRefusal(size_t bytes, std::string_view what);

/// RuntimeError with that message.
void requireMemory(size_t bytes, std::string_view what);

/// Uninitialised memory aligned to 64 bytes, to huge pages from 2 MiB up. RuntimeError naming the
/// bytes asked for and available where there is not enough, without touching it.
std::shared_ptr<std::byte> allocateHost(size_t bytes, std::string_view what);

} // namespace ditron::runtime
