// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of a kernel in PTX as instructions and operands.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ditron::emulator {

/// A part of an opcode, or another word of PTX: two are the same if their hashes are, so that an instruction
/// is known by a number each time that it is executed. Words of instructions live as long as the process.
class Word {
public:
  Word() = default;
  template <size_t N> consteval Word(const char (&text)[N]) : Word(std::string_view(text, N - 1)) {}
  constexpr explicit Word(std::string_view text) : text_(text), hash_(0xcbf29ce484222325) {
    for (char c : text) // FNV-1a
      hash_ = (hash_ ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  }
  /// Of a text that may go.
  static Word kept(const std::string &text);

  constexpr std::string_view text() const { return text_; }
  constexpr char operator[](size_t n) const { return n < text_.size() ? text_[n] : '\0'; }
  friend constexpr bool operator==(Word a, Word b) { return a.hash_ == b.hash_; }

private:
  std::string_view text_;
  uint64_t hash_ = 0;
};

inline constexpr uint64_t kParameters = uint64_t(1) << 60; ///< addresses of parameters begin here

struct Operand {
  enum class Kind { reg, number, symbol, list, address } kind;
  int reg = -1;                    ///< of the warp's file
  uint64_t number = 0;             ///< bits; of an address what is added
  Word name = {};                  ///< of a symbol, or of a special register
  std::vector<Operand> parts = {}; ///< of a list; of an address its base and coordinates
};

struct Instruction {
  std::string text;
  int predicate = -1; ///< a register, if the instruction has one
  bool isNegated = false;
  std::vector<Word> opcode; ///< between the dots
  std::vector<Operand> operands;
  int target = -1; ///< of a branch: the number of an instruction

  /// The last part of the opcode that names a type: "u32".
  Word typeName = {};
  unsigned bits = 0;       ///< of that type
  bool isTogether = false; ///< all lanes of a warp execute it at once
  bool isModified = false; ///< rounds other than to nearest, saturates, flushes or carries

  Word name() const { return opcode[0]; }
  bool has(Word part) const {
    return std::find(opcode.begin(), opcode.end(), part) != opcode.end();
  }
  Word type() const { return typeName; }
};

struct Program {
  std::vector<Instruction> instructions;
  int registers = 0;
  std::map<std::string, int> parameters; ///< numbers by name: operands have addresses of them
  size_t localBytes = 0;                 ///< of a thread's local memory
  bool isDependent = false;              ///< waits for the launches before it (griddepcontrol)
};

/// The bits of a register of a type: 32 of "u32" and of "f16x2", 1 of "pred". Fault for an unknown one.
unsigned bitsIn(Word type);

/// The kernel `ditron_kernel` of a module.
Program parse(const std::string &ptx);

} // namespace ditron::emulator
