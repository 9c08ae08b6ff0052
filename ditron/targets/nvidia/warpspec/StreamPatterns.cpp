// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles in rows, from the producer of nvidia-stream-constants to the consumers: they lie in a slot row by
// row, as far apart as consumers want them.
#include "ditron/lower/Conversions.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/threads/GlobalTile.h"
#include "ditron/targets/nvidia/analysis/Streams.h"
#include "ditron/targets/nvidia/transforms/Passes.h"
#include "ditron/targets/nvidia/warpspec/Pipe.h"

using namespace mlir;

namespace ditron::nvidia {
namespace {

using gpu::GlobalTile;

Distribution placesOf(RankedTensorType tile) {
  return *Distribution::of(core::layoutOf(tile), shapeOf(tile));
}

/// From one row to the next in a slot.
int64_t rowBytes(RankedTensorType tile) {
  return gpu::stridesOf(slotLayout(tile), shapeOf(tile))[0] * storageBytes(tile.getElementType());
}

/// How many a tile takes: one, or as many as it has slices.
int64_t slotsOf(RankedTensorType tile, PipeType pipe) {
  return slotBytes(tile) > slotBytes(pipe) ? tile.getDimSize(0) : 1;
}

struct LoadRowsPattern : EffectPattern<LoadRowsOp> {
  using EffectPattern::EffectPattern;
  void write(LoadRowsOp op, OpAdaptor adaptor, ThreadBuilder &t) const override {
    auto tile = cast<RankedTensorType>(op.getTile());
    Pipe pipe(t, op.getPipe().getType(), adaptor.getPipe());
    Distribution places = placesOf(tile);
    GlobalTile memory(t, op.getView(), op.getCoords(), places);
    Ahead limit(op);
    int64_t slices = slotsOf(tile, op.getPipe().getType());
    for (int64_t slice = 0; slice < slices; ++slice) {
      Value slot = pipe.get(kFillSlot);
      if (op.getAt() == 0)
        acquire(t, pipe, slot, limit);
      Value elements = slices == 1 ? memory.elementsLeft(t) : memory.slice(t, t.i32(slice)).second;
      Slot to{pipe.full(slot), t.offset(pipe.tile(slot, 0), int64_t(op.getAt()))};
      expectBytes(t, to.full, t.mul(elements, t.i32(memory.bytes)), op.getMore());
      if (hasShortRows(tile))
        copyPiece(t, memory, to, tile);
      else if (tile.getRank() == 2)
        copyRows(t, memory, to, tile);
      else
        copySlices(t, memory, to, tile, slice, slices == 1 ? tile.getDimSize(0) : 1);
      if (!op.getMore())
        pipe.advance(kFillSlot, kFillParity);
    }
  }

private:
  /// What is filled: its barrier, and where the tile begins.
  struct Slot {
    Value full, place;
  };

  /// Slots that may be on their way, and where consumers wait.
  struct Ahead {
    explicit Ahead(LoadRowsOp op)
        : slots(op.getPipe().getType().getSlots()), slotsAhead(static_cast<int64_t>(op.getAhead())),
          ofHungry(op.getHungry() ? slotsAhead + slotsAhead / 2 : 0) {
      if (ofHungry >= slots)
        ofHungry = 0;
    }

    int64_t slots, slotsAhead, ofHungry;
  };

