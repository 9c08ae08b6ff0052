// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of warpgroups: wgmma, which reads operands from shared memory by descriptors, the left
// one from registers too, and adds to registers of all four warps while they go on.
//
// An operand lies in panels of 128 bytes a row (sharedPanels), 8 rows of a panel being the pattern
// that its swizzle repeats. In a descriptor, in units of 16 bytes:
//
//   bits 0-13    the address of the first element
//   bits 16-29   K-major: nothing; else how far it is from one panel to the next
//   bits 32-45   how far it is from 8 rows of a panel to the next 8
//   bits 62-63   1: the swizzle of 128 bytes
//
// Within the 128 bytes of a panel's row, terms are reached by adding to the address alone: the
// hardware swizzles the address that results.
#include "ditron/support/Error.h"
#include "ditron/targets/nvidia/emit/ThreadBuilder.h"
#include "ditron/targets/nvidia/ops/NvidiaOps.h"
#include "ditron/targets/nvidia/transforms/Passes.h"
#include "mlir/IR/Matchers.h"
#include <functional>

using namespace mlir;

namespace ditron::nvidia {
namespace {

constexpr int64_t kUnit = 16; ///< bytes that descriptors count

/// One side of a product. `outer` is the dimension that is not summed over.
class PanelOperand {
public:
  PanelOperand(ThreadBuilder &t, Value base, RankedTensorType tile, unsigned outer)
      : t_(t), bytes_(storageBytes(tile.getElementType())), width_(kPanelBytes / bytes_) {
    auto dims = core::group(Layout(core::layoutOf(tile).iters()), shapeOf(tile));
    isKMajor_ = (*dims)[1 - outer].back().stride == 1;
    panelBytes_ = tile.getDimSize(isKMajor_ ? outer : 1 - outer) * kPanelBytes;
    Value address = t.b.create<LLVM::PtrToIntOp>(t.loc, t.b.getI32Type(), base);
    address = t.b.create<arith::AndIOp>(t.loc, address, t.i32(0x3FFFF));
    address = t.b.create<arith::ShRUIOp>(t.loc, address, t.i32(4));
    Value wide = t.b.create<arith::ExtUIOp>(t.loc, t.b.getI64Type(), address);
    base_ = t.b.create<arith::OrIOp>(t.loc, wide, i64(fields()));
  }

  /// From the given row (i32) of blocks of `rows` rows on.
  void moveBy(Value block, int64_t rows) {
    Value by = t_.mul(block, t_.i32(offset(rows, 0)));
    base_ = t_.add(base_, t_.b.create<arith::ExtUIOp>(t_.loc, t_.b.getI64Type(), by));
  }

  Instructions::Panels at(int64_t row, int64_t depth) {
    return {t_.add(base_, i64(offset(row, depth))), isKMajor_};
  }

private:
  int64_t fields() const {
    int64_t leading = isKMajor_ ? 1 : panelBytes_ / kUnit, stride = 8 * kPanelBytes / kUnit;
    return int64_t(1) << 62 | stride << 32 | leading << 16;
  }
  int64_t offset(int64_t row, int64_t depth) const {
    int64_t across = isKMajor_ ? depth : row, along = isKMajor_ ? row : depth;
    int64_t bytes = across / width_ * panelBytes_ + along * kPanelBytes + across % width_ * bytes_;
    return bytes / kUnit;
  }
  Value i64(int64_t value) { return t_.b.create<arith::ConstantIntOp>(t_.loc, value, 64); }

