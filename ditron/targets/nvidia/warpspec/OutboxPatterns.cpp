// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Notifies, and copies of tiles, from the consumer to the notifier: nvidia.outbox, post, post_move,
// flush, close and notify_posts.
//
// In shared memory an outbox is its slots, three words each, then two mbarriers a slot, and how many
// posts there have been. The words are a counter's address, what to add, and kIsNotify; or where a
// tile is, where it goes, and its bytes, with how many posts in a row are of that tile. The mbarriers
// are `full`, on which each consumer warp arrives when its lanes are through with what the post is
// about, and `empty`, on which the notifier does when it has made it. An arrival releases and a wait
// acquires for the CTA; so the notifier's release covers what it has seen of all warps. Each thread
// counts what it has posted or made, in a register: an alloca here, which LLVM promotes. The address
// 0 closes the outbox.
//
// Where there are copies, a warp is the notifier, whose lanes copy pieces of 16 bytes. It has few on
// their way while it is up to date: stores that fill the link hold up all loads of the SM, those of
// the producer too. docs/rationale/copies-beside-products.md says what that takes.
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/threads/PackedMemory.h"
#include "ditron/targets/gpu/threads/Talk.h"
#include "ditron/targets/nvidia/emit/ThreadBuilder.h"
#include "ditron/targets/nvidia/ops/NvidiaOps.h"
#include "ditron/targets/nvidia/transforms/Passes.h"
#include "ditron/targets/nvidia/warpspec/DeferNotifies.h"

using namespace mlir;

namespace ditron::nvidia {
namespace {

/// Posts that the consumer may be ahead of the notifier; a power of two.
constexpr int64_t kSlots = 16, kSlotBytes = 32;
static_assert(kSlots >= kMostCopies, "the notifier waits for all copies of a tile");
/// The last word of a notify.
constexpr int64_t kIsNotify = -1;
/// Where the last word of a copy says how many posts are of its tile: behind the bytes.
constexpr int64_t kCountShift = 32;
/// Pieces that a lane has on their way; where more than that many posts wait behind a tile's, or
/// several ranks wait for the tile.
constexpr int64_t kPieces = 4, kPiecesBehind = 8, kPostsBehind = 2;

/// An outbox as one of its threads sees it.
class Outbox {
public:
  Outbox(ThreadBuilder &t, Value converted) : t_(t) {
    base_ = t.b.create<LLVM::ExtractValueOp>(t.loc, converted, 0);
    count_ = t.b.create<LLVM::ExtractValueOp>(t.loc, converted, 1);
  }

  static constexpr int64_t kBytes = kSlots * (kSlotBytes + 2 * kBarrierBytes) + kBarrierBytes;

  /// How many posts this thread has gone through: i32.
  Value count() { return t_.b.create<LLVM::LoadOp>(t_.loc, t_.b.getI32Type(), count_); }
  Value counter() { return count_; }
  void next(Value count) { t_.b.create<LLVM::StoreOp>(t_.loc, t_.add(count, t_.i32(1)), count_); }
  Value full(Value post) { return barrier(post, 0); }
  Value empty(Value post) { return barrier(post, kSlots); }
  /// The parity of the phase of a post: of `full`, that it is there; of `empty`, that it is made.
  Value parity(Value post) {
    Value round = t_.b.create<arith::ShRUIOp>(t_.loc, post, t_.i32(llvm::Log2_64(kSlots)));
    return t_.b.create<arith::AndIOp>(t_.loc, round, t_.i32(1));
  }
  /// That of `empty` that says that the slot of a post is free.
  Value parityOfFree(Value post) {
    return t_.b.create<arith::XOrIOp>(t_.loc, parity(post), t_.i32(1));
  }
  Value cell(Value post) { return t_.offset(base_, t_.mul(slotOf(post), t_.i32(kSlotBytes))); }
  Value value(Value post) { return t_.offset(cell(post), kBarrierBytes); }
  Value bytes(Value post) { return t_.offset(cell(post), 2 * kBarrierBytes); }
  /// Where the number of posts is.
  Value posted() { return t_.offset(base_, kBytes - kBarrierBytes); }

private:
  Value slotOf(Value post) { return t_.b.create<arith::AndIOp>(t_.loc, post, t_.i32(kSlots - 1)); }
  Value barrier(Value post, int64_t first) {
    Value place = t_.offset(base_, t_.mul(slotOf(post), t_.i32(kBarrierBytes)));
    return t_.offset(place, kSlots * kSlotBytes + first * kBarrierBytes);
  }