  /// The slot is free, and of the slots before it few are on their way. Where the consumers have left
  /// instead, so does the producer, when nothing is on its way any more. Every lane waits, which takes less time
  /// than to hear of it from one; all leave where one is to.
  static void acquire(ThreadBuilder &t, Pipe &pipe, Value slot, const Ahead &limit) {
    int64_t slots = limit.slots;
    Value left =
        t.instructions.waitBarrierUnless(pipe.empty(slot), pipe.get(kFillParity), pipe.leaving());
    if (limit.ofHungry > limit.slotsAhead)
      waitForFillOrTake(t, pipe, slot, limit);
    else if (limit.slotsAhead < slots)
      waitForFill(t, pipe, slot, t.i32(limit.slotsAhead), slots);
    Value stays = t.b.create<arith::CmpIOp>(t.loc, arith::CmpIPredicate::eq, left, t.i32(0));
    auto over = t.b.create<scf::IfOp>(t.loc, t.instructions.holdsInWarp(stays),
                                      /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(over.elseBlock());
    // Other tiles may have filled them. That 1 is the first one LLVM does not know, so it unrolls nothing.
    Value first = t.b.create<arith::MaxUIOp>(t.loc, left, t.i32(1));
    auto all = t.b.create<scf::ForOp>(t.loc, first, t.i32(slots), t.i32(1));
    t.b.setInsertionPointToStart(all.getBody());
    t.instructions.stayRolled();
    waitForFill(t, pipe, slot, all.getInductionVar(), slots);
    t.b.setInsertionPointAfter(all);
    t.instructions.exit();
  }

  /// By one lane. Rows may land before: as long as it has not arrived, which it does not where more tiles follow, the slot is
  /// not full.
  static void expectBytes(ThreadBuilder &t, Value full, Value bytes, bool isMore) {
    auto isFirst =
        t.b.create<arith::CmpIOp>(t.loc, arith::CmpIPredicate::eq, t.context.lane, t.i32(0));
    auto first = t.b.create<scf::IfOp>(t.loc, isFirst);
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(first.thenBlock());
    if (isMore)
      t.instructions.expect(full, bytes);
    else
      t.instructions.arriveExpecting(full, bytes);
  }

  /// A slot before this one, and the parity of what fills it, which is also that of when it is free again.
  struct Before {
    Before(ThreadBuilder &t, Pipe &pipe, Value after, Value back, int64_t slots) {
      OpBuilder &b = t.b;
      slot = b.create<arith::SubIOp>(t.loc, after, back);
      Value wraps = b.create<arith::CmpIOp>(t.loc, arith::CmpIPredicate::slt, slot, t.i32(0));
      slot = b.create<arith::SelectOp>(t.loc, wraps, t.add(slot, t.i32(slots)), slot);
      // Fills of a round have the other parity than the wait for free slots of it.
      Value round = pipe.get(kFillParity);
      Value flipped = b.create<arith::XOrIOp>(t.loc, round, t.i32(1));
      parity = b.create<arith::SelectOp>(t.loc, wraps, round, flipped);
    }

    Value slot, parity;
  };

  /// What was loaded `back` slots before this one has landed.
  static void waitForFill(ThreadBuilder &t, Pipe &pipe, Value slot, Value back, int64_t slots) {
    Before before(t, pipe, slot, back, slots);
    t.instructions.waitBarrier(pipe.full(before.slot), before.parity);
  }

  /// The same, or consumers have taken what was loaded some slots before that: about all that is there, so they wait.
  static void waitForFillOrTake(ThreadBuilder &t, Pipe &pipe, Value slot, const Ahead &limit) {
    Before landed(t, pipe, slot, t.i32(limit.slotsAhead), limit.slots),
        taken(t, pipe, slot, t.i32(limit.ofHungry), limit.slots);
    t.instructions.waitEitherBarrier(pipe.full(landed.slot), landed.parity, pipe.empty(taken.slot),
                                     taken.parity);
  }

  /// Pieces of a row of the tile that are a copy each: of 2 KB, as far as there are lanes. An SM reads faster by
  /// two of these than by one of 4 KB, and slower by four of 1 KB.
  static int64_t piecesOf(RankedTensorType tile) {
    constexpr int64_t kPieceBytes = 2048;
    int64_t bytes = tile.getDimSize(1) * storageBytes(tile.getElementType()), pieces = 1;
    while (bytes % (2 * pieces * kAccessBytes) == 0 && bytes > pieces * kPieceBytes &&
           2 * pieces * tile.getDimSize(0) <= kLanes)
      pieces *= 2;
    return pieces;
  }

  /// `count` slices from one on: a lane copies each that lies in one piece; of others lanes copy rows.
  static void copySlices(ThreadBuilder &t, GlobalTile &memory, Slot slot, RankedTensorType tile,
                         int64_t first, int64_t count) {
    OpBuilder &b = t.b;
    auto dense = b.create<scf::IfOp>(t.loc, memory.isDenseFrom(t, 1), /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(dense.thenBlock());
    int64_t slice = tile.getNumElements() / tile.getDimSize(0);
    Value lane = t.context.lane;
    auto [from, elements] = memory.slice(t, t.add(lane, t.i32(first)));
    auto isOurs = b.create<arith::CmpIOp>(t.loc, arith::CmpIPredicate::ult, lane, t.i32(count));
    elements = b.create<arith::SelectOp>(t.loc, isOurs, elements, t.i32(0));
    Value to = t.offset(slot.place, t.mul(lane, t.i32(slice * memory.bytes)));
    copy(t, to, from, t.mul(elements, t.i32(memory.bytes)), slot.full);
    b.setInsertionPointToStart(dense.elseBlock());
    int64_t rows = slice / tile.getShape().back();
    copyShortRows(t, memory, slot, tile, first * rows, (first + count) * rows);
  }

  /// One lane copies a tile that lies in one piece, else each copies rows.
  static void copyPiece(ThreadBuilder &t, GlobalTile &memory, Slot slot, RankedTensorType tile) {
    OpBuilder &b = t.b;
    Value lane = t.context.lane;
    auto dense = b.create<scf::IfOp>(t.loc, memory.isDenseFrom(t, 0), /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(dense.thenBlock());
    auto isOurs = b.create<arith::CmpIOp>(t.loc, arith::CmpIPredicate::eq, lane, t.i32(0));
    Value elements = b.create<arith::SelectOp>(t.loc, isOurs, memory.elementsLeft(t), t.i32(0));
    Value from = memory.from(t, t.i32(0), t.i32(0), tile.getDimSize(1)).first;
    copy(t, slot.place, from, t.mul(elements, t.i32(memory.bytes)), slot.full);
    b.setInsertionPointToStart(dense.elseBlock());
    copyShortRows(t, memory, slot, tile, 0, tile.getDimSize(0));
  }

  /// Each lane copies rows of those from `first` to `end`, which a slot has row-major.
  static void copyShortRows(ThreadBuilder &t, GlobalTile &memory, Slot slot, RankedTensorType tile,
                            int64_t first, int64_t end) {
    OpBuilder &b = t.b;
    int64_t row = tile.getShape().back();
    auto loop =
        b.create<scf::ForOp>(t.loc, t.add(t.context.lane, t.i32(first)), t.i32(end), t.i32(kLanes));
    b.setInsertionPointToStart(loop.getBody());
    GlobalTile::Piece piece = memory.piece(t, loop.getInductionVar(), 0, row, slotLayout(tile));
    Value behind = t.add(piece.place, t.i32(-first * row));
    copy(t, t.offset(slot.place, t.mul(behind, t.i32(memory.bytes))), piece.address,
         t.mul(piece.count, t.i32(memory.bytes)), slot.full);
  }

  /// What there is of it.
  static void copy(ThreadBuilder &t, Value to, Value from, Value bytes, Value full) {
    Value isSome = t.b.create<arith::CmpIOp>(t.loc, arith::CmpIPredicate::sgt, bytes, t.i32(0));
    auto some = t.b.create<scf::IfOp>(t.loc, isSome);
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(some.thenBlock());
    t.instructions.copyBulkOnce(to, from, bytes, full);
  }

  /// Each lane copies a piece of a row, and one behind those of all lanes where there are more.
  static void copyRows(ThreadBuilder &t, GlobalTile &memory, Slot slot, RankedTensorType tile) {
    OpBuilder &b = t.b;
    int64_t pieces = piecesOf(tile), columns = tile.getDimSize(1) / pieces;
    for (int64_t first = 0; first < tile.getDimSize(0) * pieces; first += kLanes) {
      Value mine = t.add(t.context.lane, t.i32(first));
      Value row = b.create<arith::DivUIOp>(t.loc, mine, t.i32(pieces));
      Value column = t.mul(b.create<arith::RemUIOp>(t.loc, mine, t.i32(pieces)), t.i32(columns));
      auto [from, width] = memory.from(t, row, column, columns);
      Value to = t.offset(
          slot.place, t.add(t.mul(row, t.i32(rowBytes(tile))), t.mul(column, t.i32(memory.bytes))));
      copy(t, to, from, t.mul(width, t.i32(memory.bytes)), slot.full);
    }
  }
};

/// A lane asks for a tile that lies in one piece, else each for rows.
struct AskRowsPattern : EffectPattern<AskRowsOp> {
  using EffectPattern::EffectPattern;
  void write(AskRowsOp op, OpAdaptor, ThreadBuilder &t) const override {
    auto tile = cast<RankedTensorType>(op.getTile());
    Distribution places = placesOf(tile);
    GlobalTile memory(t, op.getView(), op.getCoords(), places);
    auto dense = t.b.create<scf::IfOp>(t.loc, memory.isDenseFrom(t, 0), /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(dense.thenBlock());
    ask(t, memory, t.context.lane, 1, tile.getDimSize(1), memory.rowsLeft());
    t.b.setInsertionPointToStart(dense.elseBlock());
    for (int64_t first = 0; first < tile.getDimSize(0); first += kLanes)
      ask(t, memory, t.add(t.context.lane, t.i32(first)), tile.getDimSize(0), tile.getDimSize(1),
          t.i32(1));
  }

private:
  /// `count` rows from this one on, of the first `rows`.
  static void ask(ThreadBuilder &t, GlobalTile &memory, Value row, int64_t rows, int64_t columns,
                  Value count) {
    OpBuilder &b = t.b;
    auto [from, width] = memory.from(t, row, t.i32(0), columns);
    Value runs = b.create<arith::AndIOp>(t.loc, t.mul(width, t.i32(memory.bytes)),
                                         t.i32(-static_cast<int32_t>(gpu::kAccessBytes)));
    Value bytes = t.mul(runs, count);
    auto compare = [&](arith::CmpIPredicate predicate, Value x, Value y) -> Value {
      return b.create<arith::CmpIOp>(t.loc, predicate, x, y);
    };
    Value isOurs = compare(arith::CmpIPredicate::ult, row, t.i32(rows)),
          isThere = compare(arith::CmpIPredicate::sgt, bytes, t.i32(0));
    auto inside = b.create<scf::IfOp>(t.loc, b.create<arith::AndIOp>(t.loc, isOurs, isThere));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(inside.thenBlock());
    t.instructions.askBulk(from, bytes);
  }
};

struct ReceiveRowsPattern : TilePattern<ReceiveRowsOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(ReceiveRowsOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    RankedTensorType tile = tileOf(op.getTile());
    Distribution places = placesOf(tile);
    GlobalTile memory(t, op.getView(), op.getCoords(), places);
    Pipe pipe(t, op.getPipe().getType(), adaptor.getPipe());
    int64_t run = places.run(kAccessBytes / memory.bytes), extent = tile.getDimSize(0);
    int64_t slots = slotsOf(tile, op.getPipe().getType()), bytes = slotBytes(tile) / slots;
    Value all = b.create<arith::ConstantOp>(
        t.loc,
        b.getZeroAttr(VectorType::get({places.registers()}, lower::storageType(memory.element))));
    for (int64_t n = 0; n < slots; ++n) {
      Value slot = pipe.get(kTakeSlot);
      if (op.getAt() == 0)
        t.instructions.waitBarrier(pipe.full(slot), pipe.get(kTakeParity));
      Value place = t.offset(pipe.tile(slot, 0), int64_t(op.getAt()) - n * bytes);
      gpu::SharedPlaces shared(t, place, slotLayout(tile), places, memory.bytes);
      all = shared.readInto(all, run, n * extent / slots, (n + 1) * extent / slots);
      if (op.getMore())
        continue;
      pipe.advance(kTakeSlot, kTakeParity);
      pipe.releaseLoaded();
    }
    b.replaceOp(op, t.loaded(inside(t, memory, all, run), memory.element));
    return success();
  }

private:
  /// The elements, zeros for those beyond the view: whole runs. They are chosen in words: elements that
  /// share one would be taken apart for it.
  static Value inside(ThreadBuilder &t, GlobalTile &memory, Value all, int64_t run) {
    OpBuilder &b = t.b;
    auto elements = cast<VectorType>(all.getType());
    int64_t each = std::max<int64_t>(1, 4 / memory.bytes); // elements of a word
    if (run % each == 0 && each > 1) {
      all = b.create<vector::BitCastOp>(
          t.loc, VectorType::get(elements.getDimSize(0) / each, b.getI32Type()), all);
      run /= each;
    } else {
      each = 1;
    }
    auto branch = b.create<scf::IfOp>(t.loc, TypeRange(all.getType()), memory.isWhole(t), true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    b.create<scf::YieldOp>(t.loc, all);
    b.setInsertionPointToStart(branch.elseBlock());
    Value some = all;
    auto type = cast<VectorType>(all.getType());
    for (int64_t reg = 0; reg < type.getDimSize(0); reg += run) {
      Value part = b.create<vector::ExtractStridedSliceOp>(t.loc, all, reg, run, int64_t(1));
      Value zero = b.create<arith::ConstantOp>(t.loc, b.getZeroAttr(part.getType()));
      part = b.create<arith::SelectOp>(t.loc, memory.at(t, reg * each).second, part, zero);
      some = b.create<vector::InsertStridedSliceOp>(t.loc, part, some, reg, int64_t(1));
    }
    b.create<scf::YieldOp>(t.loc, some);
    b.setInsertionPointAfter(branch);
    if (each == 1)
      return branch.getResult(0);
    return b.create<vector::BitCastOp>(t.loc, elements, branch.getResult(0));
  }
};

struct LeavePattern : EffectPattern<LeaveOp> {
  using EffectPattern::EffectPattern;
  void write(LeaveOp op, OpAdaptor adaptor, ThreadBuilder &t) const override {
    t.instructions.storeWord(Pipe(t, op.getPipe().getType(), adaptor.getPipe()).leaving(),
                             t.i32(1));
  }
};

} // namespace

void addStreamPatterns(RewritePatternSet &patterns, const TypeConverter &types,
                       const ThreadContext &context) {
  patterns.add<LoadRowsPattern, AskRowsPattern, ReceiveRowsPattern, LeavePattern>(
      types, patterns.getContext(), context);
}

} // namespace ditron::nvidia
