// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PlaceResults: a result that is a sum over the ranks is added up while the kernel runs.
//
//     func @gemm(%A, %B, %bias, %C {dist.placement = #dist.placement<reduce_scattered dim 0>}) {
//       dist.tiles (%i, %j) of (ceildiv(M, 128), %columns) order <"grouped", 8> {
//         %sum = scf.for %k ... { load %A[%i, %k] ... dot }
//         tile.store relu(%sum + %bias), %C[%i, %j]
//       }
//     }
//  ->
//     func @gemm(%A, %B, %bias, %C) {                                               A[R*M,K]
//       %staged = dist.symmetric "C.staged"(%ranks, %m, %n)           summands that leave
//       %summands = dist.symmetric "C.summands"(%ranks, %m, %n)       those that come, by rank
//       %done = dist.signals "C.done"(ceildiv(%m, 128), %columns)
//       dist.tiles (%s, %i, %j) of (%ranks, ceildiv(%m, 128), %columns)
//           order <"next-rank-first", 8 over batch> {
//         %sum = scf.for %k ... { load %A[%s][%i, %k] ... dot }       A as [R,M,K]
//         scf.if %s == %rank {
//           dist.wait %done[%i, %j] >= %ranks - 1
//           %total = %sum and %summands[r, %i, %j] of the other ranks, in the order of the ranks
//           tile.store relu(%total + %bias), %C[%i, %j]
//         } else {
//           tile.store %sum, %staged[%s, %i, %j]
//           dist.put chunk of %staged[%s, %i, %j], %summands[%rank, %i, %j] on %s
//           dist.notify %done[%i, %j] on %s add %c1
//         }
//       }
//     }
//
// Own tiles come last on every core, and the others wait for nothing, so no rank waits in a circle.
// Arguments that the sum reads are R times as large along the dimension; those that only follow
// from it (a residual) are the rank's part.
//
// all_reduced: the columns of tiles are dealt to the ranks, %s * w to (%s + 1) * w, and summed in
// the same way; the rank that has a sum also puts it to the others ("C.sums"), which copy it to
// their C in a second loop. test/device/place-results.mlir shows both, and
// place-results-invalid.mlir what is refused.
//
#include "ditron/device/transforms/LoopCutter.h"
#include "ditron/device/transforms/Passes.h"
#include "ditron/device/transforms/PlacedKernel.h"
#include "ditron/device/transforms/SumCut.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

namespace ditron::device {
#define GEN_PASS_DEF_PLACERESULTS
#include "ditron/device/transforms/Passes.h.inc"
} // namespace ditron::device

using namespace mlir;
using namespace ditron::device;
namespace core = ditron::core;

namespace {

//===-- What there is -------------------------------------------------------------------------===//

/// A result that is summed over the ranks, and the loop that stores it.
struct Result {
  PlacedArgument placed;
  std::string text; ///< "'C' is reduce-scattered along M", as messages have it
  TilesOp tiles = {};
  core::StoreOp store = {};
  SmallVector<unsigned> variables = {}; ///< the coordinate of the grid for each dimension of C
  SmallVector<int64_t> sizes = {};      ///< elements of a tile along each dimension of C
  SumCut cut = {};

