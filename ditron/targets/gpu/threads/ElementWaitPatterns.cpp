// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of memory whose elements say that they are there (core::kSelfSignalingAttr).
//
// All bits of an element are set until it is written. Loads are repeated until no element is so; a store makes another
// NaN of one that is (writtenElements). Each access is an atomic one, relaxed, of the device: what a thread has of an
// element is that element, and of nothing else anything follows.
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "ditron/targets/gpu/threads/MemoryAccess.h"
#include "ditron/targets/gpu/threads/Talk.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <deque>

using namespace mlir;

namespace ditron::gpu {
namespace {

/// Words of 32 bits, or one of 16, as integers.
SmallVector<Value> wordsOf(ThreadBuilder &t, Value vector) {
  auto type = cast<VectorType>(vector.getType());
  unsigned bits = type.getElementTypeBitWidth();
  int64_t all = type.getNumElements() * bits;
  unsigned each = all % 32 == 0 ? 32 : bits;
  auto words = VectorType::get({all / each}, t.b.getIntegerType(each));
  return t.split(t.b.createOrFold<vector::BitCastOp>(t.loc, words, vector));
}

/// What a thread looks for of one tile.
struct AwaitedTile {
  AwaitedTile(ThreadBuilder &t, Value view, ValueRange coords, RankedTensorType tile, Attribute pad)
      : places(*Distribution::of(core::layoutOf(tile), shapeOf(tile))),
        memory(t, view, coords, places),
        access(t, memory, places, Instructions::Place::here, /*isStrong=*/true),
        padding(
            paddingBits(isa<TypedAttr>(pad) ? std::optional(cast<TypedAttr>(pad)) : std::nullopt,
                        tile.getElementType())) {}

  Distribution places;
  GlobalTile memory;
  MemoryAccess access;
  APInt padding;
};

class ElementWait {
public:
  ElementWait(ThreadBuilder &t, Talk &talk) : t_(t), b_(t.b), talk_(talk) {}

  /// What loads of the tiles give, once all lanes of the warp have what they load: they go on together.
  SmallVector<Value> until(std::deque<AwaitedTile> &tiles, int64_t site) {
    Type i64 = b_.getI64Type(), i1 = b_.getI1Type();
    // Carried: how often it has looked, when the wait began, whether it is to end. Passed on: the same,
    // whether all is there, and the elements.
    SmallVector<Type> carried{i64, i64, i1}, passed{i64, i64, i1, i1};
    for (AwaitedTile &tile : tiles)
      passed.push_back(tile.access.resultType());
    Value no = b_.create<arith::ConstantIntOp>(t_.loc, 0, 1);
    auto loop = b_.create<scf::WhileOp>(t_.loc, passed, ValueRange{talk_.i64(0), talk_.i64(0), no});
    SmallVector<mlir::Location> locations(passed.size(), t_.loc);
    Block *before = b_.createBlock(&loop.getBefore(), {}, carried,
                                   ArrayRef(locations).take_front(carried.size()));
    SmallVector<Value> elements;
    for (AwaitedTile &tile : tiles)
      elements.push_back(tile.access.load(tile.padding));
    Value areThere = t_.instructions->holdsInWarp(areWritten(elements));
    Value ends = talk_.either(before->getArgument(2), areThere);
    SmallVector<Value> values(before->getArguments());
    values.push_back(areThere);
    values.append(elements);
    b_.create<scf::ConditionOp>(t_.loc, talk_.invert(ends), values);
    Block *after = b_.createBlock(&loop.getAfter(), {}, passed, locations);
    watch(tiles.front().memory);
    SmallVector<Value> next = talk_.patience(after, kLooks);
    next[2] = talk_.invert(t_.instructions->holdsInWarp(talk_.invert(next[2])));
    b_.create<scf::YieldOp>(t_.loc, next);
    b_.setInsertionPointAfter(loop);
    Value seen = b_.create<arith::ExtUIOp>(t_.loc, i64, loop.getResult(3));
    talk_.noteFailure(talk_.head(abi::Head::kEpoch), talk_.i64(1), seen, site, 0);
    return SmallVector<Value>(loop.getResults().drop_front(4));
  }

private:
  /// Whether no element has all bits set.
  Value areWritten(ArrayRef<Value> tiles) {
    Value unwritten;
    for (Value elements : tiles) {
      unsigned bits = cast<VectorType>(elements.getType()).getElementTypeBitWidth();
      for (Value word : wordsOf(t_, elements)) {
        Value is = isUnwritten(word, bits);
        unwritten = unwritten ? talk_.either(unwritten, is) : is;
      }
    }
    return talk_.invert(unwritten);
  }

