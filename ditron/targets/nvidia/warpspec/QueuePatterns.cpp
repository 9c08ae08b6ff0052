// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers from the producer to the consumer: nvidia.queue, enqueue and dequeue.
//
// In shared memory a queue is its slots, 8 bytes a number, then two mbarriers a slot: `full`, on
// which the producer arrives, and `empty`, on which each consumer warp does when all its lanes have
// read. Each thread counts what it has sent or received, in a register: an alloca here, which LLVM
// promotes.
#include "ditron/targets/nvidia/emit/ThreadBuilder.h"
#include "ditron/targets/nvidia/ops/NvidiaOps.h"
#include "ditron/targets/nvidia/transforms/Passes.h"

using namespace mlir;

namespace ditron::nvidia {
namespace {

constexpr int64_t kNumberBytes = 8;

/// A queue as one of its threads sees it: its next slot.
class Queue {
public:
  Queue(ThreadBuilder &t, QueueType type, Value converted) : t_(t), type_(type) {
    base_ = t.b.create<LLVM::ExtractValueOp>(t.loc, converted, 0);
    count_ = t.b.create<LLVM::ExtractValueOp>(t.loc, converted, 1);
    index_ = t.b.create<LLVM::LoadOp>(t.loc, t.b.getI32Type(), count_);
    slot_ = t.b.create<arith::AndIOp>(t.loc, index_, t.i32(type.getSlots() - 1));
    Value round = t.b.create<arith::ShRUIOp>(
        t.loc, index_, t.i32(llvm::Log2_64(static_cast<uint64_t>(type.getSlots()))));
    parity_ = t.b.create<arith::AndIOp>(t.loc, round, t.i32(1));
  }

  static int64_t bytesOfSlots(QueueType type) {
    return type.getSlots() * static_cast<int64_t>(type.getNumbers().size()) * kNumberBytes;
  }

  Value full() { return barrier(0); }
  Value empty() { return barrier(type_.getSlots()); }
  /// The parity of `full` that says that numbers are there, and of `empty` that they may be put.
  Value isThere() { return parity_; }
  Value isFree() { return t_.b.create<arith::XOrIOp>(t_.loc, parity_, t_.i32(1)); }
  Value number(int64_t n) {
    auto bytes = static_cast<int64_t>(type_.getNumbers().size()) * kNumberBytes;
    return t_.offset(t_.offset(base_, t_.mul(slot_, t_.i32(bytes))), n * kNumberBytes);
  }
  void next() { t_.b.create<LLVM::StoreOp>(t_.loc, t_.add(index_, t_.i32(1)), count_); }

private:
  Value barrier(int64_t first) {
    Value place = t_.offset(base_, t_.mul(slot_, t_.i32(kBarrierBytes)));
    return t_.offset(place, bytesOfSlots(type_) + first * kBarrierBytes);
  }

  ThreadBuilder &t_;
  QueueType type_;
  Value base_, count_, index_, slot_, parity_;
};

/// The type in which a number lies in shared memory.
Type storedType(Type number) {
  Builder b(number.getContext());
  bool isWhole =
      isa<FloatType>(number) || (number.isInteger() && number.getIntOrFloatBitWidth() >= 32);
  return number.isIndex() ? Type(b.getI64Type()) : isWhole ? number : Type(b.getI32Type());
}

struct QueuePattern : TilePattern<QueueOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(QueueOp op, OpAdaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    QueueType type = op.getType();
    int64_t slots = type.getSlots(), bytes = Queue::bytesOfSlots(type);
    Value base = t.shared(context_.shared.allocate(bytes + 2 * slots * kBarrierBytes)),
          count = t.makeWords();
    b.create<LLVM::StoreOp>(op.getLoc(), t.i32(0), count);
    SmallVector<int64_t> arrivals(static_cast<size_t>(slots), 1);
    arrivals.append(static_cast<size_t>(slots), context_.warps);
    t.makeBarriers(t.offset(base, bytes), arrivals);
    t.instructions.barrier(/*ofAll=*/true);
    Value queue = b.create<LLVM::UndefOp>(op.getLoc(), pipeType(b.getContext()));
    queue = b.create<LLVM::InsertValueOp>(op.getLoc(), queue, base, 0);
    b.replaceOpWithNewOp<LLVM::InsertValueOp>(op, queue, count, 1);
    return success();
  }
};

struct EnqueuePattern : EffectPattern<EnqueueOp> {
  using EffectPattern::EffectPattern;
  void write(EnqueueOp op, OpAdaptor adaptor, ThreadBuilder &t) const override {
    OpBuilder &b = t.b;
    Queue queue(t, op.getQueue().getType(), adaptor.getQueue());
    t.instructions.waitBarrier(queue.empty(), queue.isFree());
    for (auto [n, number] : llvm::enumerate(adaptor.getNumbers())) {
      Type stored = storedType(number.getType());
      if (number.getType().isIndex())
        number = b.create<arith::IndexCastOp>(op.getLoc(), stored, number);
      else if (stored != number.getType())
        number = b.create<arith::ExtUIOp>(op.getLoc(), stored, number);
      b.create<LLVM::StoreOp>(op.getLoc(), number, queue.number(static_cast<int64_t>(n)));
    }
    t.instructions.arrive(queue.full(), b.create<arith::ConstantIntOp>(op.getLoc(), 1, 1));
    queue.next();
  }
};

struct DequeuePattern : TilePattern<DequeueOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(DequeueOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    Queue queue(t, op.getQueue().getType(), adaptor.getQueue());
    t.instructions.waitBarrier(queue.full(), queue.isThere());
    SmallVector<Value> numbers;
    for (auto [n, type] : llvm::enumerate(op.getResultTypes())) {
      Type stored = storedType(type);
      Value number =
          b.create<LLVM::LoadOp>(op.getLoc(), stored, queue.number(static_cast<int64_t>(n)));
      if (type.isIndex())
        number = b.create<arith::IndexCastOp>(op.getLoc(), type, number);
      else if (stored != type)
        number = b.create<arith::TruncIOp>(op.getLoc(), type, number);
      numbers.push_back(number);
    }
    b.create<NVVM::SyncWarpOp>(op.getLoc(), t.i32(-1));
    Value isFirst =
        b.create<arith::CmpIOp>(op.getLoc(), arith::CmpIPredicate::eq, context_.lane, t.i32(0));
    t.instructions.arrive(queue.empty(), isFirst);
    queue.next();
    b.replaceOp(op, numbers);
    return success();
  }
};

} // namespace

void addQueuePatterns(RewritePatternSet &patterns, const TypeConverter &types,
                      const ThreadContext &context) {
  patterns.add<QueuePattern, EnqueuePattern, DequeuePattern>(types, patterns.getContext(), context);
}

} // namespace ditron::nvidia
