// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What cores and ranks say to one another.
//
// A counter is waited for by one thread, with loads that acquire, and the barrier behind it hands
// on to the others what that thread has seen; a counter is raised by one thread, with release,
// behind a barrier by which it has seen what the others did. The thread that feeds the copy engine
// waits for itself, and has the copy engine see what it has seen. A wait that outlives its bound,
// or that finds the launch aborted, notes what it waits for and returns: see support/GpuLaunch.h.
#include "ditron/support/GpuLaunch.h"
#include "ditron/targets/gpu/threads/ThreadLowering.h"
#include "ditron/targets/nvidia/analysis/Guards.h"
#include "ditron/targets/nvidia/ops/NvidiaOps.h"
#include "ditron/targets/nvidia/transforms/Passes.h"

using namespace mlir;

namespace ditron::nvidia {

namespace {

using gpu::Head;
using gpu::Status;

/// Code of one thread that talks to other cores and ranks. Numbers and addresses are i64.
class Talk {
public:
  Talk(ThreadBuilder &t, ValueRange launch) : t_(t), launch_(launch) {}

  Value i64(int64_t value) { return t_.b.create<arith::ConstantIntOp>(t_.loc, value, 64); }
  Value asWord(Value index) {
    return t_.b.createOrFold<arith::IndexCastOp>(t_.loc, t_.b.getI64Type(), index);
  }
  Value launch(gpu::LaunchWord word) {
    if (word == gpu::kStatus)
      return t_.b.create<LLVM::PtrToIntOp>(t_.loc, t_.b.getI64Type(), launch_[word]);
    return asWord(launch_[word]);
  }
  /// A word of this rank's head, or of rank `peer`'s.
  Value head(int64_t offset) { return t_.add(launch(gpu::kHead), i64(offset)); }
  Value headOf(Value peer, int64_t offset) {
    Value distance = t_.b.create<arith::SubIOp>(t_.loc, peer, launch(gpu::kRank));
    return t_.add(head(offset), t_.mul(distance, launch(gpu::kStride)));
  }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return t_.b.create<arith::CmpIOp>(t_.loc, predicate, x, y);
  }
  Value either(Value x, Value y) { return t_.b.create<arith::OrIOp>(t_.loc, x, y); }
  Value both(Value x, Value y) { return t_.b.create<arith::AndIOp>(t_.loc, x, y); }
  Value invert(Value x) {
    return t_.b.create<arith::XOrIOp>(t_.loc, x, t_.b.create<arith::ConstantIntOp>(t_.loc, 1, 1));
  }
  /// This thread of all of the core: i32.
  Value thread() { return t_.add(t_.mul(t_.context.warp, t_.i32(kLanes)), t_.context.lane); }
  Value isFirstThread() { return compare(arith::CmpIPredicate::eq, thread(), t_.i32(0)); }
  Value core() {
    Value number = t_.b.create<NVVM::BlockIdXOp>(t_.loc, t_.b.getI32Type());
    return t_.b.create<arith::ExtUIOp>(t_.loc, t_.b.getI64Type(), number);
  }
  Value cores() { return t_.b.create<NVVM::GridDimXOp>(t_.loc, t_.b.getI32Type()); }

  /// Code where the condition holds.
  template <class Fn> void when(Value condition, Fn &&body) {
    auto branch = t_.b.create<scf::IfOp>(t_.loc, condition);
    OpBuilder::InsertionGuard guard(t_.b);
    t_.b.setInsertionPointToStart(branch.thenBlock());
    body();
  }
  /// For each rank.
  template <class Fn> void forRanks(Fn &&body) {
    auto loop = t_.b.create<scf::ForOp>(t_.loc, i64(0), launch(gpu::kRanks), i64(1));
    OpBuilder::InsertionGuard guard(t_.b);
    t_.b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }

  void abort() {
    forRanks([&](Value peer) {
      t_.instructions.storeRelaxed(headOf(peer, Head::kAborted), i64(1), "sys");
    });
  }