  ThreadBuilder &t_;
  Value base_, count_;
};

struct OutboxPattern : TilePattern<OutboxOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(OutboxOp op, OpAdaptor,
                                ConversionPatternRewriter &b) const override {
    mlir::Location loc = op.getLoc();
    ThreadBuilder t(b, loc, context_);
    Value base = t.shared(context_.shared.allocate(Outbox::kBytes)), count = t.makeWords();
    b.create<LLVM::StoreOp>(loc, t.i32(0), count);
    SmallVector<int64_t> arrivals(kSlots, context_.warps);
    arrivals.append(kSlots, 1);
    t.makeBarriers(t.offset(base, kSlots * kSlotBytes), arrivals);
    t.instructions.barrier(/*ofAll=*/true);
    Value outbox = b.create<LLVM::UndefOp>(loc, pipeType(b.getContext()));
    outbox = b.create<LLVM::InsertValueOp>(loc, outbox, base, 0);
    b.replaceOpWithNewOp<LLVM::InsertValueOp>(op, outbox, count, 1);
    return success();
  }
};

/// The first lane of each warp arrives, when its warp is there and the slot free; that of the first
/// warp brings the post.
void post(ThreadBuilder &t, Value converted, Value cell, Value value, Value bytes) {
  OpBuilder &b = t.b;
  Talk talk(t, {});
  Outbox outbox(t, converted);
  Value count = outbox.count();
  b.create<NVVM::SyncWarpOp>(t.loc, t.i32(-1));
  Value isFirst = talk.compare(arith::CmpIPredicate::eq, t.context.lane, t.i32(0));
  talk.when(isFirst, [&] {
    t.instructions.waitBarrier(outbox.empty(count), outbox.parityOfFree(count));
    talk.when(talk.isFirstWarp(), [&] {
      b.create<LLVM::StoreOp>(t.loc, cell, outbox.cell(count));
      b.create<LLVM::StoreOp>(t.loc, value, outbox.value(count));
      b.create<LLVM::StoreOp>(t.loc, bytes, outbox.bytes(count));
      t.instructions.storeWord(outbox.posted(), t.add(count, t.i32(1)));
    });
    t.instructions.arrive(outbox.full(count), b.create<arith::ConstantIntOp>(t.loc, 1, 1));
  });
  outbox.next(count);
}

struct PostPattern : EffectPattern<PostOp> {
  using EffectPattern::EffectPattern;
  void write(PostOp op, OpAdaptor adaptor, ThreadBuilder &t) const override {
    Talk talk(t, {});
    post(t, adaptor.getOutbox(), talk.asWord(adaptor.getCell()), talk.asWord(adaptor.getValue()),
         talk.i64(kIsNotify));
  }
};

/// A tile that a view does not have has no bytes.
struct PostMovePattern : EffectPattern<PostMoveOp> {
  using EffectPattern::EffectPattern;
  void write(PostMoveOp op, OpAdaptor adaptor, ThreadBuilder &t) const override {
    Talk talk(t, {});
    auto tile = cast<RankedTensorType>(op.getTile());
    gpu::PackedPlace from = gpu::placeOf(t, tile, op.getSource(), adaptor.getFrom());
    gpu::PackedPlace to = gpu::placeOf(t, tile, op.getDestination(), adaptor.getTo());
    int64_t all = tile.getNumElements() * storageBytes(tile.getElementType());
    int64_t several = static_cast<int64_t>(op.getSeveral()) << kCountShift;
    Value word = t.b.create<arith::SelectOp>(t.loc, talk.both(from.isInside, to.isInside),
                                             talk.i64(all + several), talk.i64(several));
    post(t, adaptor.getOutbox(), from.address, to.address, word);
  }
};

/// A copy of nothing.
struct PostMarkPattern : EffectPattern<PostMarkOp> {
  using EffectPattern::EffectPattern;
  void write(PostMarkOp op, OpAdaptor adaptor, ThreadBuilder &t) const override {
    Talk talk(t, {});
    Value somewhere = talk.i64(-1); // 0 would close the outbox
    post(t, adaptor.getOutbox(), somewhere, somewhere, talk.i64(int64_t(1) << kCountShift));
  }
};

struct ClosePattern : EffectPattern<CloseOp> {
  using EffectPattern::EffectPattern;
  void write(CloseOp op, OpAdaptor adaptor, ThreadBuilder &t) const override {
    Value zero = t.b.create<arith::ConstantIntOp>(t.loc, 0, 64);
    post(t, adaptor.getOutbox(), zero, zero, zero);
  }
};

/// The last post is made when all are.
struct FlushPattern : EffectPattern<FlushOp> {
  using EffectPattern::EffectPattern;
  void write(FlushOp op, OpAdaptor adaptor, ThreadBuilder &t) const override {
    Talk talk(t, {});
    Outbox outbox(t, adaptor.getOutbox());
    Value count = outbox.count();
    talk.when(talk.compare(arith::CmpIPredicate::ne, count, t.i32(0)), [&] {
      Value last = t.add(count, t.i32(-1));
      t.instructions.waitBarrier(outbox.empty(last), outbox.parity(last));
    });
  }
};

struct NotifyPostsPattern : EffectPattern<NotifyPostsOp> {
  using EffectPattern::EffectPattern;
  void write(NotifyPostsOp op, OpAdaptor adaptor, ThreadBuilder &t) const override {
    OpBuilder &b = t.b;
    Type word = b.getI64Type();
    Talk talk(t, {});
    Outbox outbox(t, adaptor.getOutbox());
    auto loop = b.create<scf::WhileOp>(t.loc, TypeRange{word}, ValueRange{});
    b.createBlock(&loop.getBefore());
    Value count = outbox.count();
    t.instructions.waitBarrier(outbox.full(count), outbox.parity(count));
    Value cell = b.create<LLVM::LoadOp>(t.loc, word, outbox.cell(count));
    Value isOpen = talk.compare(arith::CmpIPredicate::ne, cell, talk.i64(0));
    b.create<scf::ConditionOp>(t.loc, isOpen, cell);
    Block *body = b.createBlock(&loop.getAfter(), {}, {word}, {t.loc});
    count = outbox.count();
    Value value = b.create<LLVM::LoadOp>(t.loc, word, outbox.value(count));
    Value isPosted = b.create<arith::ConstantIntOp>(t.loc, 1, 1), made = t.i32(1);
    if (op.getMoves()) {
      Value bytes = b.create<LLVM::LoadOp>(t.loc, word, outbox.bytes(count));
      isPosted = talk.compare(arith::CmpIPredicate::eq, bytes, talk.i64(kIsNotify));
      made = move(t, outbox, {body->getArgument(0), bytes, isPosted});
      b.create<NVVM::SyncWarpOp>(t.loc, t.i32(-1));
      Value isFirst = talk.compare(arith::CmpIPredicate::eq, t.context.lane, t.i32(0));
      talk.when(isFirst, [&] {
        talk.when(isPosted, [&] {
          t.instructions.raiseRelease(body->getArgument(0), "add", value, op.getScope());
        });
        forEach(t, made, [&](Value n) { finish(t, outbox.empty(t.add(count, n))); });
      });
      // No lane waits for the next post while the first one has this one to make.
      b.create<NVVM::SyncWarpOp>(t.loc, t.i32(-1));
    } else {
      t.instructions.raiseRelease(body->getArgument(0), "add", value, op.getScope());
      finish(t, outbox.empty(count));
    }
    b.create<LLVM::StoreOp>(t.loc, t.add(count, made), outbox.counter());
    b.create<scf::YieldOp>(t.loc);
    b.setInsertionPointAfter(loop);
  }

private:
  /// A post as it is read.
  struct Read {
    Value from, bytes, isNotify;
  };

