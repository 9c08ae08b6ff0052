// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/SystemMemory.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <string_view>
#include <sys/mman.h>
#include <sys/sysinfo.h>

namespace ditron {

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

/// The files of a version of control groups.
struct GroupFiles {
  const char *root, *limit, *usage;
  const char *droppable; ///< file pages in memory.stat that the group can drop: they count as free
};
constexpr GroupFiles kVersion2{"", "/memory.max", "/memory.current", "inactive_file"};
constexpr GroupFiles kVersion1{"/memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes",
                               "total_inactive_file"};

/// What the limit of one control group leaves.
size_t groupLeaves(const std::string &folder, const GroupFiles &files) {
  size_t limit = readNumber(folder + files.limit), usage = readNumber(folder + files.usage);
  if (limit == kUnknown || usage == kUnknown)
    return kUnknown;
  usage -= std::min(usage, groupStat(folder, files.droppable));
  return limit - std::min(limit, usage);
}

/// The least that a control group and the groups above it leave.
size_t groupsLeave(const std::string &root, std::string path, const GroupFiles &files) {
  size_t least = groupLeaves(root, files);
  while (path.size() > 1) {
    least = std::min(least, groupLeaves(root + path, files));
    path.resize(std::min(path.rfind('/'), path.size()));
  }
  return least;
}

} // namespace

size_t memoryOfGroups(std::istream &memberships, const std::string &root) {
  constexpr std::string_view kMemory = ":memory:", kUnified = "0::";
  size_t least = kUnknown;
  for (std::string line; std::getline(memberships, line);)
    if (line.starts_with(kUnified))
      least = std::min(least, groupsLeave(root, line.substr(kUnified.size()), kVersion2));
    else if (size_t at = line.find(kMemory); at != std::string::npos)
      least = std::min(
          least, groupsLeave(root + kVersion1.root, line.substr(at + kMemory.size()), kVersion1));
  return least;
}

size_t availableMemory() {
  std::ifstream memberships("/proc/self/cgroup");
  return std::min(memInfo("MemAvailable:"), memoryOfGroups(memberships, "/sys/fs/cgroup"));
}

void requireAddressSpace(size_t bytes, std::string_view what) {
  void *room = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED)
    throw RuntimeError(fmt::format("{} takes up to {} bytes of address space, which the limit on "
                                   "memory (ulimit -v) does not leave",
                                   what, bytes));
  munmap(room, bytes);
}

size_t totalMemory() {
  struct sysinfo machine = {}; // needs no file, of which a process may have too many
  return sysinfo(&machine) == 0 ? size_t(machine.totalram) * machine.mem_unit : kUnknown;
}

} // namespace ditron