  /// Waits until the counter is at least `value`. `record`: which of the core's records tells of a
  /// wait that fails.
  void wait(Value cell, Value value, int64_t site, StringRef scope, int64_t record) {
    OpBuilder &b = t_.b;
    Type i64Type = b.getI64Type(), i1Type = b.getI1Type();
    Value no = b.create<arith::ConstantIntOp>(t_.loc, 0, 1);
    // Carried: when the wait began, 0 before it is known, and whether it has outlived its bound.
    auto loop = b.create<scf::WhileOp>(t_.loc, TypeRange{i64Type, i1Type}, ValueRange{i64(0), no});
    Block *before = b.createBlock(&loop.getBefore(), {}, {i64Type, i1Type}, {t_.loc, t_.loc});
    Value seen = t_.instructions.loadAcquire(cell, scope);
    Value isThere = compare(arith::CmpIPredicate::uge, seen, value);
    Value flag = t_.instructions.loadRelaxed(head(Head::kAborted), "sys");
    Value isAborted = compare(arith::CmpIPredicate::ne, flag, i64(0));
    Value ends = either(either(isThere, isAborted), before->getArgument(1));
    b.create<scf::ConditionOp>(t_.loc, invert(ends),
                               ValueRange{before->getArgument(0), before->getArgument(1)});
    Block *after = b.createBlock(&loop.getAfter(), {}, {i64Type, i1Type}, {t_.loc, t_.loc});
    Value now = t_.instructions.time(), began = after->getArgument(0);
    began = b.create<arith::SelectOp>(t_.loc, compare(arith::CmpIPredicate::eq, began, i64(0)), now,
                                      began);
    Value passed = b.create<arith::SubIOp>(t_.loc, now, began);
    Value isLate = compare(arith::CmpIPredicate::ugt, passed, launch(gpu::kBound));
    b.create<scf::YieldOp>(t_.loc, ValueRange{began, isLate});
    b.setInsertionPointAfter(loop);
    noteFailure(cell, value, site, scope, record);
  }

private:
  /// Behind a wait: if it found no such value, all ranks are told, and the record says what it was.
  void noteFailure(Value cell, Value value, int64_t site, StringRef scope, int64_t record) {
    Value seen = t_.instructions.loadRelaxed(cell, scope);
    when(compare(arith::CmpIPredicate::ult, seen, value), [&] {
      Value number = t_.add(t_.mul(core(), i64(2)), i64(record));
      Value first =
          t_.add(t_.mul(number, i64(8 * Status::kRecordWords)), i64(8 * Status::kRecords));
      Value place = t_.add(launch(gpu::kStatus), first);
      Value words[] = {i64(site + 1), cell, value, seen};
      for (auto [n, word] : llvm::enumerate(words))
        t_.instructions.storeRelaxed(t_.add(place, i64(8 * static_cast<int64_t>(n))), word, "sys");
      abort();
    });
  }

  ThreadBuilder &t_;
  ValueRange launch_;
};

/// Error where an op does not have all words of the launch (support/GpuLaunch.h).
LogicalResult checkLaunch(Operation *op, ValueRange launch) {
  if (launch.size() == gpu::kLaunchWords)
    return success();
  return op->emitError() << "expected the " << int(gpu::kLaunchWords)
                         << " words of the launch, found " << launch.size();
}

struct EpochPattern : TilePattern<EpochOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(EpochOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    Talk talk(t, {});
    Value address = t.add(talk.asWord(adaptor.getHead()), talk.i64(Head::kEpoch));
    Value pointer = b.create<LLVM::IntToPtrOp>(
        op.getLoc(), LLVM::LLVMPointerType::get(b.getContext(), 1), address);
    Value completed = b.create<LLVM::LoadOp>(op.getLoc(), b.getI64Type(), pointer, 8u);
    Value running = t.add(completed, talk.i64(1));
    b.replaceOpWithNewOp<arith::IndexCastOp>(op, b.getIndexType(), running);
    return success();
  }
};

