// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Block.h"
#include <cstring>

namespace ditron::emulator {

/// The word of a wait that ends where it is not 0, too; unread if the wait is over.
uint32_t Block::readWord(Warp &warp, const Instruction &i, size_t lane, bool isOver) {
  uint32_t word = 0;
  if (!isOver)
    std::memcpy(&word, inShared(value(warp, i.operands[4], lane), sizeof word), sizeof word);
  write(warp, i.operands[3].reg, lane, word);
  return word;
}

bool Block::synchronise(Warp &warp, const Instruction &i, const Mask &mask) {
  for (size_t lane = 0; lane < kLanes; ++lane) {
    if (!mask[lane])
      continue;
    if (i.has("try_wait")) {
      const Barrier &barrier = barriers_.at(value(warp, i.operands[1], lane));
      bool isOver = barrier.phase % 2 != value(warp, i.operands[2], lane);
      if (i.has("test_wait")) // or of another barrier
        isOver |= barriers_.at(value(warp, i.operands[3], lane)).phase % 2 !=
                  value(warp, i.operands[4], lane);
      else if (i.operands.size() > 3) // or where a word is not 0
        isOver |= readWord(warp, i, lane, isOver) != 0;
      if (!isOver)
        return false; // and again
      continue;
    }
    bool isNew = i.has("init"), isOver = i.has("inval");
    bool arrives = i.has("arrive"), stands = isNew || isOver || !arrives;
    auto [block, address] = blockOf(value(warp, i.operands[stands ? 0 : 1], lane));
    if (block.barriers_.contains(address) == isNew)
      throw Fault(isNew ? "an mbarrier is made where one is" : "there is no mbarrier: " + i.text);
    if (isOver) {
      block.barriers_.erase(address);
      continue;
    }
    Barrier &barrier = block.barriers_[address];
    if (isNew) {
      barrier.arrivals = barrier.pending = static_cast<int64_t>(value(warp, i.operands[1], lane));
      continue;
    }
    if (arrives && --barrier.pending < 0)
      throw Fault("too many arrivals: " + i.text);
    if (i.has("expect_tx"))
      barrier.bytes += static_cast<int64_t>(value(warp, i.operands[arrives ? 2 : 1], lane));
    if (i.has("complete_tx"))
      barrier.bytes -= static_cast<int64_t>(value(warp, i.operands[1], lane));
    barrier.update();
  }
  return true;
}

} // namespace ditron::emulator
