// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers that a launch computes of its arguments: the extents of symmetric memory, and how many
// tiles there are. The compiler writes them as text, in postfix:
//
//   128       a number
//   a0.1      extent 1 of argument 0, a view
//   a2        argument 2, an index or an integer
//   a0.s1     stride 1 of argument 0, in elements
//   n         the number of ranks
//   r         this rank, and
//   v0        the variable of the outermost loop: of what copy engines do (CopyProgram.h)
//   add sub mul div rem ceildiv floordiv min max and or xor eq ne lt le gt ge
//             of the two values before it
//   wrap      of a value and a number of bits: the integer of so many that it is stored as
//   select    of a condition, the value if it is not 0, and the value if it is
//
// "a0.0 128 ceildiv n mul" is ceildiv(A.rows(), 128) * numRanks().
#pragma once
#include "ditron/abi/Argument.h"
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ditron::abi {

class Extent {
public:
  Extent() : Extent("0", {}) {}
  /// RuntimeError where `text` is none, or takes what these arguments do not have.
  Extent(std::string text, std::span<const Argument> arguments);

  const std::string &text() const { return text_; }
  /// Its value for a launch. CompileError that begins with `what` ("symmetric 'full'") where it
  /// divides by 0 or goes beyond 64 bits.
  int64_t evaluate(const LaunchValues &launch, std::string_view what) const;

  bool operator==(const Extent &other) const { return text_ == other.text_; }

private:
  enum class Kind : uint8_t { number, word, ranks, rank, variable, operation, select };
  struct Step {
    Kind kind;
    int64_t value = 0; ///< the number, the word's place, or which operation
  };
  static constexpr size_t kMostDepth = 64;

  Step stepOf(std::string_view word, std::span<const Argument> arguments) const;
  Step argumentOf(std::string_view word, std::span<const Argument> arguments) const;
  [[noreturn]] void refuse(std::string_view problem) const;

  std::string text_;
  std::vector<Step> steps_;
  size_t words_ = 0; ///< of the arguments that it may read
};

} // namespace ditron::abi
