// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of one warp, and the loads of their operands.
#include "Block.h"

namespace ditron::emulator {

void Block::storeMatrices(Warp &warp, const Instruction &i) {
  for (size_t matrix = 0; matrix < i.operands[1].parts.size(); ++matrix)
    for (size_t lane = 0; lane < kLanes; ++lane) {
      uint64_t row = value(warp, i.operands[0], matrix * 8 + lane / 4);
      if (row % 16 != 0)
        throw Fault("a misaligned access: " + i.text);
      auto word = static_cast<uint32_t>(value(warp, i.operands[1].parts[matrix], lane));
      std::memcpy(inShared(row + lane % 4 * 4, 4), &word, 4);
    }
}

// Row r of matrix m is 16 bytes where lane 8 m + r points. Lane 4 r + c gets two elements of row r;
// or, transposed, of column r.
void Block::loadMatrices(Warp &warp, const Instruction &i) {
  const Operand &to = i.operands[0];
  std::vector<Operand> registers = to.kind == Operand::Kind::list ? to.parts : std::vector{to};
  std::vector<Lanes> words(registers.size());
  for (size_t matrix = 0; matrix < registers.size(); ++matrix) {
    std::array<std::array<uint16_t, 8>, 8> elements;
    for (size_t row = 0; row < 8; ++row) {
      uint64_t address = value(warp, i.operands[1], matrix * 8 + row);
      if (address % 16 != 0)
        throw Fault("a misaligned access: " + i.text);
      std::memcpy(elements[row].data(), inShared(address, 16), 16);
    }
    for (size_t lane = 0; lane < kLanes; ++lane)
      for (size_t half = 0; half < 2; ++half) {
        size_t row = lane / 4, column = lane % 4 * 2 + half;
        uint64_t element = i.has("trans") ? elements[column][row] : elements[row][column];
        words[matrix][lane] |= element << (16 * half);
      }
  }
  for (size_t matrix = 0; matrix < registers.size(); ++matrix)
    for (size_t lane = 0; lane < kLanes; ++lane)
      write(warp, registers[matrix].reg, lane, words[matrix][lane]);
}

// mma.sync of m16n8: of words along the terms, each as many elements as fit into it, A has two
// groups of 4 for rows 0 to 7 and 8 to 15, B two for 8 columns. Lane 4 r + w holds word w of each
// group for row or column r; of C, columns 2 w and 2 w + 1 of rows r and r + 8.
void Block::multiplyMatrices(Warp &warp, const Instruction &i) {
  Word type = i.opcode.at(7);
  bool isInteger = i.opcode.back() == "s32";
  auto ofWord = static_cast<size_t>(4 / bytesOf(type)), depths = 8 * ofWord;
  if (!i.has(Word(std::string_view("m16n8k" + std::to_string(depths)))) ||
      !(i.opcode.at(8) == type))
    throw Fault("an unknown product: " + i.text);
  auto element = [&](const Operand &list, size_t reg, size_t line, size_t depth) {
    uint64_t word = value(warp, list.parts.at(reg), line * 4 + depth / ofWord % 4);
    size_t bits = 32 / ofWord;
    auto own = static_cast<uint32_t>(word >> (depth % ofWord * bits));
    return widen(type, bits == 32 ? own : own & ((1u << bits) - 1));
  };
  std::vector<float> rows, columns; // of A and of B, term by term
  for (size_t row = 0; row < 16; ++row)
    for (size_t depth = 0; depth < depths; ++depth)
      rows.push_back(element(i.operands[1], row / 8 + 2 * (depth / ofWord / 4), row % 8, depth));
  for (size_t column = 0; column < 8; ++column)
    for (size_t depth = 0; depth < depths; ++depth)
      columns.push_back(element(i.operands[2], depth / ofWord / 4, column, depth));
  std::vector<Lanes> results(4);
  for (size_t row = 0; row < 16; ++row)
    for (size_t column = 0; column < 8; ++column) {
      size_t reg = row / 8 * 2 + column % 2, lane = row % 8 * 4 + column / 2;
      auto before = static_cast<uint32_t>(value(warp, i.operands[3].parts.at(reg), lane));
      float total = std::bit_cast<float>(before);
      for (size_t depth = 0; depth < depths; ++depth) {
        float term = rows[row * depths + depth] * columns[column * depths + depth];
        before += static_cast<uint32_t>(static_cast<int32_t>(isInteger ? term : 0));
        total += term;
      }
      results[reg][lane] = isInteger ? before : std::bit_cast<uint32_t>(total);
    }
  for (size_t reg = 0; reg < results.size(); ++reg)
    for (size_t lane = 0; lane < kLanes; ++lane)
      write(warp, i.operands[0].parts.at(reg).reg, lane, results[reg][lane]);
}

} // namespace ditron::emulator