struct BeginPattern : TilePattern<BeginOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(BeginOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    mlir::Location loc = op.getLoc();
    if (failed(checkLaunch(op, adaptor.getLaunch())))
      return failure();
    ThreadBuilder t(b, loc, context_);
    Talk talk(t, adaptor.getLaunch());
    Value epoch = b.create<EpochOp>(loc, b.getIndexType(), adaptor.getLaunch()[gpu::kHead]);
    epoch = talk.asWord(epoch);
    // Thread r waits for rank r.
    Value thread = b.create<arith::ExtUIOp>(loc, b.getI64Type(), talk.thread());
    Value isOne = talk.compare(arith::CmpIPredicate::ult, thread, talk.launch(gpu::kRanks));
    talk.when(isOne, [&] {
      Value cell = t.add(talk.head(Head::kCompleted), t.mul(thread, talk.i64(8)));
      Value before = b.create<arith::SubIOp>(loc, epoch, talk.i64(2));
      before = b.create<arith::MaxSIOp>(loc, before, talk.i64(0));
      talk.wait(cell, before, gpu::kBeginSite, "sys", 0);
    });
    b.create<NVVM::Barrier0Op>(loc);
    zeroSignals(t, talk, epoch);
    b.eraseOp(op);
    return success();
  }

private:
  /// The page of the launch after the next is zeroed, by all threads of the rank.
  void zeroSignals(ThreadBuilder &t, Talk &talk, Value epoch) const {
    OpBuilder &b = t.b;
    Type word = b.getI64Type();
    int64_t size = (context_.warps + context_.producerWarps) * kLanes;
    Value page =
        b.create<arith::AndIOp>(t.loc, t.add(epoch, talk.i64(2)), talk.i64(gpu::kSignalPages - 1));
    Value base = t.add(talk.head(Head::kBytes), t.mul(page, talk.launch(gpu::kSignalPage)));
    Value thread = b.create<arith::ExtUIOp>(t.loc, word, talk.thread());
    Value cores = b.create<arith::ExtUIOp>(t.loc, word, talk.cores());
    Value first = t.add(t.mul(talk.core(), talk.i64(size)), thread);
    auto loop =
        b.create<scf::ForOp>(t.loc, first, talk.launch(gpu::kCells), t.mul(cores, talk.i64(size)));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value cell = t.add(base, t.mul(loop.getInductionVar(), talk.i64(8)));
    t.instructions.storeRelaxed(cell, talk.i64(0), "gpu");
  }
};

struct EndPattern : TilePattern<EndOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(EndOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    mlir::Location loc = op.getLoc();
    if (failed(checkLaunch(op, adaptor.getLaunch())))
      return failure();
    ThreadBuilder t(b, loc, context_);
    Talk talk(t, adaptor.getLaunch());
    t.instructions.barrier();
    talk.when(talk.isFirstThread(), [&] {
      Value last = b.create<arith::SubIOp>(loc, talk.cores(), t.i32(1));
      Value before = t.instructions.incrementAcquireRelease(talk.head(Head::kArrived), last, "gpu");
      talk.when(talk.compare(arith::CmpIPredicate::eq, before, last), [&] {
        Value epoch =
            talk.asWord(b.create<EpochOp>(loc, b.getIndexType(), adaptor.getLaunch()[gpu::kHead]));
        t.instructions.storeRelaxed(talk.head(Head::kEpoch), epoch, "sys");
        Value own = t.mul(talk.launch(gpu::kRank), talk.i64(8));
        talk.forRanks([&](Value peer) {
          Value cell = t.add(talk.headOf(peer, Head::kCompleted), own);
          t.instructions.storeRelease(cell, epoch, "sys");
        });
      });
    });
    b.eraseOp(op);
    return success();
  }
};

