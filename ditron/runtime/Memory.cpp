// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/Memory.h"
#include "ditron/support/Error.h"
#include "ditron/support/Sanitizer.h"
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <new>
#include <string>
#include <sys/mman.h>

namespace ditron::runtime {

namespace {

constexpr size_t kUnknown = std::numeric_limits<size_t>::max();

/// Bytes of a line such as "MemAvailable:  24000000 kB".
size_t memInfo(std::string_view field) {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(field))
      return std::strtoull(line.c_str() + field.size(), nullptr, 10) * 1024;
  return kUnknown;
}

size_t readNumber(const std::string &path) {
  std::ifstream file(path);
  size_t value;
  return file >> value ? value : kUnknown; // "max" is no number: no limit
}

/// A line such as "inactive_file 4096" of a control group's memory.stat.
size_t groupStat(const std::string &folder, std::string_view field) {
  std::ifstream file(folder + "/memory.stat");
  for (std::string key; file >> key;) {
    size_t value = 0;
    file >> value;
    if (key == field)
      return value;
  }
  return 0;
}

/// What the limit of one control group leaves; file pages that it can drop count as free.
size_t groupLeaves(const std::string &folder, const char *limitFile, const char *usageFile,
                   const char *droppable) {
  size_t limit = readNumber(folder + limitFile), usage = readNumber(folder + usageFile);
  if (limit == kUnknown || usage == kUnknown)
    return kUnknown;
  usage -= std::min(usage, groupStat(folder, droppable));
  return limit - std::min(limit, usage);
}

/// The least that this process's control group and the groups above it leave (versions 2 and 1).
size_t groupAvailable() {
  size_t least = kUnknown;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    bool v2 = line.starts_with("0::");
    size_t v1 = line.find(":memory:");
    if (!v2 && v1 == std::string::npos)
      continue;
    std::string root = v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    for (std::string path = line.substr(v2 ? 3 : v1 + 8);; path.resize(path.rfind('/'))) {
      std::string folder = root + (path == "/" ? "" : path);
      least = std::min(least,
                       v2 ? groupLeaves(folder, "/memory.max", "/memory.current", "inactive_file")
                          : groupLeaves(folder, "/memory.limit_in_bytes", "/memory.usage_in_bytes",
                                        "total_inactive_file"));
      if (path.find('/') == std::string::npos)
        break;
    }
  }
  return least;
}

} // namespace

size_t availableMemory() { return std::min(memInfo("MemAvailable:"), groupAvailable()); }

size_t totalMemory() { return memInfo("MemTotal:"); }

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
