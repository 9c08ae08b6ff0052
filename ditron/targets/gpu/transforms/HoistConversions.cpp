// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simt-hoist-conversions: tiles change their threads outside of loops, where they can.
//
//   %r = scf.for ... iter_args(%sum = %zero) -> (tensor<1x16xf32, #a>) {
//     %t = simt.receive ... -> tensor<1x16xf32, #b>
//     %c = tile.convert_layout %t : tensor<1x16xf32, #b> -> tensor<1x16xf32, #a>
//     %s = arith.addf %sum, %c : tensor<1x16xf32, #a>
//     scf.yield %s
//   }
// becomes
//   %s = scf.for ... iter_args(%sum = %zero) -> (tensor<1x16xf32, #b>) {
//     %t = simt.receive ... -> tensor<1x16xf32, #b>
//     %s = arith.addf %sum, %t : tensor<1x16xf32, #b>
//     scf.yield %s
//   }
//   %r = tile.convert_layout %s : tensor<1x16xf32, #b> -> tensor<1x16xf32, #a>
//
// A conversion goes through shared memory, between barriers: in loops over ranks, whose tiles are small, it takes
// longer than the rest. What a loop converts and does not change is converted in front of it, too.
// test/targets/gpu/hoist-conversions.mlir shows it.
#include "ditron/core/TileOps.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_HOISTCONVERSIONS
#include "ditron/targets/gpu/transforms/Passes.h.inc"

namespace {

RankedTensorType withLayoutOf(RankedTensorType tile, RankedTensorType like) {
  return core::withLayout(tile, core::layoutOf(like));
}

/// In front of the loops around a conversion that do not compute what it converts.
void hoistInvariant(core::ConvertLayoutOp convert) {
  while (auto loop = dyn_cast<scf::ForOp>(convert->getParentOp())) {
    if (!loop.isDefinedOutsideOfLoop(convert.getSource()))
      return;
    convert->moveBefore(loop);
  }
}

/// A tile that a loop carries, computed element by element from tiles of another layout.
class Carried {
public:
  Carried(scf::ForOp loop, unsigned number) : loop_(loop), number_(number) {}

  /// Whether all that it is computed from may have the other layout.
  bool find() {
    argument_ = loop_.getRegionIterArg(number_);
    return isTile(argument_) && !isShared(tileOf(argument_)) && visit(argument_) &&
           visit(loop_.getYieldedValues()[number_]) && from_ && isReadInsideOnly() && isSmall();
  }

  void retype() {
    IRRewriter b(loop_.getContext());
    b.setInsertionPoint(loop_);
    for (Value value : outside_) {
      Value other = inFront(b, value);
      value.replaceUsesWithIf(other, [&](OpOperand &use) { return changes(use); });
    }
    loop_.getInitArgsMutable()[number_].set(inFront(b, loop_.getInitArgs()[number_]));
    Value result = loop_.getResult(number_);
    Type before = result.getType();
    for (Value value : inside_)
      value.setType(withLayoutOf(tileOf(value), from_));
    result.setType(withLayoutOf(tileOf(result), from_));
    for (core::ConvertLayoutOp convert : converts_)
      b.replaceOp(convert, convert.getSource());
    b.setInsertionPointAfter(loop_);
    auto after = b.create<core::ConvertLayoutOp>(loop_.getLoc(), before, result);
    result.replaceAllUsesExcept(after.getResult(), after);
  }

private:
  bool visit(Value value) {
    if (!isTile(value))
      return true;
    if (loop_.isDefinedOutsideOfLoop(value))
      return outside_.insert(value), true;
    if (!inside_.insert(value))
      return true;
    Operation *op = value.getDefiningOp();
    if (!op)
      return value == argument_;
    if (auto convert = dyn_cast<core::ConvertLayoutOp>(op))
      return visitConversion(convert);
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      unsigned result = cast<OpResult>(value).getResultNumber();
      return visit(branch.thenYield().getOperand(result)) &&
             visit(branch.elseYield().getOperand(result));
    }
    return isElementwise(op) &&
           llvm::all_of(op->getOperands(), [&](Value one) { return visit(one); });
  }

  bool visitConversion(core::ConvertLayoutOp convert) {
    RankedTensorType source = tileOf(convert.getSource());
    if (isShared(source) || (from_ && core::layoutOf(source) != core::layoutOf(from_)))
      return false;
    from_ = source;
    inside_.remove(convert.getResult());
    converts_.insert(convert);
    return true;
  }

  /// Whether a use is part of what gets the other layout.
  bool changes(OpOperand &use) const {
    Operation *owner = use.getOwner();
    if (!loop_->isProperAncestor(owner))
      return false;
    auto yield = dyn_cast<scf::YieldOp>(owner);
    if (!yield)
      return owner->getNumResults() == 1 && inside_.contains(owner->getResult(0));
    Operation *parent = yield->getParentOp();
    if (parent == loop_)
      return use.getOperandNumber() == number_;
    return isa<scf::IfOp>(parent) && inside_.contains(parent->getResult(use.getOperandNumber()));
  }

  /// Whether nobody else sees the tiles of the loop.
  bool isReadInsideOnly() const {
    auto change = [&](Value value) {
      return llvm::all_of(value.getUses(), [&](OpOperand &use) { return changes(use); });
    };
    return llvm::all_of(inside_, change) && llvm::all_of(converts_, [&](core::ConvertLayoutOp op) {
             return change(op.getResult());
           });
  }

  /// Whether threads hold few elements of the tile then.
  bool isSmall() const {
    constexpr int64_t kFew = 8; // registers
    auto registers = [](const Layout &layout, RankedTensorType tile) {
      std::optional<Distribution> places = Distribution::of(layout, shapeOf(tile));
      return places ? places->registers() : INT64_MAX;
    };
    RankedTensorType tile = tileOf(argument_);
    return registers(core::layoutOf(from_), tile) <=
           std::max(kFew, registers(core::layoutOf(tile), tile));
  }

  /// A tile from outside in the other layout, in front of the loop.
  Value inFront(IRRewriter &b, Value value) {
    RankedTensorType type = withLayoutOf(tileOf(value), from_);
    if (auto constant = value.getDefiningOp<arith::ConstantOp>())
      if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
        return b.create<arith::ConstantOp>(constant.getLoc(), splat.resizeSplat(type));
    if (auto convert = value.getDefiningOp<core::ConvertLayoutOp>();
        convert && convert.getSource().getType() == type)
      return convert.getSource();
    for (Operation *user : value.getUsers())
      if (auto convert = dyn_cast<core::ConvertLayoutOp>(user);
          convert && convert.getType() == type && convert->getBlock() == loop_->getBlock() &&
          convert->isBeforeInBlock(loop_))
        return convert;
    return b.create<core::ConvertLayoutOp>(loop_.getLoc(), type, value);
  }

  scf::ForOp loop_;
  unsigned number_;
  Value argument_;
  RankedTensorType from_; ///< a tile that is converted in the loop
  SetVector<Value> inside_, outside_;
  SetVector<core::ConvertLayoutOp> converts_;
};

class HoistConversions : public impl::HoistConversionsBase<HoistConversions> {
  void runOnOperation() override {
    getOperation().walk([](core::ConvertLayoutOp convert) { hoistInvariant(convert); });
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      for (unsigned number = 0; number < loop.getNumRegionIterArgs(); ++number)
        if (Carried carried(loop, number); carried.find())
          carried.retype();
  }
};

} // namespace
} // namespace ditron::gpu
