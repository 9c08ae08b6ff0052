// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types. In registers narrow floats are f32 holding values of the narrow type; in memory
// bf16 is i16, fp8 and i1 are i8. The conversions are exact integer arithmetic, so they do not
// depend on what the CPU or LLVM knows of these types.
#include "ditron/lower/Conversions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>
#include <limits>

using namespace mlir;
using ditron::core::Rounding;

namespace ditron::lower {

Type computeType(Type element) {
  return isa<FloatType>(element) ? Float32Type::get(element.getContext()) : element;
}

Type storageType(Type element) {
  if (element.isBF16())
    return IntegerType::get(element.getContext(), 16);
  if (element.isFloat8E4M3FN() || element.isFloat8E5M2() || element.isInteger(1))
    return IntegerType::get(element.getContext(), 8);
  return element;
}

namespace {

/// A small float: what its bits mean.
struct Format {
  int mantissa, bias;
  double largest;
  bool hasInfinity;
  int minExponent() const { return 1 - bias; }
};

Format formatOf(Type element) {
  if (element.isFloat8E4M3FN())
    return {3, 7, 448, false};
  if (element.isFloat8E5M2())
    return {2, 15, 57344, true};
  if (element.isF16())
    return {10, 15, 65504, true};
  if (element.isF32())
    return {23, 127, std::numeric_limits<float>::max(), true};
  return {7, 127, std::ldexp(255.0 / 128, 127), true}; // bf16
}

/// Arithmetic on vectors of 32-bit integers and floats, without the ceremony.
struct Bits {
  OpBuilder &b;
  mlir::Location loc;
  int64_t lanes;

  VectorType ints() const { return VectorType::get({lanes}, b.getI32Type()); }
  VectorType floats() const { return VectorType::get({lanes}, b.getF32Type()); }
  Value i(int64_t value) const {
    return b.create<arith::ConstantOp>(
        loc, DenseElementsAttr::get(ints(), APInt(32, static_cast<uint32_t>(value))));
  }
  Value f(double value) const {
    return b.create<arith::ConstantOp>(loc,
                                       DenseElementsAttr::get(floats(), static_cast<float>(value)));
  }
  Value asInt(Value x) const { return b.create<arith::BitcastOp>(loc, ints(), x); }
  Value asFloat(Value x) const { return b.create<arith::BitcastOp>(loc, floats(), x); }
  template <class Op> Value op(Value x, Value y) const { return b.create<Op>(loc, x, y); }
  Value add(Value x, Value y) const { return op<arith::AddIOp>(x, y); }
  Value sub(Value x, Value y) const { return op<arith::SubIOp>(x, y); }
  Value both(Value x, Value y) const { return op<arith::AndIOp>(x, y); }
  Value either(Value x, Value y) const { return op<arith::OrIOp>(x, y); }
  Value left(Value x, int by) const { return op<arith::ShLIOp>(x, i(by)); }
  Value right(Value x, int by) const { return op<arith::ShRUIOp>(x, i(by)); }
  Value mulf(Value x, Value y) const { return op<arith::MulFOp>(x, y); }
  Value select(Value c, Value x, Value y) const { return b.create<arith::SelectOp>(loc, c, x, y); }
  Value less(Value x, Value y) const { // signed integers
    return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, x, y);
  }
  Value equal(Value x, Value y) const {
    return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, x, y);
  }
  Value isNan(Value x) const {
    return b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, x, x);
  }
  Value greater(Value x, Value y) const { // floats
    return b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OGT, x, y);
  }
  Value absolute(Value x) const { return asFloat(both(asInt(x), i(0x7fffffff))); }
};

/// fp8 in the low byte of i32 to f32.
Value decodeFloat8(const Bits &v, Value code, const Format &format) {
  Value magnitude = v.both(code, v.i(0x7f));
  Value sign = v.left(v.both(code, v.i(0x80)), 24);
  Value normal = v.add(v.left(magnitude, 23 - format.mantissa), v.i((127 - format.bias) << 23));
  Value count = v.b.create<arith::SIToFPOp>(v.loc, v.floats(), magnitude);
  Value subnormal =
      v.asInt(v.mulf(count, v.f(std::ldexp(1.0, format.minExponent() - format.mantissa))));
  Value result = v.select(v.less(magnitude, v.i(1 << format.mantissa)), subnormal, normal);
  if (format.hasInfinity) { // exponent all ones: infinity, or NaN with the mantissa kept
    int infinity = ((1 << (7 - format.mantissa)) - 1) << format.mantissa;
    Value special = v.either(v.left(magnitude, 23 - format.mantissa), v.i(0x7f800000));
    result = v.select(v.less(magnitude, v.i(infinity)), result, special);
  } else {
    result = v.select(v.equal(magnitude, v.i(0x7f)), v.i(0x7fc00000), result);
  }
  return v.asFloat(v.either(result, sign));
}

