// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products whose terms are sliced over the warps, by mma.sync of registers as they were read: its depth of
// 16 is that of two words of each lane of a quad, whichever terms these are. Two chains of products take
// turns, for each waits for the one before.
#include "ditron/targets/nvidia/analysis/TensorCores.h"
#include "ditron/targets/nvidia/emit/ThreadBuilder.h"
#include "ditron/targets/nvidia/transforms/Passes.h"

using namespace mlir;

namespace ditron::nvidia {
namespace {

struct SlicedDotPattern : TilePattern<SlicedDotOp> {
  using TilePattern::TilePattern;

  LogicalResult matchAndRewrite(SlicedDotOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    SlicedShape shape = shapeOfSliced(op);
    Type element = tileOf(op.getWeights()).getElementType();
    SmallVector<Value> weights = words(t, adaptor.getWeights(), element),
                       factor = words(t, adaptor.getFactor(), element),
                       sums = t.split(adaptor.getAcc());
    size_t blocks = static_cast<size_t>(shape.n / kRows);
    SmallVector<Value> results;
    for (size_t block = 0; block < blocks; ++block)
      results.append(multiply(t, matrixShape(element), part(weights, block, blocks), factor,
                              part(sums, block, blocks)));
    b.replaceOp(op, t.join(results));
    return success();
  }

private:
  static constexpr int64_t kRows = 16; ///< of weights, of one product
  static constexpr size_t kWords = 4;  ///< of a lane, of one row

  /// Part `number` of `count` equal ones.
  static ArrayRef<Value> part(ArrayRef<Value> all, size_t number, size_t count) {
    return all.slice(number * (all.size() / count), all.size() / count);
  }

  /// Two elements each.
  static SmallVector<Value> words(ThreadBuilder &t, Value vector, Type element) {
    Value halves = t.stored(vector, element);
    int64_t count = cast<VectorType>(halves.getType()).getDimSize(0) / 2;
    return t.split(t.b.create<vector::BitCastOp>(
        t.loc, VectorType::get({count}, t.b.getI32Type()), halves));
  }

  /// Sums of 16 rows, and the products of their words.
  static SmallVector<Value> multiply(ThreadBuilder &t, MatrixShape matrix, ArrayRef<Value> weights,
                                     ArrayRef<Value> factor, ArrayRef<Value> sums) {
    // One row of x stands in all columns.
    bool isOne = sums.size() == 2;
    SmallVector<Value> chains[2];
    chains[0] = isOne ? SmallVector<Value>{sums[0], sums[0], sums[1], sums[1]}
                      : SmallVector<Value>(sums);
    Value zero = t.b.create<arith::ConstantOp>(t.loc, t.b.getF32FloatAttr(0));
    chains[1].assign(4, zero);
    for (size_t step = 0; step < factor.size() / kWords; ++step) {
      ArrayRef<Value> w = weights.slice(step * 2 * kWords, 2 * kWords);
      ArrayRef<Value> x = factor.slice(step * kWords, kWords);
      for (size_t n : {0, 1}) {
        size_t word = 2 * n;
        auto products = t.instructions.multiply(
            matrix.shape, matrix.types,
            {w[word], w[word + kWords], w[word + 1], w[word + kWords + 1]}, {x[word], x[word + 1]},
            chains[n]);
        chains[n].assign(products.begin(), products.end());
      }
    }
    SmallVector<Value> results;
    for (size_t n = 0; n < 4; n += isOne ? 2 : 1)
      results.push_back(t.b.create<arith::AddFOp>(t.loc, chains[0][n], chains[1][n]));
    return results;
  }
};

} // namespace

void addSlicedPatterns(RewritePatternSet &patterns, const TypeConverter &types,
                       const ThreadContext &context) {
  patterns.add<SlicedDotPattern>(types, patterns.getContext(), context);
}

} // namespace ditron::nvidia
