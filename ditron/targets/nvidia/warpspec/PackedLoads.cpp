// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/warpspec/PackedLoads.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/threads/PackedMemory.h"
#include "ditron/targets/nvidia/transforms/Passes.h"
#include "ditron/targets/nvidia/warpspec/Pipe.h"

using namespace mlir;

namespace ditron::nvidia {

int64_t partsOf(RankedTensorType tile, PipeType pipe, int64_t warps) {
  int64_t bytes = storageBytes(tile.getElementType());
  int64_t threads = warps * kLanes, run = gpu::packedRun(core::layoutOf(tile), bytes);
  if (run * bytes != kAccessBytes)
    return 0;
  int64_t runs = tile.getNumElements() / threads / run;
  for (int64_t parts = 1; parts <= std::min(runs, pipe.getSlots()); ++parts)
    if (runs % parts == 0 && runs / parts * threads * kAccessBytes <= slotBytes(pipe))
      return parts;
  return 0;
}

void receivePacked(ArrayRef<core::LoadOp> loads, Value pipe, int64_t warps) {
  for (core::LoadOp load : loads) {
    OpBuilder b(load);
    RankedTensorType tile = tileOf(load.getTile());
    int64_t parts = partsOf(tile, cast<PipeType>(pipe.getType()), warps);
    auto received = b.create<ReceivePackedOp>(load.getLoc(), tile, load.getView(), load.getCoords(),
                                              pipe, static_cast<uint64_t>(parts));
    load.getTile().replaceAllUsesWith(received.getTile());
    load.erase();
  }
}

namespace {

struct LoadPackedPattern : EffectPattern<LoadPackedOp> {
  using EffectPattern::EffectPattern;
  void write(LoadPackedOp op, OpAdaptor adaptor, ThreadBuilder &t) const override {
    OpBuilder &b = t.b;
    auto tile = cast<RankedTensorType>(op.getTile());
    Pipe pipe(t, op.getPipe().getType(), adaptor.getPipe());
    Value address = gpu::placeOf(t, tile, op.getView(), nearest(t, op, tile)).address;
    auto parts = static_cast<int64_t>(op.getParts());
    int64_t bytes = tile.getNumElements() * storageBytes(tile.getElementType()) / parts;
    for (int64_t part = 0; part < parts; ++part) {
      Value slot = pipe.get(kFillSlot), full = pipe.full(slot);
      t.instructions.waitBarrier(pipe.empty(slot), pipe.get(kFillParity));
      t.instructions.arriveExpecting(full, bytes);
      Value from = t.add(address, b.create<arith::ConstantIntOp>(t.loc, part * bytes, 64));
      t.instructions.copyBulk(pipe.tile(slot, 0), from, bytes, full);
      pipe.advance(kFillSlot, kFillParity);
    }
  }

private:
  /// The coordinates of a tile that the view has.
  static SmallVector<Value> nearest(ThreadBuilder &t, LoadPackedOp op, RankedTensorType tile) {
    SmallVector<Value> coords;
    size_t row = op.getCoords().size() - 2;
    for (auto [dim, coord] : llvm::enumerate(op.getCoords())) {
      int64_t extent = dim < row ? 1 : tile.getDimSize(static_cast<unsigned>(dim - row));
      Value count = t.b.create<memref::DimOp>(t.loc, op.getView(), static_cast<int64_t>(dim));
      count = t.b.createOrFold<arith::DivUIOp>(t.loc, count, t.index(extent));
      Value last = t.b.createOrFold<arith::SubIOp>(t.loc, count, t.index(1));
      coords.push_back(t.b.createOrFold<arith::MinUIOp>(t.loc, coord, last));
    }
    return coords;
  }
};

struct ReceivePackedPattern : TilePattern<ReceivePackedOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(ReceivePackedOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    RankedTensorType tile = tileOf(op.getTile());
    gpu::PackedTile places(t, tile);
    Pipe pipe(t, op.getPipe().getType(), adaptor.getPipe());
    int64_t runs = places.runs() / static_cast<int64_t>(op.getParts());
    SmallVector<Value> words;
    for (int64_t first = 0; first < places.runs(); first += runs)
      receive(t, pipe, places, runs, words);
    Value isInside = gpu::placeOf(t, tile, op.getView(), op.getCoords()).isInside, zero = t.i32(0);
    for (Value &word : words)
      word = b.create<arith::SelectOp>(op.getLoc(), isInside, word, zero);
    b.replaceOp(op, places.loaded(words));
    return success();
  }

private:
  /// Reads the runs of one slot, and releases it.
  static void receive(ThreadBuilder &t, Pipe &pipe, gpu::PackedTile &places, int64_t runs,
                      SmallVector<Value> &words) {
    OpBuilder &b = t.b;
    auto type = VectorType::get({kAccessBytes / 4}, b.getI32Type());
    Value slot = pipe.get(kTakeSlot);
    t.instructions.waitBarrier(pipe.full(slot), pipe.get(kTakeParity));
    Value base = pipe.tile(slot, 0);
    for (int64_t run = 0; run < runs; ++run)
      words.append(t.split(
          b.create<LLVM::LoadOp>(t.loc, type, t.offset(base, places.offset(run)), kAccessBytes)));
    pipe.advance(kTakeSlot, kTakeParity);
    pipe.releaseLoaded();
  }
};

} // namespace

void addPackedLoadPatterns(RewritePatternSet &patterns, const TypeConverter &types,
                           const ThreadContext &context) {
  patterns.add<LoadPackedPattern, ReceivePackedPattern>(types, patterns.getContext(), context);
}

} // namespace ditron::nvidia
