// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/Memory.h"
#include "ditron/support/Error.h"
#include "ditron/support/Sanitizer.h"
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fmt/format.h>
#include <new>
#include <string>
#include <sys/mman.h>

namespace ditron::runtime {

std::string memoryRefusal(size_t bytes, std::string_view what) {
  constexpr size_t kAlwaysFine = size_t(1) << 20; // not worth reading files for
  if (bytes <= kAlwaysFine)
    return "";
  size_t available = availableMemory();
  if (bytes <= available)
    return "";
  return fmt::format("{} asks for {} bytes of memory, but {} are available", what, bytes,
                     available);
}

void requireMemory(size_t bytes, std::string_view what) {
  if (std::string refusal = memoryRefusal(bytes, what); !refusal.empty())
    throw RuntimeError(refusal);
}

std::shared_ptr<std::byte> allocateHost(size_t bytes, std::string_view what) {
  requireMemory(bytes, what);
  constexpr size_t kHugePage = size_t(2) << 20;
  size_t align = bytes >= kHugePage ? kHugePage : 64;
  // Whole pages, but where a sanitizer guards what is behind the last byte.
  size_t rounded = kSanitizer == Sanitizer::address ? bytes : (bytes + align - 1) / align * align;
  void *memory = nullptr;
  if (posix_memalign(&memory, align, std::max<size_t>(rounded, 1)) != 0)
    throw RuntimeError(
        fmt::format("{} asks for {} bytes of memory, which the system refuses", what, bytes));
  if (align == kHugePage)
    madvise(memory, rounded, MADV_HUGEPAGE); // a hint
  return std::shared_ptr<std::byte>(static_cast<std::byte *>(memory), std::free);
}

} // namespace ditron::runtime