  bool isScattered() const { return placed.placement.getKind() == PlacementKind::reduceScattered; }
  /// The dimension of C whose tiles are dealt to the ranks.
  int64_t dim() const {
    return isScattered() ? placed.placement.getDim() : static_cast<int64_t>(sizes.size()) - 1;
  }
  InFlightDiagnostic refuse(Operation *op) const { return op->emitError() << text << ", but "; }
};

/// The kernel is one loop over tiles, which stores the result once.
LogicalResult findLoop(func::FuncOp kernel, Result &result) {
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
LogicalResult findStore(func::FuncOp kernel, Result &result) {
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
LogicalResult checkTiles(func::FuncOp kernel, Result &result) {
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

/// A summand is a tile of the result.
LogicalResult checkSums(Result &result) {
  ArrayRef<int64_t> stored = result.store.getTile().getType().getShape();
  for (Value sum : result.cut.sums)
    if (auto type = dyn_cast<RankedTensorType>(sum.getType()); !type || type.getShape() != stored)
      return result.refuse(sum.getDefiningOp())
             << "this sum is of " << sum.getType() << ", expected the shape of the stored "
             << result.store.getTile().getType();
  return success();
}

FailureOr<Result> findResult(func::FuncOp kernel, const PlacedArgument &placed) {
  Result result{placed, "'" + placed.name + "' is "};
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
  return failed(checkSums(result)) ? FailureOr<Result>(failure()) : result;
}

//===-- Writing -------------------------------------------------------------------------------===//

/// Where a tile of the result lies on the rank that sums it, and in the result.
struct TileAt {
  Value shard;
  SmallVector<Value> local, whole;
};

class ResultWriter {
public:
  ResultWriter(func::FuncOp kernel, Result &result)
      : kernel_(kernel), result_(result), top_(result.tiles.getLoc(), kernel.getContext()),
        math_(top_), one_(1) {}

  LogicalResult write() {
    top_.setInsertionPointToStart(&kernel_.getBody().front());
    ranks_ = math_.numRanks();
    rank_ = math_.rank();
    FailureOr<TileAt> at = result_.isScattered() ? cutRows() : dealColumns();
    if (failed(at))
      return failure();
    allocate();
    ImplicitLocOpBuilder b(result_.store.getLoc(), result_.store);
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

private:
  unsigned dim() const { return static_cast<unsigned>(result_.dim()); }

  //===-- The grid ----------------------------------------------------------------------------===//

  /// reduce_scattered: shards of the placed dimension, of which the result has one.
  FailureOr<TileAt> cutRows() {
    StringRef name = result_.placed.extent.getValue();
    auto loops = findShardedLoops(kernel_, {name, result_.text});
    if (failed(loops))
      return failure();
    if (loops->size() != 1)
      return LogicalResult(result_.refuse((*loops)[1].loop)
                           << "this loop, too, walks along " << name);
    ShardedLoop &loop = loops->front();
    auto isSummed = [&](Operation *op) {
      return result_.cut.before.contains(
          result_.tiles.getBody().front().findAncestorOpInBlock(*op));
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
    LoopCutter cutter(rank_, ranks_, extents_[dim()]);
    for (Value value : whole) {
      auto argument = cast<BlockArgument>(value);
      int64_t along = dimsNamed(argument, name).front();
      cutter.redirect(argument, splitArgument(top_, argument, along, ranks_, extents_[dim()]));
      setWhole(kernel_, argument, along);
    }
    LoopCutter::Cut cut = cutter.cutTiles(loop, "next-rank-first");
    result_.tiles = cast<TilesOp>(loop.loop);
    SmallVector<Value> coords(result_.store.getCoords());
    return TileAt{cut.shard, coords, coords};
  }

  int64_t partDim(Value argument) {
    return dimsNamed(cast<BlockArgument>(argument), result_.placed.extent.getValue()).front();
  }

  /// all_reduced: every rank has the same number of columns of tiles, some of the last ones beyond
  /// the result.
  TileAt dealColumns() {
    measure();
    Value size = math_.constant(result_.sizes[dim()]);
    tileCounts_[dim()] = math_.ceilDiv(tileCounts_[dim()], ranks_);
    extents_[dim()] = math_.multiply(tileCounts_[dim()], size);
    TilesOp before = result_.tiles;
    unsigned variable = result_.variables[dim()];
    SmallVector<Value> grid(before.getExtents().size());
    grid[variable] = tileCounts_[dim()];
    result_.tiles = withShards(before, ranks_, grid, before.getElements(), "next-rank-first");
    Block &body = result_.tiles.getBody().front();
    Value shard = body.getArgument(0), column = body.getArgument(variable + 1);
    auto b = ImplicitLocOpBuilder::atBlockBegin(result_.tiles.getLoc(), &body);
    Value first = b.create<arith::MulIOp>(shard, tileCounts_[dim()]);
    auto whole = b.create<arith::AddIOp>(first, column);
    column.replaceAllUsesExcept(whole, whole);
    TileAt at{shard, SmallVector<Value>(result_.store.getCoords()),
              SmallVector<Value>(result_.store.getCoords())};
    at.local[dim()] = column;
    return at;
  }

  /// The extents of the result on this rank, in elements and in tiles.
  void measure() {
    for (auto [d, size] : llvm::enumerate(result_.sizes)) {
      extents_.push_back(math_.dim(result_.placed.value, d));
      tileCounts_.push_back(math_.ceilDiv(extents_.back(), math_.constant(size)));
    }
  }

  //===-- Memory ------------------------------------------------------------------------------===//

  Value buffer(const Twine &name, Type element, ArrayRef<Value> extents) {
    auto type = viewType(static_cast<int64_t>(extents.size()), element, SpaceKind::symmetric);
    return top_.create<SymmetricOp>(type, top_.getStringAttr(result_.placed.name + name), extents);
  }

  Value counters(const Twine &name, ArrayRef<Value> extents) {
    auto type = SignalsType::get(top_.getContext(), static_cast<int64_t>(extents.size()));
    return top_.create<SignalsOp>(type, top_.getStringAttr(result_.placed.name + name), extents);
  }

  void allocate() {
    SmallVector<Value> parts{ranks_};
    llvm::append_range(parts, extents_);
    for (auto [n, sum] : llvm::enumerate(result_.cut.sums)) {
      Type element = cast<RankedTensorType>(sum.getType()).getElementType();
      std::string number = n ? std::to_string(n + 1) : "";
      staged_.push_back(buffer(".staged" + number, element, parts));
      summands_.push_back(buffer(".summands" + number, element, parts));
    }
    done_ = counters(".done", tileCounts_);
    if (result_.isScattered())
      return;
    SmallVector<Value> all(extents_), tiles(tileCounts_);
    all[dim()] = math_.multiply(all[dim()], ranks_);
    tiles[dim()] = math_.multiply(tiles[dim()], ranks_);
    Type element = cast<MemRefType>(result_.placed.value.getType()).getElementType();
    sums_ = buffer(".sums", element, all);
    ready_ = counters(".ready", tiles);
  }

  /// The memory of a tile of `view`.
  Value chunk(ImplicitLocOpBuilder &b, Value view, ArrayRef<Value> coords) {
    ArrayRef<int64_t> shape = result_.store.getTile().getType().getShape();
    auto type = cast<MemRefType>(view.getType());
    auto part = viewType(static_cast<int64_t>(shape.size()), type.getElementType(), spaceOf(type));
    return b.create<core::ChunkOp>(part, view, coords, shape);
  }

  static SmallVector<Value> behind(Value shard, ArrayRef<Value> coords) {
    SmallVector<Value> result{shard};
    llvm::append_range(result, coords);
    return result;
  }

  //===-- Tiles -------------------------------------------------------------------------------===//

  /// A summand of another rank's tile goes there.
  void send(ImplicitLocOpBuilder &b, const TileAt &at) {
    SmallVector<Value> from = behind(at.shard, at.local), to = behind(rank_, at.local);
    for (auto [n, sum] : llvm::enumerate(result_.cut.sums)) {
      b.create<core::StoreOp>(sum, staged_[n], from);
      b.create<PutOp>(chunk(b, staged_[n], from), chunk(b, summands_[n], to), at.shard);
    }
    b.create<NotifyOp>(done_, at.local, at.shard, NotifyMode::add, IndexMath(b).constant(one_));
  }

  /// An own tile is the sum of all summands; what follows from it comes after.
  void sum(ImplicitLocOpBuilder &b, const TileAt &at) {
    IndexMath math(b);
    b.create<WaitOp>(done_, at.local, math.subtract(ranks_, math.constant(one_)));
    IRMapping totals;
    for (auto [n, sum] : llvm::enumerate(result_.cut.sums))
      totals.map(sum, total(b, sum, summands_[n], at));
    Block &body = result_.tiles.getBody().front();
    for (Operation &op : body)
      if (result_.cut.after.contains(&op) && !result_.cut.before.contains(&op))
        b.clone(op, totals);
    auto store = cast<core::StoreOp>(b.clone(*result_.store, totals));
    if (!result_.isScattered())
      publish(b, store.getTile(), at);
  }

  /// The own summand and those of the other ranks, in the order of the ranks.
  Value total(ImplicitLocOpBuilder &b, Value own, Value summands, const TileAt &at) {
    IndexMath math(b);
    auto type = cast<RankedTensorType>(own.getType());
    Value zero = b.create<arith::ConstantOp>(
        cast<TypedAttr>(DenseElementsAttr::get(type, b.getZeroAttr(type.getElementType()))));
    Value before = addSummands(b, zero, summands, at, math.constant(0), rank_);
    Value here = add(b, before, own);
    Value next = math.add(rank_, math.constant(one_));
    return addSummands(b, here, summands, at, next, ranks_);
  }

  Value addSummands(ImplicitLocOpBuilder &b, Value start, Value summands, const TileAt &at,
                    Value first, Value end) {
    auto loop = b.create<scf::ForOp>(first, end, IndexMath(b).constant(one_), start);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value summand = b.create<core::LoadOp>(start.getType(), summands,
                                           behind(loop.getInductionVar(), at.local), TypedAttr());
    b.create<scf::YieldOp>(add(b, loop.getRegionIterArg(0), summand));
    return loop.getResult(0);
  }

  static Value add(ImplicitLocOpBuilder &b, Value x, Value y) {
    if (isa<FloatType>(getElementTypeOrSelf(x)))
      return b.create<arith::AddFOp>(x, y);
    return b.create<arith::AddIOp>(x, y);
  }

  //===-- all_reduced: back to everybody ------------------------------------------------------===//

  void publish(ImplicitLocOpBuilder &b, Value tile, const TileAt &at) {
    b.create<core::StoreOp>(tile, sums_, at.whole);
    Value peer = forEachPeer(b, /*withSelf=*/false);
    b.create<PutOp>(chunk(b, sums_, at.whole), chunk(b, sums_, at.whole), peer);
    b.create<NotifyOp>(ready_, at.whole, peer, NotifyMode::add, IndexMath(b).constant(one_));
  }

  /// What other ranks have summed.
  void copySums() {
    TilesOp tiles = result_.tiles;
    ImplicitLocOpBuilder b(tiles.getLoc(), tiles->getContext());
    b.setInsertionPointAfter(tiles);
    auto order =
        OrderAttr::get(b.getContext(), "own-shard-first", 1, tiles.getOrder().getSharded());
    auto copies = b.create<TilesOp>(tiles.getExtents(), Value(), b.getI64IntegerAttr(1), order);
    Block &body = copies.getBody().emplaceBlock();
    for (size_t d = 0; d < tiles.getExtents().size(); ++d)
      body.addArgument(b.getIndexType(), b.getLoc());
    b.setInsertionPointToStart(&body);
    Value shard = body.getArgument(0);
    SmallVector<Value> at;
    for (unsigned variable : result_.variables)
      at.push_back(body.getArgument(variable + 1));
    IndexMath math(b);
    at[dim()] = math.add(math.multiply(shard, tileCounts_[dim()]), at[dim()]);
    Value isOther = b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, shard, rank_);
    auto branch = b.create<scf::IfOp>(isOther, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
    b.create<WaitOp>(ready_, at, math_.constant(one_));
    Value tile = b.create<core::LoadOp>(tileType_, sums_, at, TypedAttr());
    b.create<core::StoreOp>(tile, result_.placed.value, at);
  }

  func::FuncOp kernel_;
  Result &result_;
  ImplicitLocOpBuilder top_;
  IndexMath math_;
  int64_t one_;
  Type tileType_ = result_.store.getTile().getType();
  Value ranks_, rank_, done_, sums_, ready_;
  SmallVector<Value> extents_, tileCounts_; ///< of the part that a rank sums
  SmallVector<Value> staged_, summands_;    ///< of each sum
};

struct PlaceResults : ditron::device::impl::PlaceResultsBase<PlaceResults> {
  void runOnOperation() override {
    if (failed(place()))
      signalPassFailure();
  }

private:
  LogicalResult place() {
    func::FuncOp kernel = getOperation();
    auto placed =
        placedArguments(kernel, {PlacementKind::reduceScattered, PlacementKind::allReduced});
    if (failed(placed) || placed->empty())
      return LogicalResult(placed);
    if (placed->size() > 1)
      return kernel.emitError() << "'" << (*placed)[0].name << "' and '" << (*placed)[1].name
                                << "' are both summed over the ranks: expected one result";
    if (kernel.getArgAttr(placed->front().value.getArgNumber(), core::kReadOnlyAttr))
      return kernel.emitError() << "'" << placed->front().name
                                << "' is summed over the ranks, but is an input: expected a result";
    auto result = findResult(kernel, placed->front());
    if (failed(result) || failed(ResultWriter(kernel, *result).write()))
      return failure();
    kernel.removeArgAttr(placed->front().value.getArgNumber(), kPlacementAttr);
    return success();
  }
};

} // namespace
