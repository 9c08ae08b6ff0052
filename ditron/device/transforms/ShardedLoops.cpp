// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/transforms/ShardedLoops.h"
#include "ditron/device/AccessSpace.h"
#include "ditron/device/Provenance.h"
#include "ditron/device/transforms/TileAxis.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ditron::device {
namespace {

/// The view that an access to a tile names; null of other accesses.
Value tileView(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<core::LoadOp, core::StoreOp, core::AtomicAddOp>([](auto op) { return op.getView(); })
      .Default([](Operation *) { return Value(); });
}

/// Whether a view is made from its buffer by slices and transposes alone.
bool isOfSlices(Value view) {
  while (Operation *op = view.getDefiningOp()) {
    if (!isa<memref::SubViewOp, memref::TransposeOp>(op))
      return false;
    view = sourceOf(view);
  }
  return true;
}

/// Collects the loops along one dimension.
class Search {
public:
  Search(func::FuncOp kernel, const ShardedExtent &extent) : kernel_(kernel), extent_(extent) {}

  LogicalResult add(const Access &access) {
    auto argument = dyn_cast_or_null<BlockArgument>(access.buffer);
    if (!argument || argument.getOwner() != &kernel_.getBody().front())
      return success();
    for (int64_t dim : dimsNamed(argument, extent_.name))
      if (failed(addDim(access, argument, dim)))
        return failure();
    return success();
  }

  FailureOr<SmallVector<ShardedLoop>> finish() {
    for (ShardedLoop &loop : loops_)
      if (failed(check(loop)))
        return failure();
    return loops_;
  }

private:
  InFlightDiagnostic refuse(Operation *op) {
    return op->emitError() << extent_.placement << ", but ";
  }

  LogicalResult refuseAccess(const Access &access, BlockArgument argument, const Twine &reason,
                             std::optional<Location> where = std::nullopt) {
    InFlightDiagnostic error = refuse(access.op);
    error << "this access to " << describe(argument) << " is no tile of " << extent_.name << ": it "
          << reason;
    if (where)
      error.attachNote(*where) << "seen here";
    return error;
  }

  LogicalResult addDim(const Access &access, BlockArgument argument, int64_t dim) {
    const Coordinate *found = nullptr;
    for (const Coordinate &coordinate : access.coordinates)
      if (coordinate.dim == dim && std::exchange(found, &coordinate))
        return refuseAccess(access, argument, "cuts the dimension into parts of its own");
    Value view = tileView(access.op);
    auto size = dyn_cast_or_null<AffineConstantExpr>(found->size);
    bool isKnown = found->kind != Coordinate::Kind::unknown && size && view && isOfSlices(view);
    std::optional<ShardedLoop> walk =
        isKnown ? loopOf(access, *found, size.getValue()) : std::nullopt;
    if (walk)
      return join(*walk, {access.op, view, argument, dim});
    if (auto sweep = windowSweepOf(access.op, view, argument, dim))
      return join({.loop = sweep->loop, .size = sweep->tile, .window = sweep->window},
                  {access.op, view, argument, dim});
    if (found->kind == Coordinate::Kind::unknown)
      return refuseAccess(access, argument, found->reason, found->where);
    return refuseAccess(access, argument,
                        !size || !view      ? "is not by a tile"
                        : !isOfSlices(view) ? "is of a view other than slices and transposes"
                                            : "is not at the number of a tile");
  }

  /// The loop whose counter, times the size of a tile, is where the coordinate begins.
  static std::optional<ShardedLoop> loopOf(const Access &access, const Coordinate &at,
                                           int64_t size) {
    if (std::optional<unsigned> variable = tileCoordinate(access, at, size))
      return ShardedLoop{TilesOp(access.tiles), *variable, size};
    unsigned firstLoop = access.numVariables() - access.loops.size();
    for (auto [number, loop] : llvm::enumerate(access.loops))
      if (at.first == getAffineDimExpr(firstLoop + number, access.op->getContext()) * size)
        return ShardedLoop{loop, 0, size};
    return std::nullopt;
  }

  LogicalResult join(const ShardedLoop &walk, const ShardedLoop::Use &use) {
    auto *known = llvm::find_if(loops_, [&](auto &loop) { return loop.loop == walk.loop; });
    if (known == loops_.end()) {
      loops_.push_back(walk);
      known = &loops_.back();
    }
    if (known->variable != walk.variable)
      return refuse(walk.loop) << "two coordinates of this loop walk along " << extent_.name;
    if (known->size != walk.size)
      return refuse(use.op) << "one loop takes tiles of " << known->size << " and of " << walk.size
                            << " elements along " << extent_.name;
    if (known->window != walk.window)
      return refuse(use.op) << "one loop walks over two parts of " << extent_.name;
    known->uses.push_back(use);
    return success();
  }

  LogicalResult check(ShardedLoop &loop) {
    for (ShardedLoop &other : loops_)
      if (other.loop != loop.loop && other.loop->isProperAncestor(loop.loop))
        return refuse(loop.loop) << "two loops, one in the other, walk along " << extent_.name;
    if (failed(checkCounter(loop)))
      return failure();
    return loop.isSweep() ? checkSweep(loop) : checkGrid(loop);
  }

  /// What counts the tiles says where they are and nothing else: the tiles of a shard are not those
  /// of the dimension where it has no whole number of them.
  LogicalResult checkCounter(ShardedLoop &loop) {
    TilePositions positions(loop.counter(), loop.size);
    auto isKnown = [&](OpOperand &use) { return !isForeign(loop, use.getOwner()); };
    Operation *other = nullptr;
    if (loop.isSweep())
      other = positions.read(isKnown);
    else
      for (OpOperand &use : loop.counter().getUses())
        other = isKnown(use) ? other : use.getOwner();
    if (other)
      return refuse(other) << "the number of the tile along " << extent_.name
                           << " is used for more than to name tiles of arguments that have "
                           << extent_.name;
    if (!positions.empty() && !loop.window)
      loop.window.emplace();
    return success();
  }

