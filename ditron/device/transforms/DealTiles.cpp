// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DealTiles: a loop over tiles becomes the loop over the tiles of this core.
//
//     dist.tiles (%i, %j) of (%rows, %columns) order <"row-major"> {
//       body(%i, %j)
//     }
//  ->
//     %core = dist.core
//     %cores = dist.num_cores
//     %tiles = arith.muli %rows, %columns
//     scf.for %t = %core to %tiles step %cores {
//       %i = arith.remui (arith.divui %t, %columns), %rows
//       %j = arith.remui %t, %columns
//       body(%i, %j)
//     }
//
// The coordinates of tile %t come from the functions of device/Order.h, which emit IR when given an
// integer that does. A range of tiles is a loop over these numbers. Cores that share tiles (kSharersAttr) count as one.
// test/device/deal-tiles.mlir shows the result.
//
#include "ditron/device/DistOps.h"
#include "ditron/device/Order.h"
#include "ditron/device/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Iterators.h"

namespace ditron::device {
#define GEN_PASS_DEF_DEALTILES
#include "ditron/device/transforms/Passes.h.inc"
} // namespace ditron::device

using namespace mlir;
using namespace ditron::device;

namespace {

/// An integer of the program that is compiled: computing with it emits `arith` ops on index. Only
/// non-negative integers are divided, so the unsigned division is right, and cheaper.
class Integer {
public:
  Integer(ImplicitLocOpBuilder &builder, Value value) : builder_(&builder), value_(value) {}

  Value value() const { return value_; }
  /// Another integer of the same program.
  Integer constant(int64_t value) const {
    return {*builder_, builder_->create<arith::ConstantIndexOp>(value)};
  }

  friend Integer operator+(Integer a, Integer b) { return a.emit<arith::AddIOp>(b); }
  friend Integer operator-(Integer a, Integer b) { return a.emit<arith::SubIOp>(b); }
  friend Integer operator*(Integer a, Integer b) { return a.emit<arith::MulIOp>(b); }
  friend Integer operator/(Integer a, Integer b) { return a.emit<arith::DivUIOp>(b); }
  friend Integer operator%(Integer a, Integer b) { return a.emit<arith::RemUIOp>(b); }
  friend Integer min(Integer a, Integer b) { return a.emit<arith::MinSIOp>(b); }
  friend Integer minUnsigned(Integer a, int64_t b) { return a.emit<arith::MinUIOp>(a.constant(b)); }
  friend Integer max(Integer a, Integer b) { return a.emit<arith::MaxSIOp>(b); }
  friend Value operator<(Integer a, Integer b) { return a.compare(arith::CmpIPredicate::slt, b); }
  friend Value operator==(Integer a, Integer b) { return a.compare(arith::CmpIPredicate::eq, b); }

  friend Integer operator+(Integer a, int64_t b) { return a + a.constant(b); }
  friend Integer operator-(Integer a, int64_t b) { return a - a.constant(b); }
  friend Integer operator*(Integer a, int64_t b) { return a * a.constant(b); }
  [[maybe_unused]] friend Integer operator/(Integer a, int64_t b) { return a / a.constant(b); }
  [[maybe_unused]] friend Integer operator%(Integer a, int64_t b) { return a % a.constant(b); }
  friend Integer min(Integer a, int64_t b) { return min(a, a.constant(b)); }
  [[maybe_unused]] friend Value operator<(Integer a, int64_t b) { return a < a.constant(b); }
  friend Value operator==(Integer a, int64_t b) { return a == a.constant(b); }

  friend Integer select(Value condition, Integer a, Integer b) {
    return {*a.builder_, a.builder_->createOrFold<arith::SelectOp>(condition, a.value_, b.value_)};
  }

private:
  template <class Op> Integer emit(Integer other) const {
    return {*builder_, builder_->createOrFold<Op>(value_, other.value_)};
  }
  Value compare(arith::CmpIPredicate predicate, Integer other) const {
    return builder_->createOrFold<arith::CmpIOp>(predicate, value_, other.value_);
  }

