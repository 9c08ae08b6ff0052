// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/transforms/LoopCutter.h"
#include "ditron/device/Provenance.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace ditron::device {
namespace {

/// The extents of a view, taken apart: where a box in it begins, and its sizes.
struct Box {
  SmallVector<OpFoldResult> offsets, sizes, strides;

  Box(OpBuilder &builder, Location where, Value view) {
    for (int64_t dim = 0, rank = cast<MemRefType>(view.getType()).getRank(); dim < rank; ++dim) {
      offsets.push_back(builder.getIndexAttr(0));
      sizes.push_back(builder.createOrFold<memref::DimOp>(where, view, dim));
      strides.push_back(builder.getIndexAttr(1));
    }
  }
};

MemRefType typeWithRank(Value view, int64_t rank) {
  auto type = cast<MemRefType>(view.getType());
  return viewType(rank, type.getElementType(), spaceOf(type));
}

/// The view of `argument` again, of a shard of it. `dim` is the sharded dimension, followed from
/// view to view.
class Rebase {
public:
  Rebase(OpBuilder &builder, BlockArgument argument, Value shard, int64_t dim)
      : builder_(builder), argument_(argument), shard_(shard), dim_(dim) {}

  /// The slices made.
  ArrayRef<Operation *> slices() const { return slices_; }

  Value view(Value view) {
    if (view == argument_)
      return shard_;
    if (auto op = view.getDefiningOp<memref::SubViewOp>())
      return slice(op);
    return transpose(cast<memref::TransposeOp>(view.getDefiningOp()));
  }

private:
  Value slice(memref::SubViewOp op) {
    Value source = view(op.getSource());
    SmallVector<OpFoldResult> sizes = op.getMixedSizes();
    llvm::SmallBitVector dropped = op.getDroppedDims();
    SmallVector<OpFoldResult> offsets = op.getMixedOffsets();
    for (int64_t d = 0, rank = static_cast<int64_t>(sizes.size()); d < rank; ++d)
      if (d == dim_ ? !dropped[d] : isExtentOf(op.getSource(), d, sizes[d]))
        sizes[d] = builder_.createOrFold<memref::DimOp>(op.getLoc(), source, d);
    if (dim_ && !dropped[*dim_])
      offsets[*dim_] = builder_.getIndexAttr(0); // what is sliced off is not part of the shard
    if (dim_ && dropped[*dim_])
      dim_.reset();
    for (int64_t d = 0, before = dim_.value_or(0); d < before; ++d)
      *dim_ -= dropped[d];
    slices_.push_back(builder_.create<memref::SubViewOp>(
        op.getLoc(), typeWithRank(source, op.getType().getRank()), source, offsets, sizes,
        op.getMixedStrides()));
    return slices_.back()->getResult(0);
  }

  static bool isExtentOf(Value view, int64_t dim, OpFoldResult size) {
    auto value = dyn_cast<Value>(size);
    auto ask = value ? value.getDefiningOp<memref::DimOp>() : memref::DimOp();
    return ask && ask.getSource() == view && ask.getConstantIndex() == dim;
  }

  Value transpose(memref::TransposeOp op) {
    Value source = view(op.getIn());
    auto from = llvm::enumerate(op.getPermutation().getResults());
    auto to = llvm::find_if(
        from, [&](auto pair) { return cast<AffineDimExpr>(pair.value()).getPosition() == dim_; });
    if (dim_)
      dim_ = (*to).index();
    return builder_.create<memref::TransposeOp>(op.getLoc(), source,
                                                AffineMapAttr::get(op.getPermutation()));
  }

  OpBuilder &builder_;
  BlockArgument argument_;
  Value shard_;
  std::optional<int64_t> dim_; ///< none behind a slice that drops it
  SmallVector<Operation *> slices_;
};

} // namespace

Value shardOf(OpBuilder &builder, Location where, const Sharded &whole, Value shard) {
  Box box(builder, where, whole.buffer);
  box.offsets[whole.at] = shard;
  box.sizes[whole.at] = builder.getIndexAttr(1);
  MemRefType result =
      typeWithRank(whole.buffer, cast<MemRefType>(whole.buffer.getType()).getRank() - 1);
  return builder.create<memref::SubViewOp>(where, result, whole.buffer, box.offsets, box.sizes,
                                           box.strides);
}

