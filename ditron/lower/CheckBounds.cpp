// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// lower-check-bounds: what must hold for an op to stay within memory is required in front of it.
//
//   %part = memref.subview %A[%first] [%count] [1] : ...
// becomes
//   %n = memref.dim %A, %c0
//   %ok = (0 <= %first) and (0 <= %count) and (%count <= %n - %first)
//   tile.require %ok, "slice takes {} elements from {} on, ..."(%count, %first, %n)
//   %part = memref.subview %A[%first] [%count] [1] : ...
//
// Slices and splits stay within their view, indices within their extents, roles within the running
// one, both sides of a put or get have the same extents, and steps are 1 or more. What holds by
// construction, such as the whole extent of a view, or an element that a loop over it counts, is
// not required. What holds for the last tile of a grid holds for all that are counted with it: it is
// required once, in front of the loop over tiles. The texts are those of the interpreter
// (ditron/reference). Tiles need nothing: what is beyond the view is masked.
// test/lower/check-bounds.mlir shows it.
#include "ditron/device/Provenance.h"
#include "ditron/lower/Passes.h"
#include "ditron/lower/ViewExtents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace ditron::lower {

#define GEN_PASS_DEF_CHECKBOUNDS
#include "ditron/lower/Passes.h.inc"

namespace {

using Predicate = arith::CmpIPredicate;
using core::Observation;

/// Of a view: the extents of one before and after a split stand in a message.
constexpr int64_t kMostDimensions = 8;
static_assert(2 * kMostDimensions + 3 <= core::kMaxMessageValues);

/// "[{}, {}]", a place for each of so many values.
std::string places(size_t count) {
  std::string text;
  for (size_t n = 0; n < count; ++n)
    text += n ? ", {}" : "{}";
  return "[" + text + "]";
}

/// " of 'A'", if the view's memory has a name.
std::string ofWhat(Value view) {
  Value origin = device::originOf(view);
  std::string name;
  if (auto argument = dyn_cast<BlockArgument>(origin)) {
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto given =
        function ? function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), core::kNameAttr)
                 : StringAttr();
    name = given ? given.str() : "";
  } else if (auto buffer = origin.getDefiningOp<device::SymmetricOp>()) {
    name = buffer.getName().str();
  }
  return name.empty() ? name : " of '" + name + "'";
}

/// Numbers of a loop over tiles at its last tile. A number that grows with the coordinates, from 0
/// or more, is the largest there.
class LastTile {
public:
  /// Of the loop that an op stands in, executed for each tile; none if it stands elsewhere.
  explicit LastTile(Operation *op) : loop_(dyn_cast<device::TilesOp>(op->getParentOp())) {}

  device::TilesOp loop() const { return loop_; }
  bool isOutside(Value value) { return !loop_->isAncestor(ownerOf(value)); }
  /// Whether a number is the same for all tiles, or the largest at the last one.
  bool knows(Value value) { return isOutside(value) || grows(value); }

  Value of(Value value, ImplicitLocOpBuilder &b) {
    if (isOutside(value))
      return value;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Value one = b.create<arith::ConstantIndexOp>(1);
      return b.createOrFold<arith::SubIOp>(loop_.getExtents()[argument.getArgNumber()], one);
    }
    auto divided = value.getDefiningOp<arith::DivSIOp>();
    Value by = b.create<arith::ConstantIndexOp>(*getConstantIntValue(divided.getRhs()));
    return b.createOrFold<arith::DivSIOp>(of(divided.getLhs(), b), by);
  }

  /// Whether the loop has no tile.
  Value isEmpty(ImplicitLocOpBuilder &b) {
    Value zero = b.create<arith::ConstantIndexOp>(0), result;
    for (Value extent : loop_.getExtents()) {
      Value none = b.createOrFold<arith::CmpIOp>(Predicate::sle, extent, zero);
      result = result ? b.createOrFold<arith::OrIOp>(result, none) : none;
    }
    return result;
  }

private:
  static Operation *ownerOf(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
  }

  /// A coordinate, or one divided by a number above 0.
  bool grows(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return argument.getOwner()->getParentOp() == loop_;
    auto divided = value.getDefiningOp<arith::DivSIOp>();
    return divided && getConstantIntValue(divided.getRhs()).value_or(0) > 0 &&
           grows(divided.getLhs());
  }

  device::TilesOp loop_;
};