struct AbortPattern : TilePattern<AbortOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(AbortOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    if (failed(checkLaunch(op, adaptor.getLaunch())))
      return failure();
    ThreadBuilder t(b, op.getLoc(), context_);
    Talk(t, adaptor.getLaunch()).abort();
    b.eraseOp(op);
    return success();
  }
};

struct WaitPattern : TilePattern<WaitOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(WaitOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    if (failed(checkLaunch(op, adaptor.getLaunch())))
      return failure();
    ThreadBuilder t(b, op.getLoc(), context_);
    Talk talk(t, adaptor.getLaunch());
    Value cell = talk.asWord(adaptor.getCell()), value = talk.asWord(adaptor.getValue());
    auto site = static_cast<int64_t>(op.getSite());
    if (op->hasAttr(kFeedingAttr)) {
      talk.wait(cell, value, site, op.getScope(), 1);
      t.instructions.fenceCopyEngine();
    } else {
      talk.when(talk.isFirstThread(), [&] { talk.wait(cell, value, site, op.getScope(), 0); });
      t.instructions.barrier();
    }
    b.eraseOp(op);
    return success();
  }
};

struct NotifyPattern : TilePattern<NotifyOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(NotifyOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    Talk talk(t, {});
    t.instructions.barrier();
    talk.when(talk.isFirstThread(), [&] {
      t.instructions.raiseRelease(talk.asWord(adaptor.getCell()), op.getMode(),
                                  talk.asWord(adaptor.getValue()), op.getScope());
    });
    b.eraseOp(op);
    return success();
  }
};

struct SyncPattern : TilePattern<SyncOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(SyncOp op, OpAdaptor, ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    if (op.getScope() != "cta")
      t.instructions.fence(op.getScope());
    t.instructions.barrier();
    b.eraseOp(op);
    return success();
  }
};

/// The cores of the rank count themselves in the first counter; the last one of a round counts the
/// rank in the second counter, of every rank or of its own, which all wait for.
struct MeetPattern : TilePattern<MeetOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(MeetOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    mlir::Location loc = op.getLoc();
    if (failed(checkLaunch(op, adaptor.getLaunch())))
      return failure();
    ThreadBuilder t(b, loc, context_);
    Talk talk(t, adaptor.getLaunch());
    Value rounds = roundsOf(t, op);
    Value round = t.add(b.create<LLVM::LoadOp>(loc, b.getI64Type(), rounds, 8u), talk.i64(1));
    b.create<LLVM::StoreOp>(loc, round, rounds, 8u);
    StringRef scope = op.getRanks() ? "sys" : "gpu";
    Value cells = talk.asWord(adaptor.getCells());
    t.instructions.barrier();
    talk.when(talk.isFirstThread(), [&] {
      Value before = t.instructions.addAcquireRelease(cells, talk.i64(1), "gpu");
      Value last = t.mul(round, talk.asWord(adaptor.getCount()));
      Value second = t.add(cells, talk.i64(8));
      Value isLast = talk.compare(arith::CmpIPredicate::eq, t.add(before, talk.i64(1)), last);
      talk.when(isLast, [&] { count(t, talk, second, op.getRanks()); });
      Value wanted = op.getRanks() ? t.mul(round, talk.launch(gpu::kRanks)) : round;
      talk.wait(second, wanted, static_cast<int64_t>(op.getSite()), scope, 0);
    });
    t.instructions.barrier();
    b.eraseOp(op);
    return success();
  }