Sharded splitArgument(OpBuilder &builder, BlockArgument argument, int64_t dim, Value ranks,
                      Value extent) {
  Location where = argument.getLoc();
  SmallVector<OpFoldResult> shape;
  SmallVector<ReassociationIndices> groups;
  int64_t rank = cast<MemRefType>(argument.getType()).getRank();
  for (int64_t d = 0; d < rank; ++d) {
    int64_t part = static_cast<int64_t>(shape.size());
    groups.push_back({part});
    if (d == dim) {
      shape.push_back(ranks);
      groups.back().push_back(part + 1);
    }
    shape.push_back(d == dim ? OpFoldResult(extent)
                             : builder.createOrFold<memref::DimOp>(where, argument, d));
  }
  Value split = builder.create<memref::ExpandShapeOp>(where, typeWithRank(argument, rank + 1),
                                                      argument, groups, shape);
  return {split, dim};
}

Value shardAt(OpBuilder &builder, Location where, const ShardRing &ring, StringRef order,
              Value visit) {
  if (ring.axis == MeshAxis::world)
    return visit;
  Value place = builder.create<arith::AddIOp>(where, ring.rank, visit);
  if (order != "own-shard-first") {
    Value one = builder.create<arith::ConstantIndexOp>(where, 1);
    place = builder.create<arith::AddIOp>(where, place, one);
  }
  return builder.create<arith::RemSIOp>(where, place, ring.ranks);
}

StringRef orderOver(const ShardRing &ring, StringRef order) {
  return ring.axis == MeshAxis::world ? order : "grouped";
}

ShardedTiles withShards(TilesOp tiles, const ShardRing &ring, ArrayRef<Value> extents,
                        Value elements, StringRef order, int64_t rounds) {
  OpBuilder builder(tiles);
  SmallVector<Value> grid{ring.ranks};
  for (auto [known, given] : llvm::zip_equal(tiles.getExtents(), extents))
    grid.push_back(given ? given : known);
  OrderAttr before = tiles.getOrder();
  bool isGrouped = grid.size() > 2 && before.getName() == "grouped";
  auto after = OrderAttr::get(tiles.getContext(), orderOver(ring, order),
                              isGrouped ? before.getParameter() : 1,
                              grid.size() > 2 ? ShardedAxis::batch : ShardedAxis::rows,
                              ring.axis == MeshAxis::world ? rounds : 1, MeshAxis::world);
  auto result = builder.create<TilesOp>(tiles.getLoc(), grid, grid.size() > 2 ? elements : Value(),
                                        tiles.getHeightAttr(), after);
  result->setDiscardableAttrs(tiles->getDiscardableAttrDictionary());
  result.getBody().takeBody(tiles.getBody());
  Value visit = result.getBody().insertArgument(0u, builder.getIndexType(), tiles.getLoc());
  tiles.erase();
  builder.setInsertionPointToStart(&result.getBody().front());
  return {result, shardAt(builder, result.getLoc(), ring, order, visit)};
}

void requireParts(OpBuilder &builder, BlockArgument argument, int64_t dim, const ShardRing &ring,
                  Value extent) {
  if (ring.axis == MeshAxis::world)
    return;
  ImplicitLocOpBuilder b(argument.getLoc(), builder);
  Value found = b.create<memref::DimOp>(argument, dim);
  Value expected = b.create<arith::MulIOp>(ring.ranks, extent);
  Value isRight = b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, found, expected);
  std::string message = llvm::formatv("dimension {0} of {1} has {{} elements, expected {{} of each "
                                      "of {{} ranks along axis {2}",
                                      dim, describe(argument), ring.axis);
  b.create<core::RequireOp>(isRight, b.getStringAttr(message),
                            ValueRange{found, extent, ring.ranks});
}

/// Elements `offset` to `offset + count` of dimension `dim`.
static Value sliceOf(OpBuilder &builder, Location where, Value view, int64_t dim, Value offset,
                     Value count) {
  Box box(builder, where, view);
  box.offsets[dim] = offset;
  box.sizes[dim] = count;
  auto type = typeWithRank(view, cast<MemRefType>(view.getType()).getRank());
  return builder.create<memref::SubViewOp>(where, type, view, box.offsets, box.sizes, box.strides);
}

/// Erases a view and what it is made of, as far as nothing uses them.
static void eraseUnused(Value view) {
  Operation *op = view.getDefiningOp();
  if (!op)
    return;
  for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
    if (isa<memref::DimOp>(user) && user->use_empty())
      user->erase();
  if (!op->use_empty())
    return;
  Value source = sourceOf(view);
  op->erase();
  eraseUnused(source);
}

