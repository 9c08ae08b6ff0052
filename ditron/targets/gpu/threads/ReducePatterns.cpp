// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is combined along an axis: first the registers of each thread, then lanes by shuffles that
// exchange one bit of the lane's number at a time, then warps through shared memory, where each
// leaves its part. Everybody ends with the result. A position travels with its value.
#include "ditron/lower/Conversions.h"
#include "ditron/targets/gpu/analysis/PartsOrder.h"
#include "ditron/targets/gpu/threads/ThreadLowering.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include <deque>
#include <numeric>

using namespace mlir;

namespace ditron::gpu {
namespace {

/// What is combined: a value, or a value and where it was found.
using Item = SmallVector<Value, 2>;
using Combine = std::function<Item(const Item &, const Item &)>;

int64_t partBytes(Type type) { return (type.getIntOrFloatBitWidth() + 7) / 8; }

/// Of a number of items in shared memory, with what may stand between them: accesses of several are aligned behind them,
/// too.
int64_t itemsBytes(int64_t items, int64_t bytes) {
  constexpr uint64_t kAligned = 16;
  return static_cast<int64_t>(
      llvm::alignTo(static_cast<uint64_t>(withPadding(items) * bytes), kAligned));
}

class Reduction {
public:
  /// `left`: the source, with the axis collapsed. Where warps meet, the result may be dealt in another way.
  Reduction(ThreadBuilder &t, const Distribution &source, const Distribution &left,
            const Distribution &result, size_t axis, Combine combine)
      : t_(t), source_(source), left_(left), result_(result), axis_(axis),
        combine_(std::move(combine)), order_(chooseOrder(left, result, warps(), t.context.lanes)) {}

  /// The items of the result's registers from those of the source's.
  SmallVector<Item> run(ArrayRef<Item> items) {
    SmallVector<Item> parts = inWarp(items);
    if (warps() == 1)
      return parts;
    t_.instructions->barrier();
    leave(parts, 0);
    t_.instructions->barrier();
    return collect(parts, 0);
  }

  /// The same in steps: what each warp comes to. Where its parts are left in shared memory, a lane needs
  /// only some of them, and lanes share the work.
  SmallVector<Item> inWarp(ArrayRef<Item> items) {
    SmallVector<Item> parts = acrossRegisters(items);
    for (const Digit &digit : source_.thread(axis_))
      if (digit.axis == Axis::lane)
        for (int64_t bit = 1; bit < digit.extent; bit *= 2)
          parts = acrossLanes(parts, digit.stride * bit);
    return parts;
  }
  int64_t warps() const { return warpsAlong(source_, axis_); }
  /// which it leaves in shared memory, from this byte on,
  void leave(ArrayRef<Item> parts, int64_t region) {
    Value own = t_.add(t_.linear(left_, weights()), moved_ ? moved_ : t_.i32(0));
    int64_t weight = order_.warp;
    for (const Digit &digit : source_.thread(axis_))
      if (digit.axis == Axis::warp) {
        own = t_.add(own, t_.mul(t_.digit(digit), t_.i32(weight)));
        weight *= digit.extent;
      }
    for (size_t field = 0; field < parts[0].size(); ++field) {
      Type type = parts[0][field].getType();
      Value first = address(own, region, type);
      size_t run = static_cast<size_t>(std::gcd(runOf(type), static_cast<int64_t>(parts.size())));
      for (size_t reg = 0; reg < parts.size(); reg += run) {
        SmallVector<Value> values;
        for (const Item &part : parts.slice(reg, run))
          values.push_back(part[field]);
        store(values, behind(first, placeOf(left_, static_cast<int64_t>(reg)), 0, type));
      }
      region += bytesOf(type);
    }
  }
  /// and, behind a barrier, the items of all warps.
  SmallVector<Item> collect(ArrayRef<Item> parts, int64_t region) {
    Value thread = t_.linear(result_, weights());
    auto registers = static_cast<size_t>(result_.registers()),
         ofWarps = static_cast<size_t>(warps());
    SmallVector<SmallVector<Item>> items(registers, SmallVector<Item>(ofWarps));
    for (Value field : parts[0]) {
      Type type = field.getType();
      Value first = address(thread, region, type);
      auto run = static_cast<size_t>(result_.run(runOf(type))),
           read = static_cast<size_t>(readOf(type));
      for (size_t reg = 0; reg < registers; reg += run)
        for (size_t warp = 0; warp < ofWarps; warp += read) {
          Value place = behind(first, placeOf(result_, static_cast<int64_t>(reg)),
                               static_cast<int64_t>(warp), type);
          for (auto [n, value] : llvm::enumerate(load(type, run * read, place)))
            items[reg + n % run][warp + n / run].push_back(value);
        }
      region += bytesOf(type);
    }
    SmallVector<Item> result;
    for (SmallVector<Item> &one : items)
      result.push_back(combineAll(std::move(one)));
    return result;
  }

private:
  /// In pairs, so that chains are short.
  Item combineAll(SmallVector<Item> items) {
    while (items.size() > 1) {
      SmallVector<Item> halves;
      for (size_t n = 0; n + 1 < items.size(); n += 2)
        halves.push_back(combine_(items[n], items[n + 1]));
      if (items.size() % 2)
        halves.push_back(items.back());
      items = std::move(halves);
    }
    return items[0];
  }

