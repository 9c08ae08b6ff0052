// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/LoopCarry.h"
#include "ditron/core/TileOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace ditron::device {
namespace {

/// The name of what combines two values in any order; empty of other operations. A dot adds.
StringRef combinerOf(Operation *op) {
  if (auto dot = dyn_cast<core::DotOp>(op)) {
    bool isFloat = isa<FloatType>(dot.getType().getElementType());
    return isFloat ? arith::AddFOp::getOperationName() : arith::AddIOp::getOperationName();
  }
  bool isCombiner = isa<arith::AddFOp, arith::AddIOp, arith::MulFOp, arith::MulIOp,
                        arith::MaximumFOp, arith::MaxNumFOp, arith::MaxSIOp, arith::MaxUIOp,
                        arith::MinimumFOp, arith::MinNumFOp, arith::MinSIOp, arith::MinUIOp>(op);
  return isCombiner ? op->getName().getStringRef() : StringRef();
}

/// Follows one carried value from use to use. Each is the operand of an operation that combines it
/// with something else, until the loop hands it on.
class Reduction {
public:
  /// Whether `value` reaches result `number` of the terminator of `block`, by such steps alone.
  bool reaches(Value value, Block &block, unsigned number) {
    while (value.hasOneUse()) {
      OpOperand &use = *value.getUses().begin();
      Operation *user = use.getOwner();
      if (user == block.getTerminator())
        return use.getOperandNumber() == number;
      std::optional<Value> next = user->getBlock() == &block ? stepOf(use) : std::nullopt;
      if (!next)
        return false;
      value = *next;
    }
    return false;
  }

private:
  /// What the user of `use` makes of the carried value; none if it does not combine it.
  std::optional<Value> stepOf(OpOperand &use) {
    if (auto inner = dyn_cast<scf::ForOp>(use.getOwner())) {
      if (use.getOperandNumber() < inner.getNumControlOperands())
        return std::nullopt;
      unsigned number = use.getOperandNumber() - inner.getNumControlOperands();
      bool carries = reaches(inner.getRegionIterArg(number), *inner.getBody(), number);
      return carries ? std::optional<Value>(inner.getResult(number)) : std::nullopt;
    }
    StringRef combiner = combinerOf(use.getOwner());
    auto dot = dyn_cast<core::DotOp>(use.getOwner());
    bool isSame = combiner_.empty() || combiner_ == combiner;
    if (combiner.empty() || !isSame || (dot && use.get() != dot.getAcc()))
      return std::nullopt;
    combiner_ = combiner;
    return use.getOwner()->getResult(0);
  }

  StringRef combiner_; ///< one for the whole reduction
};

} // namespace

Carry carryOf(scf::ForOp loop) {
  if (loop->hasAttr(kReorderableAttr))
    return Carry::marked;
  if (loop.getInitArgs().empty())
    return Carry::none;
  for (auto [number, carried] : llvm::enumerate(loop.getRegionIterArgs()))
    if (!Reduction().reaches(carried, *loop.getBody(), number))
      return Carry::ordered;
  return Carry::reduction;
}

} // namespace ditron::device
