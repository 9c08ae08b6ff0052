// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads, changes and writes of memory at once.
#include "Block.h"

namespace ditron::emulator {

namespace {

/// The sum of two elements, or of both pairs of halves.
uint64_t sum(const Instruction &i, uint64_t a, uint64_t b) {
  if (Word half = halfOf(i.type()); half[0] == 'f' || half[0] == 'b')
    return ofNumber(half, number(half, a) + number(half, b)) |
           ofNumber(half, number(half, a >> 16) + number(half, b >> 16)) << 16;
  if (isFloat(i.type())) // a double holds sums of shorter floats well enough to round them again
    return ofNumber(i.type(), number(i.type(), a) + number(i.type(), b));
  return a + b;
}

/// Whether one integer is less than another one of the instruction's type.
bool isLess(const Instruction &i, uint64_t a, uint64_t b) {
  if (isFloat(i.type()))
    throw Fault("unknown instruction: " + i.text);
  int64_t x = integer(i.type(), i.bits, a), y = integer(i.type(), i.bits, b);
  return i.type()[0] == 's' ? x < y : static_cast<uint64_t>(x) < static_cast<uint64_t>(y);
}

uint64_t changed(const Instruction &i, uint64_t before, uint64_t by, uint64_t other) {
  if (i.has("add"))
    return sum(i, before, by);
  if (i.has("max"))
    return isLess(i, before, by) ? by : before;
  if (i.has("min"))
    return isLess(i, by, before) ? by : before;
  if (i.has("and"))
    return before & by;
  if (i.has("or"))
    return before | by;
  if (i.has("xor"))
    return before ^ by;
  if (i.has("exch"))
    return by;
  if (i.has("inc"))
    return before >= by ? 0 : before + 1;
  if (i.has("cas"))
    return before == by ? other : before;
  throw Fault("unknown instruction: " + i.text);
}

} // namespace

void Block::change(Warp &warp, const Instruction &i, size_t lane) {
  bool returns = i.name() == "atom";
  size_t first = returns ? 1 : 0, bytes = i.bits / 8;
  if (bytes > 8)
    throw Fault("unknown instruction: " + i.text);
  uint64_t address = value(warp, i.operands[first], lane);
  uint64_t by = value(warp, i.operands[first + 1], lane);
  uint64_t other = i.has("cas") ? value(warp, i.operands[first + 2], lane) : 0;
  uint8_t *place =
      i.has("shared") ? inShared(address, bytes) : reinterpret_cast<uint8_t *>(address);
  uint64_t found = withCell(place, bytes, [&](auto cell) -> uint64_t {
    auto before = cell.load();
    using Cell = decltype(before);
    auto own = static_cast<Cell>(by); // what a register has above it does not count
    while (!cell.compare_exchange_weak(before, static_cast<Cell>(changed(i, before, own, other)))) {
    }
    return before;
  });
  if (returns)
    write(warp, i.operands[0].reg, lane, found);
}

} // namespace ditron::emulator
