// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/transforms/SweepWindow.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ditron::device {

//===-- Windows -------------------------------------------------------------------------------===//

namespace {

/// Follows one dimension of an argument through the views of it.
class DimensionPath {
public:
  explicit DimensionPath(int64_t dim) : dim_(dim) {}

  int64_t dim() const { return dim_; }
  const SweepWindow &window() const { return window_; }

  /// False where the view drops the dimension, cuts it twice, or cannot be looked through.
  bool follow(Value view, Value argument) {
    if (view == argument)
      return true;
    if (auto op = view.getDefiningOp<memref::SubViewOp>())
      return follow(op.getSource(), argument) && slice(op);
    auto op = view.getDefiningOp<memref::TransposeOp>();
    if (!op || !follow(op.getIn(), argument))
      return false;
    ArrayRef<AffineExpr> from = op.getPermutation().getResults();
    dim_ = llvm::find_if(from,
                         [&](AffineExpr expr) {
                           return static_cast<int64_t>(cast<AffineDimExpr>(expr).getPosition()) ==
                                  dim_;
                         }) -
           from.begin();
    return true;
  }

private:
  bool slice(memref::SubViewOp op) {
    llvm::SmallBitVector dropped = op.getDroppedDims();
    if (dropped[dim_] || getConstantIntValue(op.getMixedStrides()[dim_]) != 1)
      return false;
    OpFoldResult begin = op.getMixedOffsets()[dim_], size = op.getMixedSizes()[dim_];
    if (!isConstantIntValue(begin, 0) || !isWhole(op.getSource(), size)) {
      if (window_.size)
        return false;
      window_ = {begin, size};
    }
    for (int64_t d = 0, before = dim_; d < before; ++d)
      dim_ -= dropped[d];
    return true;
  }

  bool isWhole(Value source, OpFoldResult size) const {
    auto value = dyn_cast<Value>(size);
    auto ask = value ? value.getDefiningOp<memref::DimOp>() : memref::DimOp();
    return ask && ask.getSource() == source && ask.getConstantIndex() == dim_;
  }

  int64_t dim_;
  SweepWindow window_;
};

/// The coordinates of an access to a tile, and the tile.
std::optional<std::pair<ValueRange, RankedTensorType>> tileAt(Operation *op) {
  using Result = std::optional<std::pair<ValueRange, RankedTensorType>>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case<core::LoadOp, core::StoreOp, core::AtomicAddOp>([](auto op) {
        return std::pair<ValueRange, RankedTensorType>(
            op.getCoords(), cast<RankedTensorType>(op.getTile().getType()));
      })
      .Default([](Operation *) { return std::nullopt; });
}

bool isBefore(OpFoldResult value, scf::ForOp loop) {
  auto dynamic = dyn_cast_or_null<Value>(value);
  return !dynamic || !loop->isAncestor(dynamic.getParentBlock()->getParentOp());
}

} // namespace

std::optional<WindowSweep> windowSweepOf(Operation *access, Value view, BlockArgument argument,
                                         int64_t dim) {
  auto tile = tileAt(access);
  DimensionPath path(dim);
  if (!tile || !path.follow(view, argument))
    return std::nullopt;
  auto counter = dyn_cast<BlockArgument>(tile->first[path.dim()]);
  auto loop = counter ? dyn_cast<scf::ForOp>(counter.getOwner()->getParentOp()) : scf::ForOp();
  if (!loop || counter != loop.getInductionVar() || !isConstantIntValue(loop.getLowerBound(), 0) ||
      !isBefore(path.window().begin, loop) || !isBefore(path.window().size, loop))
    return std::nullopt;
  int64_t place = path.dim() - static_cast<int64_t>(tile->first.size()) + tile->second.getRank();
  return WindowSweep{loop, place < 0 ? 1 : tile->second.getDimSize(place), path.window()};
}

//===-- Positions -----------------------------------------------------------------------------===//

/// Whether `tile` numbers its elements along the dimension that has `extent` of them.
static bool isNumbers(Value tile, int64_t extent) {
  if (auto repeated = tile.getDefiningOp<core::BroadcastOp>())
    tile = repeated.getSource();
  auto iota = tile.getDefiningOp<core::IotaOp>();
  return iota && iota.getType().getDimSize(iota.getAxis()) == extent;
}

