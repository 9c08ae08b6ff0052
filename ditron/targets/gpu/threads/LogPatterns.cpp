// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a CTA notes in the log of the device: see abi/DeviceLog.h. One thread writes, and reads nothing
// but what it has written itself, so no order is needed; a kernel behind finds it all.
#include "ditron/abi/DeviceLog.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "ditron/targets/gpu/threads/Talk.h"

using namespace mlir;

namespace ditron::gpu {

namespace {

using abi::DeviceLog;

/// An event as it is noted. Words are i64.
struct LogEntry {
  Value begin, end, what; ///< `what`: the third word
  int64_t site;
  SmallVector<Value> values;
};

class LogWriter {
public:
  LogWriter(ThreadBuilder &t, Talk &talk) : t_(t), talk_(talk) {}

  /// By one thread.
  void write(const LogEntry &entry) {
    Value log = load(t_.add(talk_.launch(abi::kStatus), talk_.i64(8 * abi::Status::kLog)));
    Value mask = load(word(log, DeviceLog::kMask)), events = load(word(log, DeviceLog::kEvents));
    Value lane = t_.add(bytes(talk_.core(), DeviceLog::kLaneWords), talk_.i64(DeviceLog::kLanes));
    lane = t_.add(log, lane);
    Value count = load(lane), capacity = t_.add(mask, talk_.i64(1));
    Value slot = t_.add(t_.mul(talk_.core(), capacity), talk_.both(count, mask));
    Value place = t_.add(t_.add(log, events), bytes(slot, DeviceLog::kEventWords));
    SmallVector<Value> words{entry.begin, entry.end, entry.what, talk_.i64(entry.site)};
    llvm::append_range(words, entry.values);
    for (auto [n, value] : llvm::enumerate(ArrayRef(words).take_front(DeviceLog::kEventWords)))
      store(word(place, static_cast<int64_t>(n)), value);
    store(lane, t_.add(count, talk_.i64(1)));
  }

private:
  Value word(Value address, int64_t number) {
    return t_.add(address, talk_.i64(DeviceLog::kWord * number));
  }
  Value bytes(Value number, int64_t words) {
    return t_.mul(number, talk_.i64(DeviceLog::kWord * words));
  }
  Value pointer(Value address) {
    return t_.b.create<LLVM::IntToPtrOp>(
        t_.loc, LLVM::LLVMPointerType::get(t_.b.getContext(), /*addressSpace=*/1), address);
  }
  Value load(Value address) {
    return t_.b.create<LLVM::LoadOp>(t_.loc, t_.b.getI64Type(), pointer(address), 8u);
  }
  void store(Value address, Value value) {
    t_.b.create<LLVM::StoreOp>(t_.loc, value, pointer(address), 8u);
  }

  ThreadBuilder &t_;
  Talk &talk_;
};

struct TimePattern : TilePattern<TimeOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(TimeOp op, OpAdaptor, ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    b.replaceOp(op, t.instructions->time());
    return success();
  }
};

struct ReachedPattern : TilePattern<ReachedOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(ReachedOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    Talk talk(t, {});
    Value seen = t.instructions->loadRelaxed(talk.asWord(adaptor.getCell()), op.getScope());
    b.replaceOp(op, talk.compare(arith::CmpIPredicate::sge, seen, talk.asWord(adaptor.getValue())));
    return success();
  }
};

struct LogPattern : EffectPattern<LogOp> {
  using EffectPattern::EffectPattern;
  void write(LogOp op, OpAdaptor adaptor, ThreadBuilder &t) const override {
    Value status = adaptor.getStatus(); // which the range refers to
    Talk talk(t, status);
    auto what = static_cast<DeviceLog::Kind>(op.getWhat());
    auto dims = what == DeviceLog::tile ? static_cast<int64_t>(op.getValues().size()) : 0;
    talk.when(talk.isFirstThread(), [&] {
      LogEntry entry{adaptor.getBegin(),
                     t.instructions->time(),
                     talk.i64(DeviceLog::describe(what, dims)),
                     static_cast<int64_t>(op.getSite()),
                     {}};
      if (!entry.begin)
        entry.begin = entry.end;
      if (Value held = adaptor.getHeld()) {
        Value late = talk.i64(DeviceLog::describe(what, dims) | DeviceLog::kWaited);
        entry.what = t.b.create<arith::SelectOp>(t.loc, held, entry.what, late);
      }
      for (Value value : adaptor.getValues())
        entry.values.push_back(talk.asWord(value));
      LogWriter(t, talk).write(entry);
    });
  }
};

/// A counter that is set is not asked what it was.
struct NotifyLoggedPattern : EffectPattern<NotifyLoggedOp> {
  using EffectPattern::EffectPattern;
  void write(NotifyLoggedOp op, OpAdaptor adaptor, ThreadBuilder &t) const override {
    Value status = adaptor.getStatus(); // which the range refers to
    Talk talk(t, status);
    Value cell = talk.asWord(adaptor.getCell()), value = talk.asWord(adaptor.getValue());
    bool adds = op.getMode() == "add";
    t.instructions->barrier();
    talk.when(talk.isFirstThread(), [&] {
      Value now = t.instructions->time(), before = talk.i64(0);
      if (adds)
        before = t.instructions->addAcquireRelease(cell, value, op.getScope());
      else
        t.instructions->raiseRelease(cell, op.getMode(), value, op.getScope());
      LogWriter(t, talk).write({now,
                                now,
                                talk.i64(DeviceLog::describe(DeviceLog::notify, 0)),
                                static_cast<int64_t>(op.getSite()),
                                {cell, before, t.add(before, value)}});
    });
  }
};

} // namespace

void addLogPatterns(RewritePatternSet &patterns, const TypeConverter &types,
                    const ThreadContext &context) {
  patterns.add<TimePattern, ReachedPattern, LogPattern, NotifyLoggedPattern>(
      types, patterns.getContext(), context);
}

} // namespace ditron::gpu