/// Requires what one op needs, in front of it.
class Requirements {
public:
  explicit Requirements(Operation *op) : op_(op), b_(op->getLoc(), op), last_(op) {}

  void add() {
    if (op_->hasAttr(core::kWithinAttr))
      return;
    llvm::TypeSwitch<Operation *>(op_)
        .Case([&](memref::SubViewOp op) { requireSlice(op); })
        .Case([&](memref::ExpandShapeOp op) { requireSplit(op); })
        .Case([&](memref::CastOp op) { requireStated(op); })
        .Case([&](memref::LoadOp op) { requireElement(op.getMemRef(), op.getIndices(), "read"); })
        .Case([&](memref::StoreOp op) { requireElement(op.getMemRef(), op.getIndices(), "write"); })
        .Case([&](tensor::ExtractOp op) { requireElementOfTile(op); })
        .Case([&](device::RoleOp op) { requireCores(op); })
        .Case([&](device::TilesOp op) { requireGrid(op); })
        .Case([&](scf::ForOp op) { requireStep(op); });
    requireObserved();
  }

private:
  //===-- Views -------------------------------------------------------------------------------===//

  void requireSlice(memref::SubViewOp op) {
    Value view = op.getSource();
    SmallVector<OpFoldResult> offsets = op.getMixedOffsets(), sizes = op.getMixedSizes(),
                              strides = op.getMixedStrides();
    for (int64_t d = 0, rank = op.getSourceType().getRank(); d < rank; ++d) {
      bool isDense = isConstantIntValue(strides[d], 1);
      if (isDense && isWithin(offsets[d], sizes[d], Extent::of(view, d)))
        continue;
      OpBuilder::InsertionGuard guard(b_);
      SmallVector<Value> numbers{known(offsets[d]), known(sizes[d]), known(strides[d])};
      toLastTile(numbers, {view, numbers[1], numbers[2]});
      Value first = numbers[0], count = numbers[1], apart = numbers[2], extent = dim(view, d);
      // Of what is left from `first` on, `count` elements take all but apart - 1 of the last one's.
      Value room = sub(extent, first), taken = count;
      Value ok = both(atLeast(first, 0), atLeast(count, 0));
      if (!isDense) {
        ok = both(ok, atLeast(apart, 1));
        Value safe = b_.create<arith::MaxSIOp>(apart, constant(1));
        room = b_.create<arith::CeilDivSIOp>(room, safe);
      }
      ok = both(ok, compare(Predicate::sle, first, extent));
      ok = both(ok, compare(Predicate::sle, taken, room));
      SmallVector<Value> values{count, first, apart};
      llvm::append_range(values, dims(view));
      require(ok,
              llvm::formatv("slice takes {{} elements from {{} on, {{} apart, along dimension {0} "
                            "of a view of {1}{2}",
                            d, places(rank), ofWhat(view)),
              values);
    }
  }

  void requireSplit(memref::ExpandShapeOp op) {
    Value view = op.getSrc();
    SmallVector<OpFoldResult> sizes =
        getMixedValues(op.getStaticOutputShape(), op.getOutputShape(), b_);
    SmallVector<Value> shape;
    for (OpFoldResult size : sizes)
      shape.push_back(value(size));
    for (auto [d, group] : llvm::enumerate(op.getReassociationIndices())) {
      if (group.size() == 1 &&
          areSame(Extent::of(sizes[group.front()]), Extent::of(view, int64_t(d))))
        continue;
      Value product = constant(1), ok = constantTrue();
      for (int64_t part : group) {
        product = b_.create<arith::MulIOp>(product, shape[part]);
        ok = both(ok, atLeast(shape[part], 0));
      }
      ok = both(ok, compare(Predicate::eq, product, dim(view, int64_t(d))));
      SmallVector<Value> values = dims(view);
      llvm::append_range(values, shape);
      values.append({dim(view, int64_t(d)), product});
      require(
          ok,
          llvm::formatv("split cuts a view of {0}{1} into {2}, but dimension {3} has {{} elements "
                        "and its parts {{}",
                        places(dims(view).size()), ofWhat(view), places(shape.size()), d),
          values);
    }
  }

