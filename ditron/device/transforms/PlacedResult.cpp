// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/transforms/PlacedResult.h"
#include "ditron/device/transforms/ShardedLoops.h"
#include "ditron/device/transforms/TileAxis.h"

using namespace mlir;

namespace ditron::device {

int64_t PlacedResult::dim() const {
  if (isScattered())
    return placed.placement.getDim();
  auto rank = static_cast<int64_t>(sizes.size());
  bool isByColumns = isByCores() && rounds() == 1;
  return isByColumns ? rank - 1 : std::max<int64_t>(rank - 2, 0);
}

int64_t PlacedResult::rounds() const {
  return sizes.size() == 2 ? placed.placement.getRounds() : 1;
}

Type PlacedResult::travelType(Value sum) const {
  auto result = cast<MemRefType>(placed.value.getType());
  return placed.placement.getRounded() ? result.getElementType() : getElementTypeOrSelf(sum);
}

InFlightDiagnostic PlacedResult::refuse(Operation *op) const {
  return op->emitError() << text << ", but ";
}

namespace {

/// The kernel is one loop over tiles, which stores the result once.
LogicalResult findLoop(func::FuncOp kernel, PlacedResult &result) {
  bool isRight = true;
  kernel.walk([&](Operation *op) {
    auto tiles = dyn_cast<TilesOp>(op);
    if (tiles && std::exchange(result.tiles, tiles) && std::exchange(isRight, false))
      result.refuse(tiles) << "this is a second loop over tiles: expected one, which stores it";
  });
  if (!isRight)
    return failure();
  if (!result.tiles)
    return result.refuse(kernel) << "the kernel has no loop over tiles";
  return success();
}

/// Nothing else has effects: another rank would not see them, or see them twice.
LogicalResult findStore(func::FuncOp kernel, PlacedResult &result) {
  bool isRight = true;
  kernel.walk([&](Operation *op) {
    auto store = dyn_cast<core::StoreOp>(op);
    bool isStore = store && store.getView() == result.placed.value &&
                   store->getBlock() == &result.tiles.getBody().front() && !result.store;
    bool isQuiet =
        op == kernel || op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
        isMemoryEffectFree(op) ||
        isa<core::LoadOp, core::GatherOp, memref::LoadOp, core::RequireOp, NumCoresOp, CoreOp>(op);
    if (isStore)
      result.store = store;
    else if (!isQuiet && !op->hasTrait<OpTrait::IsTerminator>() && std::exchange(isRight, false))
      result.refuse(op) << "this " << op->getName()
                        << " is not its one store, in the loop over tiles and in no other loop or "
                           "branch";
  });
  if (isRight && !result.store)
    return result.refuse(result.tiles) << "nothing in this loop stores it";
  return success(isRight);
}

/// The loop stores each tile of the result once.
LogicalResult checkTiles(func::FuncOp kernel, PlacedResult &result) {
  TileAccess analysis(kernel);
  const auto *access = llvm::find_if(
      analysis.accesses(), [&](const Access &access) { return access.op == result.store; });
  for (const Coordinate &at : access->coordinates) {
    auto size = dyn_cast_or_null<AffineConstantExpr>(at.size);
    std::optional<unsigned> variable;
    if (size && at.kind == Coordinate::Kind::point)
      variable = tileCoordinate(*access, at, size.getValue());
    if (!variable || llvm::is_contained(result.variables, *variable) ||
        !coversDimension(result.tiles, *variable, result.placed.value, at.dim, size.getValue()))
      return result.refuse(result.store)
             << "the loop does not store each tile of dimension " << at.dim << " once";
    result.variables.push_back(*variable);
    result.sizes.push_back(size.getValue());
  }
  size_t rank = result.tiles.getExtents().size();
  if (rank != result.variables.size())
    return result.refuse(result.tiles)
           << "the grid of this loop has " << rank << " dimensions, expected those of the result";
  if (rank == kMostTileDims)
    return result.refuse(result.tiles) << "the grid of this loop has " << rank
                                       << " dimensions, and needs one more to count the ranks";
  return success();
}

/// Parts cut tiles, so what is stored follows element by element along the dimension.
LogicalResult checkElements(PlacedResult &result) {
  if (!result.isScattered())
    return success();
  Value tile = result.store.getTile();
  int64_t axis = tileAxisOf(result.dim(), result.store.getView(), tile);
  auto isCut = [&](Operation *load, int64_t along) {
    auto read = dyn_cast<core::LoadOp>(load);
    auto buffer = read ? dyn_cast<BlockArgument>(read.getView()) : BlockArgument();
    return buffer &&
           llvm::any_of(dimsNamed(buffer, result.placed.extent.getValue()), [&](int64_t dim) {
             return along < 0 || along == tileAxisOf(dim, buffer, read.getResult());
           });
  };
  Operation *combiner = combinerAlong(tile, axis, isCut);
  if (!combiner)
    return success();
  return result.refuse(combiner) << "this " << combiner->getName()
                                 << " depends on where tiles begin and end along "
                                 << result.placed.extent.getValue()
                                 << ", which ranks' parts change: expected elementwise work";
}

/// A summand is a tile of the result.
LogicalResult checkSums(PlacedResult &result) {
  ArrayRef<int64_t> stored = result.store.getTile().getType().getShape();
  for (Value sum : result.cut.sums)
    if (auto type = dyn_cast<RankedTensorType>(sum.getType()); !type || type.getShape() != stored)
      return result.refuse(sum.getDefiningOp())
             << "this sum is of " << sum.getType() << ", expected the shape of the stored "
             << result.store.getTile().getType();
  if (!result.placed.placement.getRounded())
    return success();
  for (Value sum : result.cut.sums) {
    Type from = getElementTypeOrSelf(sum), to = result.travelType(sum);
    if (from != to && !(isa<FloatType>(from) && isa<FloatType>(to)))
      return result.refuse(sum.getDefiningOp())
             << "summands of " << from << " cannot travel as " << to << ": expected floats";
  }
  return success();
}

} // namespace

FailureOr<PlacedResult> findResult(func::FuncOp kernel, const PlacedArgument &placed) {
  PlacedResult result{placed, "'" + placed.name + "' is "};
  result.text +=
      placed.extent ? "reduce-scattered along " + placed.extent.getValue().str() : "all-reduced";
  if (hasVerbs(kernel))
    return LogicalResult(result.refuse(kernel)
                         << "the kernel has verbs of its own, or another argument is gathered: "
                            "expected a kernel of one device");
  if (failed(findLoop(kernel, result)) || failed(findStore(kernel, result)) ||
      failed(checkTiles(kernel, result)))
    return failure();
  auto cut = cutAtSums(result.store, result.text);
  if (failed(cut))
    return failure();
  result.cut = *cut;
  if (failed(checkSums(result)) || failed(checkElements(result)))
    return failure();
  return result;
}

} // namespace ditron::device
