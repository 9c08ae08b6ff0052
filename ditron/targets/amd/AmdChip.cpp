// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/amd/AmdChip.h"

namespace ditron::amd {

const std::vector<Chip> &chips() {
  static const std::vector<Chip> all = {
      {"gfx942", 64, 64 * 1024, 256, 128 * 1024, 2048, 10, 304, true},
      {"gfx90a", 64, 64 * 1024, 256, 128 * 1024, 2048, 40, 110, false},
  };
  return all;
}

} // namespace ditron::amd
