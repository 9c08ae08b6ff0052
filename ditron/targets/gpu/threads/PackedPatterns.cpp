// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packed tiles, read and written by threads: each thread its own runs of up to 16 bytes, the lanes
// of a warp neighbouring ones (analysis/PackedTiles.h). A tile is whole, so nothing is masked but
// tiles that lie outside of the view altogether, as CTAs of a cluster may have them.
#include "ditron/lower/Conversions.h"
#include "ditron/targets/gpu/threads/PackedMemory.h"
#include "ditron/targets/gpu/transforms/Passes.h"

using namespace mlir;

namespace ditron::gpu {

PackedPlace placeOf(ThreadBuilder &t, RankedTensorType tile, Value view, ValueRange coords) {
  OpBuilder &b = t.b;
  auto metadata = b.create<memref::ExtractStridedMetadataOp>(t.loc, view);
  Value base = b.create<memref::ExtractAlignedPointerAsIndexOp>(t.loc, view);
  Value place = metadata.getOffset(), isInside = b.create<arith::ConstantIntOp>(t.loc, 1, 1);
  size_t row = coords.size() - 2;
  for (size_t dim = 0; dim < coords.size(); ++dim) {
    int64_t extent = dim < row ? 1 : tile.getDimSize(static_cast<unsigned>(dim - row));
    Value count = metadata.getSizes()[dim];
    if (extent > 1)
      count = b.create<arith::DivUIOp>(t.loc, count, t.index(extent));
    Value fits = b.create<arith::CmpIOp>(t.loc, arith::CmpIPredicate::ult, coords[dim], count);
    isInside = b.create<arith::AndIOp>(t.loc, isInside, fits);
    bool isColumn = dim > row; // a tile to the right is a whole tile further
    Value stride = isColumn ? t.index(tile.getNumElements())
                            : t.mul(metadata.getStrides()[dim], t.index(extent));
    place = t.add(place, t.mul(coords[dim], stride));
  }
  place = t.mul(place, t.index(storageBytes(tile.getElementType())));
  Value address = b.create<arith::IndexCastOp>(t.loc, b.getI64Type(), t.add(base, place));
  return {address, isInside};
}

PackedTile::PackedTile(ThreadBuilder &t, RankedTensorType tile)
    : t_(t), tile_(tile), registers_(core::layoutOf(tile).limit(Axis::reg)),
      bytes_(storageBytes(tile.getElementType())), run_(packedRun(core::layoutOf(tile), bytes_)),
      word_(t.b.getIntegerType(static_cast<unsigned>(std::min<int64_t>(32, 8 * bytesOfRun())))) {
  Value thread = t.mul(t.thread(), t.i32(bytesOfRun()));
  thread_ = t.b.create<arith::ExtUIOp>(t.loc, t.b.getI64Type(), thread);
}

Value PackedTile::offset(int64_t run) {
  int64_t behind = run * t_.context.threads().count() * bytesOfRun();
  return t_.add(thread_, t_.b.create<arith::ConstantIntOp>(t_.loc, behind, 64));
}

SmallVector<Value> PackedTile::zeros() {
  Value zero = t_.b.create<arith::ConstantOp>(t_.loc, t_.b.getIntegerAttr(word_, 0));
  return SmallVector<Value>(wordsOfRun(), zero);
}

Value PackedTile::loaded(ArrayRef<Value> words) {
  auto type = VectorType::get({registers_}, lower::storageType(tile_.getElementType()));
  return t_.loaded(t_.b.create<vector::BitCastOp>(t_.loc, type, t_.join(words)),
                   tile_.getElementType());
}

SmallVector<Value> PackedTile::stored(Value vector) {
  auto type = VectorType::get({runs() * static_cast<int64_t>(wordsOfRun())}, word_);
  Value stored = t_.stored(vector, tile_.getElementType());
  return t_.split(t_.b.create<vector::BitCastOp>(t_.loc, type, stored));
}

namespace {

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
    PackedTile places(t, tile);
    PackedPlace place = placeOf(t, tile, op.getView(), op.getCoords());
    SmallVector<Value> words;
    for (int64_t run = 0; run < places.runs(); ++run)
      words.append(t.instructions->loadGlobal(t.add(place.address, places.offset(run)),
                                              places.bytesOfRun(), place.isInside, places.zeros()));
    b.replaceOp(op, places.loaded(words));
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
    PackedTile places(t, tile);
    PackedPlace place = placeOf(t, tile, op.getView(), op.getCoords());
    SmallVector<Value> words = places.stored(adaptor.getTile());
    for (int64_t run = 0; run < places.runs(); ++run)
      t.instructions->storeGlobal(t.add(place.address, places.offset(run)),
                                  places.wordsOf(words, run), place.isInside);
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
