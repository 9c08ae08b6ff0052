// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Order between roles, and between launches. The producer waits for itself, and has TMA see what it
// has seen.
#include "ditron/targets/gpu/threads/Talk.h"
#include "ditron/targets/nvidia/analysis/Guards.h"
#include "ditron/targets/nvidia/emit/ThreadBuilder.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace ditron::nvidia {
namespace {

/// A wait of the producer: takes precedence over that of all threads. It keeps the counter and the
/// value that it has waited for last, in registers, and does not wait for them again: counters only
/// grow, so what was there is there.
class ProducerWaitPattern : public OpConversionPattern<WaitOp> {
public:
  ProducerWaitPattern(const TypeConverter &types, MLIRContext *mlirContext,
                      const ThreadContext &context)
      : OpConversionPattern(types, mlirContext, /*benefit=*/2), context_(context) {}

  LogicalResult matchAndRewrite(WaitOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    if (!op->hasAttr(kProducerAttr))
      return b.notifyMatchFailure(op, "all threads wait");
    if (failed(checkLaunch(op, adaptor.getLaunch())))
      return failure();
    ThreadBuilder t(b, op.getLoc(), context_);
    Talk talk(t, adaptor.getLaunch());
    Value cell = talk.asWord(adaptor.getCell()), value = talk.asWord(adaptor.getValue());
    Value lastCell = remembered(t, op), lastValue = remembered(t, op);
    Type word = b.getI64Type();
    Value isOther = talk.compare(arith::CmpIPredicate::ne, cell,
                                 b.create<LLVM::LoadOp>(op.getLoc(), word, lastCell));
    Value isMore = talk.compare(arith::CmpIPredicate::ugt, value,
                                b.create<LLVM::LoadOp>(op.getLoc(), word, lastValue));
    talk.when(talk.either(isOther, isMore), [&] {
      talk.wait(cell, value, static_cast<int64_t>(op.getSite()), op.getScope(), 1);
      t.instructions.fenceAsyncProxy();
      b.create<LLVM::StoreOp>(op.getLoc(), cell, lastCell);
      b.create<LLVM::StoreOp>(op.getLoc(), value, lastValue);
    });
    b.eraseOp(op);
    return success();
  }

private:
  /// A word of the thread, 0 at the beginning: an alloca, which LLVM promotes to a register.
  static Value remembered(ThreadBuilder &t, WaitOp op) {
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(&op->getParentOfType<func::FuncOp>().front());
    auto pointer = LLVM::LLVMPointerType::get(t.b.getContext());
    Value word = t.b.create<LLVM::AllocaOp>(t.loc, pointer, t.b.getI64Type(), t.i32(1));
    Value zero = t.b.create<arith::ConstantIntOp>(t.loc, 0, 64);
    t.b.create<LLVM::StoreOp>(t.loc, zero, word);
    return word;
  }

  const ThreadContext &context_;
};

struct GridDependencyWaitPattern : EffectPattern<GridDependencyWaitOp> {
  using EffectPattern::EffectPattern;
  void write(GridDependencyWaitOp op, OpAdaptor, ThreadBuilder &t) const override {
    if (!op.getOnly())
      t.instructions.releaseGridDependents();
    t.instructions.waitForGridDependency();
  }
};

struct GridDependencyReleasePattern : EffectPattern<GridDependencyReleaseOp> {
  using EffectPattern::EffectPattern;
  void write(GridDependencyReleaseOp, OpAdaptor, ThreadBuilder &t) const override {
    t.instructions.releaseGridDependents();
  }
};

/// An mbarrier in shared memory, on which one thread arrives each time the consumer passes, and the
/// parity of the phase that the producer waits for, in a register.
struct GatePattern : TilePattern<GateOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(GateOp op, OpAdaptor, ConversionPatternRewriter &b) const override {
    mlir::Location loc = op.getLoc();
    ThreadBuilder t(b, loc, context_);
    Value barrier = t.shared(context_.shared.allocate(8)), parity = t.makeWords();
    b.create<LLVM::StoreOp>(loc, t.i32(0), parity);
    t.makeBarriers(barrier, {1});
    t.instructions.barrier(/*ofAll=*/true);
    Value gate = b.create<LLVM::UndefOp>(loc, pipeType(b.getContext()));
    gate = b.create<LLVM::InsertValueOp>(loc, gate, barrier, 0);
    b.replaceOpWithNewOp<LLVM::InsertValueOp>(op, gate, parity, 1);
    return success();
  }
};

struct GateArrivePattern : EffectPattern<GateArriveOp> {
  using EffectPattern::EffectPattern;
  void write(GateArriveOp op, OpAdaptor adaptor, ThreadBuilder &t) const override {
    OpBuilder &b = t.b;
    Value barrier = b.create<LLVM::ExtractValueOp>(op.getLoc(), adaptor.getGate(), 0);
    t.instructions.barrier();
    t.instructions.arrive(barrier, Talk(t, {}).isFirstThread());
  }
};

struct GateWaitPattern : EffectPattern<GateWaitOp> {
  using EffectPattern::EffectPattern;
  void write(GateWaitOp op, OpAdaptor adaptor, ThreadBuilder &t) const override {
    OpBuilder &b = t.b;
    mlir::Location loc = op.getLoc();
    Value barrier = b.create<LLVM::ExtractValueOp>(loc, adaptor.getGate(), 0);
    Value place = b.create<LLVM::ExtractValueOp>(loc, adaptor.getGate(), 1);
    Value parity = b.create<LLVM::LoadOp>(loc, b.getI32Type(), place);
    t.instructions.waitBarrier(barrier, parity);
    b.create<LLVM::StoreOp>(loc, b.create<arith::XOrIOp>(loc, parity, t.i32(1)), place);
    t.instructions.fenceAsyncProxy();
  }
};

} // namespace

void addGatePatterns(RewritePatternSet &patterns, const TypeConverter &types,
                     const ThreadContext &context) {
  patterns.add<ProducerWaitPattern, GatePattern, GateArrivePattern, GateWaitPattern,
               GridDependencyWaitPattern, GridDependencyReleasePattern>(
      types, patterns.getContext(), context);
}

} // namespace ditron::nvidia
