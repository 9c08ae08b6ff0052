// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of views, read and written by threads. An access is masked at the ragged edges of the view.
// Where strides and addresses allow, a thread moves runs of neighbours, up to 16 bytes; that is
// asked once a tile when it runs, and beside it stands the way element by element, right for every
// stride.
//
//   %wide = the tile's origin, its strides and what is left of the view are multiples of a run
//   scf.if %wide { 16 bytes where %mask holds ... } else { one element ... }
//
#include "ditron/lower/Conversions.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/analysis/LoadPlaces.h"
#include "ditron/targets/gpu/threads/GlobalTile.h"
#include "ditron/targets/gpu/threads/MemoryAccess.h"
#include "ditron/targets/gpu/transforms/Passes.h"

using namespace mlir;

namespace ditron::gpu {
namespace {

struct LoadPattern : TilePattern<core::LoadOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(core::LoadOp op, OpAdaptor,
                                ConversionPatternRewriter &b) const override {
    RankedTensorType tile = tileOf(op.getTile());
    Type element = tile.getElementType();
    ThreadBuilder t(b, op.getLoc(), context_);
    if (isShared(tile)) {
      Value base =
          t.shared(context_.shared.allocateFor(op, tile.getNumElements() * storageBytes(element)));
      t.instructions->barrier();
      copyToShared(t, op.getView(), op.getCoords(), tile, paddingBits(op.getPadding(), element),
                   base);
      t.instructions->commitCopies();
      t.instructions->waitCopies(0);
      t.instructions->barrier();
      b.replaceOp(op, base);
      return success();
    }
    Distribution places = *Distribution::of(core::layoutOf(tile), shapeOf(tile));
    GlobalTile memory(t, op.getView(), op.getCoords(), places);
    MemoryAccess access(t, memory, places, placeOf(op));
    b.replaceOp(op, t.loaded(access.load(paddingBits(op.getPadding(), element)), element));
    return success();
  }
};

/// Each thread asks for lines of its own.
struct PrefetchPattern : EffectPattern<PrefetchOp> {
  using EffectPattern::EffectPattern;
  void write(PrefetchOp op, OpAdaptor, ThreadBuilder &t) const override {
    constexpr int64_t kLine = 128; // bytes
    RankedTensorType tile = op.tileType();
    int64_t line = kLine / storageBytes(tile.getElementType());
    Layout layout = blocked(shapeOf(tile), line, context_.threads());
    Distribution places = *Distribution::of(layout, shapeOf(tile));
    GlobalTile memory(t, op.getView(), op.getCoords(), places);
    Value isFirst = t.isFirst(layout);
    int64_t run = places.run(line);
    for (int64_t reg = 0; reg < places.registers(); reg += run) {
      auto [address, mask] = memory.at(t, reg);
      if (isFirst)
        mask = t.b.create<arith::AndIOp>(t.loc, mask, isFirst);
      t.instructions->prefetch(address, mask);
    }
  }
};

struct StorePattern : TilePattern<core::StoreOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(core::StoreOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    RankedTensorType tile = tileOf(op.getTile());
    ThreadBuilder t(b, op.getLoc(), context_);
    Layout layout = core::layoutOf(tile);
    Distribution places = *Distribution::of(layout, shapeOf(tile));
    GlobalTile memory(t, op.getView(), op.getCoords(), places);
    Value stored = t.stored(adaptor.getTile(), tile.getElementType());
    bool isSignaling = isSelfSignaling(op.getView());
    if (isSignaling)
      stored = writtenElements(t, stored);
    MemoryAccess(t, memory, places, Instructions::Place::here, isSignaling)
        .store(stored, t.isFirst(layout));
    b.eraseOp(op);
    return success();
  }
};

/// The row of the view for each register of a tile, of an index tile that the threads hold likewise.
SmallVector<Value> rowsOf(ThreadBuilder &t, const Distribution &places, Value rows, Value held) {
  RankedTensorType type = tileOf(rows);
  Distribution rowPlaces = *Distribution::of(core::layoutOf(type), shapeOf(type));
  SmallVector<Value> indices = t.split(held), result;
  for (int64_t reg = 0; reg < places.registers(); ++reg)
    result.push_back(indices[static_cast<size_t>(rowPlaces.registerOf({places.element(reg)[0]}))]);
  return result;
}