  void requireStated(memref::CastOp op) {
    auto from = dyn_cast<MemRefType>(op.getSource().getType());
    auto to = dyn_cast<MemRefType>(op.getType());
    for (int64_t d = 0, rank = from && to ? to.getRank() : 0; d < rank; ++d)
      if (!to.isDynamicDim(d) && from.isDynamicDim(d)) {
        Value extent = dim(op.getSource(), d);
        require(compare(Predicate::eq, extent, constant(to.getDimSize(d))),
                llvm::formatv("cast states extent {0} for dimension {1}, which has {{}",
                              to.getDimSize(d), d),
                extent);
      }
  }

  void requireElement(Value view, ValueRange indices, StringRef verb) {
    requireIndices(indices, dims(view), [&](size_t rank) -> std::string {
      return llvm::formatv("{0} touches element {1} of a view of {1}{2}", verb, places(rank),
                           ofWhat(view));
    });
  }

  void requireElementOfTile(tensor::ExtractOp op) {
    SmallVector<Value> extents;
    for (int64_t extent : cast<RankedTensorType>(op.getTensor().getType()).getShape())
      extents.push_back(constant(extent));
    requireIndices(op.getIndices(), extents, [](size_t rank) -> std::string {
      return llvm::formatv("takes element {0} of a tile of {0}", places(rank));
    });
  }

  //===-- Ranks -------------------------------------------------------------------------------===//

  Value numRanks(StringRef axis) { return b_.create<device::NumRanksOp>(b_.getIndexType(), axis); }

  /// What a verb names there is, and the sides of a put or get match.
  void requireObserved() {
    SmallVector<Observation, 3> seen = core::observationsOf(op_);
    llvm::SmallDenseSet<Value, 2> peers;
    for (const Observation &observation : seen)
      if (observation.peer && peers.insert(observation.peer->get()).second)
        requirePeer(observation.peer->get());
    if (seen.size() > 1)
      requireEqual(seen[0].object, seen[1].object, seen[0].peer ? "get" : "put");
    for (const Observation &observation : seen)
      if (observation.isSignal())
        requireSignal(observation);
  }

  void requirePeer(Value peer) {
    auto at = peer.getDefiningOp<device::RankAtOp>();
    StringRef axis = at ? at.getAxis() : StringRef(device::MeshAxis::world);
    Value place = at ? at.getPlace() : peer;
    if (isPlaceAlong(place, axis))
      return;
    OpBuilder::InsertionGuard guard(b_);
    SmallVector<Value> numbers{place};
    toLastTile(numbers);
    Value ranks = numRanks(axis);
    std::string text = axis == device::MeshAxis::world
                           ? "on: names rank {} of {} ranks"
                           : "on: names place {} of {} along axis " + axis.str();
    require(isIndex(numbers[0], ranks), text, {numbers[0], ranks});
  }

  void requireSignal(const Observation &seen) {
    Operation *declared = seen.object.getDefiningOp();
    if (!isa_and_present<device::SignalsOp, device::InboxOp>(declared))
      return;
    bool isInbox = isa<device::InboxOp>(declared);
    bool isOwn = seen.effect == Observation::Effect::wait;
    StringRef verb = isInbox ? (isOwn ? "receive" : "send") : isOwn ? "wait" : "notify";
    StringRef what = isInbox ? "inbox" : "signal";
    std::string name = declared->getAttrOfType<StringAttr>("name").str();
    SmallVector<Value> extents(declared->getOperands());
    OpBuilder::InsertionGuard guard(b_);
    SmallVector<Value> values(seen.indices);
    if (seen.peer)
      values.push_back(seen.peer->get());
    if (!areWithin(seen.indices, extents))
      toLastTile(values, extents);
    requireIndices(
        ArrayRef(values).take_front(seen.indices.size()), extents,
        [&](size_t rank) -> std::string {
          return llvm::formatv("{0} names {4} '{1}'{2}{3}, but '{1}' has extents {2}", verb, name,
                               places(rank), seen.peer ? " of rank {}" : "", what);
        },
        values);
  }

