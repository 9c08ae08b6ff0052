// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How one thread talks to other CTAs and ranks: see RankPatterns.cpp.
#pragma once
#include "ditron/abi/LaunchWords.h"
#include "ditron/targets/gpu/threads/ThreadLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace ditron::gpu {

/// Code of one thread that talks to other CTAs and ranks. Numbers and addresses are i64.
class Talk {
public:
  using Value = mlir::Value;
  Talk(ThreadBuilder &t, mlir::ValueRange launch) : t_(t), launch_(launch) {}

  Value i64(int64_t value) { return t_.b.create<mlir::arith::ConstantIntOp>(t_.loc, value, 64); }
  Value asWord(Value index) {
    return t_.b.createOrFold<mlir::arith::IndexCastOp>(t_.loc, t_.b.getI64Type(), index);
  }
  Value launch(abi::LaunchWord word) {
    if (word == abi::kStatus)
      return t_.b.create<mlir::LLVM::PtrToIntOp>(t_.loc, t_.b.getI64Type(), launch_[word]);
    return asWord(launch_[word]);
  }
  /// A word of this rank's head, or of rank `peer`'s.
  Value head(int64_t offset) { return t_.add(launch(abi::kHead), i64(offset)); }
  Value headOf(Value peer, int64_t offset) {
    Value distance = t_.b.create<mlir::arith::SubIOp>(t_.loc, peer, launch(abi::kRank));
    return t_.add(head(offset), t_.mul(distance, launch(abi::kStride)));
  }
  Value compare(mlir::arith::CmpIPredicate predicate, Value x, Value y) {
    return t_.b.create<mlir::arith::CmpIOp>(t_.loc, predicate, x, y);
  }
  Value either(Value x, Value y) { return t_.b.create<mlir::arith::OrIOp>(t_.loc, x, y); }
  Value both(Value x, Value y) { return t_.b.create<mlir::arith::AndIOp>(t_.loc, x, y); }
  Value invert(Value x) {
    return t_.b.create<mlir::arith::XOrIOp>(t_.loc, x,
                                            t_.b.create<mlir::arith::ConstantIntOp>(t_.loc, 1, 1));
  }
  Value isFirstThread() { return compare(mlir::arith::CmpIPredicate::eq, t_.thread(), t_.i32(0)); }
  Value isFirstWarp() {
    return compare(mlir::arith::CmpIPredicate::eq, t_.context.warp, t_.i32(0));
  }
  Value laneWord() {
    return t_.b.create<mlir::arith::ExtUIOp>(t_.loc, t_.b.getI64Type(), t_.context.lane);
  }
  Value core() {
    return t_.b.create<mlir::arith::ExtUIOp>(t_.loc, t_.b.getI64Type(), t_.instructions->block());
  }
  Value cores() { return t_.instructions->blocks(); }

  /// Code where the condition holds.
  template <class Fn> void when(Value condition, Fn &&body) {
    auto branch = t_.b.create<mlir::scf::IfOp>(t_.loc, condition);
    mlir::OpBuilder::InsertionGuard guard(t_.b);
    t_.b.setInsertionPointToStart(branch.thenBlock());
    body();
  }
  /// For each rank that runs the kernel together with this one.
  template <class Fn> void forRanks(Fn &&body) { forTeam(i64(0), 1, body); }
  /// The same by the lanes of a warp, one or more ranks each.
  template <class Fn> void forRanksByLanes(Fn &&body) {
    forTeam(laneWord(), t_.context.lanes, body);
  }
  /// Whether a number is that of such a rank.
  Value isRank(Value number) {
    Value exists = compare(mlir::arith::CmpIPredicate::ult, number, launch(abi::kRanks));
    Value together = isTogether(number);
    return together ? both(exists, together) : exists;
  }
  /// Tells every rank that the launch has failed.
  void abort();
  /// A store of a word for all of the system, at an address.
  void store(Value address, Value word) { t_.instructions->storeRelaxed(address, word, "sys"); }
  /// The same, after all that this thread has seen.
  void storeRelease(Value address, Value word) {
    t_.instructions->storeRelease(address, word, "sys");
  }
  Value load(Value address) { return t_.instructions->loadRelaxed(address, "sys"); }
  Value offset(Value base, Value number) { return t_.add(base, t_.mul(number, i64(8))); }
  /// For each of `count` numbers from 0 on.
  template <class Fn> void forEach(Value count, Fn &&body) {
    auto loop = t_.b.create<mlir::scf::ForOp>(t_.loc, i64(0), count, i64(1));
    mlir::OpBuilder::InsertionGuard guard(t_.b);
    t_.b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }

  /// Waits until the counter is at least `value`. `record`: which of the CTA's records tells of a
  /// wait that fails.
  void wait(Value cell, Value value, int64_t site, llvm::StringRef scope, int64_t record);

  /// In a loop that looks for something, whose block begins with how often it has looked (i64), when the wait
  /// began (i64, 0: not known) and whether it is to end (i1): the next ones, where an iteration looks `each` times, a
  /// power of two of up to 64. Every 64th time it looks at the clock and at what others say.
  llvm::SmallVector<Value> patience(mlir::Block *block, int64_t each = 1);

  /// Behind a wait: if what it has seen is less than the value, all ranks are told, and the record
  /// says what it was. `running`: the number of the launch; null: it follows the one that the rank has completed.
  void noteFailure(Value cell, Value value, Value seen, int64_t site, int64_t record) {
    noteFailure(cell, value, seen, i64(site), record, Value());
  }
  void noteFailure(Value cell, Value value, Value seen, Value site, int64_t record, Value running);

private:
  std::pair<Value, Value> isWaitOver(Value began);
  /// Whether a rank is on the line of the mesh that runs the kernel together; null: all are.
  Value isTogether(Value number);

  template <class Fn> void forTeam(Value first, int64_t step, Fn &&body) {
    forAll(first, step, [&](Value peer) {
      Value together = isTogether(peer);
      together ? when(together, [&] { body(peer); }) : body(peer);
    });
  }
  template <class Fn> void forAll(Value first, int64_t step, Fn &&body) {
    auto loop = t_.b.create<mlir::scf::ForOp>(t_.loc, first, launch(abi::kRanks), i64(step));
    mlir::OpBuilder::InsertionGuard guard(t_.b);
    t_.b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }

  ThreadBuilder &t_;
  mlir::ValueRange launch_;
};

/// The end of a launch with roles of copy engines, by one thread: see abi/WorkspaceLayout.h.
/// `counters`: see simt.end. `site`: of the wait.
void endCopies(Talk &talk, int64_t site, mlir::ValueRange counters);
void addCopyPatterns(mlir::RewritePatternSet &patterns, const mlir::TypeConverter &types,
                     const ThreadContext &context);

/// At the end of launch `epoch`, or when the launch behind it begins: clears the page of inboxes
/// that it used, in one launch of many (see InboxPatterns.cpp). Threads clear every `step`th word
/// from number `first` on.
void clearInboxes(Talk &talk, ThreadBuilder &t, mlir::ValueRange boxes, mlir::Value epoch,
                  mlir::Value first, int64_t step);
void addInboxPatterns(mlir::RewritePatternSet &patterns, const mlir::TypeConverter &types,
                      const ThreadContext &context);

void addLogPatterns(mlir::RewritePatternSet &patterns, const mlir::TypeConverter &types,
                    const ThreadContext &context);

/// Error where an op does not have all words of the launch (abi/LaunchWords.h).
mlir::LogicalResult checkLaunch(mlir::Operation *op, mlir::ValueRange launch);

/// The pattern of an op without results that takes the words of the launch.
template <class Op> class LaunchPattern : public TilePattern<Op> {
public:
  using TilePattern<Op>::TilePattern;
  using OpAdaptor = typename Op::Adaptor;

  mlir::LogicalResult matchAndRewrite(Op op, OpAdaptor adaptor,
                                      mlir::ConversionPatternRewriter &b) const final {
    if (failed(checkLaunch(op, adaptor.getLaunch())))
      return mlir::failure();
    ThreadBuilder t(b, op.getLoc(), this->context_);
    Talk talk(t, adaptor.getLaunch());
    write(op, adaptor, t, talk);
    b.eraseOp(op);
    return mlir::success();
  }

private:
  /// Writes what one thread does, at the op's place.
  virtual void write(Op op, OpAdaptor adaptor, ThreadBuilder &t, Talk &talk) const = 0;
};

} // namespace ditron::gpu
