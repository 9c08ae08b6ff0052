// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/transforms/ResultWriter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace ditron::device {

ResultWriter::ResultWriter(func::FuncOp kernel, PlacedResult &result)
    : kernel_(kernel), result_(result), top_(result.tiles.getLoc(), kernel.getContext()),
      math_(top_), tileType_(result.store.getTile().getType()) {}

LogicalResult ResultWriter::write() {
  top_.setInsertionPointToStart(&kernel_.getBody().front());
  ranks_ = math_.numRanks(axis());
  rank_ = math_.rank(axis());
  FailureOr<TileAt> at = result_.isScattered() ? cutShards() : dealTiles();
  if (failed(at))
    return failure();
  allocate();
  Builder b(result_.store.getLoc(), result_.store);
  Value isOwn = b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, at->shard, rank_);
  auto branch = b.create<scf::IfOp>(isOwn, /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.elseBlock());
  send(b, *at);
  b.setInsertionPointToStart(branch.thenBlock());
  sum(b, *at);
  result_.store.erase();
  for (Operation *op : llvm::reverse(result_.cut.after)) // the clones remain
    if (isOpTriviallyDead(op))
      op->erase();
  if (!result_.isScattered())
    copySums();
  return success();
}

//===-- The grid ------------------------------------------------------------------------------===//

/// reduce_scattered: shards of the placed dimension, of which the result has one.
FailureOr<TileAt> ResultWriter::cutShards() {
  StringRef name = result_.placed.extent.getValue();
  auto loops = findShardedLoops(kernel_, {name, result_.text});
  if (failed(loops))
    return failure();
  if (loops->size() != 1)
    return LogicalResult(result_.refuse((*loops)[1].loop)
                         << "this loop, too, walks along " << name);
  ShardedLoop &loop = loops->front();
  auto isSummed = [&](Operation *op) {
    return result_.cut.before.contains(result_.tiles.getBody().front().findAncestorOpInBlock(*op));
  };
  llvm::SetVector<Value> whole, part;
  for (const ShardedLoop::Use &use : loop.uses)
    (isSummed(use.op) ? whole : part).insert(use.buffer);
  for (const ShardedLoop::Use &use : loop.uses)
    if (whole.contains(use.buffer) && part.contains(use.buffer))
      return LogicalResult(result_.refuse(use.op)
                           << "the sum, and what follows from it, both read this argument along "
                           << name);
  for (Value argument : part)
    multiplyExtent(cast<BlockArgument>(argument), partDim(argument), ranks_);
  measure();
  LoopCutter cutter(ring(), extents_[dim()]);
  for (Value value : whole) {
    auto argument = cast<BlockArgument>(value);
    int64_t along = dimsNamed(argument, name).front();
    cutter.redirect(argument, splitArgument(top_, argument, along, ranks_, extents_[dim()]));
    requireParts(top_, argument, along, ring(), extents_[dim()]);
    setWhole(kernel_, argument, along, axis());
  }
  LoopCutter::Cut cut = cutter.cutTiles(loop, "next-rank-first");
  result_.tiles = cast<TilesOp>(loop.loop);
  SmallVector<Value> coords(result_.store.getCoords());
  return TileAt{cut.shard, coords, coords};
}

int64_t ResultWriter::partDim(Value argument) {
  return dimsNamed(cast<BlockArgument>(argument), result_.placed.extent.getValue()).front();
}

/// all_reduced: every rank has the same number of rows or columns of tiles, some of the last ones
/// beyond the result.
TileAt ResultWriter::dealTiles() {
  measure();
  Value size = math_.constant(result_.sizes[dim()]);
  tileCounts_[dim()] = math_.ceilDiv(tileCounts_[dim()], ranks_);
  extents_[dim()] = math_.multiply(tileCounts_[dim()], size);
  TilesOp before = result_.tiles;
  unsigned variable = result_.variables[dim()];
  size_t rank = before.getExtents().size();
  Values grid(rank);
  grid[variable] = tileCounts_[dim()];
  bool isRows = rank >= 2 && variable == rank - 2;
  Value elements = isRows ? extents_[dim()] : before.getElements();
  bool isAhead = result_.isByCores() && result_.rounds() > 2; // of two, a round behind is the end
  StringRef order = isAhead ? "others-ahead" : "next-rank-first";
  auto [tiles, shard] = withShards(before, ring(), grid, elements, order, result_.rounds());
  result_.tiles = tiles;
  Block &body = result_.tiles.getBody().front();
  Value dealt = body.getArgument(variable + 1);
  auto b = Builder::atBlockBegin(result_.tiles.getLoc(), &body);
  b.setInsertionPointAfterValue(shard);
  Value first = b.create<arith::MulIOp>(shard, tileCounts_[dim()]);
  auto whole = b.create<arith::AddIOp>(first, dealt);
  dealt.replaceAllUsesExcept(whole, whole);
  TileAt at{shard, Values(result_.store.getCoords()), Values(result_.store.getCoords())};
  at.local[dim()] = dealt;
  return at;
}

/// The extents of the result on this rank, in elements and in tiles.
void ResultWriter::measure() {
  for (auto [d, size] : llvm::enumerate(result_.sizes)) {
    extents_.push_back(math_.dim(result_.placed.value, static_cast<int64_t>(d)));
    tileCounts_.push_back(math_.ceilDiv(extents_.back(), math_.constant(size)));
  }
}

//===-- Memory --------------------------------------------------------------------------------===//

