// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// arith and math: on tiles, scalars and indices alike. Those of the language stand in
// core/Elementwise.def, which says what they compute; a line there is all that a new one needs.
#include "ditron/reference/Semantics.h"
#include "ditron/reference/TileMath.h"
#include "ditron/support/Error.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;

namespace ditron::reference {
namespace {

/// Integers are computed where they cannot overflow, and then wrapped to their width.
using Wide = __int128;

/// fn of the elements of the operands, all read as `Element`.
template <class Op, class Element, class Fn> void addUnary(Semantics &semantics, Fn fn) {
  semantics.addPure<Op>([fn](CoreMachine &core, Op op) {
    return mapElements<Element>(op.getType(), fn, core.get(op->getOperand(0)));
  });
}
template <class Op, class Element, class Fn> void addBinary(Semantics &semantics, Fn fn) {
  semantics.addPure<Op>([fn](CoreMachine &core, Op op) {
    return mapElements<Element>(op.getType(), fn, core.get(op->getOperand(0)),
                                core.get(op->getOperand(1)));
  });
}
template <class Op, class Element, class Fn> void addTernary(Semantics &semantics, Fn fn) {
  semantics.addPure<Op>([fn](CoreMachine &core, Op op) {
    return mapElements<Element>(op.getType(), fn, core.get(op->getOperand(0)),
                                core.get(op->getOperand(1)), core.get(op->getOperand(2)));
  });
}

void addLanguage(Semantics &semantics) {
#define UNARY(name, FloatOp, expression)                                                           \
  addUnary<FloatOp, double>(semantics, [](double x) -> double { return expression; });
#define UNARY_ANY(name, FloatOp, IntegerOp, expression, integerExpression)                         \
  addUnary<FloatOp, double>(semantics, [](double x) -> double { return expression; });             \
  addUnary<IntegerOp, int64_t>(semantics, [](Wide x) -> Wide { return integerExpression; });
#define BINARY(name, FloatOp, IntegerOp, expression, integerExpression)                            \
  addBinary<FloatOp, double>(semantics, [](double x, double y) -> double { return expression; });  \
  addBinary<IntegerOp, int64_t>(semantics,                                                         \
                                [](Wide x, Wide y) -> Wide { return integerExpression; });
#define BINARY_INT(name, IntegerOp, expression)                                                    \
  addBinary<IntegerOp, int64_t>(semantics, [](Wide x, Wide y) -> Wide { return expression; });
#define TERNARY(name, FloatOp, expression)                                                         \
  addTernary<FloatOp, double>(semantics,                                                           \
                              [](double x, double y, double z) -> double { return expression; });
#include "ditron/core/Elementwise.def"
}

//===-- Comparisons ---------------------------------------------------------------------------===//

using FloatComparison = bool (*)(double, double);
using IntegerComparison = bool (*)(int64_t, int64_t);

/// The ordered predicates are the language's; an unordered one is the negation of the opposite.
FloatComparison comparison(arith::CmpFPredicate predicate) {
  switch (predicate) {
#define COMPARE(name, floatPredicate, integerPredicate, expression)                                \
  case arith::CmpFPredicate::floatPredicate:                                                       \
    return [](double x, double y) -> bool { return expression; };
#include "ditron/core/Elementwise.def"
  case arith::CmpFPredicate::ONE:
    return [](double x, double y) { return x < y || x > y; };
  case arith::CmpFPredicate::ORD:
    return [](double x, double y) { return x == x && y == y; };
  case arith::CmpFPredicate::UNO:
    return [](double x, double y) { return x != x || y != y; };
  case arith::CmpFPredicate::UEQ:
    return [](double x, double y) { return !(x < y || x > y); };
  case arith::CmpFPredicate::ULT:
    return [](double x, double y) { return !(x >= y); };
  case arith::CmpFPredicate::ULE:
    return [](double x, double y) { return !(x > y); };
  case arith::CmpFPredicate::UGT:
    return [](double x, double y) { return !(x <= y); };
  case arith::CmpFPredicate::UGE:
    return [](double x, double y) { return !(x < y); };
  case arith::CmpFPredicate::AlwaysTrue:
    return [](double, double) { return true; };
  case arith::CmpFPredicate::AlwaysFalse:
    return [](double, double) { return false; };
  }
  throw InternalError("unknown comparison of floats");
}

/// Sign extension keeps the order of unsigned integers.
IntegerComparison comparison(arith::CmpIPredicate predicate) {
  switch (predicate) {
#define COMPARE(name, floatPredicate, integerPredicate, expression)                                \
  case arith::CmpIPredicate::integerPredicate:                                                     \
    return [](int64_t x, int64_t y) -> bool { return expression; };
#include "ditron/core/Elementwise.def"
  case arith::CmpIPredicate::ult:
    return [](int64_t x, int64_t y) { return uint64_t(x) < uint64_t(y); };
  case arith::CmpIPredicate::ule:
    return [](int64_t x, int64_t y) { return uint64_t(x) <= uint64_t(y); };
  case arith::CmpIPredicate::ugt:
    return [](int64_t x, int64_t y) { return uint64_t(x) > uint64_t(y); };
  case arith::CmpIPredicate::uge:
    return [](int64_t x, int64_t y) { return uint64_t(x) >= uint64_t(y); };
  }
  throw InternalError("unknown comparison of integers");
}

template <class Op, class Element> void addComparison(Semantics &semantics) {
  semantics.addPure<Op>([](CoreMachine &core, Op op) {
    return mapElements<Element>(op.getType(), comparison(op.getPredicate()), core.get(op.getLhs()),
                                core.get(op.getRhs()));
  });
}

template <class Element> Tile choose(const Tile &condition, const Tile &yes, const Tile &no) {
  Tile result = no;
  for (size_t i = 0; i < condition.as<int64_t>().size(); ++i)
    if (condition.as<int64_t>()[i])
      result.as<Element>()[i] = yes.as<Element>()[i];
  return result;
}

Value select(CoreMachine &core, arith::SelectOp op) {
  mlir::Value yes = op.getTrueValue(), no = op.getFalseValue();
  const Value &condition = core.get(op.getCondition());
  if (const int64_t *whole = std::get_if<int64_t>(&condition))
    return core.get(*whole ? yes : no);
  const Tile &which = *std::get<TileRef>(condition);
  return std::make_shared<Tile>(isFloat(core.tile(yes).type)
                                    ? choose<double>(which, core.tile(yes), core.tile(no))
                                    : choose<int64_t>(which, core.tile(yes), core.tile(no)));
}

//===-- Indices and unsigned integers ---------------------------------------------------------===//

/// The quotient truncated, or rounded down or up; by zero it is 0.
Wide divide(Wide x, Wide y) { return y == 0 ? 0 : x / y; }
bool isInexact(Wide x, Wide y) { return y != 0 && x % y != 0; }
Wide divideDown(Wide x, Wide y) { return divide(x, y) - (isInexact(x, y) && (x < 0) != (y < 0)); }
Wide divideUp(Wide x, Wide y) { return divide(x, y) + (isInexact(x, y) && (x < 0) == (y < 0)); }

/// fn of operands read as unsigned numbers of their width.
template <class Op, class Fn> void addUnsigned(Semantics &semantics, Fn fn) {
  semantics.addPure<Op>([fn](CoreMachine &core, Op op) {
    DType type = elementType(op.getType());
    return mapElements<int64_t>(
        op.getType(),
        [&](int64_t x, int64_t y) -> int64_t {
          return fn(unsignedOf(type, x), unsignedOf(type, y));
        },
        core.get(op.getLhs()), core.get(op.getRhs()));
  });
}

void addIntegers(Semantics &semantics) {
  addBinary<arith::FloorDivSIOp, int64_t>(semantics, divideDown);
  addBinary<arith::CeilDivSIOp, int64_t>(semantics, divideUp);
  addUnsigned<arith::DivUIOp>(semantics, [](uint64_t x, uint64_t y) { return y ? x / y : 0; });
  addUnsigned<arith::RemUIOp>(semantics, [](uint64_t x, uint64_t y) { return y ? x % y : 0; });
  addUnsigned<arith::CeilDivUIOp>(
      semantics, [](uint64_t x, uint64_t y) { return y ? x / y + (x % y != 0) : 0; });
  addUnsigned<arith::MinUIOp>(semantics, [](uint64_t x, uint64_t y) { return std::min(x, y); });
  addUnsigned<arith::MaxUIOp>(semantics, [](uint64_t x, uint64_t y) { return std::max(x, y); });
  addUnsigned<arith::ShRUIOp>(semantics, [](uint64_t x, uint64_t y) { return x >> (y & 63); });
}

//===-- Conversions ---------------------------------------------------------------------------===//

/// Conversions between integers, signed or by dropping high bits: the number wraps to its new type.
template <class Op> void addSignedConversion(Semantics &semantics) {
  addUnary<Op, int64_t>(semantics, [](int64_t x) { return x; });
}

template <class Op> void addUnsignedConversion(Semantics &semantics) {
  semantics.addPure<Op>([](CoreMachine &core, Op op) {
    DType from = elementType(op.getIn().getType());
    return mapElements<int64_t>(
        op.getType(), [=](int64_t x) { return int64_t(unsignedOf(from, x)); },
        core.get(op.getIn()));
  });
}

/// Conversions from or to floats, with the rounding that the op has by itself.
template <class Op> void addFloatConversion(Semantics &semantics, core::Rounding rounding) {
  semantics.addPure<Op>([rounding](CoreMachine &core, Op op) {
    return castTo(op.getIn().getType(), op.getType(), core.get(op.getIn()), rounding);
  });
}

template <class Op> void addIntegerToFloat(Semantics &semantics, bool isSigned) {
  semantics.addPure<Op>([isSigned](CoreMachine &core, Op op) {
    DType from = elementType(op.getIn().getType()), to = elementType(op.getType());
    return mapElements<int64_t>(
        op.getType(),
        [=](int64_t x) {
          return isSigned ? integerToFloat(to, x) : integerToFloat(to, unsignedOf(from, x));
        },
        core.get(op.getIn()));
  });
}

/// The same bits as another type.
Value bitcast(CoreMachine &core, arith::BitcastOp op) {
  DType from = elementType(op.getIn().getType()), to = elementType(op.getType());
  auto bits = [=](auto x) {
    int64_t word = 0;
    if constexpr (std::is_same_v<decltype(x), double>)
      storeElement(from, &word, x);
    else
      word = x;
    return word;
  };
  auto as = [&](auto number) -> Value {
    using From = decltype(number);
    const Value &in = core.get(op.getIn());
    if (isFloat(to))
      return mapElements<From>(
          op.getType(),
          [=](From x) {
            int64_t word = bits(x);
            return loadElement(to, &word);
          },
          in);
    return mapElements<From>(op.getType(), [=](From x) { return wrapTo(to, bits(x)); }, in);
  };
  return isFloat(from) ? as(double()) : as(int64_t());
}

void addConversions(Semantics &semantics) {
  semantics.addPure<arith::BitcastOp>(bitcast);
  addSignedConversion<arith::ExtSIOp>(semantics);
  addSignedConversion<arith::TruncIOp>(semantics);
  addSignedConversion<arith::IndexCastOp>(semantics);
  addUnsignedConversion<arith::ExtUIOp>(semantics);
  addUnsignedConversion<arith::IndexCastUIOp>(semantics);
  addFloatConversion<arith::ExtFOp>(semantics, core::Rounding::nearest_even);
  addFloatConversion<arith::TruncFOp>(semantics, core::Rounding::nearest_even);
  addFloatConversion<arith::FPToSIOp>(semantics, core::Rounding::toward_zero);
  addIntegerToFloat<arith::SIToFPOp>(semantics, /*isSigned=*/true);
  addIntegerToFloat<arith::UIToFPOp>(semantics, /*isSigned=*/false);
}

} // namespace

void addElementwise(Semantics &semantics) {
  addLanguage(semantics);
  addIntegers(semantics);
  addConversions(semantics);
  addComparison<arith::CmpFOp, double>(semantics);
  addComparison<arith::CmpIOp, int64_t>(semantics);
  semantics.addPure<arith::SelectOp>(select);
  semantics.addPure<arith::ConstantOp>(
      [](CoreMachine &, arith::ConstantOp op) { return constantOf(op.getValue()); });
}

} // namespace ditron::reference
