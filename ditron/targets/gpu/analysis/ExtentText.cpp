// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/gpu/analysis/ExtentText.h"
#include "ditron/device/DistOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ditron::gpu {

/// The word of an operation; empty if it has none.
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
      .Case([](arith::SelectOp) { return "select"; })
      .Case([](arith::CmpIOp compare) {
        switch (compare.getPredicate()) {
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
        default:
          return "ge";
        }
      })
      .Default([](Operation *) { return ""; });
}

LogicalResult ExtentText::add(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return word("c" + std::to_string(constant.getSExtValue()));
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *owner = argument.getOwner()->getParentOp();
    if (!isa<FunctionOpInterface>(owner))
      return refuse(owner); // a loop's
    return word("s" + std::to_string(argument.getArgNumber()));
  }
  Operation *op = value.getDefiningOp();
  if (isa<device::NumRanksOp>(op))
    return word("n");
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp>(op))
    return add(op->getOperand(0));
  if (auto dim = dyn_cast<memref::DimOp>(op))
    if (auto n = dim.getConstantIndex())
      return addExtent(dim.getSource(), *n, op);
  StringRef name = wordOf(op);
  if (name.empty())
    return refuse(op);
  for (Value operand : op->getOperands())
    if (failed(add(operand)))
      return failure();
  return word(name);
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
    return word("c" + std::to_string(cast<IntegerAttr>(constant).getInt()));
  return add(cast<Value>(value));
}

LogicalResult ExtentText::addExtent(Value view, int64_t n, Operation *user) {
  if (auto argument = dyn_cast<BlockArgument>(view))
    return word("a" + std::to_string(argument.getArgNumber()) + "." + std::to_string(n));
  if (auto split = view.getDefiningOp<memref::ExpandShapeOp>()) {
    Builder b(split.getContext());
    return addFolded(getMixedValues(split.getStaticOutputShape(), split.getOutputShape(),
                                    b)[static_cast<size_t>(n)]);
  }
  if (auto part = view.getDefiningOp<memref::SubViewOp>()) {
    llvm::SmallBitVector dropped = part.getDroppedDims();
    for (unsigned d = 0; d < dropped.size(); ++d)
      if (!dropped[d] && n-- == 0)
        return addFolded(part.getMixedSizes()[d]);
  }
  return refuse(user);
}

} // namespace ditron::gpu
