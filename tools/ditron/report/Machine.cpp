// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ditron/report/Machine.h"
#include "ditron/runtime/Memory.h"
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sched.h>
#include <sstream>
#include <unistd.h>

namespace ditron::tools {

namespace {

namespace fs = std::filesystem;

/// The first line of a file, empty if it cannot be read.
std::string firstLine(const fs::path &path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// What stands after the colon of the first line of /proc/cpuinfo that begins with `field`.
std::string cpuInfo(std::string_view field) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (size_t colon = line.find(": "); line.starts_with(field) && colon != std::string::npos)
      return line.substr(colon + 2);
  return "";
}

std::vector<std::string> vectorFeatures() {
  std::vector<std::string> result;
  std::istringstream flags(cpuInfo("flags"));
  for (std::string flag; flags >> flag;)
    if (flag.starts_with("avx") || flag.starts_with("amx") || flag == "fma" || flag == "f16c" ||
        flag == "sse4_2")
      result.push_back(flag);
  return result;
}

/// Numbers in a list such as "0-3,8".
int countOf(const std::string &list) {
  int count = 0;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    int first = 0, last = 0;
    int found = std::sscanf(part.c_str(), "%d-%d", &first, &last);
    count += found == 2 ? last - first + 1 : found;
  }
  return count;
}

/// Bytes of "32K", "1M".
size_t bytesOf(const std::string &text) {
  char *end = nullptr;
  size_t value = std::strtoull(text.c_str(), &end, 10);
  return value << (*end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0);
}

std::vector<Cache> cachesOfCpu0() {
  std::vector<Cache> result;
  for (int index = 0;; ++index) {
    fs::path folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}", index);
    std::string level = firstLine(folder / "level");
    if (level.empty())
      return result;
    result.push_back({std::atoi(level.c_str()), firstLine(folder / "type"),
                      bytesOf(firstLine(folder / "size")),
                      countOf(firstLine(folder / "shared_cpu_list"))});
  }
}

} // namespace

Machine Machine::inspect() {
  Machine machine;
  machine.cpu = cpuInfo("model name");
  machine.features = vectorFeatures();
  machine.cpus = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  cpu_set_t set;
  machine.usable = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : machine.cpus;
  machine.nodes = std::max(1, countOf(firstLine("/sys/devices/system/node/online")));
  machine.memory = totalMemory();
  machine.availableMemory = ditron::availableMemory();
  machine.caches = cachesOfCpu0();
  return machine;
}

std::string slugOf(const std::string &name) {
  std::string text;
  for (char letter : name) {
    bool keeps = std::isalnum(static_cast<unsigned char>(letter));
    if (keeps)
      text.push_back(char(std::tolower(static_cast<unsigned char>(letter))));
    else if (!text.empty() && text.back() != '-')
      text.push_back('-');
  }
  while (text.ends_with('-'))
    text.pop_back();
  return text.empty() ? "unknown" : text;
}

std::string Machine::slug() const { return fmt::format("{}-x{}", slugOf(cpu), usable); }

} // namespace ditron::tools
