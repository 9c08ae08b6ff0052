// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/fusion/TrailingStore.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace ditron::cpu {

namespace {

ArrayRef<int64_t> shapeOf(Value tile) { return tileOf(tile).getShape(); }

/// Whether a value is there where an op of a block is executed.
bool isThereFor(Value value, Operation *op) {
  Operation *source = value.getDefiningOp();
  return !source || source->getBlock() != op->getBlock() || source->isBeforeInBlock(op);
}

class Finder {
public:
  Finder(core::ReduceOp reduce, const TileBuffers &buffers, const ViewReads &reads,
         const Inlining &inlining)
      : found_{reduce, {}, {}}, first_(reduce.getSource().getDefiningOp()), buffers_(buffers),
        reads_(reads), inlining_(inlining) {}

  std::optional<TrailingStore> find() {
    Operation *op = first_->getNextNode();
    for (; op && !isa<core::StoreOp>(op); op = op->getNextNode())
      if (!mayStandBetween(op))
        return {};
    found_.store = dyn_cast_or_null<core::StoreOp>(op);
    auto isEarlier = [&](Value value) { return isThereFor(value, first_); };
    if (!found_.store || shapeOf(found_.stored()) != shapeOf(found_.source()) ||
        !isOfItsRow(found_.stored()) || !isEarlier(found_.store.getView()) ||
        !llvm::all_of(found_.store.getCoords(), isEarlier))
      return {};
    return found_;
  }

private:
  /// Whether the store may trail over an op, which is then materialised row by row if it has to be.
  bool mayStandBetween(Operation *op) {
    bool isTileOp = op->getNumResults() == 1 && isTile(op->getResult(0));
    if (op == found_.reduce.getOperation() || isa<core::RequireOp>(op))
      return true;
    if (!isMemoryEffectFree(op) || op->getNumRegions())
      return false;
    if (!isTileOp || op->use_empty() || inlining_.staysInline(op))
      return true;
    if (shapeOf(op->getResult(0)) != shapeOf(found_.reduced()) || isWhole(op) ||
        !isOfItsRow(op->getResult(0)))
      return false;
    found_.between.push_back(op);
    return true;
  }

  /// Whether an element of `value` needs, of the kept tile and of what was materialised since, only
  /// the elements of its own row.
  bool isOfItsRow(Value value) {
    Operation *op = value.getDefiningOp();
    if (found_.materialises(value) || buffers_.has(value))
      return true;
    if (auto broadcast = dyn_cast_or_null<core::BroadcastOp>(op))
      return shapeOf(broadcast.getSource()).size() == 2 &&
             shapeOf(broadcast.getSource()).front() == shapeOf(value).front() &&
             isOfItsRow(broadcast.getSource());
    if (isa_and_nonnull<arith::ConstantOp>(op))
      return true;
    if (auto splat = dyn_cast_or_null<tensor::SplatOp>(op))
      return isThereFor(splat.getInput(), first_);
    if (isa_and_nonnull<core::LoadOp>(op))
      return reads_.find(op) && inlining_.staysInline(op);
    if (!op || (!isa<core::CastOp>(op) && !op->hasTrait<OpTrait::Elementwise>()))
      return false;
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      return isTile(operand) ? isOfItsRow(operand) : isThereFor(operand, first_);
    });
  }

  TrailingStore found_;
  Operation *first_; ///< everything is lowered there
  const TileBuffers &buffers_;
  const ViewReads &reads_;
  const Inlining &inlining_;
};

} // namespace

std::optional<TrailingStore> findTrailingStore(core::ReduceOp reduce, const VectorBuilder &v,
                                               const TileBuffers &buffers, const ViewReads &reads,
                                               const Inlining &inlining) {
  ArrayRef<int64_t> shape = shapeOf(reduce.getSource());
  if (shape.size() != 2 || shape[1] % v.wholeLanes())
    return {};
  return Finder(reduce, buffers, reads, inlining).find();
}

} // namespace ditron::cpu