  ImplicitLocOpBuilder *builder_;
  Value value_;
};

/// The grid of a loop over tiles: the dimensions before the last two are one batch.
Grid<Integer> gridOf(ArrayRef<Integer> extents, Integer height, std::optional<Integer> elements,
                     OrderAttr order) {
  Integer one = height.constant(1), batch = one;
  Integer columns = extents.back();
  Integer rows = extents.size() > 1 ? extents[extents.size() - 2] : one;
  for (Integer extent : extents.drop_back(std::min<size_t>(2, extents.size())))
    batch = batch * extent;
  return {batch,
          rows,
          columns,
          height,
          elements ? *elements : rows * height,
          order.getSharded() == ShardedAxis::batch ? Sharded::batch : Sharded::rows,
          order.getRounds()};
}

/// The coordinates of a tile of the grid: one for each extent.
SmallVector<Value> coordinatesOf(TileIndex<Integer> tile, ArrayRef<Integer> extents) {
  SmallVector<Value> coordinates{tile.col.value()};
  if (extents.size() > 1)
    coordinates.push_back(tile.row.value());
  if (extents.size() <= 2)
    return {coordinates.rbegin(), coordinates.rend()};
  Integer batch = tile.batch;
  for (Integer extent : llvm::reverse(extents.drop_front().drop_back(2))) {
    coordinates.push_back((batch % extent).value());
    batch = batch / extent;
  }
  coordinates.push_back(batch.value());
  return {coordinates.rbegin(), coordinates.rend()};
}

/// The number of this core and of cores, or of the groups that share tiles.
std::pair<Value, Value> dealtTo(TilesOp tiles, ImplicitLocOpBuilder &builder) {
  Value core = builder.create<CoreOp>(builder.getIndexType());
  Value cores = builder.create<NumCoresOp>(builder.getIndexType());
  auto sharers = llvm::dyn_cast_or_null<IntegerAttr>(tiles->removeAttr(kSharersAttr));
  if (!sharers)
    return {core, cores};
  Value each = builder.create<arith::ConstantIndexOp>(sharers.getInt());
  return {builder.create<arith::DivUIOp>(core, each), builder.create<arith::DivUIOp>(cores, each)};
}

/// The numbers of this core's tiles: from one up to another, in steps.
std::array<Value, 3> numbersOf(TilesOp tiles, Integer total, ImplicitLocOpBuilder &builder) {
  if (!tiles.getFirst()) {
    auto [core, cores] = dealtTo(tiles, builder);
    return {core, total.value(), cores};
  }
  return {tiles.getFirst(), tiles.getEnd(), builder.create<arith::ConstantIndexOp>(1)};
}

/// The number of a tile that a range gives, which is below that of tiles: where this one is known, so that
/// nobody asks whether the tile lies inside.
Integer numberOf(TilesOp tiles, Integer given, Integer total) {
  std::optional<int64_t> known = getConstantIntValue(total.value());
  return tiles.getFirst() && known && *known > 0 ? minUnsigned(given, *known - 1) : given;
}

/// The coordinates of a tile of rows, one behind the other, whose number is below that of tiles.
SmallVector<Value> inRows(Integer number, ArrayRef<Integer> extents) {
  if (extents.size() == 1)
    return {number.value()};
  if (getConstantIntValue(extents.front().value()) == 1)
    return {number.constant(0).value(), number.value()};
  return {(number / extents.back()).value(), (number % extents.back()).value()};
}

void deal(TilesOp tiles) {
  ImplicitLocOpBuilder builder(tiles.getLoc(), tiles);
  auto integer = [&](Value value) { return Integer(builder, value); };
  auto extents = llvm::map_to_vector(tiles.getExtents(), integer);
  std::optional<Integer> elements;
  if (Value given = tiles.getElements())
    elements = integer(given);
  Integer height = integer(builder.create<arith::ConstantIndexOp>(tiles.getHeight()));
  Grid<Integer> grid = gridOf(extents, height, elements, tiles.getOrder());
  Type index = builder.getIndexType();
  StringRef axis = tiles.getOrder().getAxis();
  Place<Integer> place{integer(builder.create<RankOp>(index, axis)),
                       integer(builder.create<NumRanksOp>(index, axis))};
  Integer total = grid.batch * grid.rows * grid.cols;
  auto [begin, end, step] = numbersOf(tiles, total, builder);
  auto loop = builder.create<scf::ForOp>(begin, end, step);
  loop->setDiscardableAttrs(tiles->getDiscardableAttrDictionary());

  builder.setInsertionPointToStart(loop.getBody());
  const Order<Integer> *order = findOrder<Integer>(std::string_view(tiles.getOrder().getName()));
  Integer number = numberOf(tiles, integer(loop.getInductionVar()), total);
  TileIndex<Integer> tile = order->index(number, grid, place, tiles.getOrder().getParameter());
  // Row after row with no batch, the number of a tile needs no reduction to the grid.
  bool isInRows = extents.size() <= 2 && order->index == &order::rowMajor<Integer>;
  SmallVector<Value> coordinates =
      isInRows ? inRows(number, extents) : coordinatesOf(tile, extents);
  Block &body = tiles.getBody().front();
  for (auto [argument, coordinate] : llvm::zip(body.getArguments(), coordinates))
    argument.replaceAllUsesWith(coordinate);
  loop.getBody()->getOperations().splice(loop.getBody()->getTerminator()->getIterator(),
                                         body.getOperations());
  tiles.erase();
}

/// Erases what an order computed and nobody uses, users first.
void eraseDead(func::FuncOp function) {
  function.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
}

struct DealTiles : ditron::device::impl::DealTilesBase<DealTiles> {
  void runOnOperation() override {
    getOperation().walk(deal);
    eraseDead(getOperation());
  }
};

} // namespace