  ThreadBuilder &t_;
  int64_t bytes_, width_, panelBytes_ = 0;
  bool isKMajor_ = false;
  Value base_;
};

struct PackPattern : TilePattern<PackOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(PackOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    Value halves = t.stored(adaptor.getTile(), tileOf(op.getTile()).getElementType());
    b.replaceOpWithNewOp<vector::BitCastOp>(op, vectorOf(tileOf(op.getPacked())), halves);
    return success();
  }
};

constexpr int64_t kStepBytes = 32; ///< of terms that one instruction adds up

/// The left side at a block of 64 rows and a term.
using LeftSide = std::function<Instructions::Left(int64_t, int64_t)>;

LeftSide leftInShared(ThreadBuilder &t, Value lhs, RankedTensorType tile, int64_t rows) {
  PanelOperand a(t, lhs, tile, 0);
  a.moveBy(t.digit({Axis::warp, kWarpgroup, t.context.warps / kWarpgroup, 1}), rows);
  return [a](int64_t block, int64_t depth) mutable {
    return Instructions::Left{a.at(block * kProductRows, depth), {}};
  };
}

LeftSide leftInRegisters(ThreadBuilder &t, Value lhs, RankedTensorType tile) {
  SmallVector<Value> words = t.split(lhs);
  int64_t ofBlock = tile.getDimSize(1) / 2; // registers of a thread
  return [words, ofBlock](int64_t block, int64_t depth) {
    auto first = static_cast<size_t>(block * ofBlock + depth / 4);
    return Instructions::Left{{}, SmallVector<Value, 4>(ArrayRef(words).slice(first, 4))};
  };
}

Instructions::PanelProduct productOf(Type element, int64_t columns) {
  // The operands alone decide here: what they may lose has been asked when roles were chosen.
  for (core::Precision precision : {core::Precision::fastAccum, core::Precision::tf32})
    if (WarpgroupProduct found = warpgroupProduct(element, precision); found.type)
      return {found.type, found.depth, columns};
  throw InternalError("a product of warpgroups of elements that they do not multiply");
}

struct WgmmaPattern : TilePattern<WgmmaOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(WgmmaOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder t(rewriter, op.getLoc(), context_);
    RankedTensorType rhs = tileOf(op.getRhs()), acc = tileOf(op.getAcc());
    int64_t groups = context_.warps / kWarpgroup, columns = acc.getDimSize(1);
    int64_t rows = acc.getDimSize(0) / groups; // of a warpgroup
    PanelOperand b(t, adaptor.getRhs(), rhs, 1);
    RankedTensorType lhs = tileOf(op.getLhs());
    LeftSide left = isShared(lhs) ? leftInShared(t, adaptor.getLhs(), lhs, rows)
                                  : leftInRegisters(t, adaptor.getLhs(), lhs);
    Instructions::PanelProduct product = productOf(rhs.getElementType(), columns);
    bool isFirst = isZero(op.getAcc());
    SmallVector<Value> sums = t.split(adaptor.getAcc());
    size_t part = static_cast<size_t>(columns / 2); // registers of a block
    if (isFirst)
      t.instructions.fenceProducts({});
    else
      sums = t.instructions.fenceProducts(sums);
    int64_t step = kStepBytes / storageBytes(rhs.getElementType());
    for (int64_t depth = 0; depth < rhs.getDimSize(0); depth += step)
      for (int64_t block = 0; block < rows / kProductRows; ++block) {
        size_t first = static_cast<size_t>(block) * part;
        auto results =
            t.instructions.multiplyPanels(product, left(block, depth), b.at(0, depth),
                                          isFirst && depth == 0, ArrayRef(sums).slice(first, part));
        llvm::copy(results, sums.begin() + static_cast<ptrdiff_t>(first));
      }
    t.instructions.commitProducts();
    rewriter.replaceOp(op, t.join(sums));
    return success();
  }

private:
  static bool isZero(Value acc) { return matchPattern(acc, m_AnyZeroFloat()); }
};

/// fp8 products part by part: multiplied, waited for, promoted to fp32.
struct WgmmaPromotePattern : TilePattern<WgmmaPromoteOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(WgmmaPromoteOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder t(rewriter, op.getLoc(), context_);
    RankedTensorType rhs = tileOf(op.getRhs()), acc = tileOf(op.getAcc());
    int64_t rows = acc.getDimSize(0) / (context_.warps / kWarpgroup); // of a warpgroup
    int64_t columns = acc.getDimSize(1), step = kStepBytes / storageBytes(rhs.getElementType());
    PanelOperand b(t, adaptor.getRhs(), rhs, 1);
    LeftSide left = leftInShared(t, adaptor.getLhs(), tileOf(op.getLhs()), rows);
    SmallVector<Value> sums = t.split(adaptor.getAcc());
    for (int64_t block = 0; block < rows / kProductRows; ++block)
      for (int64_t column = 0; column < columns; column += op.getColumns()) {
        int64_t width = std::min<int64_t>(columns - column, op.getColumns());
        auto first = static_cast<size_t>((block * columns + column) / 2);
        auto part = ArrayRef(sums).slice(first, static_cast<size_t>(width / 2));
        SmallVector<Value> product(part);
        t.instructions.fenceProducts({});
        for (int64_t depth = 0; depth < rhs.getDimSize(0); depth += step)
          product = t.instructions.multiplyPanels(productOf(rhs.getElementType(), width),
                                                  left(block, depth), b.at(column, depth),
                                                  /*isFirst=*/depth == 0, product);
        t.instructions.commitProducts();
        product = t.instructions.waitProducts(0, product);
        for (auto [n, value] : llvm::enumerate(product))
          sums[first + n] = t.b.create<arith::AddFOp>(t.loc, sums[first + n], value);
      }
    rewriter.replaceOp(op, t.join(sums));
    return success();
  }
};

struct WgmmaWaitPattern : TilePattern<WgmmaWaitOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(WgmmaWaitOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    SmallVector<Value> registers, results;
    for (Value vector : adaptor.getValues())
      registers.append(t.split(vector));
    registers = t.instructions.waitProducts(static_cast<int64_t>(op.getPending()), registers);
    size_t next = 0;
    for (Value vector : adaptor.getValues()) {
      auto count = static_cast<size_t>(cast<VectorType>(vector.getType()).getNumElements());
      results.push_back(t.join(ArrayRef(registers).slice(next, count)));
      next += count;
    }
    b.replaceOp(op, results);
    return success();
  }
};

} // namespace

void addWarpgroupPatterns(RewritePatternSet &patterns, const TypeConverter &types,
                          const ThreadContext &context) {
  patterns.add<PackPattern, WgmmaPattern, WgmmaPromotePattern, WgmmaWaitPattern>(
      types, patterns.getContext(), context);
}

} // namespace ditron::nvidia