/// Whether `value` is `x` divided by a constant, rounded down where x is not negative.
static bool isDivided(Value value, int64_t by) {
  Operation *op = value.getDefiningOp();
  return op && isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(op) &&
         isConstantIntValue(op->getOperand(1), by);
}

Operation *TilePositions::read(llvm::function_ref<bool(OpOperand &)> isKnown) {
  for (OpOperand &use : counter_.getUses()) {
    Operation *user = use.getOwner();
    if (isKnown(use))
      continue;
    if (auto first = dyn_cast<arith::MulIOp>(user);
        first && isConstantIntValue(first->getOperand(1 - use.getOperandNumber()), tile_)) {
      firsts_.push_back(first);
      if (Operation *other = readElements(first))
        return other;
    } else if (isGuard(use)) {
      guards_.push_back(cast<arith::CmpIOp>(user));
    } else {
      return user;
    }
  }
  return nullptr;
}

/// Finds the tiles of positions made of where the tile begins. Returns what is none.
Operation *TilePositions::readElements(Value first) {
  for (Operation *user : first.getUsers()) {
    if (isa<arith::IndexCastOp, tensor::SplatOp, core::BroadcastOp>(user)) {
      if (Operation *other = readElements(user->getResult(0)))
        return other;
      continue;
    }
    auto sum = dyn_cast<arith::AddIOp>(user);
    if (!sum || !isa<RankedTensorType>(sum.getType()))
      return user;
    Value within = sum.getLhs() == first ? sum.getRhs() : sum.getLhs();
    if (!isNumbers(within, tile_))
      return user;
    numbered_.push_back({sum, within});
  }
  return nullptr;
}

/// j >= x / n and j < x / n: whether the tile ends behind element x of the window.
bool TilePositions::isGuard(OpOperand &use) const {
  auto compare = dyn_cast<arith::CmpIOp>(use.getOwner());
  if (!compare || use.getOperandNumber() != 0)
    return false;
  using arith::CmpIPredicate;
  bool isEnd =
      compare.getPredicate() == CmpIPredicate::sge || compare.getPredicate() == CmpIPredicate::slt;
  return isEnd && isDivided(compare.getRhs(), tile_);
}

void TilePositions::renumber(ImplicitLocOpBuilder &b, const Step &step) {
  Value behind = b.create<arith::AddIOp>(step.first, b.create<arith::ConstantIndexOp>(tile_));
  Value isRagged = b.create<arith::CmpIOp>(arith::CmpIPredicate::sgt, behind, step.end);
  Value none = b.create<arith::ConstantIndexOp>(0);
  Value gap =
      b.create<arith::SelectOp>(isRagged, b.create<arith::SubIOp>(step.size, step.end), none);
  Value end = b.create<arith::AddIOp>(behind, gap);
  Value present = b.create<arith::SubIOp>(step.end, step.first);
  for (arith::MulIOp first : firsts_) {
    first.replaceAllUsesWith(step.first);
    first.erase();
  }
  for (auto [sum, within] : numbered_) {
    ImplicitLocOpBuilder at(sum.getLoc(), sum->getContext());
    at.setInsertionPointAfter(sum);
    auto type = cast<RankedTensorType>(sum.getType());
    auto splat = [&](Value number) -> Value {
      Value cast = at.create<arith::IndexCastOp>(type.getElementType(), number);
      return at.create<tensor::SplatOp>(cast, type);
    };
    Value isMissing = at.create<arith::CmpIOp>(arith::CmpIPredicate::sge, within, splat(present));
    Value zero = at.create<arith::ConstantOp>(at.getZeroAttr(type));
    Value skipped = at.create<arith::SelectOp>(isMissing, splat(gap), zero);
    auto position = at.create<arith::AddIOp>(sum, skipped);
    sum.getResult().replaceAllUsesExcept(position, position);
  }
  for (arith::CmpIOp guard : guards_)
    renumberGuard(guard, end);
}

void TilePositions::renumberGuard(arith::CmpIOp guard, Value end) const {
  using arith::CmpIPredicate;
  OpBuilder builder(guard);
  bool isBehind = guard.getPredicate() == CmpIPredicate::sge;
  Value limit = guard.getRhs().getDefiningOp()->getOperand(0);
  Value result = builder.create<arith::CmpIOp>(
      guard.getLoc(), isBehind ? CmpIPredicate::sgt : CmpIPredicate::sle, end, limit);
  guard.replaceAllUsesWith(result);
  guard.erase();
}

} // namespace ditron::device
