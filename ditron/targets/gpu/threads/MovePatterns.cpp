// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chunks copied from memory to memory by the threads of a CTA, either of which may be a peer's.
//
// A chunk is taken as rows of its last dimension. Where both sides have rows of neighbouring
// elements, and addresses and strides in multiples of 16 bytes, a thread takes 16 bytes at a time
// and has several such accesses under way; else element by element, for any strides.
#include "ditron/lower/Conversions.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "ditron/targets/gpu/threads/ThreadLowering.h"
#include "ditron/targets/gpu/transforms/Passes.h"

using namespace mlir;

namespace ditron::gpu {

namespace {

constexpr int64_t kAccessBytes = 16;

/// Accesses of a thread that are under way together: as many as hide the memory's latency.
int64_t atATime(int64_t bytes) { return bytes == kAccessBytes ? 4 : 16; }

/// One side of a copy: its first element's address and its strides, in bytes; i64.
struct Side {
  Value address;
  SmallVector<Value> strides;
};

class Copy {
public:
  Copy(ThreadBuilder &t, Value source, Value destination)
      : t_(t), type_(cast<MemRefType>(source.getType())),
        bytes_(storageBytes(type_.getElementType())), from_(sideOf(source)),
        to_(sideOf(destination)) {
    auto metadata = t.b.create<memref::ExtractStridedMetadataOp>(t.loc, source);
    for (Value size : metadata.getSizes())
      extents_.push_back(word(size));
  }

