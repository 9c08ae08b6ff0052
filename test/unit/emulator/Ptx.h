// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of a kernel in PTX as instructions and operands.
#pragma once
#include <cstdint>
#include <map>
#include <string>
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

  const std::string &name() const { return opcode[0]; }
  bool has(const std::string &part) const;
  /// The last part that names a type: "u32".
  std::string type() const;
};

struct Program {
  std::vector<Instruction> instructions;
  int registers = 0;
  std::map<std::string, int> parameters; ///< numbers by name
  size_t localBytes = 0;                 ///< of a thread's local memory
};

/// The kernel `ditron_kernel` of a module.
Program parse(const std::string &ptx);

} // namespace ditron::emulator