  /// Whether an op uses the counter for more than to name tiles. Whoever counts elements and names
  /// no tile can be given the number in the whole dimension.
  static bool isForeign(const ShardedLoop &loop, Operation *user) {
    if (loop.isOfTiles(user))
      return false;
    bool isNamer = llvm::any_of(loop.uses, [&](auto &use) { return use.op == user; });
    return loop.size > 1 || isNamer;
  }

  LogicalResult checkSweep(ShardedLoop &loop) {
    auto sweep = cast<scf::ForOp>(loop.loop);
    if (!isReorderable(carryOf(sweep)))
      return refuse(sweep)
             << "what this loop over " << extent_.name
             << " carries depends on the order of its steps, and parts arrive in "
                "another order on each rank: expected a sum or another reduction, or inAnyOrder()";
    if (!isConstantIntValue(sweep.getStep(), 1))
      return refuse(sweep) << "this loop over " << extent_.name << " does not count tiles";
    return success();
  }

  /// The grid has as many tiles as the dimension.
  LogicalResult checkGrid(ShardedLoop &loop) {
    auto tiles = cast<TilesOp>(loop.loop);
    const ShardedLoop::Use &use = loop.uses.front();
    if (!coversDimension(tiles, loop.variable, use.buffer, use.dim, loop.size))
      return refuse(tiles) << "the grid of this loop does not have the tiles of " << extent_.name;
    for (const ShardedLoop::Use &use : loop.uses)
      if (failed(checkElements(loop, use)))
        return failure();
    if (tiles.getExtents().size() == kMostTileDims)
      return refuse(tiles) << "the grid of this loop has " << kMostTileDims
                           << " dimensions, and needs one more to count the ranks";
    return success();
  }

  /// Parts cut tiles, so what a loop over tiles stores follows element by element along the dimension.
  LogicalResult checkElements(const ShardedLoop &loop, const ShardedLoop::Use &use) {
    auto store = dyn_cast<core::StoreOp>(use.op);
    if (!store || store.getView() != use.buffer)
      return success();
    auto isCut = [&](Operation *load, int64_t axis) {
      return llvm::any_of(loop.uses, [&](const ShardedLoop::Use &read) {
        return read.op == load && (axis < 0 || read.view != read.buffer ||
                                   axis == tileAxisOf(read.dim, read.view, load->getResult(0)));
      });
    };
    int64_t axis = tileAxisOf(use.dim, use.buffer, store.getTile());
    Operation *combiner = combinerAlong(store.getTile(), axis, isCut);
    if (!combiner)
      return success();
    return refuse(combiner) << "this " << combiner->getName()
                            << " depends on where tiles begin and end along " << extent_.name
                            << ", which ranks' parts change: expected elementwise work";
  }

  func::FuncOp kernel_;
  ShardedExtent extent_;
  SmallVector<ShardedLoop> loops_;
};

} // namespace

BlockArgument ShardedLoop::counter() const {
  if (auto sweep = dyn_cast<scf::ForOp>(loop))
    return cast<BlockArgument>(sweep.getInductionVar());
  return cast<TilesOp>(loop).getBody().getArgument(variable);
}

bool ShardedLoop::isOfTiles(Operation *user) const {
  int64_t known = 0;
  llvm::DenseSet<Operation *> views;
  for (const Use &use : uses) {
    known += use.op == user;
    for (Value view = use.view; view != use.buffer; view = sourceOf(view))
      views.insert(view.getDefiningOp());
  }
  known += views.contains(user);
  return llvm::count(user->getOperands(), Value(counter())) <= known;
}

Value sourceOf(Value view) {
  if (auto transpose = view.getDefiningOp<memref::TransposeOp>())
    return transpose.getIn();
  return cast<ViewLikeOpInterface>(view.getDefiningOp()).getViewSource();
}

SmallVector<int64_t> dimsNamed(BlockArgument argument, StringRef name) {
  SmallVector<int64_t> dims;
  auto type = dyn_cast<MemRefType>(argument.getType());
  for (int64_t dim = 0, rank = type ? type.getRank() : 0; dim < rank; ++dim)
    if (StringAttr known = extentName(argument, dim); known && known.getValue() == name)
      dims.push_back(dim);
  return dims;
}

std::optional<unsigned> tileCoordinate(const Access &access, const Coordinate &at, int64_t size) {
  unsigned count = access.numVariables() - access.loops.size();
  for (unsigned variable = 0; variable < count; ++variable)
    if (at.first == getAffineDimExpr(variable, access.op->getContext()) * size)
      return variable;
  return std::nullopt;
}

bool coversDimension(TilesOp tiles, unsigned variable, BlockArgument argument, int64_t dim,
                     int64_t size) {
  SmallVector<TileAccess::Symbol> list;
  Symbols symbols(list);
  AccessSpace space(symbols, tiles);
  AffineExpr whole = space.windowOf(argument).slotOf(dim).extent.expr;
  Affine count = space.express(tiles.getExtents()[variable]);
  return count && count.expr == whole.ceilDiv(size);
}

FailureOr<SmallVector<ShardedLoop>> findShardedLoops(func::FuncOp kernel,
                                                     const ShardedExtent &extent) {
  TileAccess analysis(kernel);
  Search search(kernel, extent);
  for (const Access &access : analysis.accesses())
    if (failed(search.add(access)))
      return failure();
  return search.finish();
}

} // namespace ditron::device
