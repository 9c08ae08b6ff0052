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
    Value isMore = talk.compare(arith::CmpIPredicate::sgt, value,
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

/// Two mbarriers in shared memory, and the parity of the next phase of both, in a register of each side. On `passed` a
/// thread of the consumer arrives each time that passes, on `seen` the producer does when it has found that. A parity
/// tells a phase from the next one, and not from the one behind that: the consumer passes once more when the last time
/// has been seen.
class Gate {
public:
  Gate(ThreadBuilder &t, Value converted) : t_(t) {
    passed_ = t.b.create<LLVM::ExtractValueOp>(t.loc, converted, 0);
    place_ = t.b.create<LLVM::ExtractValueOp>(t.loc, converted, 1);
  }

  static constexpr int64_t kBytes = 2 * kBarrierBytes;

  Value passed() { return passed_; }
  Value seen() { return t_.offset(passed_, kBarrierBytes); }
  /// The parity of this time, once for each.
  Value nextParity() {
    Value parity = t_.b.create<LLVM::LoadOp>(t_.loc, t_.b.getI32Type(), place_);
    t_.b.create<LLVM::StoreOp>(t_.loc, flipped(parity), place_);
    return parity;
  }
  Value flipped(Value parity) { return t_.b.create<arith::XOrIOp>(t_.loc, parity, t_.i32(1)); }
  void arrive(Value barrier) {
    t_.instructions.arrive(barrier, t_.b.create<arith::ConstantIntOp>(t_.loc, 1, 1));
  }

private:
  ThreadBuilder &t_;
  Value passed_, place_;
};

struct GatePattern : TilePattern<GateOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(GateOp op, OpAdaptor, ConversionPatternRewriter &b) const override {
    mlir::Location loc = op.getLoc();
    ThreadBuilder t(b, loc, context_);
    Value barriers = t.shared(context_.shared.allocate(Gate::kBytes)), parity = t.makeWords();
    b.create<LLVM::StoreOp>(loc, t.i32(0), parity);
    t.makeBarriers(barriers, {1, 1});
    t.instructions.barrier(/*ofAll=*/true);
    Value gate = b.create<LLVM::UndefOp>(loc, pipeType(b.getContext()));
    gate = b.create<LLVM::InsertValueOp>(loc, gate, barriers, 0);
    b.replaceOpWithNewOp<LLVM::InsertValueOp>(op, gate, parity, 1);
    return success();
  }
};

struct GateArrivePattern : EffectPattern<GateArriveOp> {
  using EffectPattern::EffectPattern;
  void write(GateArriveOp, OpAdaptor adaptor, ThreadBuilder &t) const override {
    Gate gate(t, adaptor.getGate());
    Value parity = gate.nextParity();
    Talk talk(t, {});
    t.instructions.barrier();
    talk.when(talk.isFirstThread(), [&] {
      t.instructions.waitBarrier(gate.seen(), gate.flipped(parity));
      gate.arrive(gate.passed());
    });
  }
};

struct GateWaitPattern : EffectPattern<GateWaitOp> {
  using EffectPattern::EffectPattern;
  void write(GateWaitOp, OpAdaptor adaptor, ThreadBuilder &t) const override {
    Gate gate(t, adaptor.getGate());
    t.instructions.waitBarrier(gate.passed(), gate.nextParity());
    gate.arrive(gate.seen());
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
