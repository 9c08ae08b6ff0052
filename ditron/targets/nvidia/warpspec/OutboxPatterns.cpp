// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Notifies from the consumer to the notifier: nvidia.outbox, post, flush, close and notify_posts.
//
// In shared memory an outbox is its slots, a counter's address and what to add in each, then two
// mbarriers a slot: `full`, on which each consumer warp arrives when its lanes are through with what
// the notify releases, and `empty`, on which the notifier does when it has made it. An arrival
// releases and a wait acquires for the CTA; so the notifier's release covers what it has seen of all
// warps. Each thread counts what it has posted or made, in a register: an alloca here, which LLVM
// promotes. The address 0 closes the outbox.
#include "ditron/targets/gpu/threads/Talk.h"
#include "ditron/targets/nvidia/emit/ThreadBuilder.h"
#include "ditron/targets/nvidia/ops/NvidiaOps.h"
#include "ditron/targets/nvidia/transforms/Passes.h"

using namespace mlir;

namespace ditron::nvidia {
namespace {

/// Posts that the consumer may be ahead of the notifier; a power of two.
constexpr int64_t kSlots = 4, kSlotBytes = 16;

/// An outbox as one of its threads sees it.
class Outbox {
public:
  Outbox(ThreadBuilder &t, Value converted) : t_(t) {
    base_ = t.b.create<LLVM::ExtractValueOp>(t.loc, converted, 0);
    count_ = t.b.create<LLVM::ExtractValueOp>(t.loc, converted, 1);
  }

  static constexpr int64_t kBytes = kSlots * (kSlotBytes + 2 * kBarrierBytes);

  /// How many posts this thread has gone through: i32.
  Value count() { return t_.b.create<LLVM::LoadOp>(t_.loc, t_.b.getI32Type(), count_); }
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
void post(ThreadBuilder &t, Value converted, Value cell, Value value) {
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
    });
    t.instructions.arrive(outbox.full(count), b.create<arith::ConstantIntOp>(t.loc, 1, 1));
  });
  outbox.next(count);
}

struct PostPattern : EffectPattern<PostOp> {
  using EffectPattern::EffectPattern;
  void write(PostOp op, OpAdaptor adaptor, ThreadBuilder &t) const override {
    Talk talk(t, {});
    post(t, adaptor.getOutbox(), talk.asWord(adaptor.getCell()), talk.asWord(adaptor.getValue()));
  }
};

struct ClosePattern : EffectPattern<CloseOp> {
  using EffectPattern::EffectPattern;
  void write(CloseOp op, OpAdaptor adaptor, ThreadBuilder &t) const override {
    Value zero = t.b.create<arith::ConstantIntOp>(t.loc, 0, 64);
    post(t, adaptor.getOutbox(), zero, zero);
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
    t.instructions.raiseRelease(body->getArgument(0), "add", value, op.getScope());
    t.instructions.arrive(outbox.empty(count), b.create<arith::ConstantIntOp>(t.loc, 1, 1));
    outbox.next(count);
    b.create<scf::YieldOp>(t.loc);
    b.setInsertionPointAfter(loop);
  }
};

} // namespace

void addOutboxPatterns(RewritePatternSet &patterns, const TypeConverter &types,
                       const ThreadContext &context) {
  patterns.add<OutboxPattern, PostPattern, ClosePattern, FlushPattern, NotifyPostsPattern>(
      types, patterns.getContext(), context);
}

} // namespace ditron::nvidia