  /// All rows together: each thread has something to do.
  void write() {
    inAccesses([&](auto... accesses) { copy(accesses...); });
  }
  /// Row by row, in few registers.
  void writeRows() {
    inAccesses([&](auto... accesses) { copyRows(accesses...); });
  }

private:
  /// Calls `copy(accesses a row, how far apart at either side, bytes of one)`, where they are wide and where
  /// they are not.
  template <class Fn> void inAccesses(Fn &&copy) {
    if (extents_.empty())
      extents_.push_back(i64(1)), from_.strides.push_back(i64(bytes_)),
          to_.strides.push_back(i64(bytes_));
    auto branch = t_.b.create<scf::IfOp>(t_.loc, isWide(), /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(t_.b);
    t_.b.setInsertionPointToStart(branch.thenBlock());
    Value width = t_.b.create<arith::DivUIOp>(t_.loc, t_.mul(extents_.back(), i64(bytes_)),
                                              i64(kAccessBytes));
    copy(width, i64(kAccessBytes), i64(kAccessBytes), kAccessBytes);
    t_.b.setInsertionPointToStart(branch.elseBlock());
    copy(extents_.back(), from_.strides.back(), to_.strides.back(), bytes_);
  }

  Value i64(int64_t value) { return t_.b.create<arith::ConstantIntOp>(t_.loc, value, 64); }
  Value word(Value index) {
    return t_.b.createOrFold<arith::IndexCastOp>(t_.loc, t_.b.getI64Type(), index);
  }
  Value equal(Value x, Value y) {
    return t_.b.create<arith::CmpIOp>(t_.loc, arith::CmpIPredicate::eq, x, y);
  }

  Side sideOf(Value view) {
    auto metadata = t_.b.create<memref::ExtractStridedMetadataOp>(t_.loc, view);
    Value base = t_.b.create<memref::ExtractAlignedPointerAsIndexOp>(t_.loc, view);
    Side side{t_.add(word(base), t_.mul(word(metadata.getOffset()), i64(bytes_))), {}};
    for (Value stride : metadata.getStrides())
      side.strides.push_back(t_.mul(word(stride), i64(bytes_)));
    return side;
  }

  /// Whether rows are runs of whole accesses on both sides.
  Value isWide() {
    Value bits = t_.mul(extents_.back(), i64(bytes_)), dense;
    for (const Side *side : {&from_, &to_}) {
      bits = t_.b.create<arith::OrIOp>(t_.loc, bits, side->address);
      for (Value stride : ArrayRef(side->strides).drop_back())
        bits = t_.b.create<arith::OrIOp>(t_.loc, bits, stride);
      Value isDense = equal(side->strides.back(), i64(bytes_));
      dense = dense ? Value(t_.b.create<arith::AndIOp>(t_.loc, dense, isDense)) : isDense;
    }
    bits = t_.b.create<arith::AndIOp>(t_.loc, bits, i64(kAccessBytes - 1));
    return t_.b.create<arith::AndIOp>(t_.loc, dense, equal(bits, i64(0)));
  }

  /// `number` in digits of these extents, the last one least; the first has no limit.
  SmallVector<Value> digitsOf(Value number, ArrayRef<Value> extents) {
    SmallVector<Value> digits(extents.size());
    for (size_t dim = extents.size(); dim-- > 0;) {
      digits[dim] = number;
      if (dim == 0)
        break;
      digits[dim] = t_.b.create<arith::RemUIOp>(t_.loc, number, extents[dim]);
      number = t_.b.create<arith::DivUIOp>(t_.loc, number, extents[dim]);
    }
    return digits;
  }

  /// The sum of two numbers in digits.
  SmallVector<Value> sum(ArrayRef<Value> x, ArrayRef<Value> y, ArrayRef<Value> extents) {
    OpBuilder &b = t_.b;
    SmallVector<Value> digits(extents.size());
    Value carry;
    for (size_t dim = extents.size(); dim-- > 0;) {
      Value digit = t_.add(x[dim], y[dim]);
      if (carry)
        digit = t_.add(digit, b.create<arith::ExtUIOp>(t_.loc, b.getI64Type(), carry));
      if (dim > 0) {
        carry = b.create<arith::CmpIOp>(t_.loc, arith::CmpIPredicate::uge, digit, extents[dim]);
        Value less = b.create<arith::SubIOp>(t_.loc, digit, extents[dim]);
        digit = b.create<arith::SelectOp>(t_.loc, carry, less, digit);
      }
      digits[dim] = digit;
    }
    return digits;
  }

  static Value addressOf(ThreadBuilder &t, const Side &side, ArrayRef<Value> digits, Value step) {
    Value address = t.add(side.address, t.mul(digits.back(), step));
    for (auto [digit, stride] : llvm::zip(digits.drop_back(), side.strides))
      address = t.add(address, t.mul(digit, stride));
    return address;
  }

  /// All threads take accesses of `size` bytes in turn, `width` a row that are so far apart, several
  /// under way at a time. Only the first one's place takes divisions.
  void copy(Value width, Value fromStep, Value toStep, int64_t size) {
    OpBuilder &b = t_.b;
    int64_t threads = t_.context.threads().count();
    SmallVector<Value> extents(extents_);
    extents.back() = width;
    Value total = i64(1);
    for (Value &extent : extents) {
      total = t_.mul(total, extent);
      extent = b.create<arith::MaxUIOp>(t_.loc, extent, i64(1)); // of nothing, divisions are by 1
    }
    Value first = b.create<arith::ExtUIOp>(t_.loc, b.getI64Type(), t_.thread());
    SmallVector<Value> step = digitsOf(i64(threads), extents);
    auto loop = b.create<scf::ForOp>(t_.loc, first, total, i64(atATime(size) * threads),
                                     digitsOf(first, extents));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> zeros = zerosOf(size);
    SmallVector<std::tuple<SmallVector<Value>, Value, Value>> underWay;
    SmallVector<Value> digits(loop.getRegionIterArgs());
    for (int64_t n = 0; n < atATime(size); ++n) {
      Value number = t_.add(loop.getInductionVar(), i64(n * threads));
      Value exists = b.create<arith::CmpIOp>(t_.loc, arith::CmpIPredicate::ult, number, total);
      Value from = addressOf(t_, from_, digits, fromStep), to = addressOf(t_, to_, digits, toStep);
      underWay.emplace_back(t_.instructions->loadGlobal(from, size, exists, zeros), to, exists);
      digits = sum(digits, step, extents);
    }
    for (auto &[values, to, exists] : underWay)
      t_.instructions->storeGlobal(to, values, exists);
    b.create<scf::YieldOp>(t_.loc, digits);
  }

  /// The same row by row.
  void copyRows(Value width, Value fromStep, Value toStep, int64_t size) {
    OpBuilder &b = t_.b;
    OpBuilder::InsertionGuard guard(b);
    Value from = from_.address, to = to_.address;
    for (size_t dim = 0; dim + 1 < extents_.size(); ++dim) {
      auto loop = b.create<scf::ForOp>(t_.loc, i64(0), extents_[dim], i64(1));
      b.setInsertionPointToStart(loop.getBody());
      from = t_.add(from, t_.mul(loop.getInductionVar(), from_.strides[dim]));
      to = t_.add(to, t_.mul(loop.getInductionVar(), to_.strides[dim]));
    }
    constexpr int64_t kAtATime = 4;
    int64_t threads = t_.context.threads().count();
    Value first = b.create<arith::ExtUIOp>(t_.loc, b.getI64Type(), t_.thread());
    auto loop = b.create<scf::ForOp>(t_.loc, first, width, i64(kAtATime * threads));
    b.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar();
    Value left = b.create<arith::SubIOp>(t_.loc, width, number);
    from = t_.add(from, t_.mul(number, fromStep)), to = t_.add(to, t_.mul(number, toStep));
    SmallVector<std::pair<SmallVector<Value>, Value>> underWay;
    for (int64_t n = 0; n < kAtATime; ++n) {
      Value exists =
          b.create<arith::CmpIOp>(t_.loc, arith::CmpIPredicate::sgt, left, i64(n * threads));
      Value address = t_.add(from, t_.mul(fromStep, i64(n * threads)));
      underWay.emplace_back(t_.instructions->loadGlobal(address, size, exists, zerosOf(size)),
                            exists);
    }
    for (auto [n, one] : llvm::enumerate(underWay)) {
      Value address = t_.add(to, t_.mul(toStep, i64(static_cast<int64_t>(n) * threads)));
      t_.instructions->storeGlobal(address, one.first, one.second);
    }
  }

  /// What an access of `size` bytes has where there is nothing to load.
  SmallVector<Value> zerosOf(int64_t size) {
    OpBuilder &b = t_.b;
    Type carrier = size < 4 ? b.getIntegerType(static_cast<unsigned>(8 * size)) : b.getI32Type();
    Value zero = b.create<arith::ConstantOp>(t_.loc, b.getIntegerAttr(carrier, 0));
    return SmallVector<Value>(static_cast<size_t>(std::max<int64_t>(1, size / 4)), zero);
  }

  ThreadBuilder &t_;
  MemRefType type_;
  int64_t bytes_;
  Side from_, to_;
  SmallVector<Value> extents_; ///< i64
};

} // namespace

void copyRows(ThreadBuilder &t, Value source, Value destination) {
  Copy(t, source, destination).writeRows();
}

namespace {

struct MovePattern : EffectPattern<MoveOp> {
  using EffectPattern::EffectPattern;
  void write(MoveOp op, OpAdaptor, ThreadBuilder &t) const override {
    t.instructions->barrier(); // what the other threads wrote, and have read
    Copy(t, op.getSource(), op.getDestination()).write();
    if (op.getComplete())
      t.instructions->barrier();
  }
};

} // namespace

void addMovePatterns(RewritePatternSet &patterns, const TypeConverter &types,
                     const ThreadContext &context) {
  patterns.add<MovePattern>(types, patterns.getContext(), context);
}

} // namespace ditron::gpu