  SmallVector<Item> acrossRegisters(ArrayRef<Item> items) {
    SmallVector<SmallVector<Item>> groups(static_cast<size_t>(left_.registers()));
    for (int64_t reg = 0; reg < source_.registers(); ++reg) {
      Shape element = source_.element(reg);
      element[axis_] = 0;
      groups[static_cast<size_t>(left_.registerOf(element))].push_back(
          items[static_cast<size_t>(reg)]);
    }
    SmallVector<Item> parts;
    for (SmallVector<Item> &group : groups)
      parts.push_back(combineAll(std::move(group)));
    return parts;
  }

  /// Lanes that differ in this bit combine what they have.
  SmallVector<Item> acrossLanes(ArrayRef<Item> parts, int64_t mask) {
    if (auto apart = warps() > 1 ? halvesApart(parts.size()) : std::nullopt)
      return half(parts, mask, *apart);
    SmallVector<Item> result;
    for (const Item &part : parts)
      result.push_back(combine_(part, exchanged(part, mask)));
    return result;
  }

  /// How far the second half of `count` parts is from the first one, in items of shared memory. Without
  /// a value where they are not the same distance apart.
  std::optional<int64_t> halvesApart(size_t count) const {
    if (count % 2)
      return std::nullopt;
    auto half = static_cast<int64_t>(count / 2);
    int64_t apart = placeOf(left_, half) - placeOf(left_, 0);
    for (int64_t reg = 1; reg < half; ++reg)
      if (placeOf(left_, reg + half) - placeOf(left_, reg) != apart)
        return std::nullopt;
    return apart;
  }

  /// Lanes that differ in this bit trade halves of their parts: those with the bit keep the second one.
  SmallVector<Item> half(ArrayRef<Item> parts, int64_t mask, int64_t apart) {
    OpBuilder &b = t_.b;
    Value bit = b.create<arith::AndIOp>(t_.loc, t_.context.lane, t_.i32(mask));
    Value isSecond = b.create<arith::CmpIOp>(t_.loc, arith::CmpIPredicate::ne, bit, t_.i32(0));
    SmallVector<Item> kept;
    for (size_t n = 0, half = parts.size() / 2; n < half; ++n) {
      Item own, sent;
      for (auto [low, high] : llvm::zip(parts[n], parts[n + half])) {
        own.push_back(b.create<arith::SelectOp>(t_.loc, isSecond, high, low));
        sent.push_back(b.create<arith::SelectOp>(t_.loc, isSecond, low, high));
      }
      kept.push_back(combine_(own, exchanged(sent, mask)));
    }
    Value by = b.create<arith::SelectOp>(t_.loc, isSecond, t_.i32(apart), t_.i32(0));
    moved_ = moved_ ? t_.add(moved_, by) : by;
    return kept;
  }

  Item exchanged(const Item &item, int64_t mask) {
    Item other;
    for (Value value : item) {
      Type type = value.getType();
      bool isShort = type.getIntOrFloatBitWidth() < 32;
      Value sent = isShort ? t_.b.create<arith::ExtSIOp>(t_.loc, t_.b.getI32Type(), value) : value;
      Value received = t_.instructions->shuffleXor(sent, mask);
      other.push_back(isShort ? t_.b.create<arith::TruncIOp>(t_.loc, type, received) : received);
    }
    return other;
  }

  /// Where the warps' parts of a register stand, in items from the start of their region.
  int64_t placeOf(const Distribution &tile, int64_t reg) const {
    int64_t place = 0;
    for (size_t dim = 0; dim < tile.shape().size(); ++dim)
      place = place * tile.shape()[dim] + tile.element(reg)[dim];
    return place * order_.element;
  }
  /// From one element of the result to the next, in items.
  Shape weights() const {
    Shape weights(result_.shape().size());
    int64_t elements = 1;
    for (size_t dim = weights.size(); dim-- > 0;) {
      weights[dim] = elements * order_.element;
      elements *= result_.shape()[dim];
    }
    return weights;
  }
  /// Of the parts of all warps.
  int64_t bytesOf(Type type) const { return itemsBytes(result_.size() * warps(), partBytes(type)); }