struct GatherPattern : TilePattern<core::GatherOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(core::GatherOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    RankedTensorType tile = tileOf(op.getTile());
    ThreadBuilder t(b, op.getLoc(), context_);
    Distribution places = *Distribution::of(core::layoutOf(tile), shapeOf(tile));
    GlobalTile memory(t, op.getView(), {t.index(0), op.getCoord()}, places);
    memory.rows = rowsOf(t, places, op.getRows(), adaptor.getRows());
    Type element = tile.getElementType();
    Value stored = MemoryAccess(t, memory, places).load(paddingBits(op.getPadding(), element));
    b.replaceOp(op, t.loaded(stored, element));
    return success();
  }
};

struct ScatterPattern : TilePattern<core::ScatterOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(core::ScatterOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    RankedTensorType tile = tileOf(op.getTile());
    ThreadBuilder t(b, op.getLoc(), context_);
    Layout layout = core::layoutOf(tile);
    Distribution places = *Distribution::of(layout, shapeOf(tile));
    GlobalTile memory(t, op.getView(), {t.index(0), op.getCoord()}, places);
    memory.rows = rowsOf(t, places, op.getRows(), adaptor.getRows());
    Value stored = t.stored(adaptor.getTile(), tile.getElementType());
    MemoryAccess(t, memory, places).store(stored, t.isFirst(layout));
    b.eraseOp(op);
    return success();
  }
};

struct AtomicAddPattern : TilePattern<core::AtomicAddOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(core::AtomicAddOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    RankedTensorType tile = tileOf(op.getTile());
    ThreadBuilder t(b, op.getLoc(), context_);
    Layout layout = core::layoutOf(tile);
    Value isOwner = t.isFirst(layout);
    Distribution places = *Distribution::of(layout, shapeOf(tile));
    GlobalTile memory(t, op.getView(), op.getCoords(), places);
    auto kind =
        isa<FloatType>(tile.getElementType()) ? LLVM::AtomicBinOp::fadd : LLVM::AtomicBinOp::add;
    SmallVector<Value> before;
    for (auto [reg, value] : llvm::enumerate(t.split(adaptor.getTile()))) {
      auto [address, mask] = memory.at(t, static_cast<int64_t>(reg));
      if (isOwner)
        mask = b.create<arith::AndIOp>(op.getLoc(), mask, isOwner);
      before.push_back(addAtomically(t, kind, address, value, mask));
    }
    b.replaceOp(op, t.join(before));
    return success();
  }

private:
  static Value addAtomically(ThreadBuilder &t, LLVM::AtomicBinOp kind, Value address, Value value,
                             Value mask) {
    auto branch = t.b.create<scf::IfOp>(t.loc, value.getType(), mask, true);
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(branch.thenBlock());
    Value pointer = t.b.create<LLVM::IntToPtrOp>(
        t.loc, LLVM::LLVMPointerType::get(t.b.getContext(), 1), address);
    Value before =
        t.b.create<LLVM::AtomicRMWOp>(t.loc, kind, pointer, value, LLVM::AtomicOrdering::monotonic,
                                      t.context.target.syncScope("gpu"));
    t.b.create<scf::YieldOp>(t.loc, before);
    t.b.setInsertionPointToStart(branch.elseBlock());
    Value zero = t.b.create<arith::ConstantOp>(t.loc, t.b.getZeroAttr(value.getType()));
    t.b.create<scf::YieldOp>(t.loc, zero);
    return branch.getResult(0);
  }
};

} // namespace

void addMemoryPatterns(RewritePatternSet &patterns, const TypeConverter &types,
                       const ThreadContext &context) {
  patterns.add<LoadPattern, PrefetchPattern, StorePattern, GatherPattern, ScatterPattern,
               AtomicAddPattern>(types, patterns.getContext(), context);
}

} // namespace ditron::gpu
