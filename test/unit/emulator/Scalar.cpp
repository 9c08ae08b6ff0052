// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Scalar.h"
#include "Emulator.h"
#include "ditron/support/DType.h"
#include <algorithm>
#include <bit>
#include <cmath>

namespace ditron::emulator {

namespace {

uint64_t truncated(uint64_t value, unsigned bits) {
  return bits >= 64 ? value : value & ((uint64_t(1) << bits) - 1);
}
int64_t extended(uint64_t value, unsigned bits) {
  return bits >= 64 ? static_cast<int64_t>(value)
                    : static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
}
int64_t integer(const Instruction &i, uint64_t value) { return integer(i.type(), i.bits, value); }

[[noreturn]] void refuse(const Instruction &i) { throw Fault("unknown instruction: " + i.text); }
[[noreturn]] void refuseConversion(const Instruction &i) {
  throw Fault("unknown conversion: " + i.text);
}

/// Signed or unsigned, of one element.
bool isInteger(Word type) {
  return (type[0] == 's' || type[0] == 'u') && halfOf(type).text().empty();
}

float single(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
uint64_t bitsOfSingle(float value) { return std::bit_cast<uint32_t>(value); }

template <class T> bool compare(Word how, T a, T b) {
  bool areNumbers = a == a && b == b; // no NaN among them
  if (how == "num" || how == "nan")
    return areNumbers == (how == "num");
  if (how == "eq" || how == "equ")
    return a == b || (how == "equ" && !areNumbers);
  if (how == "ne" || how == "neu")
    return a != b && (how == "neu" || areNumbers);
  if (how == "lt" || how == "ltu" || how == "lo") // lo, ls, hi, hs: of unsigned numbers
    return a < b || (how == "ltu" && !(a >= b));
  if (how == "le" || how == "leu" || how == "ls")
    return a <= b || (how == "leu" && !(a > b));
  if (how == "gt" || how == "gtu" || how == "hi")
    return a > b || (how == "gtu" && !(a <= b));
  if (how == "ge" || how == "geu" || how == "hs")
    return a >= b || (how == "geu" && !(a < b));
  throw Fault("unknown comparison: " + std::string(how.text()));
}

/// One predicate, or of pairs of halves the lower one's and, a bit above it, the upper one's.
uint64_t setPredicate(const Instruction &i, const std::vector<uint64_t> &s) {
  Word type = i.type(), how = i.opcode[1], half = halfOf(type);
  bool areTwo = i.operands[0].kind == Operand::Kind::list;
  if (s.size() != 2 || areTwo == half.text().empty() || i.isModified)
    refuse(i);
  uint64_t a = s[0], b = s[1];
  auto compareHalves = [&](unsigned shift) {
    return uint64_t(compare(how, number(half, a >> shift), number(half, b >> shift)));
  };
  if (areTwo)
    return compareHalves(0) | compareHalves(16) << 1;
  if (isFloat(type))
    return compare(how, number(type, a), number(type, b));
  if (type[0] == 's')
    return compare(how, integer(i, a), integer(i, b));
  return compare(how, truncated(a, i.bits), truncated(b, i.bits));
}

uint64_t floating(const Instruction &i, const std::vector<uint64_t> &s) {
  Word name = i.name();
  float a = single(s[0]), b = s.size() > 1 ? single(s[1]) : 0;
  if (name == "fma" && i.has("rm")) { // rounded down: a double holds the product exactly
    double exact = double(a) * double(b) + double(single(s[2]));
    auto nearest = static_cast<float>(exact);
    return bitsOfSingle(double(nearest) > exact ? std::nextafter(nearest, -INFINITY) : nearest);
  }
  if (name == "fma" && i.has("sat")) {
    float result = std::fma(a, b, single(s[2]));
    return bitsOfSingle(std::isnan(result) ? 0 : std::clamp(result, 0.0f, 1.0f));
  }
  if (name == "ex2")
    return bitsOfSingle(std::exp2(a));
  if (name == "lg2")
    return bitsOfSingle(std::log2(a));
  if (i.isModified)
    refuse(i);
  if (name == "add")
    return bitsOfSingle(a + b);
  if (name == "sub")
    return bitsOfSingle(a - b);
  if (name == "mul")
    return bitsOfSingle(a * b);
  if (name == "fma")
    return bitsOfSingle(std::fma(a, b, single(s[2])));
  if ((name == "max" || name == "min") && i.has("NaN") && (std::isnan(a) || std::isnan(b)))
    return bitsOfSingle(std::nanf(""));
  if (name == "max")
    return bitsOfSingle(std::fmax(a, b));
  if (name == "min")
    return bitsOfSingle(std::fmin(a, b));
  if (name == "div")
    return bitsOfSingle(a / b);
  if (name == "rcp")
    return bitsOfSingle(1 / a);
  if (name == "rsqrt")
    return bitsOfSingle(1 / std::sqrt(a));
  if (name == "neg")
    return bitsOfSingle(-a);
  if (name == "abs")
    return bitsOfSingle(std::fabs(a));
  if (name == "sqrt")
    return bitsOfSingle(std::sqrt(a));
  refuse(i);
}

uint64_t ofDoubles(const Instruction &i, const std::vector<uint64_t> &s) {
  Word name = i.name(), type = "f64";
  double a = number(type, s[0]), b = s.size() > 1 ? number(type, s[1]) : 0;
  if (i.isModified)
    refuse(i);
  if (name == "add")
    return ofNumber(type, a + b);
  if (name == "sub")
    return ofNumber(type, a - b);
  if (name == "mul")
    return ofNumber(type, a * b);
  if (name == "div")
    return ofNumber(type, a / b);
  if (name == "fma")
    return ofNumber(type, std::fma(a, b, number(type, s[2])));
  if (name == "min")
    return ofNumber(type, std::fmin(a, b));
  if (name == "max")
    return ofNumber(type, std::fmax(a, b));
  if (name == "sqrt")
    return ofNumber(type, std::sqrt(a));
  if (name == "neg")
    return ofNumber(type, -a);
  if (name == "abs")
    return ofNumber(type, std::fabs(a));
  refuse(i);
}

/// To the integer of the mode that the instruction names.
double rounded(const Instruction &i, double value) {
  if (i.has("rmi"))
    return std::floor(value);
  if (i.has("rpi"))
    return std::ceil(value);
  if (i.has("rzi"))
    return std::trunc(value);
  if (i.has("rni"))
    return std::nearbyint(value);
  refuseConversion(i);
}

/// To an integer of a type such as "s16": the nearest that it has. What is not a number becomes 0.
uint64_t toInteger(const Instruction &i, Word to, double value) {
  auto bits = static_cast<int>(bitsIn(to));
  bool isSigned = to[0] == 's';
  double nearest = std::isnan(value) ? 0 : rounded(i, value);
  double most = std::ldexp(1.0, isSigned ? bits - 1 : bits), least = isSigned ? -most : 0;
  if (nearest >= most)
    return (isSigned ? ~uint64_t(0) >> 1 : ~uint64_t(0)) >> (64 - bits);
  nearest = std::max(nearest, least);
  uint64_t result = nearest < 0 ? static_cast<uint64_t>(static_cast<int64_t>(nearest))
                                : static_cast<uint64_t>(nearest);
  return truncated(result, static_cast<unsigned>(bits));
}

uint64_t fromInteger(Word to, bool isSigned, int64_t value) {
  auto rounded = [&]<class T>(T zero) {
    return isSigned ? zero + static_cast<T>(value) : static_cast<T>(static_cast<uint64_t>(value));
  };
  if (to == "f32")
    return bitsOfSingle(rounded(0.0f));
  if (to == "f64")
    return ofNumber(to, rounded(0.0));
  return narrowOnce(to, rounded(0.0L));
}

uint64_t convertIntegers(const Instruction &i, Word from, Word to, uint64_t value) {
  if (i.isModified)
    refuseConversion(i);
  auto result = static_cast<uint64_t>(integer(from, bitsIn(from), value));
  if (to == "s8") // whose sign fills the register, of 16 bits
    return truncated(static_cast<uint64_t>(extended(truncated(result, 8), 8)), 16);
  return truncated(result, bitsIn(to));
}

uint64_t convert(const Instruction &i, const std::vector<uint64_t> &s) {
  Word from = i.opcode.back(), to = i.opcode[i.opcode.size() - 2];
  if (isInteger(from) && isInteger(to))
    return convertIntegers(i, from, to, s[0]);
  if (to == "tf32" && i.has("rna"))
    return (s[0] + 0x1000) & 0xffffe000;
  if (i.isModified || i.has("satfinite"))
    refuseConversion(i);
  if (Word half = halfOf(to); isFloat(half) && from == "f32" && s.size() == 2) // the first is high
    return static_cast<uint64_t>(narrow(half, single(s[0]))) << 16 | narrow(half, single(s[1]));
  if (isInteger(from) && isFloat(to))
    return fromInteger(to, from[0] == 's', integer(from, bitsIn(from), s[0]));
  if (isFloat(from) && isInteger(to))
    return toInteger(i, to, number(from, s[0]));
  if (!isFloat(from) || !isFloat(to))
    refuseConversion(i);
  double value = number(from, s[0]);
  return ofNumber(to, bitsIn(to) < bitsIn(from) && i.has("rn") ? value
                      : bitsIn(to) > bitsIn(from)              ? value
                                                               : rounded(i, value));
}

/// Which of the classes that it names a float is in.
uint64_t testProperty(const Instruction &i, double value) {
  if (i.has("infinite"))
    return std::isinf(value);
  if (i.has("finite"))
    return std::isfinite(value);
  if (i.has("number"))
    return !std::isnan(value);
  if (i.has("notanumber"))
    return std::isnan(value);
  refuse(i);
}

/// Four of the bytes of two registers, or their signs.
uint64_t permute(const Instruction &i, const std::vector<uint64_t> &s) {
  if (i.opcode.size() != 2)
    refuse(i);
  uint64_t bytes = truncated(s[0], 32) | s[1] << 32, result = 0;
  for (unsigned n = 0; n < 4; ++n) {
    uint64_t which = s[2] >> (4 * n) & 0xf, byte = bytes >> (8 * (which & 7)) & 0xff;
    bool isSign = which & 8;
    result |= (isSign ? byte & 0x80 ? 0xff : 0 : byte) << (8 * n);
  }
  return result;
}

uint64_t bitwise(const Instruction &i, const std::vector<uint64_t> &s) {
  Word name = i.name(), type = i.type();
  unsigned bits = i.bits;
  if (name == "and")
    return s[0] & s[1];
  if (name == "or")
    return s[0] | s[1];
  if (name == "xor")
    return s[0] ^ s[1];
  if (name == "not")
    return ~s[0];
  if (name == "popc")
    return static_cast<uint64_t>(std::popcount(truncated(s[0], bits)));
  if (name == "clz")
    return bits - static_cast<uint64_t>(std::bit_width(truncated(s[0], bits)));
  uint64_t by = std::min<uint64_t>(truncated(s[1], 32), bits);
  if (name == "shl")
    return by >= 64 ? 0 : s[0] << by;
  if (name == "shr" && type[0] == 's')
    return static_cast<uint64_t>(extended(s[0], bits) >> std::min<uint64_t>(by, 63));
  if (name == "shr")
    return by >= 64 ? 0 : truncated(s[0], bits) >> by;
  if (name == "bfe") { // of a field that lies within the register
    auto width = static_cast<unsigned>(s[2] & 0xff);
    uint64_t field = truncated(truncated(s[0], bits) >> by, width);
    return type[0] == 's' && width ? static_cast<uint64_t>(extended(field, width)) : field;
  }
  if (name == "bfi") { // into the second one
    uint64_t mask = ((uint64_t(1) << (s[3] & 0xff)) - 1) << (s[2] & 0xff);
    return (s[1] & ~mask) | (s[0] << (s[2] & 0xff) & mask);
  }
  refuse(i);
}

} // namespace

int64_t integer(Word type, unsigned bits, uint64_t value) {
  return type[0] == 's' ? extended(value, bits) : static_cast<int64_t>(truncated(value, bits));
}

uint64_t asLoaded(const Instruction &load, uint64_t bits) {
  return load.type()[0] == 's' ? static_cast<uint64_t>(integer(load, bits)) : bits;
}

uint16_t narrow(Word type, float value) {
  if (type == "f16")
    return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float widen(Word type, uint32_t bits) {
  if (type == "f16")
    return static_cast<float>(std::bit_cast<_Float16>(static_cast<uint16_t>(bits)));
  if (type == "tf32")
    return std::bit_cast<float>(bits & ~uint32_t(0x1fff));
  if (type == "s8")
    return static_cast<float>(static_cast<int8_t>(bits));
  if (type == "e4m3" || type == "e5m2") {
    auto byte = static_cast<uint8_t>(bits);
    return static_cast<float>(loadElement(type == "e4m3" ? DType::f8e4m3 : DType::f8e5m2, &byte));
  }
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

bool isFloat(Word type) {
  return type == "f32" || type == "f64" || type == "f16" || type == "bf16";
}

double number(Word type, uint64_t bits) {
  if (type == "f32")
    return single(bits);
  if (type == "f64")
    return std::bit_cast<double>(bits);
  if (isFloat(type))
    return widen(type, static_cast<uint32_t>(bits) & 0xffff);
  throw Fault("not a float: " + std::string(type.text()));
}

uint64_t ofNumber(Word type, double value) {
  if (type == "f32")
    return bitsOfSingle(static_cast<float>(value));
  if (type == "f64")
    return std::bit_cast<uint64_t>(value);
  if (isFloat(type))
    return narrowOnce(type, value);
  throw Fault("not a float: " + std::string(type.text()));
}

uint64_t arithmetic(const Instruction &i, Word type, unsigned bits,
                    const std::vector<uint64_t> &s) {
  Word name = i.name();
  if (i.isModified)
    refuse(i);
  int64_t a = integer(type, bits, s[0]), b = s.size() > 1 ? integer(type, bits, s[1]) : 0;
  uint64_t ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  bool isSigned = type[0] == 's';
  if (name == "add")
    return ua + ub;
  if (name == "sub")
    return ua - ub;
  if (name == "mul" && i.has("hi")) {
    auto high = [&](auto x, auto y) { return static_cast<uint64_t>(x * y >> bits); };
    return isSigned ? high(static_cast<__int128>(a), static_cast<__int128>(b))
                    : high(static_cast<unsigned __int128>(ua), static_cast<unsigned __int128>(ub));
  }
  if (name == "mul")
    return ua * ub;
  if (name == "mad" && !i.has("hi"))
    return ua * ub + s[2];
  if (name == "div" || name == "rem") {
    if (b == 0)
      throw Fault("a division by zero: " + i.text);
    if (isSigned)
      return static_cast<uint64_t>(name == "div" ? a / b : a % b);
    return name == "div" ? ua / ub : ua % ub;
  }
  if (name == "neg" || (name == "abs" && isSigned))
    return name == "neg" || a < 0 ? uint64_t(0) - ua : ua;
  bool isLess = isSigned ? a < b : ua < ub;
  if (name == "min")
    return isLess ? ua : ub;
  if (name == "max")
    return isLess ? ub : ua;
  refuse(i);
}

/// What an instruction computes with numbers of its type.
static uint64_t ofNumbers(const Instruction &i, const std::vector<uint64_t> &s) {
  Word type = i.type();
  if (type == "f32")
    return floating(i, s);
  if (type == "f64")
    return ofDoubles(i, s);
  if (isFloat(type))
    return ofHalves(i, type, s);
  if (Word half = halfOf(type); !half.text().empty())
    return ofPairs(i, half, s);
  return arithmetic(i, type, i.bits, s);
}

uint64_t compute(const Instruction &i, const std::vector<uint64_t> &s) {
  static constexpr Word kBitwise[] = {"and", "or",  "xor", "not", "shl",
                                      "shr", "bfe", "bfi", "clz", "popc"};
  Word name = i.name(), type = i.type();
  if (name == "mov" || name == "cvta")
    return s[0];
  if (name == "selp")
    return s[2] & 1 ? s[0] : s[1];
  if (name == "setp")
    return setPredicate(i, s);
  if (name == "cvt")
    return convert(i, s);
  if (name == "testp")
    return testProperty(i, number(type, s[0]));
  if (name == "prmt")
    return permute(i, s);
  uint64_t result = std::find(std::begin(kBitwise), std::end(kBitwise), name) != std::end(kBitwise)
                        ? bitwise(i, s)
                        : ofNumbers(i, s);
  return truncated(result, i.has("wide") ? 64 : i.bits);
}

} // namespace ditron::emulator