/// f32 that holds a value of the format to fp8 in the low byte of i32.
Value encodeFloat8(const Bits &v, Value x, const Format &format) {
  Value bits = v.asInt(x), sign = v.right(v.both(bits, v.i(0x80000000)), 24);
  Value magnitude = v.both(bits, v.i(0x7fffffff));
  Value normal =
      v.sub(v.right(magnitude, 23 - format.mantissa), v.i((127 - format.bias) << format.mantissa));
  Value scaled =
      v.mulf(v.asFloat(magnitude), v.f(std::ldexp(1.0, format.mantissa - format.minExponent())));
  Value small = v.less(magnitude, v.i((format.minExponent() + 127) << 23));
  Value subnormal = v.b.create<arith::FPToSIOp>(v.loc, v.ints(), v.select(small, scaled, v.f(0)));
  Value result = v.select(small, subnormal, normal);
  int infinity = ((1 << (7 - format.mantissa)) - 1) << format.mantissa;
  Value isSpecial = v.less(v.i(0x7f7fffff), magnitude);
  Value special = v.i(0x7f);
  if (format.hasInfinity)
    special = v.select(v.equal(magnitude, v.i(0x7f800000)), v.i(infinity), v.i(0x7f));
  return v.either(v.select(isSpecial, special, result), sign);
}

} // namespace

/// f16 to f32. The fence keeps LLVM from computing in f16 what is written in f32: its f16 minimum
/// and maximum lose NaN on CPUs that only convert f16.
static Value extendF16(OpBuilder &b, mlir::Location loc, Value x) {
  Type wide = cast<VectorType>(x.getType()).clone(b.getF32Type());
  Value extended = b.create<arith::ExtFOp>(loc, wide, x);
  return b
      .create<LLVM::CallIntrinsicOp>(loc, TypeRange(wide), b.getStringAttr("llvm.arithmetic.fence"),
                                     ValueRange(extended), LLVM::FastmathFlagsAttr())
      .getResult(0);
}

/// f32 to a narrow float by an instruction.
static Value truncate(OpBuilder &b, mlir::Location loc, Value x, Type narrow) {
  return b.create<arith::TruncFOp>(loc, cast<VectorType>(x.getType()).clone(narrow), x);
}

Value fromStorage(OpBuilder &b, mlir::Location loc, Value vector, Type element) {
  Bits v{b, loc, cast<VectorType>(vector.getType()).getNumElements()};
  if (element.isF16())
    return extendF16(b, loc, vector);
  if (element.isBF16())
    return v.asFloat(v.left(b.create<arith::ExtUIOp>(loc, v.ints(), vector), 16));
  if (element.isFloat8E4M3FN() || element.isFloat8E5M2())
    return decodeFloat8(v, b.create<arith::ExtUIOp>(loc, v.ints(), vector), formatOf(element));
  if (element.isInteger(1)) {
    Value zero = b.create<arith::ConstantOp>(loc, b.getZeroAttr(vector.getType()));
    return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, vector, zero);
  }
  return vector;
}

Value toStorage(OpBuilder &b, mlir::Location loc, Value vector, Type element, bool hasBf16) {
  Bits v{b, loc, cast<VectorType>(vector.getType()).getNumElements()};
  auto stored = VectorType::get({v.lanes}, storageType(element));
  if (element.isF16())
    return b.create<arith::TruncFOp>(loc, stored, vector);
  if (element.isBF16() && hasBf16)
    return b.create<arith::BitcastOp>(loc, stored, truncate(b, loc, vector, element));
  if (element.isBF16())
    return b.create<arith::TruncIOp>(loc, stored, v.right(v.asInt(vector), 16));
  if (element.isFloat8E4M3FN() || element.isFloat8E5M2())
    return b.create<arith::TruncIOp>(loc, stored, encodeFloat8(v, vector, formatOf(element)));
  if (element.isInteger(1))
    return b.create<arith::ExtUIOp>(loc, stored, vector);
  return vector;
}

/// bf16: the upper half of the f32, rounded by adding just below half of its last place.
static Value roundToBf16(const Bits &v, Value x, Rounding rounding) {
  Value bits = v.asInt(x);
  Value rounded = bits;
  if (rounding == Rounding::nearest_even)
    rounded = v.add(bits, v.add(v.i(0x7fff), v.both(v.right(bits, 16), v.i(1))));
  rounded = v.both(rounded, v.i(0xffff0000));
  return v.select(v.isNan(x), v.f(NAN), v.asFloat(rounded));
}

