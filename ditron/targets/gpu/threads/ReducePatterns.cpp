// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is combined along an axis: first the registers of each thread, then lanes by shuffles that
// exchange one bit of the lane's number at a time, then warps through shared memory, where each
// leaves its part. Everybody ends with the result. A position travels with its value.
#include "ditron/lower/Conversions.h"
#include "ditron/targets/gpu/threads/ThreadLowering.h"
#include "ditron/targets/gpu/transforms/Passes.h"

using namespace mlir;

namespace ditron::gpu {
namespace {

/// What is combined: a value, or a value and where it was found.
using Item = SmallVector<Value, 2>;
using Combine = std::function<Item(const Item &, const Item &)>;

int64_t partBytes(Type type) { return (type.getIntOrFloatBitWidth() + 7) / 8; }

/// Warps that hold different elements along an axis.
int64_t warpsAlong(const Distribution &tile, size_t axis) {
  int64_t count = 1;
  for (const Digit &digit : tile.thread(axis))
    if (digit.axis == Axis::warp)
      count *= digit.extent;
  return count;
}

class Reduction {
public:
  Reduction(ThreadBuilder &t, const Distribution &source, const Distribution &result, size_t axis,
            Combine combine)
      : t_(t), source_(source), result_(result), axis_(axis), combine_(std::move(combine)) {}

  /// The items of the result's registers from those of the source's.
  SmallVector<Item> run(ArrayRef<Item> items) {
    SmallVector<Item> parts = acrossRegisters(items);
    for (const Digit &digit : source_.thread(axis_))
      if (digit.axis == Axis::lane)
        for (int64_t bit = 1; bit < digit.extent; bit *= 2)
          for (Item &part : parts)
            part = combine_(part, exchanged(part, digit.stride * bit));
    return warpsAlong(source_, axis_) > 1 ? acrossWarps(parts) : parts;
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
    SmallVector<SmallVector<Item>> groups(static_cast<size_t>(result_.registers()));
    for (int64_t reg = 0; reg < source_.registers(); ++reg) {
      Shape element = source_.element(reg);
      element[axis_] = 0;
      groups[static_cast<size_t>(result_.registerOf(element))].push_back(
          items[static_cast<size_t>(reg)]);
    }
    SmallVector<Item> parts;
    for (SmallVector<Item> &group : groups)
      parts.push_back(combineAll(std::move(group)));
    return parts;
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

  /// Where the warps' parts of a register stand, in items from the start of shared memory.
  int64_t registerPlace(int64_t reg, int64_t warps) const {
    int64_t place = 0;
    for (size_t dim = 0; dim < result_.shape().size(); ++dim)
      place = place * result_.shape()[dim] + result_.element(reg)[dim];
    return place * warps;
  }

  SmallVector<Item> acrossWarps(ArrayRef<Item> parts) {
    int64_t warps = warpsAlong(source_, axis_), elements = 1;
    Shape weights(result_.shape().size());
    for (size_t dim = weights.size(); dim-- > 0;) {
      weights[dim] = elements * warps;
      elements *= result_.shape()[dim];
    }
    Value thread = t_.linear(result_, weights), own = thread;
    int64_t weight = 1;
    for (const Digit &digit : source_.thread(axis_))
      if (digit.axis == Axis::warp) {
        own = t_.add(own, t_.mul(t_.digit(digit), t_.i32(weight)));
        weight *= digit.extent;
      }
    t_.instructions->barrier();
    int64_t region = 0;
    for (size_t field = 0; field < parts[0].size(); ++field) {
      Value first = address(own, region, parts[0][field].getType());
      for (auto [reg, part] : llvm::enumerate(parts))
        t_.b.create<LLVM::StoreOp>(
            t_.loc, part[field],
            behind(first, static_cast<int64_t>(reg), 0, warps, part[field].getType()));
      region += elements * warps * partBytes(parts[0][field].getType());
    }
    t_.instructions->barrier();
    return collect(parts, thread, elements, warps);
  }

  SmallVector<Item> collect(ArrayRef<Item> parts, Value thread, int64_t elements, int64_t warps) {
    SmallVector<Item> result;
    for (int64_t reg = 0; reg < result_.registers(); ++reg) {
      SmallVector<Item> items;
      for (int64_t warp = 0; warp < warps; ++warp) {
        Item item;
        int64_t region = 0;
        for (Value field : parts[0]) {
          Type type = field.getType();
          Value place = behind(address(thread, region, type), reg, warp, warps, type);
          item.push_back(t_.b.create<LLVM::LoadOp>(t_.loc, type, place));
          region += elements * warps * partBytes(type);
        }
        items.push_back(std::move(item));
      }
      result.push_back(combineAll(std::move(items)));
    }
    return result;
  }

  Value address(Value place, int64_t region, Type type) {
    return t_.offset(t_.shared(region), t_.mul(place, t_.i32(partBytes(type))));
  }
  Value behind(Value first, int64_t reg, int64_t warp, int64_t warps, Type type) {
    return t_.offset(first, (registerPlace(reg, warps) + warp) * partBytes(type));
  }

  ThreadBuilder &t_;
  const Distribution &source_, &result_;
  size_t axis_;
  Combine combine_;
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

Distribution distributionOf(Value tile) {
  return *Distribution::of(core::layoutOf(tileOf(tile)), shapeOf(tileOf(tile)));
}

struct ReducePattern : TilePattern<core::ReduceOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(core::ReduceOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    Distribution source = distributionOf(op.getSource()), result = distributionOf(op.getResult());
    Reduction reduction(t, source, result, static_cast<size_t>(op.getAxis()),
                        [&](const Item &x, const Item &y) {
                          return Item{combined(b, op.getLoc(), op.getKind(), x[0], y[0])};
                        });
    SmallVector<Item> items;
    for (Value value : t.split(adaptor.getSource()))
      items.push_back({value});
    SmallVector<Value> values;
    for (const Item &item : reduction.run(items))
      values.push_back(item[0]);
    Value vector = t.join(values);
    Type element = tileOf(op.getResult()).getElementType();
    if (isa<FloatType>(element))
      vector = lower::roundTo(b, op.getLoc(), vector, element, core::Rounding::nearest_even, false,
                              true);
    b.replaceOp(op, vector);
    return success();
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
    Reduction reduction(t, source, result, axis, [&](const Item &x, const Item &y) {
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
  RankedTensorType source = tileOf(op->getOperand(0));
  Type part = lower::computeType(source.getElementType());
  if (isa<core::ScanOp>(op))
    return source.getNumElements() * partBytes(part);
  auto axis = static_cast<size_t>(op->getAttrOfType<IntegerAttr>("axis").getInt());
  int64_t warps = warpsAlong(distributionOf(op->getOperand(0)), axis);
  int64_t bytes = partBytes(part) + (isa<core::ReduceIndexOp>(op) ? 4 : 0);
  return warps == 1 ? 0 : source.getNumElements() / source.getDimSize(axis) * warps * bytes;
}

void addReducePatterns(RewritePatternSet &patterns, const TypeConverter &types,
                       const ThreadContext &context) {
  patterns.add<ReducePattern, ReduceIndexPattern, ScanPattern>(types, patterns.getContext(),
                                                               context);
}

} // namespace ditron::gpu
