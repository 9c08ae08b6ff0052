// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of warpgroups.
#include "Block.h"

namespace ditron::emulator {

void Block::multiply(Warp &warp, const Instruction &i) {
  if (i.has("fence"))
    return;
  if (i.has("commit_group")) {
    warp.groups.push_back(std::move(warp.begun));
    warp.begun.clear();
    return;
  }
  if (i.has("wait_group")) {
    while (warp.groups.size() > value(warp, i.operands[0], 0)) {
      for (const Product &product : warp.groups.front())
        finish(warp, product);
      warp.groups.pop_front();
    }
    return;
  }
  const Operand &left = i.operands.at(1);
  bool isShared = left.kind != Operand::Kind::list;
  auto isZero = [&](size_t n) { return value(warp, i.operands.at(n), 0) == 0; };
  bool isHalf = i.opcode.back() == "bf16" || i.opcode.back() == "f16";
  if (i.operands.size() != (isHalf                    ? isShared ? 8 : 7
                            : i.opcode.back() == "s8" ? 4
                                                      : 6) ||
      !(isShared || isHalf))
    throw Fault("a product with other operands than its type has: " + i.text);
  Product product{{},
                  {},
                  isShared ? value(warp, left, 0) : 0,
                  value(warp, i.operands[2], 0),
                  0,
                  isZero(3),
                  !isHalf || !isShared || isZero(6),
                  !isHalf || isZero(isShared ? 7 : 6),
                  i.opcode.back()};
  for (const Operand &part : i.operands[0].parts)
    product.registers.push_back(part.reg);
  for (const Operand &part : left.parts)
    product.left.push_back(part.reg);
  product.columns = static_cast<int64_t>(product.registers.size()) * 2;
  warp.inFlight.insert(product.registers.begin(), product.registers.end());
  warp.inUse.insert(product.left.begin(), product.left.end());
  warp.begun.push_back(std::move(product));
}

float Block::element(uint64_t descriptor, bool isKMajor, int64_t outer, int64_t depth, Word type) {
  if (descriptor >> 62 != 1)
    throw Fault("a descriptor without the swizzle of 128 bytes");
  auto field = [&](int first) { return static_cast<int64_t>(descriptor >> first & 0x3fff) * 16; };
  int64_t leading = field(16), stride = field(32), place = field(0);
  int64_t bytes = bytesOf(type);
  place += isKMajor ? outer / 8 * stride + outer % 8 * 128 + depth * bytes
                    : outer / 64 * leading + outer % 64 * 2 + depth / 8 * stride + depth % 8 * 128;
  auto size = static_cast<size_t>(bytes);
  uint32_t bits = 0;
  std::memcpy(&bits, inShared(swizzled(static_cast<uint64_t>(place)), size), size);
  return widen(type, bits);
}

int64_t Block::bytesOf(Word type) {
  return type == "tf32" ? 4 : type == "bf16" || type == "f16" ? 2 : 1;
}

float Block::element(const Warp &warp, const Product &product, int64_t row, int64_t depth) {
  auto reg = static_cast<size_t>(depth / 8 * 2 + row / 8);
  auto lane = static_cast<size_t>(row % 8 * 4 + depth % 8 / 2);
  uint64_t word = warp.registers[static_cast<size_t>(product.left[reg])][lane];
  return widen(product.type, static_cast<uint16_t>(word >> (depth % 2 * 16)));
}

void Block::finish(Warp &warp, const Product &product) {
  int64_t firstRow = warp.number % 4 * 16, depths = 32 / bytesOf(product.type);
  bool isInteger = product.type == "s8";
  if (product.isFirst)
    for (int reg : product.registers)
      warp.registers[static_cast<size_t>(reg)].fill(0);
  std::vector<float> b;
  for (int64_t depth = 0; depth < depths; ++depth)
    for (int64_t column = 0; column < product.columns; ++column)
      b.push_back(element(product.b, product.isKMajorB, column, depth, product.type));
  for (int64_t row = 0; row < 16; ++row)
    for (int64_t depth = 0; depth < depths; ++depth) {
      float a = product.left.empty()
                    ? element(product.a, product.isKMajorA, firstRow + row, depth, product.type)
                    : element(warp, product, row, depth);
      for (int64_t column = 0; column < product.columns; ++column) {
        auto reg = static_cast<size_t>(column / 8 * 4 + row / 8 * 2 + column % 2);
        auto lane = static_cast<size_t>(row % 8 * 4 + column % 8 / 2);
        uint64_t &sum = warp.registers[static_cast<size_t>(product.registers[reg])][lane];
        auto before = static_cast<uint32_t>(sum);
        float term = a * b[static_cast<size_t>(depth * product.columns + column)];
        sum = isInteger ? before + static_cast<uint32_t>(static_cast<int32_t>(term))
                        : std::bit_cast<uint32_t>(std::bit_cast<float>(before) + term);
      }
    }
  for (int reg : product.registers)
    warp.inFlight.erase(warp.inFlight.find(reg));
  for (int reg : product.left)
    warp.inUse.erase(warp.inUse.find(reg));
}

} // namespace ditron::emulator