private:
  /// How often this core has met here: in a register.
  static Value roundsOf(ThreadBuilder &t, MeetOp op) {
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(&op->getParentOfType<func::FuncOp>().front());
    auto pointer = LLVM::LLVMPointerType::get(t.b.getContext());
    Value rounds = t.b.create<LLVM::AllocaOp>(t.loc, pointer, t.b.getI64Type(), t.i32(1));
    Value zero = t.b.create<arith::ConstantIntOp>(t.loc, 0, 64);
    t.b.create<LLVM::StoreOp>(t.loc, zero, rounds, 8u);
    return rounds;
  }

  static void count(ThreadBuilder &t, Talk &talk, Value cell, bool ofAllRanks) {
    if (!ofAllRanks)
      return t.instructions.raiseRelease(cell, "add", talk.i64(1), "gpu");
    talk.forRanks([&](Value peer) {
      Value distance = t.b.create<arith::SubIOp>(t.loc, peer, talk.launch(gpu::kRank));
      Value theirs = t.add(cell, t.mul(distance, talk.launch(gpu::kStride)));
      t.instructions.raiseRelease(theirs, "add", talk.i64(1), "sys");
    });
  }
};

//===-- Gates ---------------------------------------------------------------------------------===//

struct FollowLaunchesPattern : TilePattern<FollowLaunchesOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(FollowLaunchesOp op, OpAdaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder(b, op.getLoc(), context_).instructions.followLaunches();
    b.eraseOp(op);
    return success();
  }
};

/// An mbarrier in shared memory, on which one thread arrives each time the computing role passes,
/// and the parity of the phase that the feeding thread waits for, in a register.
struct GatePattern : TilePattern<GateOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(GateOp op, OpAdaptor, ConversionPatternRewriter &b) const override {
    mlir::Location loc = op.getLoc();
    ThreadBuilder t(b, loc, context_);
    Value barrier = t.shared(context_.shared.allocate(8)), parity;
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&op->getParentOfType<func::FuncOp>().front());
      auto pointer = LLVM::LLVMPointerType::get(b.getContext());
      parity = b.create<LLVM::AllocaOp>(loc, pointer, b.getI32Type(), t.i32(1));
    }
    b.create<LLVM::StoreOp>(loc, t.i32(0), parity);
    Talk talk(t, {});
    talk.when(talk.isFirstThread(), [&] {
      t.instructions.initBarrier(barrier, 1);
      t.instructions.fenceBarriers();
    });
    b.create<NVVM::Barrier0Op>(loc);
    Value gate = b.create<LLVM::UndefOp>(loc, pipeType(b.getContext()));
    gate = b.create<LLVM::InsertValueOp>(loc, gate, barrier, 0);
    b.replaceOpWithNewOp<LLVM::InsertValueOp>(op, gate, parity, 1);
    return success();
  }
};

struct OpenPattern : TilePattern<OpenOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(OpenOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    Value barrier = b.create<LLVM::ExtractValueOp>(op.getLoc(), adaptor.getGate(), 0);
    t.instructions.barrier();
    t.instructions.arrive(barrier, Talk(t, {}).isFirstThread());
    b.eraseOp(op);
    return success();
  }
};

struct FollowPattern : TilePattern<FollowOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(FollowOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    mlir::Location loc = op.getLoc();
    ThreadBuilder t(b, loc, context_);
    Value barrier = b.create<LLVM::ExtractValueOp>(loc, adaptor.getGate(), 0);
    Value place = b.create<LLVM::ExtractValueOp>(loc, adaptor.getGate(), 1);
    Value parity = b.create<LLVM::LoadOp>(loc, b.getI32Type(), place);
    t.instructions.waitBarrier(barrier, parity);
    b.create<LLVM::StoreOp>(loc, b.create<arith::XOrIOp>(loc, parity, t.i32(1)), place);
    t.instructions.fenceCopyEngine();
    b.eraseOp(op);
    return success();
  }
};

} // namespace

void addRankPatterns(RewritePatternSet &patterns, const TypeConverter &types,
                     const ThreadContext &context) {
  patterns.add<EpochPattern, BeginPattern, EndPattern, AbortPattern, WaitPattern, NotifyPattern,
               SyncPattern, MeetPattern, GatePattern, OpenPattern, FollowPattern,
               FollowLaunchesPattern>(types, patterns.getContext(), context);
}

} // namespace ditron::nvidia