/// What an access names, of a shard. The choice of where that lies comes last, so that both views are
/// plain parts of memory.
Value LoopCutter::viewOf(OpBuilder &builder, const ShardedLoop::Use &use, const Part &of,
                         llvm::DenseSet<Operation *> &users) {
  Location where = use.op->getLoc();
  auto rebased = [&](Value part) {
    if (of.window)
      part = sliceOf(builder, where, part, use.dim, of.window->offset, of.window->count);
    Rebase rebase(builder, use.buffer, part, use.dim);
    Value result = rebase.view(use.view);
    users.insert(rebase.slices().begin(), rebase.slices().end());
    return result;
  };
  const Sharded &whole = whole_.find(use.buffer)->second;
  Value part = shardOf(builder, where, whole, of.shard);
  if (!whole.own)
    return rebased(part);
  Value isOwn =
      builder.create<arith::CmpIOp>(where, arith::CmpIPredicate::eq, of.shard, whole.ownShard);
  auto plain = cast<MemRefType>(whole.own.getType());
  Value gathered = builder.create<memref::MemorySpaceCastOp>(where, plain, part);
  Value mine = rebased(whole.own), theirs = rebased(gathered);
  return builder.create<arith::SelectOp>(where, isOwn, mine, theirs);
}

void LoopCutter::redirectUses(ShardedLoop &loop, Value shard, const WindowPart *window) {
  llvm::DenseSet<Operation *> users; // what names tiles of shards
  for (ShardedLoop::Use &use : loop.uses) {
    users.insert(use.op);
    auto known = whole_.find(use.buffer);
    if (known == whole_.end()) {
      for (Value view = use.view; view != use.buffer; view = sourceOf(view))
        users.insert(view.getDefiningOp());
      continue;
    }
    // Views of a shard stand where the loop begins, so that all steps share them.
    OpBuilder builder(use.op);
    if (use.view == use.buffer && !shard.getDefiningOp())
      builder.setInsertionPointToStart(cast<BlockArgument>(shard).getOwner());
    else if (use.view == use.buffer)
      builder.setInsertionPointAfterValue(shard);
    Operation *view = use.view.getDefiningOp();
    if (window && !(view && loop.loop->isAncestor(view)))
      builder.setInsertionPoint(loop.loop);
    Value part = viewOf(builder, use, {shard, window}, users);
    use.op->replaceUsesOfWith(use.view, part);
    eraseUnused(use.view);
  }
  if (loop.size == 1)
    countElements(loop, shard, window, users);
}

/// What counts elements means those of all shards, or of the window, but to those who name tiles of
/// one shard.
void LoopCutter::countElements(ShardedLoop &loop, Value shard, const WindowPart *window,
                               const llvm::DenseSet<Operation *> &users) {
  BlockArgument counter = loop.counter();
  auto b = ImplicitLocOpBuilder::atBlockBegin(loop.loop->getLoc(), counter.getOwner());
  Value first = window ? window->first : b.create<arith::MulIOp>(shard, extent_).getResult();
  auto whole = b.create<arith::AddIOp>(first, counter);
  counter.replaceUsesWithIf(whole, [&](OpOperand &use) {
    return use.getOwner() != whole && !users.contains(use.getOwner());
  });
}

LoopCutter::Cut LoopCutter::cutTiles(ShardedLoop &loop, StringRef order) {
  auto tiles = cast<TilesOp>(loop.loop);
  ImplicitLocOpBuilder builder(tiles.getLoc(), tiles);
  size_t rank = tiles.getExtents().size();
  SmallVector<Value> extents(rank);
  Value size = builder.create<arith::ConstantIndexOp>(loop.size);
  extents[loop.variable] = builder.create<arith::CeilDivSIOp>(extent_, size);
  bool isRows = rank >= 2 && loop.variable == rank - 2;
  auto [cut, shard] =
      withShards(tiles, ring_, extents, isRows ? extent_ : tiles.getElements(), order);
  loop.loop = cut;
  ++loop.variable;
  Block &body = cut.getBody().front();
  redirectUses(loop, shard);
  Operation *first = shard.getDefiningOp();
  return Cut{shard, loop.counter(), &body, first ? std::next(first->getIterator()) : body.begin()};
}

