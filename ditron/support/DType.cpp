// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/DType.h"
#include "ditron/support/Error.h"
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>

namespace ditron {
namespace {

/// A binary floating-point format of at most 16 bits: sign, exponent, mantissa, from high to low.
/// Without infinities, only the code of all ones (below the sign) is not a number.
struct Format {
  int exponentBits, mantissaBits;
  bool infinities;

  constexpr int bias() const { return (1 << (exponentBits - 1)) - 1; }
  constexpr uint32_t signBit() const { return 1u << (exponentBits + mantissaBits); }
  constexpr uint32_t mantissaMask() const { return (1u << mantissaBits) - 1; }
  constexpr uint32_t infinity() const { return signBit() - (1u << mantissaBits); }
  /// What a magnitude beyond the largest finite value becomes.
  constexpr uint32_t overflow() const { return infinities ? infinity() : signBit() - 1; }
};

constexpr Format kF16{5, 10, true}, kBf16{8, 7, true}, kF8E4M3{4, 3, false}, kF8E5M2{5, 2, true};

constexpr int kDoubleMantissa = 52, kDoubleBias = 1023;
constexpr uint64_t kDoubleSign = uint64_t(1) << 63;
constexpr uint64_t kDoubleInfinity = uint64_t(0x7ff) << kDoubleMantissa;

/// `value / 2^shift`, rounded to nearest, ties to even.
uint64_t shiftRounded(uint64_t value, int shift) {
  if (shift > kDoubleMantissa + 1) // below half of the least quotient
    return 0;
  uint64_t half = uint64_t(1) << (shift - 1), odd = (value >> shift) & 1;
  return (value + half - 1 + odd) >> shift;
}

/// A NaN stays one, quiet, with its sign and the upper part of its payload where the format has
/// one.
uint32_t encodeNaN(uint64_t magnitude, Format format) {
  if (!format.infinities)
    return format.overflow();
  uint32_t payload = uint32_t(magnitude >> (kDoubleMantissa - format.mantissaBits));
  uint32_t quiet = 1u << (format.mantissaBits - 1);
  return format.infinity() | quiet | (payload & format.mantissaMask());
}

/// The code of the value of `format` nearest to `value`. Every float and every value of a narrow
/// format is a double, so one rounding serves conversions from all of them.
uint32_t encode(double value, Format format) {
  uint64_t bits = std::bit_cast<uint64_t>(value), magnitude = bits & ~kDoubleSign;
  uint32_t sign = bits & kDoubleSign ? format.signBit() : 0;
  if (magnitude > kDoubleInfinity)
    return sign | encodeNaN(magnitude, format);

  // A double below its own normal range is far below half the least value of every format.
  int exponent = int(magnitude >> kDoubleMantissa) - kDoubleBias;
  uint64_t one = uint64_t(1) << kDoubleMantissa, mantissa = (magnitude & (one - 1)) | one;
  int least = 1 - format.bias(), shift = kDoubleMantissa - format.mantissaBits;
  uint64_t code;
  if (exponent < least) // subnormal; rounding up into the normal range carries by itself
    code = shiftRounded(mantissa, shift + least - exponent);
  else // the leading one of the mantissa adds 1 to the exponent
    code = (uint64_t(exponent - least) << format.mantissaBits) + shiftRounded(mantissa, shift);
  return sign | uint32_t(code < format.overflow() ? code : format.overflow());
}

float decode(uint32_t code, Format format) {
  uint32_t magnitude = code & (format.signBit() - 1), mantissa = code & format.mantissaMask();
  uint32_t sign = code & format.signBit() ? 1u << 31 : 0;
  auto signedBits = [&](uint32_t bits) { return std::bit_cast<float>(sign | bits); };
  constexpr int kFloatMantissa = 23;
  constexpr uint32_t kFloatInfinity = 0xffu << kFloatMantissa, kFloatQuiet = 1u << 22;
  int widen = kFloatMantissa - format.mantissaBits;

  if (format.infinities && magnitude >= format.infinity())
    return signedBits(kFloatInfinity | mantissa << widen);
  if (!format.infinities && magnitude == format.overflow())
    return signedBits(kFloatInfinity | kFloatQuiet);
  int exponent = int(magnitude >> format.mantissaBits);
  if (exponent == 0) {
    float value = std::ldexp(float(mantissa), 1 - format.bias() - format.mantissaBits);
    return sign ? -value : value;
  }
  return signedBits(uint32_t(exponent - format.bias() + 127) << kFloatMantissa | mantissa << widen);
}

/// Truncated towards zero and saturated; NaN becomes 0.
template <class T> T toInteger(double value) {
  // The bounds as doubles: the upper one may round up to a power of two that T does not hold.
  constexpr double least = double(std::numeric_limits<T>::min());
  constexpr double above = -least;
  if (std::isnan(value))
    return 0;
  if (value <= least)
    return std::numeric_limits<T>::min();
  return value >= above ? std::numeric_limits<T>::max() : static_cast<T>(value);
}

template <class T> T fromDouble(double value) {
  if constexpr (std::is_same_v<T, f32>)
    return static_cast<float>(value);
  else if constexpr (std::is_same_v<T, i1>)
    return value != 0;
  else if constexpr (std::is_integral_v<T>)
    return toInteger<T>(value);
  else {
    constexpr Format format = std::is_same_v<T, f16>      ? kF16
                              : std::is_same_v<T, bf16>   ? kBf16
                              : std::is_same_v<T, f8e4m3> ? kF8E4M3
                                                          : kF8E5M2;
    T result;
    result.bits = static_cast<decltype(result.bits)>(encode(value, format));
    return result;
  }
}

struct Entry {
  DType type;
  std::string_view name;
};
constexpr std::array kNames = {
    Entry{DType::f32, "f32"},       Entry{DType::f16, "f16"},       Entry{DType::bf16, "bf16"},
    Entry{DType::f8e4m3, "f8e4m3"}, Entry{DType::f8e5m2, "f8e5m2"}, Entry{DType::i8, "i8"},
    Entry{DType::i16, "i16"},       Entry{DType::i32, "i32"},       Entry{DType::i64, "i64"},
    Entry{DType::i1, "i1"},
};

} // namespace

f16::f16(float value) : bits(static_cast<uint16_t>(encode(value, kF16))) {}
f16::operator float() const { return decode(bits, kF16); }

bf16::bf16(float value) : bits(static_cast<uint16_t>(encode(value, kBf16))) {}
bf16::operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }

f8e4m3::f8e4m3(float value) : bits(static_cast<uint8_t>(encode(value, kF8E4M3))) {}
f8e4m3::operator float() const { return decode(bits, kF8E4M3); }

f8e5m2::f8e5m2(float value) : bits(static_cast<uint8_t>(encode(value, kF8E5M2))) {}
f8e5m2::operator float() const { return decode(bits, kF8E5M2); }

size_t byteSize(DType type) {
  return dispatch(type, []<class T>() { return sizeof(T); });
}

std::string_view name(DType type) {
  for (const Entry &entry : kNames)
    if (entry.type == type)
      return entry.name;
  throw InternalError(fmt::format("no element type has the number {}", int(type)));
}

DType parseDType(std::string_view name) {
  std::string known;
  for (const Entry &entry : kNames) {
    if (entry.name == name)
      return entry.type;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", entry.name);
  }
  throw UsageError(fmt::format("unknown element type '{}': expected one of {}", name, known));
}

bool isFloat(DType type) {
  return dispatch(type, []<class T>() { return !std::is_integral_v<T>; });
}

double loadElement(DType type, const void *element) {
  return dispatch(type, [&]<class T>() -> double {
    if constexpr (std::is_same_v<T, i1>)
      return *static_cast<const uint8_t *>(element) != 0; // any byte, also one that no bool has
    T value;
    std::memcpy(&value, element, sizeof(T));
    return static_cast<double>(value);
  });
}

void storeElement(DType type, void *element, double value) {
  dispatch(type, [&]<class T>() {
    T converted = fromDouble<T>(value);
    std::memcpy(element, &converted, sizeof(T));
  });
}

} // namespace ditron
