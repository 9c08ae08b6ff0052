// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of tables: a lane of each warp has the word of its number, and gives it to all others when it is asked for.
#include "ditron/targets/gpu/threads/ThreadLowering.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace ditron::gpu {
namespace {

constexpr int64_t kBytes = 8; ///< of a word

/// A word of its two halves, of 32 bits each.
Value wordOf(ThreadBuilder &t, ArrayRef<Value> halves) {
  auto one = VectorType::get({1}, t.b.getI64Type());
  return t.split(t.b.create<vector::BitCastOp>(t.loc, one, t.join(halves))).front();
}

struct RowPattern : TilePattern<RowOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(RowOp op, OpAdaptor, ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    auto table = b.create<memref::ExtractStridedMetadataOp>(t.loc, op.getTable());
    Value lane = b.create<arith::IndexCastUIOp>(t.loc, b.getIndexType(), context_.lane);
    auto isBelow = [&](Value x, Value y) {
      return b.create<arith::CmpIOp>(t.loc, arith::CmpIPredicate::ult, x, y);
    };
    Value exists = b.create<arith::AndIOp>(t.loc, isBelow(op.getRow(), op.getEnd()),
                                           isBelow(lane, table.getSizes()[1]));
    Value place =
        t.add(t.mul(op.getRow(), table.getStrides()[0]), t.mul(lane, table.getStrides()[1]));
    place = t.mul(t.add(place, table.getOffset()), t.index(kBytes));
    Value base = b.create<memref::ExtractAlignedPointerAsIndexOp>(t.loc, op.getTable());
    Value address = b.create<arith::IndexCastOp>(t.loc, b.getI64Type(), t.add(base, place));
    b.replaceOp(
        op, wordOf(t, t.instructions->loadGlobal(address, kBytes, exists, {t.i32(0), t.i32(0)})));
    return success();
  }
};

struct ColumnPattern : TilePattern<ColumnOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(ColumnOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    auto lane = static_cast<int64_t>(op.getLane());
    Value words = adaptor.getWords();
    if (op.getType() != words.getType())
      words = b.create<arith::TruncIOp>(op.getLoc(), op.getType(), words);
    b.replaceOp(op, t.instructions->fromLane(words, lane));
    return success();
  }
};

} // namespace

void addRowPatterns(RewritePatternSet &patterns, const TypeConverter &types,
                    const ThreadContext &context) {
  patterns.add<RowPattern, ColumnPattern>(types, patterns.getContext(), context);
}

} // namespace ditron::gpu
