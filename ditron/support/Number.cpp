// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/Number.h"
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace ditron {

int64_t Number::integer() const {
  return isInteger_ ? static_cast<int64_t>(bits_) : static_cast<int64_t>(real_);
}

std::string Number::text() const {
  if (!isInteger_)
    return fmt::format("{}", real_);
  return isNegative_ ? fmt::format("{}", static_cast<int64_t>(bits_)) : fmt::format("{}", bits_);
}

bool Number::fits(int64_t least, int64_t largest) const {
  if (isInteger_ && !isNegative_)
    return bits_ <= static_cast<uint64_t>(largest);
  // The double below 2^63 is an integer of 64 bits, and so is what it converts to.
  if (!isInteger_ && !(std::trunc(real_) == real_ && real_ >= -0x1p63 && real_ < 0x1p63))
    return false;
  return integer() >= least && integer() <= largest;
}

/// The largest finite value: the type's 16-bit and 8-bit patterns below infinity or NaN.
static double largestOf(DType type) {
  switch (type) {
  case DType::f16:
    return 65504;
  case DType::bf16:
    return 0x1.FEp127;
  case DType::f8e4m3:
    return 448;
  case DType::f8e5m2:
    return 57344;
  default:
    return std::numeric_limits<float>::max();
  }
}

static std::string reasonAgainstFloat(DType type, const Number &number) {
  double value = number.real();
  if (std::isnan(value))
    return {};
  uint64_t element = 0;
  storeElement(type, &element, value);
  double stored = loadElement(type, &element);
  if (std::isinf(value))
    return std::isinf(stored) ? ""
                              : fmt::format("{} is no {}, which has no infinity: expected a "
                                            "magnitude of at most {}",
                                            number.text(), name(type), largestOf(type));
  if (std::isfinite(stored))
    return {};
  return fmt::format("{} is no {}: expected a magnitude of at most {}", number.text(), name(type),
                     largestOf(type));
}

std::string reasonAgainst(DType type, const Number &number) {
  if (isFloat(type))
    return reasonAgainstFloat(type, number);
  int bits = type == DType::i1 ? 1 : static_cast<int>(byteSize(type)) * 8;
  int64_t largest = bits == 1 ? 1 : static_cast<int64_t>(~uint64_t(0) >> (65 - bits));
  int64_t least = bits == 1 ? 0 : -largest - 1;
  if (number.fits(least, largest))
    return {};
  return fmt::format("{} is no {}: expected an integer from {} to {}", number.text(), name(type),
                     least, largest);
}

} // namespace ditron