/// f16 by the CPU's conversion; toward zero, a result that grew in magnitude is stepped back.
static Value roundToF16(OpBuilder &b, const Bits &v, Value x, Rounding rounding) {
  auto half = VectorType::get({v.lanes}, b.getF16Type());
  Value nearest = b.create<arith::TruncFOp>(v.loc, half, x);
  Value wide = extendF16(b, v.loc, nearest);
  if (rounding == Rounding::nearest_even)
    return wide;
  auto shorts = VectorType::get({v.lanes}, b.getI16Type());
  Value one = b.create<arith::ConstantOp>(v.loc, DenseElementsAttr::get(shorts, APInt(16, 1)));
  Value below =
      b.create<arith::SubIOp>(v.loc, b.create<arith::BitcastOp>(v.loc, shorts, nearest), one);
  Value halfBelow = b.create<arith::BitcastOp>(v.loc, half, below);
  Value stepped = b.create<arith::ExtFOp>(v.loc, v.floats(), halfBelow);
  Value isInfinite = v.equal(v.both(v.asInt(x), v.i(0x7fffffff)), v.i(0x7f800000));
  Value grew = v.greater(v.absolute(wide), v.absolute(x));
  return v.select(isInfinite, x, v.select(grew, stepped, wide));
}

/// fp8: a multiple of the spacing of the format at the magnitude of x.
static Value roundToFloat8(OpBuilder &b, const Bits &v, Value x, Rounding rounding,
                           const Format &format) {
  Value exponent = v.both(v.right(v.asInt(x), 23), v.i(0xff));
  Value lowest = v.i(format.minExponent() + 127);
  exponent = v.select(v.less(exponent, lowest), lowest, exponent);
  Value spacing = v.asFloat(v.left(v.sub(exponent, v.i(format.mantissa)), 23));
  Value inverse = v.asFloat(v.left(v.sub(v.i(254 + format.mantissa), exponent), 23));
  // Beyond 2^(127 - mantissa) the inverse is no normal number; such values overflow anyway.
  Value huge = v.less(v.i(200), exponent);
  Value scaled = v.mulf(v.select(huge, v.f(0), x), inverse);
  Value steps = rounding == Rounding::nearest_even
                    ? Value(b.create<math::RoundEvenOp>(v.loc, scaled))
                    : Value(b.create<math::TruncOp>(v.loc, scaled));
  return v.select(huge, x, v.mulf(steps, spacing));
}

Value roundTo(OpBuilder &b, mlir::Location loc, Value vector, Type element, Rounding rounding,
              bool saturate, bool hasBf16) {
  if (element.isF32() && !saturate)
    return vector;
  Bits v{b, loc, cast<VectorType>(vector.getType()).getNumElements()};
  Format format = formatOf(element);
  Value rounded;
  bool isNearest = rounding == Rounding::nearest_even;
  if (element.isF32())
    rounded = vector;
  else if (element.isBF16() && hasBf16 && isNearest)
    rounded = b.create<arith::ExtFOp>(loc, v.floats(), truncate(b, loc, vector, element));
  else if (element.isBF16())
    rounded = roundToBf16(v, vector, rounding);
  else if (element.isF16())
    rounded = roundToF16(b, v, vector, rounding);
  else
    rounded = roundToFloat8(b, v, vector, rounding, format);
  bool isSmall = element.getIntOrFloatBitWidth() == 8;
  if (!saturate && !isSmall)
    return rounded; // bf16 and f16 have overflowed by themselves
  Value sign = v.both(v.asInt(vector), v.i(0x80000000));
  auto withSign = [&](double magnitude) {
    return v.asFloat(v.either(v.asInt(v.f(magnitude)), sign));
  };
  Value overflow = v.greater(v.absolute(rounded), v.f(format.largest));
  bool clamps = saturate || rounding == Rounding::toward_zero;
  Value infinity = withSign(format.hasInfinity ? INFINITY : NAN);
  Value beyond = clamps ? withSign(format.largest) : infinity;
  if (clamps && !saturate) { // toward zero a finite value stays finite, infinity does not
    Value isInfinite = v.equal(v.asInt(v.absolute(vector)), v.i(0x7f800000));
    beyond = v.select(isInfinite, infinity, beyond);
  }
  return v.select(overflow, beyond, rounded);
}