  /// Registers that one access stores or loads, and warps whose parts it loads: one of the two is 1.
  int64_t runOf(Type type) const { return isWord(type) ? order_.registers : 1; }
  int64_t readOf(Type type) const { return isWord(type) ? order_.warps : 1; }
  static bool isWord(Type type) { return partBytes(type) == PartsOrder::kItemBytes; }

  void store(ArrayRef<Value> values, Value place) {
    Value whole = values.size() == 1 ? values[0] : t_.join(values);
    t_.b.create<LLVM::StoreOp>(t_.loc, whole, place, aligned(values.size(), values[0].getType()));
  }
  SmallVector<Value> load(Type type, size_t count, Value place) {
    auto all = count == 1 ? type : VectorType::get({static_cast<int64_t>(count)}, type);
    Value whole = t_.b.create<LLVM::LoadOp>(t_.loc, all, place, aligned(count, type));
    return count == 1 ? SmallVector<Value>{whole} : t_.split(whole);
  }
  static unsigned aligned(size_t count, Type type) {
    return static_cast<unsigned>(count) * static_cast<unsigned>(partBytes(type));
  }

  Value address(Value item, int64_t region, Type type) {
    Value place = item;
    if (order_.padded) {
      Value before = t_.b.create<arith::DivUIOp>(t_.loc, item, t_.i32(order_.padded));
      place = t_.add(item, t_.mul(before, t_.i32(PartsOrder::kPadding)));
    }
    return t_.offset(t_.shared(region), t_.mul(place, t_.i32(partBytes(type))));
  }
  Value behind(Value first, int64_t place, int64_t warp, Type type) {
    return t_.offset(first, order_.place(place + warp * order_.warp) * partBytes(type));
  }

  ThreadBuilder &t_;
  const Distribution &source_, &left_, &result_;
  size_t axis_;
  Combine combine_;
  PartsOrder order_;
  Value moved_; ///< what a lane's parts are behind those of its registers, in items; null: nothing
};

Value combined(OpBuilder &b, mlir::Location loc, core::ReduceKind kind, Value x, Value y) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(x));
  switch (kind) {
  case core::ReduceKind::sum:
    return isFloat ? Value(b.create<arith::AddFOp>(loc, x, y)) : b.create<arith::AddIOp>(loc, x, y);
  case core::ReduceKind::prod:
    return isFloat ? Value(b.create<arith::MulFOp>(loc, x, y)) : b.create<arith::MulIOp>(loc, x, y);
  case core::ReduceKind::max:
    return isFloat ? Value(b.create<arith::MaximumFOp>(loc, x, y))
                   : b.create<arith::MaxSIOp>(loc, x, y);
  case core::ReduceKind::min:
    return isFloat ? Value(b.create<arith::MinimumFOp>(loc, x, y))
                   : b.create<arith::MinSIOp>(loc, x, y);
  }
  llvm_unreachable("kind of reduction");
}

/// A tile with an axis collapsed, as its threads have it.
Distribution collapsedOf(Value tile, int64_t axis) {
  Shape shape = shapeOf(tileOf(tile));
  std::optional<Layout> layout = collapsed(core::layoutOf(tileOf(tile)), shape, axis);
  shape[static_cast<size_t>(axis)] = 1;
  return *Distribution::of(*layout, shape);
}

Distribution distributionOf(Value tile) {
  return *Distribution::of(core::layoutOf(tileOf(tile)), shapeOf(tileOf(tile)));
}

/// What warps leave for one another where the elements of a tile are combined along an axis: bytes of
/// the type in which they are, and `more` beside each. None where each warp has them all.
int64_t bytesAcrossWarps(Value tile, int64_t axis, int64_t more = 0) {
  RankedTensorType type = tileOf(tile);
  int64_t warps = warpsAlong(distributionOf(tile), static_cast<size_t>(axis));
  int64_t items = type.getNumElements() / type.getDimSize(axis) * warps;
  int64_t bytes = partBytes(lower::computeType(type.getElementType()));
  return warps == 1 ? 0 : itemsBytes(items, bytes) + itemsBytes(items, more);
}