  static void finish(ThreadBuilder &t, Value empty) {
    t.instructions.arrive(empty, t.b.create<arith::ConstantIntOp>(t.loc, 1, 1));
  }

  template <class Fn> static void forEach(ThreadBuilder &t, Value count, Fn &&body) {
    auto loop = t.b.create<scf::ForOp>(t.loc, t.i32(0), count, t.i32(1));
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }

  /// Copies a tile to where this post and those behind it say; how many posts that has made.
  static Value move(ThreadBuilder &t, Outbox &outbox, const Read &post) {
    OpBuilder &b = t.b;
    Talk talk(t, {});
    auto low = [&](Value word) { return b.create<arith::TruncIOp>(t.loc, b.getI32Type(), word); };
    Value shifted = b.create<arith::ShRUIOp>(t.loc, post.bytes, talk.i64(kCountShift));
    Value several = b.create<arith::SelectOp>(t.loc, post.isNotify, t.i32(1), low(shifted));
    talk.when(talk.invert(post.isNotify), [&] {
      Value count = outbox.count(), end = t.add(count, several);
      forEach(t, several, [&](Value n) {
        Value next = t.add(count, n);
        t.instructions.waitBarrier(outbox.full(next), outbox.parity(next));
      });
      // Each tile has as many notifies as copies.
      Value posted = b.create<LLVM::LoadOp>(t.loc, b.getI32Type(), outbox.posted(), 4u,
                                            /*isVolatile=*/true);
      Value waiting = b.create<arith::SubIOp>(t.loc, posted, t.add(end, several));
      Value isBehind =
          talk.either(talk.compare(arith::CmpIPredicate::sgt, waiting, t.i32(kPostsBehind)),
                      talk.compare(arith::CmpIPredicate::sgt, several, t.i32(1)));
      talk.when(isBehind,
                [&] { copy(t, outbox, post.from, low(post.bytes), several, kPiecesBehind); });
      talk.when(talk.invert(isBehind),
                [&] { copy(t, outbox, post.from, low(post.bytes), several, kPieces); });
    });
    return several;
  }

