// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/lower/ExtentText.h"
#include "ditron/device/DistOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ditron::lower {

static StringRef wordOf(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return "eq";
  case arith::CmpIPredicate::ne:
    return "ne";
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::ult:
    return "lt";
  case arith::CmpIPredicate::sle:
  case arith::CmpIPredicate::ule:
    return "le";
  case arith::CmpIPredicate::sgt:
  case arith::CmpIPredicate::ugt:
    return "gt";
  case arith::CmpIPredicate::sge:
  case arith::CmpIPredicate::uge:
    return "ge";
  }
  return "";
}

/// The word of an operation; empty if it has none. Operations on numbers without a sign are of
/// numbers that have none to lose: tiles and their counts.
static StringRef wordOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](arith::AddIOp) { return "add"; })
      .Case([](arith::SubIOp) { return "sub"; })
      .Case([](arith::MulIOp) { return "mul"; })
      .Case<arith::DivSIOp, arith::DivUIOp>([](auto) { return "div"; })
      .Case<arith::RemSIOp, arith::RemUIOp>([](auto) { return "rem"; })
      .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>([](auto) { return "ceildiv"; })
      .Case([](arith::FloorDivSIOp) { return "floordiv"; })
      .Case<arith::MinSIOp, arith::MinUIOp>([](auto) { return "min"; })
      .Case<arith::MaxSIOp, arith::MaxUIOp>([](auto) { return "max"; })
      .Case([](arith::AndIOp) { return "and"; })
      .Case([](arith::OrIOp) { return "or"; })
      .Case([](arith::XOrIOp) { return "xor"; })
      .Case([](arith::SelectOp) { return "select"; })
      .Case([](arith::CmpIOp compare) { return wordOf(compare.getPredicate()); })
      .Default([](Operation *) { return ""; });
}

LogicalResult ExtentText::add(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return word(Twine(constant.getBitWidth() == 1 ? static_cast<int64_t>(constant.getZExtValue())
                                                  : constant.getSExtValue()));
  if (names_)
    if (auto named = names_->find(value); named != names_->end())
      return word(named->second);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *owner = argument.getOwner()->getParentOp();
    if (!isa<FunctionOpInterface>(owner) || !value.getType().isIntOrIndex())
      return refuse(owner); // a loop's, or a float
    return word("a" + Twine(argument.getArgNumber()));
  }
  return addOperation(value.getDefiningOp());
}

LogicalResult ExtentText::addOperation(Operation *op) {
  if (isa<device::NumRanksOp>(op))
    return word("n");
  if (isa<device::RankOp>(op) && names_)
    return word("r");
  if (isa<CastOpInterface>(op))
    return addCast(op);
  if (auto dim = dyn_cast<memref::DimOp>(op))
    if (auto n = dim.getConstantIndex())
      return addExtent(dim.getSource(), *n, op);
  StringRef name = wordOf(op);
  if (name.empty() || op->getNumResults() != 1)
    return refuse(op);
  for (Value operand : op->getOperands())
    if (failed(add(operand)))
      return failure();
  (void)word(name);
  auto type = dyn_cast<IntegerType>(op->getResult(0).getType());
  bool isNarrow = type && type.getWidth() > 1 && type.getWidth() < 64;
  return isNarrow ? word(Twine(type.getWidth()) + " wrap") : success();
}

/// Values are numbers with a sign; an i1 is 0 or 1.
LogicalResult ExtentText::addCast(Operation *cast) {
  auto from = dyn_cast<IntegerType>(cast->getOperand(0).getType());
  auto to = dyn_cast<IntegerType>(cast->getResult(0).getType());
  bool isTruth = from && from.getWidth() == 1;
  bool keepsValue = isTruth ? isa<arith::ExtUIOp, arith::IndexCastUIOp>(cast)
                            : isa<arith::ExtSIOp, arith::IndexCastOp>(cast) ||
                                  (isa<arith::IndexCastUIOp>(cast) && !from);
  if (!keepsValue && !isa<arith::TruncIOp>(cast))
    return refuse(cast);
  if (failed(add(cast->getOperand(0))))
    return failure();
  if (to && to.getWidth() == 1)
    return word("1 and");
  return to && to.getWidth() < 64 && !isTruth ? word(Twine(to.getWidth()) + " wrap") : success();
}

LogicalResult ExtentText::word(const Twine &next) {
  text_ += (text_.empty() ? "" : " ") + next.str();
  return success();
}

LogicalResult ExtentText::refuse(Operation *op) {
  culprit_ = op;
  return failure();
}

LogicalResult ExtentText::addFolded(OpFoldResult value) {
  if (auto constant = dyn_cast<Attribute>(value))
    return word(Twine(cast<IntegerAttr>(constant).getInt()));
  return add(cast<Value>(value));
}

LogicalResult ExtentText::addExtent(Value view, int64_t n, Operation *user) {
  if (auto argument = dyn_cast<BlockArgument>(view))
    return word("a" + Twine(argument.getArgNumber()) + "." + Twine(n));
  if (auto split = view.getDefiningOp<memref::ExpandShapeOp>()) {
    Builder b(split.getContext());
    return addFolded(getMixedValues(split.getStaticOutputShape(), split.getOutputShape(),
                                    b)[static_cast<size_t>(n)]);
  }
  if (auto transposed = view.getDefiningOp<memref::TransposeOp>()) {
    auto from = transposed.getPermutation().getDimPosition(static_cast<unsigned>(n));
    return addExtent(transposed.getIn(), from, user);
  }
  if (isa_and_nonnull<memref::MemorySpaceCastOp, memref::CastOp>(view.getDefiningOp()))
    return addExtent(view.getDefiningOp()->getOperand(0), n, user);
  if (auto part = view.getDefiningOp<memref::SubViewOp>()) {
    llvm::SmallBitVector dropped = part.getDroppedDims();
    for (unsigned d = 0; d < dropped.size(); ++d)
      if (!dropped[d] && n-- == 0)
        return addFolded(part.getMixedSizes()[d]);
  }
  return refuse(user);
}

} // namespace ditron::lower