/// One of them, its distributions among it.
class TileReduction {
public:
  TileReduction(ThreadBuilder &t, core::ReduceKind kind, Value source, Value result, int64_t axis)
      : t_(t), element_(tileOf(result).getElementType()), source_(distributionOf(source)),
        left_(collapsedOf(source, axis)), result_(distributionOf(result)),
        reduction_(t, source_, left_, result_, static_cast<size_t>(axis),
                   [&t, kind](const Item &x, const Item &y) {
                     return Item{combined(t.b, t.loc, kind, x[0], y[0])};
                   }) {}
  TileReduction(const TileReduction &) = delete;

  Reduction *operator->() { return &reduction_; }
  SmallVector<Item> itemsOf(Value vector) {
    SmallVector<Item> items;
    for (Value value : t_.split(vector))
      items.push_back({value});
    return items;
  }
  /// The tile that items make.
  Value vectorOf(ArrayRef<Item> items) {
    SmallVector<Value> values;
    for (const Item &item : items)
      values.push_back(item[0]);
    Value vector = t_.join(values);
    if (!isa<FloatType>(element_))
      return vector;
    return lower::roundTo(t_.b, t_.loc, vector, element_, core::Rounding::nearest_even, false,
                          true);
  }

private:
  ThreadBuilder &t_;
  Type element_;
  Distribution source_, left_, result_;
  Reduction reduction_;
};

struct ReducePattern : TilePattern<core::ReduceOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(core::ReduceOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    TileReduction one(t, op.getKind(), op.getSource(), op.getResult(),
                      static_cast<int64_t>(op.getAxis()));
    b.replaceOp(op, one.vectorOf(one->run(one.itemsOf(adaptor.getSource()))));
    return success();
  }
};

struct ReduceTogetherPattern : TilePattern<ReduceTogetherOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(ReduceTogetherOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    std::deque<TileReduction> all;
    SmallVector<SmallVector<Item>> parts;
    for (auto [n, source] : llvm::enumerate(op.getSources())) {
      all.emplace_back(t, op.kindOf(n), source, op.getResult(n), op.getAxes()[n]);
      parts.push_back(all[n]->inWarp(all[n].itemsOf(adaptor.getSources()[n])));
    }
    SmallVector<int64_t> regions = regionsOf(op);
    t.instructions->barrier();
    for (size_t n = 0; n < all.size(); ++n)
      if (all[n]->warps() > 1)
        all[n]->leave(parts[n], regions[n]);
    t.instructions->barrier();
    SmallVector<Value> results;
    for (size_t n = 0; n < all.size(); ++n)
      results.push_back(
          all[n].vectorOf(all[n]->warps() > 1 ? all[n]->collect(parts[n], regions[n]) : parts[n]));
    b.replaceOp(op, results);
    return success();
  }

private:
  /// Where the parts of each stand, in shared memory.
  static SmallVector<int64_t> regionsOf(ReduceTogetherOp op) {
    SmallVector<int64_t> regions;
    int64_t next = 0;
    for (auto [n, source] : llvm::enumerate(op.getSources())) {
      regions.push_back(next);
      next += bytesAcrossWarps(source, op.getAxes()[n]);
    }
    return regions;
  }
};

/// Of two values and their positions the better one; of equal ones, the first. NaN is the best.
Item better(OpBuilder &b, mlir::Location loc, core::Extremum kind, const Item &x, const Item &y) {
  bool isMax = kind == core::Extremum::max;
  auto both = [&](Value p, Value q) { return b.create<arith::AndIOp>(loc, p, q); };
  auto either = [&](Value p, Value q) { return b.create<arith::OrIOp>(loc, p, q); };
  Value wins, ties;
  if (isa<FloatType>(x[0].getType())) {
    using P = arith::CmpFPredicate;
    auto is = [&](P predicate, Value p, Value q) {
      return b.create<arith::CmpFOp>(loc, predicate, p, q);
    };
    Value xIsNan = is(P::UNO, x[0], x[0]), yIsNan = is(P::UNO, y[0], y[0]);
    Value xIsNumber = is(P::ORD, x[0], x[0]);
    wins = either(is(isMax ? P::OGT : P::OLT, y[0], x[0]), both(yIsNan, xIsNumber));
    ties = either(is(P::OEQ, x[0], y[0]), both(xIsNan, yIsNan));
  } else {
    using P = arith::CmpIPredicate;
    wins = b.create<arith::CmpIOp>(loc, isMax ? P::sgt : P::slt, y[0], x[0]);
    ties = b.create<arith::CmpIOp>(loc, P::eq, x[0], y[0]);
  }
  Value isEarlier = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, y[1], x[1]);
  Value takesY = either(wins, both(ties, isEarlier));
  return {b.create<arith::SelectOp>(loc, takesY, y[0], x[0]),
          b.create<arith::SelectOp>(loc, takesY, y[1], x[1])};
}

