// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/transforms/LoopCutter.h"
#include "ditron/device/Provenance.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
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
    if (dim_ && !dropped[*dim_])
      sizes[*dim_] = builder_.createOrFold<memref::DimOp>(op.getLoc(), source, *dim_);
    if (dim_ && dropped[*dim_])
      dim_.reset();
    for (int64_t d = 0, before = dim_.value_or(0); d < before; ++d)
      *dim_ -= dropped[d];
    slices_.push_back(builder_.create<memref::SubViewOp>(
        op.getLoc(), typeWithRank(source, op.getType().getRank()), source, op.getMixedOffsets(),
        sizes, op.getMixedStrides()));
    return slices_.back()->getResult(0);
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
  if (order == "next-rank-first") {
    Value one = builder.create<arith::ConstantIndexOp>(where, 1);
    place = builder.create<arith::AddIOp>(where, place, one);
  }
  return builder.create<arith::RemSIOp>(where, place, ring.ranks);
}

StringRef orderOver(const ShardRing &ring, StringRef order) {
  return ring.axis == MeshAxis::world ? order : "grouped";
}

ShardedTiles withShards(TilesOp tiles, const ShardRing &ring, ArrayRef<Value> extents,
                        Value elements, StringRef order) {
  OpBuilder builder(tiles);
  SmallVector<Value> grid{ring.ranks};
  for (auto [known, given] : llvm::zip_equal(tiles.getExtents(), extents))
    grid.push_back(given ? given : known);
  OrderAttr before = tiles.getOrder();
  bool isGrouped = grid.size() > 2 && before.getName() == "grouped";
  auto after = OrderAttr::get(tiles.getContext(), orderOver(ring, order),
                              isGrouped ? before.getParameter() : 1,
                              grid.size() > 2 ? ShardedAxis::batch : ShardedAxis::rows);
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
                                      dim, describe(argument), stringifyMeshAxis(ring.axis));
  b.create<core::RequireOp>(isRight, b.getStringAttr(message),
                            ValueRange{found, extent, ring.ranks});
}

/// Shard number `shard`, from where it lies.
Value LoopCutter::partOf(OpBuilder &builder, Location where, const Sharded &whole, Value shard) {
  Value part = shardOf(builder, where, whole, shard);
  if (!whole.own)
    return part;
  auto plain = cast<MemRefType>(whole.own.getType());
  Value isOwn = builder.create<arith::CmpIOp>(where, arith::CmpIPredicate::eq, shard, ring_.rank);
  Value gathered = builder.create<memref::MemorySpaceCastOp>(where, plain, part);
  return builder.create<arith::SelectOp>(where, isOwn, whole.own, gathered);
}

void LoopCutter::redirectUses(ShardedLoop &loop, Value shard) {
  llvm::DenseSet<Operation *> users; // what names tiles of shards
  for (ShardedLoop::Use &use : loop.uses) {
    users.insert(use.op);
    auto known = whole_.find(use.buffer);
    if (known == whole_.end()) {
      for (Value view = use.view; view != use.buffer; view = sourceOf(view))
        users.insert(view.getDefiningOp());
      continue;
    }
    const Sharded &whole = known->second;
    // Views of a shard stand where the loop begins, so that all steps share them.
    OpBuilder builder(use.op);
    if (use.view == use.buffer && !shard.getDefiningOp())
      builder.setInsertionPointToStart(cast<BlockArgument>(shard).getOwner());
    else if (use.view == use.buffer)
      builder.setInsertionPointAfterValue(shard);
    Value part = partOf(builder, use.op->getLoc(), whole, shard);
    Rebase rebase(builder, use.buffer, part, use.dim);
    use.op->replaceUsesOfWith(use.view, rebase.view(use.view));
    users.insert(rebase.slices().begin(), rebase.slices().end());
  }
  if (loop.size == 1)
    countElements(loop, shard, users);
}

/// What counts elements means those of all shards, but to those who name tiles of one.
void LoopCutter::countElements(ShardedLoop &loop, Value shard,
                               const llvm::DenseSet<Operation *> &users) {
  BlockArgument counter = loop.counter();
  auto b = ImplicitLocOpBuilder::atBlockBegin(loop.loop->getLoc(), counter.getOwner());
  Value first = b.create<arith::MulIOp>(shard, extent_);
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
  tiles.setUpperBound(end);
  tiles.getInitArgsMutable().assign(shards.getRegionIterArgs());
  builder.setInsertionPointToEnd(body);
  builder.create<scf::YieldOp>(tiles.getResults());
  redirectUses(loop, shard);
  return Cut{shard, tiles.getInductionVar(), body, tiles->getIterator()};
}

} // namespace ditron::device
