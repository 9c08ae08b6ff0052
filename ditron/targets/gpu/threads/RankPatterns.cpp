// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What CTAs and ranks say to one another.
//
// A counter is waited for by one thread, with loads that acquire, and the barrier behind it hands
// on to the others what that thread has seen; a counter is raised by one thread, with release,
// behind a barrier by which it has seen what the others did. A wait that outlives its bound, or
// that finds the launch aborted, notes what it waits for and returns: see abi/LaunchWords.h.
#include "ditron/device/DistOps.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "ditron/targets/gpu/threads/Talk.h"
#include "ditron/targets/gpu/transforms/Passes.h"

using namespace mlir;

namespace ditron::gpu {

//===-- One thread that talks -----------------------------------------------------------------===//

LogicalResult checkLaunch(Operation *op, ValueRange launch) {
  if (launch.size() == abi::kLaunchWords)
    return success();
  return op->emitError() << "expected the " << int(abi::kLaunchWords)
                         << " words of the launch, found " << launch.size();
}

Value Talk::isTogether(Value number) {
  auto function = t_.b.getInsertionBlock()->getParent()->getParentOfType<func::FuncOp>();
  auto team = function ? function->getAttrOfType<DenseI64ArrayAttr>(device::kTeamAttr) : nullptr;
  if (!team)
    return nullptr;
  // The places along the other axes are the same.
  Value stride = i64(team[0]), length = i64(team[0] * team[1]), own = launch(abi::kRank);
  auto same = [&](auto makeOp, Value by) {
    return compare(arith::CmpIPredicate::eq, makeOp(number, by), makeOp(own, by));
  };
  auto divided = [&](Value x, Value by) -> Value {
    return t_.b.create<arith::DivUIOp>(t_.loc, x, by);
  };
  auto rest = [&](Value x, Value by) -> Value {
    return t_.b.create<arith::RemUIOp>(t_.loc, x, by);
  };
  return both(same(divided, length), same(rest, stride));
}

void Talk::abort() {
  forAll(i64(0), 1, [&](Value peer) {
    t_.instructions->stayRolled();
    t_.instructions->storeRelaxed(headOf(peer, abi::Head::kAborted), i64(1), "sys");
  });
}

// Where the counter is high enough at once, it is the only load. How long it has been and whether the
// launch is over is asked once in many loads, each of which would wait for it. Counts are signed: one
// below 0, as of a loop that runs ahead, is there.
void Talk::wait(Value cell, Value value, int64_t site, StringRef scope, int64_t record) {
  constexpr int64_t kLoads = 16;
  OpBuilder &b = t_.b;
  Type i64Type = b.getI64Type(), i1Type = b.getI1Type();
  Value no = b.create<arith::ConstantIntOp>(t_.loc, 0, 1);
  // Carried: when the wait began, 0 before it is known, and whether it is to end; how often it has
  // looked; then what was seen.
  SmallVector<Type> carried{i64Type, i1Type, i64Type};
  auto loop = b.create<scf::WhileOp>(t_.loc, TypeRange{i64Type, i1Type, i64Type, i64Type},
                                     ValueRange{i64(0), no, i64(0)});
  Block *before = b.createBlock(&loop.getBefore(), {}, carried, {t_.loc, t_.loc, t_.loc});
  Value seen = t_.instructions->loadAcquire(cell, scope);
  Value isThere = compare(arith::CmpIPredicate::sge, seen, value);
  Value ends = either(isThere, before->getArgument(1));
  SmallVector<Value> passed(before->getArguments());
  passed.push_back(seen);
  b.create<scf::ConditionOp>(t_.loc, invert(ends), passed);
  carried.push_back(i64Type);
  Block *after = b.createBlock(&loop.getAfter(), {}, carried, {t_.loc, t_.loc, t_.loc, t_.loc});
  Value looks = t_.add(after->getArgument(2), i64(1)), began = after->getArgument(0);
  Value some = b.create<arith::AndIOp>(t_.loc, looks, i64(kLoads - 1));
  auto asks = b.create<scf::IfOp>(t_.loc, TypeRange{i64Type, i1Type},
                                  compare(arith::CmpIPredicate::eq, some, i64(0)), true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(asks.elseBlock());
    b.create<scf::YieldOp>(t_.loc, ValueRange{began, no});
    b.setInsertionPointToStart(asks.thenBlock());
    auto [since, isOver] = isWaitOver(began);
    b.create<scf::YieldOp>(t_.loc, ValueRange{since, isOver});
  }
  b.create<scf::YieldOp>(t_.loc, ValueRange{asks.getResult(0), asks.getResult(1), looks});
  b.setInsertionPointAfter(loop);
  noteFailure(cell, value, loop.getResult(3), site, record);
}

/// When a wait began, as far as it is known now, and whether it is to end for the launch has failed, or it
/// outlives its bound.
std::pair<Value, Value> Talk::isWaitOver(Value began) {
  Value flag = t_.instructions->loadRelaxed(head(abi::Head::kAborted), "sys");
  Value isAborted = compare(arith::CmpIPredicate::ne, flag, i64(0));
  Value now = t_.instructions->time();
  Value isFirst = compare(arith::CmpIPredicate::eq, began, i64(0));
  Value since = t_.b.create<arith::SelectOp>(t_.loc, isFirst, now, began);
  Value passed = t_.b.create<arith::SubIOp>(t_.loc, now, since);
  Value isLate = compare(arith::CmpIPredicate::ugt, passed, launch(abi::kBound));
  return {since, either(isAborted, isLate)};
}

SmallVector<Value> Talk::patience(Block *block, int64_t each) {
  constexpr int64_t kOften = 64;
  OpBuilder &b = t_.b;
  Value looks = t_.add(block->getArgument(0), i64(each)), began = block->getArgument(1);
  Value low = b.create<arith::AndIOp>(t_.loc, looks, i64(kOften - 1));
  auto branch = b.create<scf::IfOp>(t_.loc, TypeRange{b.getI64Type(), b.getI1Type()},
                                    compare(arith::CmpIPredicate::eq, low, i64(0)),
                                    /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.elseBlock());
  b.create<scf::YieldOp>(t_.loc, ValueRange{began, b.create<arith::ConstantIntOp>(t_.loc, 0, 1)});
  b.setInsertionPointToStart(branch.thenBlock());
  auto [since, isOver] = isWaitOver(began);
  b.create<scf::YieldOp>(t_.loc, ValueRange{since, isOver});
  return {looks, branch.getResult(0), branch.getResult(1)};
}

void Talk::noteFailure(Value cell, Value value, Value seen, Value site, int64_t record,
                       Value running) {
  when(compare(arith::CmpIPredicate::slt, seen, value), [&] {
    Value number = t_.add(t_.mul(core(), i64(2)), i64(record));
    Value first =
        t_.add(t_.mul(number, i64(8 * abi::Status::kRecordWords)), i64(8 * abi::Status::kRecords));
    Value place = t_.add(launch(abi::kStatus), first);
    // From here on no wait waits: what later ones find says nothing.
    Value before = t_.instructions->loadRelaxed(place, "sys");
    when(compare(arith::CmpIPredicate::eq, before, i64(0)), [&] {
      if (!running)
        running = t_.add(t_.instructions->loadRelaxed(head(abi::Head::kEpoch), "sys"), i64(1));
      Value high = t_.mul(running, i64(int64_t(1) << 32));
      Value words[] = {t_.add(high, t_.add(site, i64(1))), cell, value, seen};
      for (auto [n, word] : llvm::enumerate(words))
        t_.instructions->storeRelaxed(t_.add(place, i64(8 * static_cast<int64_t>(n))), word, "sys");
    });
    abort();
  });
}

namespace {

struct EpochPattern : TilePattern<EpochOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(EpochOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    Talk talk(t, {});
    Value address = t.add(talk.asWord(adaptor.getHead()), talk.i64(abi::Head::kEpoch));
    Value pointer = b.create<LLVM::IntToPtrOp>(
        op.getLoc(), LLVM::LLVMPointerType::get(b.getContext(), 1), address);
    Value completed = b.create<LLVM::LoadOp>(op.getLoc(), b.getI64Type(), pointer, 8u);
    Value running = t.add(completed, talk.i64(1));
    b.replaceOpWithNewOp<arith::IndexCastOp>(op, b.getIndexType(), running);
    return success();
  }
};

struct BeginPattern : LaunchPattern<BeginOp> {
  using LaunchPattern::LaunchPattern;
  void write(BeginOp op, OpAdaptor adaptor, ThreadBuilder &t, Talk &talk) const override {
    OpBuilder &b = t.b;
    mlir::Location loc = op.getLoc();
    Value epoch = b.create<EpochOp>(loc, b.getIndexType(), adaptor.getLaunch()[abi::kHead]);
    epoch = talk.asWord(epoch);
    // Thread r waits for rank r.
    Value thread = b.create<arith::ExtUIOp>(loc, b.getI64Type(), t.thread());
    Value isOne = talk.isRank(thread);
    talk.when(isOne, [&] {
      Value cell = t.add(talk.head(abi::Head::kCompleted), t.mul(thread, talk.i64(8)));
      Value before = b.create<arith::SubIOp>(loc, epoch, talk.i64(2));
      before = b.create<arith::MaxSIOp>(loc, before, talk.i64(0));
      talk.wait(cell, before, abi::kBeginSite, "sys", 0);
    });
    t.instructions->barrier(/*ofAll=*/true);
    zeroSignals(t, talk, epoch);
  }

private:
  /// The page of the launch after the next is zeroed, by all threads of the rank.
  void zeroSignals(ThreadBuilder &t, Talk &talk, Value epoch) const {
    OpBuilder &b = t.b;
    Type word = b.getI64Type();
    int64_t size = (context_.warps + context_.producerWarps) * context_.lanes;
    Value page =
        b.create<arith::AndIOp>(t.loc, t.add(epoch, talk.i64(2)), talk.i64(abi::kSignalPages - 1));
    Value base = t.add(talk.head(abi::Head::kBytes), t.mul(page, talk.launch(abi::kSignalPage)));
    Value thread = b.create<arith::ExtUIOp>(t.loc, word, t.thread());
    Value cores = b.create<arith::ExtUIOp>(t.loc, word, talk.cores());
    Value first = t.add(t.mul(talk.core(), talk.i64(size)), thread);
    auto loop =
        b.create<scf::ForOp>(t.loc, first, talk.launch(abi::kCells), t.mul(cores, talk.i64(size)));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value cell = t.add(base, t.mul(loop.getInductionVar(), talk.i64(8)));
    t.instructions->storeRelaxed(cell, talk.i64(0), "gpu");
  }
};

/// The last CTA releases to all ranks at once: by one fence of a warp, whose lanes store to a rank
/// each.
struct EndPattern : LaunchPattern<EndOp> {
  using LaunchPattern::LaunchPattern;
  void write(EndOp op, OpAdaptor adaptor, ThreadBuilder &t, Talk &talk) const override {
    OpBuilder &b = t.b;
    mlir::Location loc = op.getLoc();
    t.instructions->barrier();
    talk.when(talk.isFirstWarp(), [&] {
      // Read before it is needed: only the last CTA changes it.
      Value epoch =
          talk.asWord(b.create<EpochOp>(loc, b.getIndexType(), adaptor.getLaunch()[abi::kHead]));
      Value last = b.create<arith::SubIOp>(loc, talk.cores(), t.i32(1));
      Value before = t.instructions->uniform(arrive(t, talk, last));
      t.instructions->meetInWarp();
      talk.when(talk.compare(arith::CmpIPredicate::eq, before, last), [&] {
        clearInboxes(talk, t, adaptor.getBoxes(), epoch, talk.laneWord(), context_.lanes);
        t.instructions->meetInWarp();
        talk.when(talk.isFirstThread(), [&] {
          if (op.getCopies())
            endCopies(talk, static_cast<int64_t>(*op.getCopies()), adaptor.getCounters());
          t.instructions->storeRelaxed(talk.head(abi::Head::kEpoch), epoch, "sys");
        });
        t.instructions->meetInWarp();
        Value own = t.mul(talk.launch(abi::kRank), talk.i64(8));
        t.instructions->fence("sys");
        talk.forRanksByLanes([&](Value peer) {
          Value cell = t.add(talk.headOf(peer, abi::Head::kCompleted), own);
          t.instructions->storeRelaxed(cell, epoch, "sys");
        });
      });
    });
  }

private:
  /// The CTAs that have ended before this one, in the first lane.
  static Value arrive(ThreadBuilder &t, Talk &talk, Value last) {
    auto first = t.b.create<scf::IfOp>(t.loc, TypeRange{t.b.getI32Type()}, talk.isFirstThread(),
                                       /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(first.thenBlock());
    Value before =
        t.instructions->incrementAcquireRelease(talk.head(abi::Head::kArrived), last, "gpu");
    t.b.create<scf::YieldOp>(t.loc, before);
    t.b.setInsertionPointToStart(first.elseBlock());
    t.b.create<scf::YieldOp>(t.loc, t.i32(0));
    return first.getResult(0);
  }
};

struct AbortPattern : LaunchPattern<AbortOp> {
  using LaunchPattern::LaunchPattern;
  void write(AbortOp, OpAdaptor, ThreadBuilder &t, Talk &talk) const override { talk.abort(); }
};

struct WaitPattern : LaunchPattern<WaitOp> {
  using LaunchPattern::LaunchPattern;
  void write(WaitOp op, OpAdaptor adaptor, ThreadBuilder &t, Talk &talk) const override {
    Value cell = talk.asWord(adaptor.getCell()), value = talk.asWord(adaptor.getValue());
    auto site = static_cast<int64_t>(op.getSite());
    talk.when(talk.isFirstThread(), [&] { talk.wait(cell, value, site, op.getScope(), 0); });
    t.instructions->barrier();
  }
};

struct NotifyPattern : EffectPattern<NotifyOp> {
  using EffectPattern::EffectPattern;
  void write(NotifyOp op, OpAdaptor adaptor, ThreadBuilder &t) const override {
    Talk talk(t, {});
    Value cell = talk.asWord(adaptor.getCell()), value = talk.asWord(adaptor.getValue());
    if (op.getRelaxed())
      return t.instructions->raiseRelaxed(cell, op.getMode(), value, op.getScope());
    t.instructions->barrier();
    talk.when(talk.isFirstThread(), [&] {
      if (op.getUnordered())
        t.instructions->raiseRelaxed(cell, op.getMode(), value, op.getScope());
      else
        t.instructions->raiseRelease(cell, op.getMode(), value, op.getScope());
    });
  }
};

/// One fence of a warp, whose lanes take the numbers in turn.
struct NotifyEachPattern : TilePattern<NotifyEachOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(NotifyEachOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    Talk talk(t, {});
    t.instructions->barrier();
    auto branch = b.create<scf::IfOp>(op.getLoc(), talk.isFirstWarp());
    b.setInsertionPointToStart(branch.thenBlock());
    t.instructions->fence(op.getScope());
    Value lane = b.create<arith::IndexCastUIOp>(op.getLoc(), b.getIndexType(), context_.lane);
    auto loop = b.create<scf::ForOp>(op.getLoc(), t.add(adaptor.getLower(), lane),
                                     adaptor.getUpper(), t.index(context_.lanes));
    b.inlineBlockBefore(&op.getBody().front(), loop.getBody()->getTerminator(),
                        loop.getInductionVar());
    b.eraseOp(op);
    return success();
  }
};

struct SyncPattern : EffectPattern<SyncOp> {
  using EffectPattern::EffectPattern;
  void write(SyncOp op, OpAdaptor, ThreadBuilder &t) const override {
    if (op.getScope() != "cta")
      t.instructions->fence(op.getScope());
    t.instructions->barrier();
  }
};

/// The CTAs of the rank count themselves in the first counter; the last one of a round counts the
/// rank in the second counter, of every rank or of its own, which all wait for.
struct MeetPattern : LaunchPattern<MeetOp> {
  using LaunchPattern::LaunchPattern;
  void write(MeetOp op, OpAdaptor adaptor, ThreadBuilder &t, Talk &talk) const override {
    OpBuilder &b = t.b;
    mlir::Location loc = op.getLoc();
    Value rounds = roundsOf(t, op);
    Value round = t.add(b.create<LLVM::LoadOp>(loc, b.getI64Type(), rounds, 8u), talk.i64(1));
    b.create<LLVM::StoreOp>(loc, round, rounds, 8u);
    StringRef scope = op.getRanks() ? "sys" : "gpu";
    Value cells = talk.asWord(adaptor.getCells());
    t.instructions->barrier();
    talk.when(talk.isFirstThread(), [&] {
      Value before = t.instructions->addAcquireRelease(cells, talk.i64(1), "gpu");
      Value last = t.mul(round, talk.asWord(adaptor.getCount()));
      Value second = t.add(cells, talk.i64(8));
      Value isLast = talk.compare(arith::CmpIPredicate::eq, t.add(before, talk.i64(1)), last);
      talk.when(isLast, [&] { count(t, talk, second, op.getRanks()); });
      Value wanted = op.getRanks() ? t.mul(round, talk.launch(abi::kRanks)) : round;
      talk.wait(second, wanted, static_cast<int64_t>(op.getSite()), scope, 0);
    });
    t.instructions->barrier();
  }

private:
  /// How often this CTA has met here: in a register.
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
      return t.instructions->raiseRelease(cell, "add", talk.i64(1), "gpu");
    talk.forRanks([&](Value peer) {
      Value distance = t.b.create<arith::SubIOp>(t.loc, peer, talk.launch(abi::kRank));
      Value theirs = t.add(cell, t.mul(distance, talk.launch(abi::kStride)));
      t.instructions->raiseRelease(theirs, "add", talk.i64(1), "sys");
    });
  }
};

} // namespace

void addRankPatterns(RewritePatternSet &patterns, const TypeConverter &types,
                     const ThreadContext &context) {
  addCopyPatterns(patterns, types, context);
  addInboxPatterns(patterns, types, context);
  addLogPatterns(patterns, types, context);
  patterns.add<EpochPattern, BeginPattern, EndPattern, AbortPattern, WaitPattern, NotifyPattern,
               NotifyEachPattern, SyncPattern, MeetPattern>(types, patterns.getContext(), context);
}

} // namespace ditron::gpu
