// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   %q = arith.divsi %x, %y : vector<16xi32>
// becomes
//   %special = arith.ori (%y == 0), (%y == -1)
//   %safe = arith.select %special, 1, %y
//   %d = arith.divsi %x, %safe
//   %q = arith.select (%y == 0), 0, (arith.select (%y == -1), -%x, %d)
//
// unless %y is a constant other than 0 and -1. test/targets/cpu/integers.mlir shows it.
#include "ditron/lower/Arithmetic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ditron::lower {
namespace {

/// The replacement of one op, in front of it.
class Guard {
public:
  explicit Guard(Operation *op)
      : b_(op), loc_(op->getLoc()), op_(op), x_(op->getOperand(0)), y_(op->getOperand(1)) {}

  /// A division that rounds in any way: none does where the divisor is -1.
  void quotient() {
    if (isOneBit()) // of 0 and -1: -(-1) wraps to -1
      return replaceBy(b_.create<arith::AndIOp>(loc_, x_, y_));
    Value byZero = equals(0), byMinusOne = equals(-1);
    Value plain = withSafeDivisor(b_.create<arith::OrIOp>(loc_, byZero, byMinusOne));
    Value negated = b_.create<arith::SubIOp>(loc_, constant(0), x_);
    replaceBy(select(byZero, constant(0), select(byMinusOne, negated, plain)));
  }

  /// By 1, and so 0, in the special cases.
  void remainder() {
    if (isOneBit())
      return replaceBy(constant(0));
    replaceBy(withSafeDivisor(b_.create<arith::OrIOp>(loc_, equals(0), equals(-1))));
  }

  /// The same of unsigned numbers.
  void unsignedQuotient() {
    Value byZero = equals(0);
    replaceBy(select(byZero, constant(0), withSafeDivisor(byZero)));
  }
  void unsignedRemainder() { replaceBy(withSafeDivisor(equals(0))); }

  /// To the left, or to the right by zeros: beyond the width nothing is left.
  template <class Shift> void shiftOut() {
    if (isOneBit())
      return replaceBy(select(y_, constant(0), x_));
    Value amount = amountModulo64();
    replaceBy(select(isBeyond(amount), constant(0), b_.create<Shift>(loc_, x_, clamped(amount))));
  }

  /// Beyond the width only copies of the sign are left.
  void shiftRight() {
    if (isOneBit())
      return replaceBy(x_);
    replaceBy(b_.create<arith::ShRSIOp>(loc_, x_, clamped(amountModulo64())));
  }

private:
  Type element() const { return getElementTypeOrSelf(x_); }
  bool isOneBit() const { return element().isInteger(1); }
  int64_t width() const {
    return isa<IndexType>(element()) ? 64 : element().getIntOrFloatBitWidth();
  }

  Value constant(int64_t value) {
    TypedAttr number = b_.getIntegerAttr(element(), value);
    if (auto shaped = dyn_cast<ShapedType>(x_.getType()))
      number = DenseElementsAttr::get(shaped, Attribute(number));
    return b_.create<arith::ConstantOp>(loc_, number);
  }
  Value select(Value condition, Value yes, Value no) {
    return b_.create<arith::SelectOp>(loc_, condition, yes, no);
  }
  Value equals(int64_t value) {
    return b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::eq, y_, constant(value));
  }
  Value withSafeDivisor(Value isSpecial) {
    Value safe = select(isSpecial, constant(1), y_);
    Operation *plain = b_.clone(*op_);
    plain->setOperand(1, safe);
    return plain->getResult(0);
  }
  Value amountModulo64() { return b_.create<arith::AndIOp>(loc_, y_, constant(63)); }
  Value isBeyond(Value amount) {
    return b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::ugt, amount, constant(width() - 1));
  }
  Value clamped(Value amount) {
    return b_.create<arith::MinUIOp>(loc_, amount, constant(width() - 1));
  }
  void replaceBy(Value value) {
    op_->getResult(0).replaceAllUsesWith(value);
    op_->erase();
  }

  OpBuilder b_;
  mlir::Location loc_;
  Operation *op_;
  Value x_, y_;
};

/// The second operand, if it is one number.
std::optional<int64_t> constantOperand(Operation *op) {
  APInt value;
  if (!matchPattern(op->getOperand(1), m_ConstantInt(&value)))
    return std::nullopt;
  return value.getSExtValue();
}

/// Whether a shift by this number leaves bits.
bool isWithin(Operation *shift, std::optional<int64_t> by) {
  Type element = getElementTypeOrSelf(shift->getOperand(0));
  int64_t width = isa<IndexType>(element) ? 64 : element.getIntOrFloatBitWidth();
  return by && *by >= 0 && *by < width;
}

} // namespace

void defineIntegers(ModuleOp module) {
  SmallVector<Operation *> divisions, shifts;
  module.walk([&](Operation *op) {
    if (!isa<arith::DivSIOp, arith::CeilDivSIOp, arith::FloorDivSIOp, arith::RemSIOp, arith::ShLIOp,
             arith::ShRSIOp>(op))
      return;
    std::optional<int64_t> by = constantOperand(op);
    bool isShift = isa<arith::ShLIOp, arith::ShRSIOp>(op);
    bool isPlain = isShift ? isWithin(op, by) : by && *by != 0 && *by != -1;
    if (!isPlain)
      (isShift ? shifts : divisions).push_back(op);
  });
  for (Operation *op : divisions)
    isa<arith::RemSIOp>(op) ? Guard(op).remainder() : Guard(op).quotient();
  for (Operation *op : shifts)
    isa<arith::ShLIOp>(op) ? Guard(op).shiftOut<arith::ShLIOp>() : Guard(op).shiftRight();
}

void defineUnsigned(Operation *root) {
  root->walk([](Operation *op) {
    if (!isa<arith::DivUIOp, arith::CeilDivUIOp, arith::RemUIOp, arith::ShRUIOp>(op))
      return;
    std::optional<int64_t> by = constantOperand(op);
    if (isa<arith::ShRUIOp>(op) ? isWithin(op, by) : by && *by != 0)
      return;
    if (isa<arith::ShRUIOp>(op))
      Guard(op).shiftOut<arith::ShRUIOp>();
    else if (isa<arith::RemUIOp>(op))
      Guard(op).unsignedRemainder();
    else
      Guard(op).unsignedQuotient();
  });
}

} // namespace ditron::lower
