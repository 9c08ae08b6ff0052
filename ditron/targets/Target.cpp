// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/Target.h"
#include <fmt/format.h>

namespace ditron {

Target::~Target() = default;

std::string describe(const Resources &resources) {
  std::string text = fmt::format("{} registers", resources.registers);
  if (resources.scalarRegisters)
    text += fmt::format(", {} scalar registers", resources.scalarRegisters);
  if (resources.accumulatorRegisters)
    text += fmt::format(", {} accumulator registers", resources.accumulatorRegisters);
  if (resources.sharedBytes)
    text += fmt::format(", {} bytes of shared memory", resources.sharedBytes);
  return text + fmt::format(", {} bytes spilled, {} bytes of stack", resources.spilledBytes,
                            resources.stackBytes);
}

} // namespace ditron