/// Float to integer: rounded, clamped to the integer's range, NaN as 0.
static Value toInteger(OpBuilder &b, mlir::Location loc, Value x, IntegerType to,
                       Rounding rounding) {
  int64_t lanes = cast<VectorType>(x.getType()).getNumElements();
  Bits v{b, loc, lanes};
  auto result = VectorType::get({lanes}, to);
  Value whole;
  switch (rounding) {
  case Rounding::nearest_even:
    whole = b.create<math::RoundEvenOp>(loc, x);
    break;
  case Rounding::toward_zero:
    whole = b.create<math::TruncOp>(loc, x);
    break;
  case Rounding::down:
    whole = b.create<math::FloorOp>(loc, x);
    break;
  case Rounding::up:
    whole = b.create<math::CeilOp>(loc, x);
    break;
  }
  unsigned width = to.getWidth();
  double limit = std::ldexp(1.0, static_cast<int>(width) - 1);
  auto constant = [&](const APInt &value) {
    return b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(result, value));
  };
  Value tooLarge = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OGE, whole, v.f(limit));
  Value tooSmall = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT, whole, v.f(-limit));
  Value outside = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, whole, whole);
  outside = b.create<arith::OrIOp>(loc, outside, b.create<arith::OrIOp>(loc, tooLarge, tooSmall));
  Value number = b.create<arith::FPToSIOp>(loc, result, v.select(outside, v.f(0), whole));
  number =
      b.create<arith::SelectOp>(loc, tooLarge, constant(APInt::getSignedMaxValue(width)), number);
  return b.create<arith::SelectOp>(loc, tooSmall, constant(APInt::getSignedMinValue(width)),
                                   number);
}

/// Integer to f32. On the way to a narrow type a number of more than 24 bits loses the low ones but
/// leaves a trace in the last bit kept, so that the second rounding comes out as a single one
/// would.
static Value toFloat(OpBuilder &b, mlir::Location loc, Value x, Type narrow) {
  auto type = cast<VectorType>(x.getType());
  unsigned width = type.getElementTypeBitWidth();
  auto floats = VectorType::get(type.getShape(), b.getF32Type());
  if (width == 1)
    return b.create<arith::UIToFPOp>(loc, floats, x);
  Value nearest = b.create<arith::SIToFPOp>(loc, floats, x);
  if (narrow.isF32() || width <= 24)
    return nearest;
  auto constant = [&](int64_t value) -> Value {
    return b.create<arith::ConstantOp>(
        loc, DenseElementsAttr::get(type, APInt(width, static_cast<uint64_t>(value))));
  };
  Value magnitude = b.create<math::AbsIOp>(loc, x);
  Value zeros = b.create<math::CountLeadingZerosOp>(loc, magnitude);
  Value extra = b.create<arith::MaxSIOp>(
      loc, b.create<arith::SubIOp>(loc, constant(width - 24), zeros), constant(0));
  Value kept = b.create<arith::ShRUIOp>(loc, magnitude, extra);
  Value isInexact = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne,
                                            b.create<arith::ShLIOp>(loc, kept, extra), magnitude);
  Value marked = b.create<arith::OrIOp>(loc, kept, b.create<arith::ExtUIOp>(loc, type, isInexact));
  Value whole = b.create<arith::ShLIOp>(loc, marked, extra); // of 24 bits: exact as f32
  return b.create<math::CopySignOp>(loc, b.create<arith::UIToFPOp>(loc, floats, whole), nearest);
}

/// Integer to integer; i1 counts as 0 and 1.
static Value toWidth(OpBuilder &b, mlir::Location loc, Value x, IntegerType to, bool saturate) {
  auto type = cast<VectorType>(x.getType());
  unsigned from = type.getElementTypeBitWidth(), width = to.getWidth();
  auto result = VectorType::get(type.getShape(), to);
  if (width == 1) {
    Value zero = b.create<arith::ConstantOp>(loc, b.getZeroAttr(type));
    return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, x, zero);
  }
  if (from == 1)
    return b.create<arith::ExtUIOp>(loc, result, x);
  if (from < width)
    return b.create<arith::ExtSIOp>(loc, result, x);
  if (saturate) {
    auto limit = [&](const APInt &value) {
      return b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(type, value.sext(from)));
    };
    x = b.create<arith::MinSIOp>(loc, x, limit(APInt::getSignedMaxValue(width)));
    x = b.create<arith::MaxSIOp>(loc, x, limit(APInt::getSignedMinValue(width)));
  }
  return b.create<arith::TruncIOp>(loc, result, x);
}

Value convert(OpBuilder &b, mlir::Location loc, Value vector, Type from, Type to, Rounding rounding,
              bool saturate, bool hasBf16) {
  if (from == to)
    return vector;
  int64_t lanes = cast<VectorType>(vector.getType()).getNumElements();
  if (isa<FloatType>(from) && isa<FloatType>(to))
    return roundTo(b, loc, vector, to, rounding, saturate, hasBf16);
  if (isa<FloatType>(to))
    return roundTo(b, loc, toFloat(b, loc, vector, to), to, rounding, saturate, hasBf16);
  if (isa<FloatType>(from)) {
    if (to.isInteger(1))
      return b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNE, vector,
                                     Bits{b, loc, lanes}.f(0));
    return toInteger(b, loc, vector, cast<IntegerType>(to), rounding);
  }
  return toWidth(b, loc, vector, cast<IntegerType>(to), saturate);
}

} // namespace ditron::lower
