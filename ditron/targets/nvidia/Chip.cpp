// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/Chip.h"
#include <algorithm>

namespace ditron::nvidia {

const std::vector<Chip> &chips() {
  static const std::vector<Chip> all = {
      {"sm_90a", 9, 0, "+ptx84", 227 * 1024, true, true, 256 * 192, 132},
      {"sm_89", 8, 9, "+ptx84", 99 * 1024, false, false, 128 * 128, 128},
      {"sm_80", 8, 0, "+ptx84", 163 * 1024, false, false, 128 * 128, 108},
  };
  return all;
}

Chip Chip::share(int64_t ctas) const {
  constexpr int64_t kReserved = 1024; // shared bytes of a block besides
  Chip result = *this;
  ctas = std::max<int64_t>(1, ctas);
  result.sharedBytes = (sharedBytes + kReserved) / ctas - kReserved;
  result.coreRegisters = coreRegisters / ctas;
  return result;
}

const Chip *findChip(std::string_view name) {
  auto found = std::find_if(chips().begin(), chips().end(),
                            [&](const Chip &chip) { return chip.name == name; });
  return found == chips().end() ? nullptr : &*found;
}

// Code for 9.0 with its own instructions runs there only; that for 8.x on every later one.
bool Chip::runsOn(int deviceMajor, int deviceMinor) const {
  bool isOwn = name.ends_with('a');
  return isOwn ? std::pair(major, minor) == std::pair(deviceMajor, deviceMinor)
               : std::pair(major, minor) <= std::pair(deviceMajor, deviceMinor);
}

const Chip *chipFor(int major, int minor) {
  auto found = std::find_if(chips().begin(), chips().end(),
                            [&](const Chip &chip) { return chip.runsOn(major, minor); });
  return found == chips().end() ? nullptr : &*found;
}

} // namespace ditron::nvidia