  /// Whether an element of a word is unwritten.
  Value isUnwritten(Value word, unsigned bits) {
    unsigned width = word.getType().getIntOrFloatBitWidth();
    Value zero = b_.create<arith::ConstantIntOp>(t_.loc, 0, width);
    if (width == bits)
      return talk_.compare(arith::CmpIPredicate::eq, word,
                           b_.create<arith::ConstantIntOp>(t_.loc, -1, width));
    // A half of x is zero where (x - 0x00010001) & ~x & 0x80008000 is not: x is what is not set.
    Value less = b_.create<arith::SubIOp>(t_.loc, t_.i32(int32_t(0xfffefffe)), word);
    Value high = talk_.both(talk_.both(less, word), t_.i32(int32_t(0x80008000)));
    return talk_.compare(arith::CmpIPredicate::ne, high, zero);
  }

  /// Looks at the first element of the warp's first lane for a while: a sector of memory, where the tile is many.
  void watch(GlobalTile &memory) {
    auto [place, isInside] = memory.at(t_, 0);
    Value address = t_.instructions->fromLane(place, 0);
    Value mask = b_.create<arith::ExtUIOp>(t_.loc, b_.getI32Type(), isInside);
    mask = talk_.compare(arith::CmpIPredicate::ne, t_.instructions->fromLane(mask, 0), t_.i32(0));
    auto loop = b_.create<scf::WhileOp>(t_.loc, TypeRange(b_.getI32Type()), ValueRange(t_.i32(0)));
    Block *before = b_.createBlock(&loop.getBefore(), {}, {b_.getI32Type()}, {t_.loc});
    Value looks = before->getArgument(0);
    auto bits = static_cast<unsigned>(8 * memory.bytes);
    Value zero = b_.create<arith::ConstantIntOp>(t_.loc, 0, bits);
    Value word = t_.instructions->loadStrong(address, memory.bytes, mask, {zero})[0];
    Value waits = talk_.both(isUnwritten(word, bits),
                             talk_.compare(arith::CmpIPredicate::slt, looks, t_.i32(kLooks)));
    b_.create<scf::ConditionOp>(t_.loc, waits, ValueRange(looks));
    Block *after = b_.createBlock(&loop.getAfter(), {}, {b_.getI32Type()}, {t_.loc});
    b_.create<scf::YieldOp>(t_.loc, ValueRange(t_.add(after->getArgument(0), t_.i32(1))));
    b_.setInsertionPointAfter(loop);
  }

  static constexpr int64_t kLooks = 32; ///< at one element, before it looks at all

  ThreadBuilder &t_;
  OpBuilder &b_;
  Talk &talk_;
};

struct AwaitElementsPattern : TilePattern<AwaitElementsOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(AwaitElementsOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    if (failed(checkLaunch(op, adaptor.getLaunch())))
      return failure();
    ThreadBuilder t(b, op.getLoc(), context_);
    Talk talk(t, adaptor.getLaunch());
    std::deque<AwaitedTile> tiles;
    for (auto [n, tile] : llvm::enumerate(op.getTiles()))
      tiles.emplace_back(t, op.getViews()[n], op.coordsOf(n), tileOf(tile), op.getPaddings()[n]);
    SmallVector<Value> results = ElementWait(t, talk).until(tiles, op.getSites().front());
    for (auto [result, tile] : llvm::zip_equal(results, op.getTiles()))
      result = t.loaded(result, tileOf(tile).getElementType());
    b.replaceOp(op, results);
    return success();
  }
};

struct ElementPattern : TilePattern<ElementOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(ElementOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    b.replaceOp(op, t.split(adaptor.getTile()));
    return success();
  }
};

} // namespace

Value writtenElements(ThreadBuilder &t, Value stored) {
  auto type = cast<VectorType>(stored.getType());
  unsigned bits = type.getElementTypeBitWidth();
  auto integers = VectorType::get(type.getShape(), t.b.getIntegerType(bits));
  SmallVector<Value> elements =
      t.split(t.b.createOrFold<vector::BitCastOp>(t.loc, integers, stored));
  Value unwritten = t.b.create<arith::ConstantIntOp>(t.loc, -1, bits);
  Value nan = t.b.create<arith::ConstantIntOp>(t.loc, llvm::maxIntN(bits), bits);
  for (Value &element : elements) {
    Value is = t.b.create<arith::CmpIOp>(t.loc, arith::CmpIPredicate::eq, element, unwritten);
    element = t.b.create<arith::SelectOp>(t.loc, is, nan, element);
  }
  return t.b.createOrFold<vector::BitCastOp>(t.loc, type, t.join(elements));
}

void addElementWaitPatterns(RewritePatternSet &patterns, const TypeConverter &types,
                            const ThreadContext &context) {
  patterns.add<AwaitElementsPattern, ElementPattern>(types, patterns.getContext(), context);
}

} // namespace ditron::gpu
