// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles that are read ahead: rings in shared memory, one piece of it, slots one behind the other; and words in registers.
#include "ditron/lower/Conversions.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "ditron/targets/gpu/threads/GlobalTile.h"
#include "ditron/targets/gpu/threads/MemoryAccess.h"
#include "ditron/targets/gpu/transforms/Passes.h"

using namespace mlir;

namespace ditron::gpu {
namespace {

int64_t slotBytes(RingType ring) {
  RankedTensorType tile = ring.getTile();
  return (tile.getNumElements() * storageBytes(tile.getElementType()) + 127) / 128 * 128;
}

Value slotAt(ThreadBuilder &t, Value ring, RingType type, Value slot) {
  Value number = t.b.create<arith::IndexCastOp>(t.loc, t.b.getI32Type(), slot);
  return t.offset(ring, t.mul(number, t.i32(slotBytes(type))));
}

struct RingPattern : TilePattern<RingOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(RingOp op, OpAdaptor, ConversionPatternRewriter &b) const override {
    RingType type = op.getType();
    ThreadBuilder t(b, op.getLoc(), context_);
    b.replaceOp(op, t.shared(context_.shared.allocateFor(op, type.getSlots() * slotBytes(type))));
    return success();
  }
};

struct CopyPattern : EffectPattern<CopyOp> {
  using EffectPattern::EffectPattern;
  void write(CopyOp op, OpAdaptor adaptor, ThreadBuilder &t) const override {
    OpBuilder &b = t.b;
    RingType type = op.getRing().getType();
    auto branch = b.create<scf::IfOp>(op.getLoc(), op.getCondition());
    b.setInsertionPointToStart(branch.thenBlock());
    RankedTensorType tile = type.getTile();
    APInt zero(static_cast<unsigned>(8 * storageBytes(tile.getElementType())), 0);
    copyToShared(t, op.getView(), op.getCoords(), tile, zero,
                 slotAt(t, adaptor.getRing(), type, op.getSlot()));
  }
};

struct CommitPattern : TilePattern<CommitOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(CommitOp op, OpAdaptor,
                                ConversionPatternRewriter &b) const override {
    context_.target.instructions(b, op.getLoc())->commitCopies();
    b.eraseOp(op);
    return success();
  }
};

struct AwaitPattern : TilePattern<AwaitOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(AwaitOp op, OpAdaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    t.instructions->waitCopies(static_cast<int64_t>(op.getPending()));
    t.instructions->barrier(); // of the threads that compute
    b.eraseOp(op);
    return success();
  }
};

struct SlotPattern : TilePattern<SlotOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(SlotOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    b.replaceOp(op, slotAt(t, adaptor.getRing(), op.getRing().getType(), op.getSlot()));
    return success();
  }
};

/// Words of storage elements, as memory has them.
struct FetchPattern : TilePattern<FetchOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(FetchOp op, OpAdaptor,
                                ConversionPatternRewriter &b) const override {
    RankedTensorType tile = op.tileType();
    ThreadBuilder t(b, op.getLoc(), context_);
    Distribution places = *Distribution::of(core::layoutOf(tile), shapeOf(tile));
    GlobalTile memory(t, op.getView(), op.getCoords(), places);
    APInt zero(static_cast<unsigned>(8 * storageBytes(tile.getElementType())), 0);
    Value stored = MemoryAccess(t, memory, places).load(zero);
    b.replaceOpWithNewOp<vector::BitCastOp>(op, cast<VectorType>(op.getWords().getType()), stored);
    return success();
  }
};

struct PlacePattern : TilePattern<PlaceOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(PlaceOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    RankedTensorType tile = tileOf(op.getTile()), fetched = op.fetchedType();
    Layout memory = core::layoutOf(tile);
    int64_t bytes = storageBytes(tile.getElementType());
    ThreadBuilder t(b, op.getLoc(), context_);
    Value base = t.shared(context_.shared.allocateFor(op, tile.getNumElements() * bytes));
    Distribution places = *Distribution::of(core::layoutOf(fetched), shapeOf(fetched));
    auto type = VectorType::get({places.registers()}, lower::storageType(tile.getElementType()));
    Value stored = b.create<vector::BitCastOp>(op.getLoc(), type, adaptor.getWords());
    SharedPlaces(t, base, memory, places, bytes).write(stored, runIn(memory, places, bytes));
    b.replaceOp(op, base);
    return success();
  }
};

} // namespace

void addRingPatterns(RewritePatternSet &patterns, const TypeConverter &types,
                     const ThreadContext &context) {
  patterns.add<RingPattern, CopyPattern, CommitPattern, AwaitPattern, SlotPattern, FetchPattern,
               PlacePattern>(types, patterns.getContext(), context);
}

} // namespace ditron::gpu
