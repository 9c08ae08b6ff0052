// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packed tiles, read and written by threads: each thread its own runs of up to 16 bytes, the lanes
// of a warp neighbouring ones (analysis/PackedTiles.h). A tile is whole, so nothing is masked but
// tiles that lie outside of the view altogether, as CTAs of a cluster may have them.
#include "ditron/lower/Conversions.h"
#include "ditron/targets/gpu/analysis/PackedTiles.h"
#include "ditron/targets/gpu/threads/ThreadLowering.h"
#include "ditron/targets/gpu/transforms/Passes.h"

using namespace mlir;

namespace ditron::gpu {
namespace {

/// The runs of this thread in a packed tile.
class PackedTile {
public:
  PackedTile(ThreadBuilder &t, RankedTensorType tile, Value view, ValueRange coords)
      : t_(t), registers_(core::layoutOf(tile).limit(Axis::reg)),
        storage_(lower::storageType(tile.getElementType())), bytes_(core::elementBytes(storage_)),
        run_(packedRun(core::layoutOf(tile), bytes_)),
        word_(t.b.getIntegerType(static_cast<unsigned>(std::min<int64_t>(32, 8 * run_ * bytes_)))) {
    locate(tile, view, coords);
  }

  /// All registers, in their type in memory.
  Value load() {
    Value zero = t_.b.create<arith::ConstantOp>(t_.loc, t_.b.getIntegerAttr(word_, 0));
    SmallVector<Value> zeros(static_cast<size_t>(wordsOf(run_)), zero), words;
    for (int64_t reg = 0; reg < registers_; reg += run_)
      words.append(t_.instructions->loadGlobal(at(reg), run_ * bytes_, isInside_, zeros));
    return t_.b.create<vector::BitCastOp>(t_.loc, VectorType::get({registers_}, storage_),
                                          t_.join(words));
  }

  void store(Value vector) {
    auto type = VectorType::get({wordsOf(registers_)}, word_);
    SmallVector<Value> words = t_.split(t_.b.create<vector::BitCastOp>(t_.loc, type, vector));
    auto count = static_cast<size_t>(wordsOf(run_));
    for (int64_t reg = 0; reg < registers_; reg += run_) {
      auto first = static_cast<size_t>(wordsOf(reg));
      t_.instructions->storeGlobal(at(reg), ArrayRef(words).slice(first, count), isInside_);
    }
  }

private:
  int64_t wordsOf(int64_t registers) const {
    return registers * bytes_ * 8 / word_.getIntOrFloatBitWidth();
  }

  /// Where this thread's first run lies, and whether the tile is one of the view.
  void locate(RankedTensorType tile, Value view, ValueRange coords) {
    OpBuilder &b = t_.b;
    auto metadata = b.create<memref::ExtractStridedMetadataOp>(t_.loc, view);
    Value base = b.create<memref::ExtractAlignedPointerAsIndexOp>(t_.loc, view);
    Value place = metadata.getOffset();
    size_t row = coords.size() - 2;
    isInside_ = b.create<arith::ConstantIntOp>(t_.loc, 1, 1);
    for (size_t dim = 0; dim < coords.size(); ++dim) {
      int64_t extent = dim < row ? 1 : tile.getDimSize(static_cast<unsigned>(dim - row));
      Value count = metadata.getSizes()[dim];
      if (extent > 1)
        count = b.create<arith::DivUIOp>(t_.loc, count, t_.index(extent));
      Value fits = b.create<arith::CmpIOp>(t_.loc, arith::CmpIPredicate::ult, coords[dim], count);
      isInside_ = b.create<arith::AndIOp>(t_.loc, isInside_, fits);
      bool isColumn = dim > row; // a tile to the right is a whole tile further
      Value stride = isColumn ? t_.index(tile.getNumElements())
                              : t_.mul(metadata.getStrides()[dim], t_.index(extent));
      place = t_.add(place, t_.mul(coords[dim], stride));
    }
    Value thread = t_.add(t_.mul(t_.context.warp, t_.i32(registers_ / run_ * t_.context.lanes)),
                          t_.context.lane);
    thread = b.create<arith::IndexCastUIOp>(t_.loc, b.getIndexType(), t_.mul(thread, t_.i32(run_)));
    place = t_.mul(t_.add(place, thread), t_.index(bytes_));
    first_ = b.create<arith::IndexCastOp>(t_.loc, b.getI64Type(), t_.add(base, place));
  }

  Value at(int64_t reg) {
    Value behind = t_.b.create<arith::ConstantIntOp>(t_.loc, reg * t_.context.lanes * bytes_, 64);
    return t_.add(first_, behind);
  }

  ThreadBuilder &t_;
  int64_t registers_;
  Type storage_;
  int64_t bytes_, run_; ///< of an element; elements of a run
  IntegerType word_;
  Value first_, isInside_;
};

/// A load of a packed tile: takes precedence over that of any tile.
struct PackedLoadPattern : OpConversionPattern<core::LoadOp> {
  PackedLoadPattern(const TypeConverter &types, MLIRContext *mlirContext,
                    const ThreadContext &context)
      : OpConversionPattern(types, mlirContext, /*benefit=*/2), context_(context) {}

  LogicalResult matchAndRewrite(core::LoadOp op, OpAdaptor,
                                ConversionPatternRewriter &b) const override {
    if (!packedNumber(op))
      return b.notifyMatchFailure(op, "its memory is row-major");
    RankedTensorType tile = tileOf(op.getTile());
    ThreadBuilder t(b, op.getLoc(), context_);
    Value stored = PackedTile(t, tile, op.getView(), op.getCoords()).load();
    b.replaceOp(op, t.loaded(stored, tile.getElementType()));
    return success();
  }

private:
  const ThreadContext &context_;
};

struct PackedStorePattern : OpConversionPattern<core::StoreOp> {
  PackedStorePattern(const TypeConverter &types, MLIRContext *mlirContext,
                     const ThreadContext &context)
      : OpConversionPattern(types, mlirContext, /*benefit=*/2), context_(context) {}

  LogicalResult matchAndRewrite(core::StoreOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    if (!packedNumber(op))
      return b.notifyMatchFailure(op, "its memory is row-major");
    RankedTensorType tile = tileOf(op.getTile());
    ThreadBuilder t(b, op.getLoc(), context_);
    Value stored = t.stored(adaptor.getTile(), tile.getElementType());
    PackedTile(t, tile, op.getView(), op.getCoords()).store(stored);
    b.eraseOp(op);
    return success();
  }

private:
  const ThreadContext &context_;
};

} // namespace

void addPackedPatterns(RewritePatternSet &patterns, const TypeConverter &types,
                       const ThreadContext &context) {
  patterns.add<PackedLoadPattern, PackedStorePattern>(types, patterns.getContext(), context);
}

} // namespace ditron::gpu