LoopCutter::WindowPart LoopCutter::partOfWindow(ImplicitLocOpBuilder &b, const ShardedLoop &loop,
                                                Value shard, Value steps) {
  auto add = [&](Value x, Value y) { return b.createOrFold<arith::AddIOp>(x, y); };
  auto subtract = [&](Value x, Value y) { return b.createOrFold<arith::SubIOp>(x, y); };
  auto least = [&](Value x, Value y) { return b.createOrFold<arith::MinSIOp>(x, y); };
  auto most = [&](Value x, Value y) { return b.createOrFold<arith::MaxSIOp>(x, y); };
  Value zero = b.create<arith::ConstantIndexOp>(0),
        tile = b.create<arith::ConstantIndexOp>(loop.size);
  const SweepWindow &window = *loop.window;
  auto valueOr = [&](OpFoldResult given, Value other) {
    return given ? getValueOrCreateConstantIndexOp(b, b.getLoc(), given) : other;
  };
  Value begin = valueOr(window.begin, zero);
  Value size = valueOr(window.size, b.create<arith::MulIOp>(ring_.ranks, extent_));
  Value seen = least(size, b.create<arith::MulIOp>(steps, tile));
  Value before = b.create<arith::MulIOp>(shard, extent_);
  Value first = most(subtract(before, begin), zero);
  Value end = least(subtract(add(before, extent_), begin), seen);
  Value offset = least(most(subtract(begin, before), zero), extent_);
  return {first, offset, most(subtract(end, first), zero), size};
}

/// The tiles of the window in a shard, in place of those of the window.
void LoopCutter::cutWindow(ShardedLoop &loop, Value shard, Cut &cut) {
  auto tiles = cast<scf::ForOp>(loop.loop);
  ImplicitLocOpBuilder b(tiles.getLoc(), tiles);
  WindowPart part = partOfWindow(b, loop, shard, tiles.getUpperBound());
  Value size = b.create<arith::ConstantIndexOp>(loop.size);
  tiles.setUpperBound(b.create<arith::CeilDivSIOp>(part.count, size));
  Value zero = b.create<arith::ConstantIndexOp>(0);
  cut.isVisited = b.create<arith::CmpIOp>(arith::CmpIPredicate::sgt, part.count, zero);
  cut.start = std::next(cut.isVisited.getDefiningOp()->getIterator());
  TilePositions positions(loop.counter(), loop.size);
  positions.read([&](OpOperand &use) { return loop.isOfTiles(use.getOwner()); });
  redirectUses(loop, shard, &part);
  if (positions.empty())
    return;
  b.setInsertionPointToStart(tiles.getBody());
  Value inside = b.create<arith::MulIOp>(loop.counter(), size);
  Value end = b.create<arith::AddIOp>(part.first, part.count);
  positions.renumber(b, {b.create<arith::AddIOp>(part.first, inside), end, part.size});
}

LoopCutter::Cut LoopCutter::cutSweep(ShardedLoop &loop) {
  auto tiles = cast<scf::ForOp>(loop.loop);
  ImplicitLocOpBuilder builder(tiles.getLoc(), tiles);
  Value zero = builder.create<arith::ConstantIndexOp>(0);
  Value one = builder.create<arith::ConstantIndexOp>(1);
  Value size = builder.create<arith::ConstantIndexOp>(loop.size);
  Value end = builder.create<arith::CeilDivSIOp>(extent_, size);
  auto shards = builder.create<scf::ForOp>(zero, ring_.ranks, one, tiles.getInitArgs());
  tiles.replaceAllUsesWith(shards.getResults());
  Block *body = shards.getBody();
  builder.setInsertionPointToStart(body);
  Value step = builder.create<arith::AddIOp>(ring_.rank, shards.getInductionVar());
  Value shard = builder.create<arith::RemSIOp>(step, ring_.ranks);
  if (body->mightHaveTerminator())
    body->getTerminator()->erase();
  tiles->moveBefore(body, body->end());
  tiles.getInitArgsMutable().assign(shards.getRegionIterArgs());
  builder.setInsertionPointToEnd(body);
  builder.create<scf::YieldOp>(tiles.getResults());
  Cut cut{shard, tiles.getInductionVar(), body, tiles->getIterator()};
  if (loop.window) {
    cutWindow(loop, shard, cut);
  } else {
    tiles.setUpperBound(end);
    redirectUses(loop, shard);
  }
  return cut;
}

} // namespace ditron::device