  static void copy(ThreadBuilder &t, Outbox &outbox, Value from, Value bytes, Value several,
                   int64_t pieces) {
    OpBuilder &b = t.b;
    Value count = outbox.count();
    int64_t step = kLanes * gpu::kAccessBytes;
    auto loop = b.create<scf::ForOp>(t.loc, t.mul(t.context.lane, t.i32(gpu::kAccessBytes)), bytes,
                                     t.i32(pieces * step));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value place = loop.getInductionVar(), left = b.create<arith::SubIOp>(t.loc, bytes, place);
    Value behind = b.create<arith::ExtUIOp>(t.loc, b.getI64Type(), place);
    auto piece = [&](Value base, int64_t n) {
      return t.add(base, b.create<arith::ConstantIntOp>(t.loc, n * step, 64));
    };
    SmallVector<Value> masks, zeros(gpu::kAccessBytes / 4, t.i32(0));
    SmallVector<SmallVector<Value>> words;
    Value source = t.add(from, behind);
    for (int64_t n = 0; n < pieces; ++n) {
      masks.push_back(
          b.create<arith::CmpIOp>(t.loc, arith::CmpIPredicate::sgt, left, t.i32(n * step)));
      words.push_back(
          t.instructions.loadGlobal(piece(source, n), gpu::kAccessBytes, masks.back(), zeros));
    }
    forEach(t, several, [&](Value m) {
      Value to = b.create<LLVM::LoadOp>(t.loc, b.getI64Type(), outbox.value(t.add(count, m)));
      to = t.add(to, behind);
      for (auto [n, stored] : llvm::enumerate(words))
        t.instructions.storeGlobal(piece(to, static_cast<int64_t>(n)), stored, masks[n]);
    });
  }
};

/// What a warp does as the threads that compute do it: those are its lanes.
struct WarpMovePattern : EffectPattern<WarpMoveOp> {
  using EffectPattern::EffectPattern;
  void write(WarpMoveOp op, OpAdaptor, ThreadBuilder &t) const override {
    ThreadContext lanes(context_);
    lanes.warps = 1, lanes.warp = t.i32(0);
    gpu::ThreadBuilder own(t.b, t.loc, lanes);
    gpu::copyRows(own, op.getSource(), op.getDestination());
  }
};

struct WarpNotifyPattern : EffectPattern<WarpNotifyOp> {
  using EffectPattern::EffectPattern;
  void write(WarpNotifyOp op, OpAdaptor adaptor, ThreadBuilder &t) const override {
    Talk talk(t, {});
    t.b.create<NVVM::SyncWarpOp>(t.loc, t.i32(-1));
    talk.when(talk.compare(arith::CmpIPredicate::eq, t.context.lane, t.i32(0)), [&] {
      t.instructions.raiseRelease(talk.asWord(adaptor.getCell()), "add",
                                  talk.asWord(adaptor.getValue()), op.getScope());
    });
  }
};

} // namespace

void addOutboxPatterns(RewritePatternSet &patterns, const TypeConverter &types,
                       const ThreadContext &context) {
  patterns.add<OutboxPattern, PostPattern, PostMovePattern, PostMarkPattern, ClosePattern,
               FlushPattern, NotifyPostsPattern, WarpMovePattern, WarpNotifyPattern>(
      types, patterns.getContext(), context);
}

} // namespace ditron::nvidia