Value ResultWriter::buffer(const Twine &name, Type element, ArrayRef<Value> extents) {
  auto type = viewType(static_cast<int64_t>(extents.size()), element, SpaceKind::symmetric);
  return top_.create<SymmetricOp>(type, top_.getStringAttr(result_.placed.name + name), extents);
}

Value ResultWriter::counters(const Twine &name, ArrayRef<Value> extents) {
  auto type = SignalsType::get(top_.getContext(), static_cast<int64_t>(extents.size()));
  return top_.create<SignalsOp>(type, top_.getStringAttr(result_.placed.name + name), extents);
}

ResultWriter::Values ResultWriter::summandBuffers(StringRef name) {
  Values buffers;
  for (auto [n, sum] : llvm::enumerate(result_.cut.sums)) {
    std::string number = n ? std::to_string(n + 1) : "";
    buffers.push_back(
        buffer("." + name + number, result_.travelType(sum), behind(ranks_, extents_)));
  }
  return buffers;
}

Value ResultWriter::forTravel(Builder &b, Value tile, Value sum) const {
  Type type = cast<RankedTensorType>(tile.getType()).clone(result_.travelType(sum));
  return type == tile.getType() ? tile : b.create<core::CastOp>(type, tile);
}

Value ResultWriter::loadSummand(Builder &b, Value view, ArrayRef<Value> at, Value sum) const {
  Type type = cast<RankedTensorType>(sum.getType()).clone(result_.travelType(sum));
  Value tile = b.create<core::LoadOp>(type, view, at, TypedAttr());
  return type == sum.getType() ? tile : b.create<core::CastOp>(sum.getType(), tile);
}

Value ResultWriter::add(Builder &b, Value x, Value y) {
  if (isa<FloatType>(getElementTypeOrSelf(x)))
    return b.create<arith::AddFOp>(x, y);
  return b.create<arith::AddIOp>(x, y);
}

ResultWriter::Values ResultWriter::addSummands(Builder &b, ArrayRef<Value> buffers,
                                               llvm::function_ref<void(Builder &, Value)> await,
                                               llvm::function_ref<Values(Builder &)> place) {
  IndexMath math(b);
  Values own(result_.cut.sums.begin(), result_.cut.sums.end());
  auto loop = b.create<scf::ForOp>(math.constant(1), ranks_, math.constant(1), own);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value peer =
      math.remainder(math.subtract(math.add(rank_, ranks_), loop.getInductionVar()), ranks_);
  await(b, peer);
  Values totals;
  for (auto [n, sum] : llvm::enumerate(own))
    totals.push_back(
        add(b, loop.getRegionIterArg(n), loadSummand(b, buffers[n], behind(peer, place(b)), sum)));
  b.create<scf::YieldOp>(totals);
  return Values(loop.getResults());
}

ResultWriter::Values ResultWriter::behind(Value shard, ArrayRef<Value> coords) {
  Values result{shard};
  llvm::append_range(result, coords);
  return result;
}

//===-- Tiles ---------------------------------------------------------------------------------===//

/// An own tile is the sum of all summands; what follows from it comes after.
void ResultWriter::sum(Builder &b, const TileAt &at) {
  IRMapping totals;
  for (auto [sum, total] : llvm::zip_equal(result_.cut.sums, total(b, at)))
    totals.map(sum, total);
  Block &body = result_.tiles.getBody().front();
  for (Operation &op : body)
    if (result_.cut.after.contains(&op) && !result_.cut.before.contains(&op))
      b.clone(op, totals);
  auto store = cast<core::StoreOp>(b.clone(*result_.store, totals));
  b.setInsertionPoint(store); // others wait for it
  if (!result_.isScattered())
    publish(b, store.getTile(), at);
}

/// all_reduced: what other ranks have summed, one rank's tiles behind the other's.
void ResultWriter::copySums() {
  TilesOp tiles = result_.tiles;
  Builder b(tiles.getLoc(), tiles->getContext());
  b.setInsertionPointAfter(tiles);
  auto order = OrderAttr::get(b.getContext(), orderOver(ring(), "own-shard-first"),
                              tiles.getOrder().getParameter(), tiles.getOrder().getSharded(),
                              MeshAxis::world);
  auto copies =
      b.create<TilesOp>(tiles.getExtents(), tiles.getElements(), tiles.getHeightAttr(), order);
  TileAt at = publishedTile(b, copies.getBody().emplaceBlock());
  Value isOther = b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, at.shard, rank_);
  auto branch = b.create<scf::IfOp>(isOther, /*withElseRegion=*/false);
  b.setInsertionPointToStart(branch.thenBlock());
  Value tile = published(b, at);
  b.create<core::StoreOp>(tile, result_.placed.value, at.whole);
}

/// A tile of the loop with that body, which it begins.
TileAt ResultWriter::publishedTile(Builder &b, Block &body) {
  for (size_t d = 0; d < result_.tiles.getExtents().size(); ++d)
    body.addArgument(b.getIndexType(), b.getLoc());
  b.setInsertionPointToStart(&body);
  TileAt at{shardAt(b, b.getLoc(), ring(), "own-shard-first", body.getArgument(0)), {}, {}};
  for (unsigned variable : result_.variables)
    at.local.push_back(body.getArgument(variable + 1));
  at.whole = at.local;
  IndexMath math(b);
  at.whole[dim()] = math.add(math.multiply(at.shard, tileCounts_[dim()]), at.local[dim()]);
  return at;
}

} // namespace ditron::device
