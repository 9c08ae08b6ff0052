// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of a kernel in PTX as instructions and operands.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ditron::emulator {

struct Operand {
  enum class Kind { reg, number, symbol, list, address } kind;
  int reg = -1;                    ///< of the warp's file
  uint64_t number = 0;             ///< bits; of an address what is added
  std::string name = {};           ///< of a symbol, or of a special register
  std::vector<Operand> parts = {}; ///< of a list; of an address its base and coordinates
};

struct Instruction {
  std::string text;
  int predicate = -1; ///< a register, if the instruction has one
  bool isNegated = false;
  std::vector<std::string> opcode; ///< between the dots
  std::vector<Operand> operands;
  int target = -1; ///< of a branch: the number of an instruction

  /// The last part of the opcode that names a type: "u32".
  std::string typeName = {};

  std::string_view name() const { return opcode[0]; }
  bool has(std::string_view part) const {
    for (const std::string &one : opcode)
      if (one == part)
        return true;
    return false;
  }
  std::string_view type() const { return typeName; }
};

struct Program {
  std::vector<Instruction> instructions;
  int registers = 0;
  std::map<std::string, int> parameters; ///< numbers by name
  size_t localBytes = 0;                 ///< of a thread's local memory
  bool isDependent = false;              ///< waits for the launches before it (griddepcontrol)
};

/// The number in a type: 32 of "u32".
inline unsigned bitsIn(std::string_view type) {
  unsigned bits = 0;
  for (char c : type.substr(1))
    bits = 10 * bits + static_cast<unsigned>(c - '0');
  return bits;
}

/// The kernel `ditron_kernel` of a module.
Program parse(const std::string &ptx);

} // namespace ditron::emulator
