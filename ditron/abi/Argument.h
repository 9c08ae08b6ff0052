// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel is launched with, in words of 64 bits: of a view its address, then its extents,
// then its strides in elements; of an index its value; of a scalar the bits of its type.
#pragma once
#include "ditron/support/DType.h"
#include <cstdint>
#include <span>
#include <string>

namespace ditron::abi {

enum class ArgumentKind : uint8_t { view, index, scalar };

/// An argument of a kernel's signature.
struct Argument {
  std::string name;
  ArgumentKind kind = ArgumentKind::view;
  DType type = DType::f32; ///< of a view's elements, or of the scalar; of an index i64
  int64_t rank = 0;        ///< of a view

  /// How many words it takes.
  int64_t words() const { return kind == ArgumentKind::view ? 1 + 2 * rank : 1; }

  template <class Self, class Visit> static void fields(Self &self, Visit &&visit) {
    visit("name", self.name);
    visit("kind", self.kind);
    visit("type", self.type);
    visit("rank", self.rank);
  }
  bool operator==(const Argument &) const = default;
};

/// The first word of an argument, among those of all.
inline size_t firstWord(std::span<const Argument> arguments, size_t number) {
  int64_t words = 0;
  for (const Argument &before : arguments.first(number))
    words += before.words();
  return static_cast<size_t>(words);
}

/// What is known of a launch before its memory is.
struct LaunchValues {
  std::span<const int64_t> words; ///< of the arguments
  int64_t ranks = 1;
  int64_t rank = 0;
  std::span<const int64_t> variables = {}; ///< of loops, the outermost first
};

} // namespace ditron::abi
