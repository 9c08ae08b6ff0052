// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programmatic dependent launch: a launch may begin before those in front of it have ended. It gives
// what it would give behind them if each of its threads waits for them before it touches memory, and
// before it ends: the launch behind it, which waits for this one alone, would else not wait for those.
// Hints are no accesses, and constants, which no launch writes, may be loaded before.
#include "Block.h"
#include <algorithm>

namespace ditron::emulator {

/// Whether an instruction accesses memory that other launches may access.
static bool touchesMemory(const Instruction &i) {
  Word name = i.name();
  if (name == "cp")
    return i.has("global");
  bool accesses = name == "ld" || name == "st" || name == "red" || name == "atom";
  return accesses && !i.has("param") && !i.has("local") && !i.has("shared") &&
         !i.has("shared::cluster") && !i.has("shared::cta");
}

bool Block::loadsAhead(Warp &warp, const Instruction &i, size_t lane) {
  if (i.name() == "ld") {
    uint64_t address = value(warp, i.operands[1], lane);
    return std::ranges::any_of(launch_.readAhead, [&](const auto &part) {
      return part.first <= address && address < part.second;
    });
  }
  bool loads = i.name() == "cp" && i.has("tensor") && !i.has("bulk_group");
  return loads && mapOf(warp, i.operands[1], lane).isReadAhead;
}

void Block::checkOrder(Warp &warp, const Instruction &i, const Mask &mask) {
  bool waits = i.name() == "griddepcontrol" && i.has("wait");
  bool ends = i.name() == "ret" || i.name() == "exit";
  if (!waits && !ends && !touchesMemory(i))
    return;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    if (mask[lane] && !waits && !warp.hasWaited[lane] && !loadsAhead(warp, i, lane))
      throw Fault(ends ? "a thread ends before it has waited for the launches before its own"
                       : "memory is accessed before the launches before are waited for: " + i.text);
    warp.hasWaited[lane] |= mask[lane] && waits;
  }
}

} // namespace ditron::emulator