  void requireEqual(Value source, Value destination, StringRef verb) {
    SmallVector<Value> from = dims(source), to = dims(destination);
    Value ok = constantTrue();
    for (auto [x, y] : llvm::zip_equal(from, to))
      ok = both(ok, compare(Predicate::eq, x, y));
    std::string text =
        llvm::formatv("{0} moves a chunk of {1}{2} into one of {1}{3}, expected "
                      "equal extents",
                      verb, places(from.size()), ofWhat(source), ofWhat(destination));
    llvm::append_range(from, to);
    require(ok, text, from);
  }

  //===-- Work --------------------------------------------------------------------------------===//

  void requireCores(device::RoleOp op) {
    Value cores = b_.create<device::NumCoresOp>(b_.getIndexType());
    Value first = op.getFirst(), count = op.getCount();
    Value ok = both(atLeast(first, 0), atLeast(count, 0));
    ok = both(ok, compare(Predicate::sle, count, sub(cores, first)));
    require(
        ok,
        llvm::formatv("role '{0}' takes {{} cores from {{} on, but there are {{}", op.getName()),
        {count, first, cores});
  }

  /// Whether a number of tiles comes from the extent of a view: then it is none below 0.
  static bool isCount(Value value) {
    if (auto divided = value.getDefiningOp<arith::CeilDivSIOp>())
      value = divided.getLhs();
    IntegerAttr constant;
    if (matchPattern(value, m_Constant(&constant)))
      return constant.getInt() >= 0;
    return isa_and_nonnull<memref::DimOp, device::NumRanksOp>(value.getDefiningOp());
  }

  /// Whether `rows` is `elements` divided by `height` and rounded up.
  static bool areRowsOf(Value rows, Value elements, int64_t height) {
    Extent extent = Extent::of(elements);
    if (height == 1 && areSame(Extent::of(rows), extent))
      return true;
    auto divided = rows.getDefiningOp<arith::CeilDivSIOp>();
    return divided && areSame(Extent::of(divided.getLhs()), extent) &&
           isConstantIntValue(divided.getRhs(), height);
  }

  void requireGrid(device::TilesOp op) {
    SmallVector<Value> extents(op.getExtents());
    if (!llvm::all_of(extents, isCount)) {
      Value ok = constantTrue();
      for (Value extent : extents)
        ok = both(ok, atLeast(extent, 0));
      require(ok, "tiles: deals a grid of " + places(extents.size()) + " tiles", extents);
    }
    Value elements = op.getElements();
    if (!elements || extents.size() < 2)
      return;
    Value rows = extents[extents.size() - 2];
    if (areRowsOf(rows, elements, op.getHeight()))
      return;
    Value made = b_.create<arith::CeilDivSIOp>(elements, constant(op.getHeight()));
    require(compare(Predicate::eq, rows, made),
            llvm::formatv("tiles: has {{} rows of tiles, but {{} elements, {0} in a tile, make {{}",
                          op.getHeight()),
            {rows, elements, made});
  }

  void requireStep(scf::ForOp op) {
    Value step = op.getStep(), end = op.getUpperBound();
    if (step.getType().isIndex() && !isa_and_nonnull<device::NumCoresOp>(step.getDefiningOp()))
      require(atLeast(step, 1), "range: has step {}, expected 1 or more", step);
    if (step.getType().isIndex() && !isSmall(step))
      require(compare(Predicate::sle, end, sub(constant(INT64_MAX), step)),
              "range: ends at {} and has step {}, expected a sum below 2^63", {end, step});
  }
  /// Whether a loop with such steps comes to the largest number in no run: numbers of cores and ranks, for example.
  static bool isSmall(Value step) {
    if (auto product = step.getDefiningOp<arith::MulIOp>())
      return isSmall(product.getLhs()) && isSmall(product.getRhs());
    return isa_and_nonnull<device::NumCoresOp, device::NumRanksOp>(step.getDefiningOp()) ||
           getConstantIntValue(step).value_or(INT64_MAX) <= int64_t(1) << 20;
  }

  //===-- Small things ------------------------------------------------------------------------===//

