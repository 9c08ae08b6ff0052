// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products whose terms are sliced over warps, by mma.sync of registers as they were read. Of the 16 terms of
// an instruction each lane of a quad has two words of two: whichever terms these are, on both sides. Of its
// 16 rows of W lanes have two: a row of either half, or two neighbours of a column. With few rows of x both are one
// row of W: its four words stand as they were read, and the sums of its even and odd words are in two columns. Two
// chains of products alternate, for each waits for the one before.
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
    Value rows = adaptor.getWeights();
    if (shape.isTransposed)
      rows = t.pick(rows, termsOfRows(shape));
    SmallVector<Value> weights = words(t, rows, element),
                       factor = words(t, adaptor.getFactor(), element),
                       sums = t.split(adaptor.getAcc()), results;
    if (shape.isByWords())
      factor = ofColumn(t, factor);
    MatrixShape matrix = matrixShape(element);
    auto run = static_cast<size_t>(shape.termsAtOnce() / 4 / 2); // words of a lane
    size_t count = weights.size() / (factor.size() * 2); // of products by the same words of x
    auto slices = static_cast<size_t>(shape.slicesOfWarp());
    for (size_t slice = 0; slice < slices; ++slice) {
      ArrayRef<Value> terms = part(factor, slice, slices), ofSlice = part(sums, slice, slices);
      for (size_t n = 0; n < count; ++n) {
        ArrayRef<Value> rowsOfW = part(part(weights, n, count), slice, slices);
        ArrayRef<Value> sumsOfRows = part(ofSlice, n, count);
        if (shape.isByWords())
          results.push_back(multiplyWords(t, matrix, rowsOfW, terms, sumsOfRows[0]));
        else
          results.append(multiply(t, matrix, rowsOfW, terms, sumsOfRows, run));
      }
    }
    b.replaceOp(op, t.join(results));
    return success();
  }

private:
  /// Part `number` of `count` equal ones.
  static ArrayRef<Value> part(ArrayRef<Value> all, size_t number, size_t count) {
    return all.slice(number * (all.size() / count), all.size() / count);
  }

  /// Registers of W, transposed in memory, in the order in which products take them: of two neighbouring
  /// rows the terms of each step.
  static SmallVector<int64_t> termsOfRows(const SlicedShape &shape) {
    constexpr int64_t kRows = 8, kTerms = 4; // of a lane
    SmallVector<int64_t> registers;
    int64_t steps = shape.steps();
    for (int64_t block = 0; block < shape.blocks(); ++block)
      for (int64_t pair = 0; pair < kRows; pair += 2)
        for (int64_t step = 0; step < steps; ++step)
          for (int64_t row = pair; row < pair + 2; ++row)
            for (int64_t term = 0; term < kTerms; ++term)
              registers.push_back(((block * steps + step) * kTerms + term) * kRows + row);
    return registers;
  }

  /// Two elements each.
  static SmallVector<Value> words(ThreadBuilder &t, Value vector, Type element) {
    Value halves = t.stored(vector, element);
    int64_t count = cast<VectorType>(halves.getType()).getDimSize(0) / 2;
    return t.split(
        t.b.create<vector::BitCastOp>(t.loc, VectorType::get({count}, t.b.getI32Type()), halves));
  }

  /// Of four words of x the even ones, or in odd columns the others.
  static SmallVector<Value> ofColumn(ThreadBuilder &t, ArrayRef<Value> factor) {
    Value column = t.digit({Axis::lane, 4, 2, 1});
    Value isOdd = t.b.create<arith::CmpIOp>(t.loc, arith::CmpIPredicate::ne, column, t.i32(0));
    SmallVector<Value> wanted;
    for (size_t word = 0; word < factor.size(); word += 2)
      wanted.push_back(t.b.create<arith::SelectOp>(t.loc, isOdd, factor[word + 1], factor[word]));
    return wanted;
  }

  /// The sum of a row, and the products of its words: those of the even ones are in the upper half of an even
  /// column, those of the odd ones in the lower half of an odd one.
  static Value multiplyWords(ThreadBuilder &t, MatrixShape matrix, ArrayRef<Value> weights,
                             ArrayRef<Value> factor, Value sum) {
    auto add = [&](Value x, Value y) { return t.b.create<arith::AddFOp>(t.loc, x, y).getResult(); };
    Value zero = t.b.create<arith::ConstantOp>(t.loc, t.b.getF32FloatAttr(0));
    SmallVector<Value> chains[2] = {SmallVector<Value>(4, zero), SmallVector<Value>(4, zero)};
    for (size_t step = 0; step < factor.size() / 2; ++step) {
      SmallVector<Value> &chain = chains[step % 2];
      auto products = t.instructions.multiply(
          matrix.shape, matrix.types, weights.slice(4 * step, 4), factor.slice(2 * step, 2), chain);
      chain.assign(products.begin(), products.end());
    }
    return add(sum, add(add(chains[0][0], chains[0][3]), add(chains[1][0], chains[1][3])));
  }

  /// Sums of 16 rows, and the products of their words. Those of a step are `run` of one row, then as many of
  /// another one.
  static SmallVector<Value> multiply(ThreadBuilder &t, MatrixShape matrix, ArrayRef<Value> weights,
                                     ArrayRef<Value> factor, ArrayRef<Value> sums, size_t run) {
    // One row of x stands in all columns.
    bool isOne = sums.size() == 2;
    SmallVector<Value> chains[2];
    chains[0] =
        isOne ? SmallVector<Value>{sums[0], sums[0], sums[1], sums[1]} : SmallVector<Value>(sums);
    Value zero = t.b.create<arith::ConstantOp>(t.loc, t.b.getF32FloatAttr(0));
    chains[1].assign(4, zero);
    for (size_t word = 0; word < factor.size(); word += 2) {
      ArrayRef<Value> first = weights.drop_front(word / run * 2 * run + word % run);
      ArrayRef<Value> second = first.drop_front(run);
      SmallVector<Value> &chain = chains[word / 2 % 2];
      auto products = t.instructions.multiply(matrix.shape, matrix.types,
                                              {first[0], second[0], first[1], second[1]},
                                              {factor[word], factor[word + 1]}, chain);
      chain.assign(products.begin(), products.end());
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
