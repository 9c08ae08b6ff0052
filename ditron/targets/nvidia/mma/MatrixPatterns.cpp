// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products by mma.sync. The operands are in shared memory, the accumulator in registers.
//
// Each warp takes its part of the accumulator in fragments of 16x8. The terms come in steps of 32 bytes, two chunks of 16: ldmatrix hands a warp
// four 8x8 matrices of 16-bit elements, or their bytes as 8x4 of f32 or 8x16 of i8, which are
// the four words of a 16-row fragment of the left side, or two 8-column fragments of the right:
//
//                chunk 0   chunk 1
//   rows 0-7      word 0    word 2
//   rows 8-15     word 1    word 3
//
// An operand that is not K-major is read transposed where elements have 16 bits, and element by
// element where not.
#include "ditron/lower/Conversions.h"
#include "ditron/targets/nvidia/emit/ThreadBuilder.h"
#include "ditron/targets/nvidia/transforms/Passes.h"

using namespace mlir;

namespace ditron::nvidia {
namespace {

using Words = SmallVector<Value, 4>;

/// One side of a product in shared memory. `outer` is the dimension that is not summed over.
class Operand {
public:
  Operand(ThreadBuilder &t, Value base, RankedTensorType tile, unsigned outer, Value warpOffset)
      : t_(t), base_(base), memory_(core::layoutOf(tile)), element_(tile.getElementType()),
        bytes_(storageBytes(element_)), chunk_(16 / bytes_) {
    Shape strides = stridesOf(memory_, shapeOf(tile));
    outer_ = strides[outer], depth_ = strides[1 - outer];
    isKMajor_ = depth_ == 1;
    usesMatrices_ = isKMajor_ || (bytes_ == 2 && outer_ == 1);
    Value lane = t.context.lane;
    Value row, depth;
    if (!usesMatrices_) {
      row = t.b.create<arith::DivUIOp>(t.loc, lane, t.i32(4));
      depth = t.mul(t.b.create<arith::RemUIOp>(t.loc, lane, t.i32(4)), t.i32(4 / bytes_));
    } else if (isKMajor_) {
      row = t.b.create<arith::RemUIOp>(t.loc, lane, t.i32(16));
      depth = t.mul(t.b.create<arith::DivUIOp>(t.loc, lane, t.i32(16)), t.i32(chunk_));
    } else {
      Value matrix = t.b.create<arith::DivUIOp>(t.loc, lane, t.i32(8));
      row = t.mul(t.b.create<arith::RemUIOp>(t.loc, matrix, t.i32(2)), t.i32(8));
      Value half = t.b.create<arith::DivUIOp>(t.loc, matrix, t.i32(2));
      depth = t.add(t.mul(half, t.i32(8)), t.b.create<arith::RemUIOp>(t.loc, lane, t.i32(8)));
    }
    row = t.add(row, warpOffset);
    thread_ = t.add(t.mul(row, t.i32(outer_)), t.mul(depth, t.i32(depth_)));
  }

  /// The four words of 16 rows and two chunks.
  Words load(int64_t row, int64_t depth) {
    Words words;
    if (usesMatrices_) {
      words = t_.instructions.loadMatrices(address(row, depth), !isKMajor_);
    } else {
      for (int64_t half : {0, 1})
        for (int64_t rows : {0, 8})
          words.push_back(loadWord(row + rows, depth + half * chunk_));
    }
    if (element_.isF32())
      for (Value &word : words)
        word = t_.instructions.roundToTf32(word);
    return words;
  }

private:
  Value address(int64_t row, int64_t depth) {
    return addressIn(t_, base_, memory_, thread_, row * outer_ + depth * depth_, bytes_);
  }

  /// Elements one behind the other in depth, the first in the low bits.
  Value loadWord(int64_t row, int64_t depth) {
    OpBuilder &b = t_.b;
    Type stored = b.getIntegerType(static_cast<unsigned>(8 * bytes_)), word = b.getI32Type();
    Value result;
    for (int64_t n = 0; n < 4 / bytes_; ++n) {
      Value element = b.create<LLVM::LoadOp>(t_.loc, stored, address(row, depth + n));
      if (bytes_ == 4)
        return element;
      element = b.create<arith::ExtUIOp>(t_.loc, word, element);
      if (n)
        element = b.create<arith::ShLIOp>(t_.loc, element, t_.i32(8 * bytes_ * n));
      result = result ? Value(b.create<arith::OrIOp>(t_.loc, result, element)) : element;
    }
    return result;
  }

  ThreadBuilder &t_;
  Value base_, thread_;
  Layout memory_;
  Type element_;
  int64_t bytes_, chunk_, outer_ = 0, depth_ = 0;
  bool isKMajor_ = false, usesMatrices_ = false;
};

struct MatrixPattern : TilePattern<core::DotOp> {
  MatrixPattern(const TypeConverter &types, MLIRContext *mlirContext, const ThreadContext &context)
      : TilePattern(types, mlirContext, context, kOwnBenefit) {}

  LogicalResult matchAndRewrite(core::DotOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &builder) const override {
    if (kindOf(op) != DotKind::matrix)
      return builder.notifyMatchFailure(op, "threads multiply it");
    ThreadBuilder t(builder, op.getLoc(), context_);
    RankedTensorType lhs = tileOf(op.getLhs()), rhs = tileOf(op.getRhs());
    Shape shape = shapeOf(tileOf(op.getAcc()));
    auto [rows, columns] = fragmentGrid(shape, context_.warps);
    int64_t height = shape[0] / (16 * rows), width = shape[1] / (8 * columns);
    Value row = t.digit({Axis::warp, columns, rows, 1});
    Value column = t.digit({Axis::warp, 1, columns, 1});
    Operand a(t, adaptor.getLhs(), lhs, 0, t.mul(row, t.i32(16 * height)));
    Operand b(t, adaptor.getRhs(), rhs, 1, t.mul(column, t.i32(8 * width)));
    MatrixShape fragment = matrixShape(lhs.getElementType());
    int64_t step = matrixDepth(lhs.getElementType(), op.getPrecision());
    SmallVector<Value> acc = t.split(adaptor.getAcc());
    for (int64_t depth = 0; depth < lhs.getDimSize(1); depth += step) {
      SmallVector<Words> left;
      for (int64_t m = 0; m < height; ++m)
        left.push_back(a.load(16 * m, depth));
      for (int64_t n = 0; n < width; n += 2) {
        Words pair = b.load(8 * n, depth);
        for (int64_t m = 0; m < height; ++m)
          for (size_t odd : {0, 1}) {
            auto first = static_cast<size_t>(4 * (m * width + n)) + 4 * odd;
            Words sum = t.instructions.multiply(
                fragment.shape, fragment.types, left[static_cast<size_t>(m)],
                {pair[odd], pair[odd + 2]}, ArrayRef(acc).slice(first, 4));
            llvm::copy(sum, acc.begin() + static_cast<ptrdiff_t>(first));
          }
      }
    }
    builder.replaceOp(op, t.join(acc));
    return success();
  }
};

} // namespace

void addMatrixPatterns(RewritePatternSet &patterns, const TypeConverter &types,
                       const ThreadContext &context) {
  patterns.add<MatrixPattern>(types, patterns.getContext(), context);
}

} // namespace ditron::nvidia