  /// Where numbers grow with the tiles of a loop, and what else is needed stands before it: goes in
  /// front of the loop, with the numbers of its last tile.
  void toLastTile(MutableArrayRef<Value> numbers, ArrayRef<Value> others = {}) {
    if (!last_.loop() ||
        !llvm::all_of(numbers, [&](Value number) { return last_.knows(number); }) ||
        !llvm::all_of(others, [&](Value other) { return last_.isOutside(other); }))
      return;
    b_.setInsertionPoint(last_.loop());
    for (Value &number : numbers)
      number = last_.of(number, b_);
  }

  /// A number that stands in front of the loop over tiles, if it is a constant.
  Value known(OpFoldResult number) {
    OpBuilder::InsertionGuard guard(b_);
    if (last_.loop())
      b_.setInsertionPoint(last_.loop());
    return isa<Attribute>(number) ? value(number) : cast<Value>(number);
  }

  Value constant(int64_t value) { return b_.create<arith::ConstantIndexOp>(value); }
  Value constantTrue() { return b_.create<arith::ConstantIntOp>(1, 1); }
  Value value(OpFoldResult number) {
    if (auto known = dyn_cast<Attribute>(number))
      return constant(cast<IntegerAttr>(known).getInt());
    return cast<Value>(number);
  }
  Value compare(Predicate predicate, Value x, Value y) {
    return b_.createOrFold<arith::CmpIOp>(predicate, x, y);
  }
  Value atLeast(Value x, int64_t least) { return compare(Predicate::sge, x, constant(least)); }
  /// 0 <= x < extent: unsigned, an x below 0 is far beyond.
  Value isIndex(Value x, Value extent) { return compare(Predicate::ult, x, extent); }
  Value both(Value x, Value y) { return b_.createOrFold<arith::AndIOp>(x, y); }
  Value sub(Value x, Value y) { return b_.createOrFold<arith::SubIOp>(x, y); }

  /// That of the first argument which is known to have it, so that what is required of several is computed once.
  Value dim(Value view, int64_t d) {
    Extent extent = Extent::of(view, d);
    return extent.number ? value(extent.number)
                         : b_.createOrFold<memref::DimOp>(extent.view, extent.dim);
  }
  SmallVector<Value> dims(Value view) {
    SmallVector<Value> result;
    for (int64_t d = 0, rank = cast<MemRefType>(view.getType()).getRank(); d < rank; ++d)
      result.push_back(dim(view, d));
    return result;
  }

  static bool areWithin(ValueRange indices, ValueRange extents) {
    return llvm::all_of_zip(indices, extents, [](Value index, Value extent) {
      return goesUpTo(index, Extent::of(extent));
    });
  }

  /// Each index is within its extent. `text` of their number has places for `shown` (the indices,
  /// if there are none) and the extents.
  void requireIndices(ValueRange indices, ArrayRef<Value> extents,
                      llvm::function_ref<std::string(size_t)> text, ValueRange shown = {}) {
    if (areWithin(indices, extents))
      return;
    Value ok = constantTrue();
    for (auto [index, extent] : llvm::zip_equal(indices, extents))
      if (!goesUpTo(index, Extent::of(extent)))
        ok = both(ok, isIndex(index, extent));
    SmallVector<Value> values(shown.empty() ? indices : shown);
    values.append(extents.begin(), extents.end());
    require(ok, text(indices.size()), values);
  }

  void require(Value ok, const std::string &text, ValueRange values) {
    if (last_.loop() && b_.getInsertionBlock() == last_.loop()->getBlock())
      ok = b_.createOrFold<arith::OrIOp>(ok, last_.isEmpty(b_));
    b_.create<core::RequireOp>(ok, text, values);
  }

  Operation *op_;
  ImplicitLocOpBuilder b_;
  LastTile last_;
};

class CheckBounds : public impl::CheckBoundsBase<CheckBounds> {
  void runOnOperation() override {
    if (!getOperation()->hasAttr(core::kKernelAttr))
      return;
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops) {
      for (Type type : op->getOperandTypes())
        if (auto view = dyn_cast<MemRefType>(type); view && view.getRank() > kMostDimensions) {
          op->emitError() << op->getName() << " has a view of " << view.getRank()
                          << " dimensions, expected at most " << kMostDimensions;
          return signalPassFailure();
        }
      Requirements(op).add();
    }
  }
};

} // namespace
} // namespace ditron::lower