struct ReduceIndexPattern : TilePattern<core::ReduceIndexOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(core::ReduceIndexOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    Distribution source = distributionOf(op.getSource()), result = distributionOf(op.getResult());
    auto axis = static_cast<size_t>(op.getAxis());
    Reduction reduction(t, source, result, result, axis, [&](const Item &x, const Item &y) {
      return better(b, op.getLoc(), op.getKind(), x, y);
    });
    Value thread = t.coordinate(source, axis);
    SmallVector<Item> items;
    for (auto [reg, value] : llvm::enumerate(t.split(adaptor.getSource())))
      items.push_back(
          {value, t.add(thread, t.i32(source.element(static_cast<int64_t>(reg))[axis]))});
    SmallVector<Value> positions;
    for (const Item &item : reduction.run(items))
      positions.push_back(item[1]);
    b.replaceOp(op, t.join(positions));
    return success();
  }
};

/// Through shared memory, where each line along the axis is walked by one thread.
struct ScanPattern : TilePattern<core::ScanOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(core::ScanOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    Distribution places = distributionOf(op.getSource());
    Type type = cast<VectorType>(adaptor.getSource().getType()).getElementType();
    int64_t bytes = partBytes(type);
    Layout memory = Layout::rowMajor(places.shape());
    t.instructions->barrier();
    SharedPlaces(t, t.shared(0), memory, places, bytes).write(adaptor.getSource(), 1);
    t.instructions->barrier();
    scanLines(t, op, places.shape(), type);
    t.instructions->barrier();
    Value vector = SharedPlaces(t, t.shared(0), memory, places, bytes).read(type, 1);
    Type element = tileOf(op.getResult()).getElementType();
    if (isa<FloatType>(element))
      vector = lower::roundTo(b, op.getLoc(), vector, element, core::Rounding::nearest_even, false,
                              true);
    b.replaceOp(op, vector);
    return success();
  }

private:
  void scanLines(ThreadBuilder &t, core::ScanOp op, const Shape &shape, Type type) const {
    OpBuilder &b = t.b;
    int64_t length = shape[static_cast<size_t>(op.getAxis())], stride = 1, lines = 1;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      if (dim > static_cast<size_t>(op.getAxis()))
        stride *= shape[dim];
      lines *= shape[dim];
    }
    lines /= length;
    Value thread = t.thread();
    Value threads = t.i32(context_.threads().count());
    auto walk = b.create<scf::ForOp>(t.loc, thread, t.i32(lines), threads);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(walk.getBody());
    Value line = walk.getInductionVar();
    Value outer = b.create<arith::DivUIOp>(t.loc, line, t.i32(stride));
    Value first = t.add(t.mul(outer, t.i32(stride * length)),
                        b.create<arith::RemUIOp>(t.loc, line, t.i32(stride)));
    Value start = t.offset(t.shared(0), t.mul(first, t.i32(partBytes(type))));
    Value sum = b.create<LLVM::LoadOp>(t.loc, type, start);
    auto steps = b.create<scf::ForOp>(t.loc, t.i32(1), t.i32(length), t.i32(1), ValueRange(sum));
    b.setInsertionPointToStart(steps.getBody());
    Value by = t.mul(steps.getInductionVar(), t.i32(stride * partBytes(type)));
    Value place = t.offset(start, by);
    Value next = combined(b, t.loc, op.getKind(), steps.getRegionIterArg(0),
                          b.create<LLVM::LoadOp>(t.loc, type, place));
    b.create<LLVM::StoreOp>(t.loc, next, place);
    b.create<scf::YieldOp>(t.loc, next);
  }
};

} // namespace

int64_t reduceBytes(Operation *op) {
  if (auto together = dyn_cast<ReduceTogetherOp>(op)) {
    int64_t bytes = 0;
    for (auto [source, axis] : llvm::zip(together.getSources(), together.getAxes()))
      bytes += bytesAcrossWarps(source, axis);
    return bytes;
  }
  RankedTensorType source = tileOf(op->getOperand(0));
  Type part = lower::computeType(source.getElementType());
  if (isa<core::ScanOp>(op))
    return source.getNumElements() * partBytes(part);
  return bytesAcrossWarps(op->getOperand(0), op->getAttrOfType<IntegerAttr>("axis").getInt(),
                          isa<core::ReduceIndexOp>(op) ? 4 : 0);
}

void addReducePatterns(RewritePatternSet &patterns, const TypeConverter &types,
                       const ThreadContext &context) {
  patterns.add<ReducePattern, ReduceTogetherPattern, ReduceIndexPattern, ScanPattern>(
      types, patterns.getContext(), context);
}

} // namespace ditron::gpu
