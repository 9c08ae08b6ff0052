// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/support/DType.h"
#include <concepts>
#include <string>

namespace ditron {

/// A native number before it has an element type: integers stay exact.
class Number {
public:
  template <std::integral N>
  Number(N value)
      : isInteger_(true), isNegative_(value < N(0)), bits_(static_cast<uint64_t>(value)),
        real_(static_cast<double>(value)) {}
  template <std::floating_point N> Number(N value) : real_(static_cast<double>(value)) {}

  /// Nearest double.
  double real() const { return real_; }
  /// The integer, which must fit 64 bits; see reasonAgainst.
  int64_t integer() const;
  /// As it would be printed.
  std::string text() const;

private:
  friend std::string reasonAgainst(DType type, const Number &number);
  bool fits(int64_t least, int64_t largest) const;

  bool isInteger_ = false, isNegative_ = false;
  uint64_t bits_ = 0; // of an integer
  double real_;
};

/// Why a number is no element of a type: "300 is no i8: expected an integer from -128 to 127".
/// Empty if it is one. Integers hold what they hold exactly; floats hold what rounds to one of
/// theirs, so what is beyond their finite values is none of them, except infinities and NaN.
std::string reasonAgainst(DType type, const Number &number);

} // namespace ditron
