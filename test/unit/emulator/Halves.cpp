// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floats of 16 bits, and registers that hold two elements of 16 bits.
#include "Emulator.h"
#include "Scalar.h"
#include <bit>
#include <cmath>

namespace ditron::emulator {

namespace {

/// A float near a number: if it is not the number, its last bit is 1, so that what rounds it to
/// fewer bits rounds the number (round to odd).
float toOdd(long double value) {
  auto result = static_cast<float>(value);
  auto bits = std::bit_cast<uint32_t>(result);
  if (std::isnan(value) || static_cast<long double>(result) == value || (bits & 1))
    return result;
  return std::nextafter(result, static_cast<long double>(result) < value ? INFINITY : -INFINITY);
}

/// The same of a sum, as a double.
double sumToOdd(double a, double b) {
  double sum = a + b, part = sum - a, error = (a - (sum - part)) + (b - part);
  if (!std::isfinite(sum) || error == 0 || (std::bit_cast<uint64_t>(sum) & 1))
    return sum;
  return std::nextafter(sum, error > 0 ? INFINITY : -INFINITY);
}

double extreme(const Instruction &i, double a, double b) {
  if (i.has("NaN") && (std::isnan(a) || std::isnan(b)))
    return NAN;
  if (a == 0 && b == 0) // of which -0 is the less
    return std::signbit(a) == (i.name() == "min") ? a : b;
  return i.name() == "min" ? std::fmin(a, b) : std::fmax(a, b);
}

/// Doubles hold sums and products of two halves well enough to round them again.
double halfResult(const Instruction &i, double a, double b, double c) {
  Word name = i.name();
  if (name == "add")
    return a + b;
  if (name == "sub")
    return a - b;
  if (name == "mul")
    return a * b;
  if (name == "fma")
    return sumToOdd(a * b, c);
  if (name == "min" || name == "max")
    return extreme(i, a, b);
  throw Fault("unknown instruction: " + i.text);
}

} // namespace

uint16_t narrowOnce(Word type, long double value) { return narrow(type, toOdd(value)); }

Word halfOf(Word type) {
  return type == "f16x2"    ? Word("f16")
         : type == "bf16x2" ? Word("bf16")
         : type == "s16x2"  ? Word("s16")
         : type == "u16x2"  ? Word("u16")
                            : Word();
}

uint64_t ofHalves(const Instruction &i, Word type, const std::vector<uint64_t> &s) {
  if (i.isModified)
    throw Fault("unknown instruction: " + i.text);
  if (i.name() == "neg")
    return (s[0] ^ 0x8000) & 0xffff;
  if (i.name() == "abs")
    return s[0] & 0x7fff;
  auto source = [&](size_t n) { return n < s.size() ? number(type, s[n]) : 0; };
  return narrowOnce(type, halfResult(i, source(0), source(1), source(2)));
}

uint64_t ofPairs(const Instruction &i, Word half, const std::vector<uint64_t> &s) {
  uint64_t result = 0;
  for (unsigned shift : {0u, 16u}) {
    std::vector<uint64_t> parts;
    for (uint64_t source : s)
      parts.push_back(source >> shift & 0xffff);
    uint64_t own = isFloat(half) ? ofHalves(i, half, parts) : arithmetic(i, half, 16, parts);
    result |= (own & 0xffff) << shift;
  }
  return result;
}

} // namespace ditron::emulator
