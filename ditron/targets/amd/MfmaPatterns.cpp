// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile.dot by MFMA. The operands are in shared memory, the accumulator in registers.
//
// A lane reads 16 bytes of terms at once where rows have them behind one another, for as many instructions as these
// are for: which terms meet in one does not matter, as long as both sides agree. Where rows of 16 bits are neighbours
// instead, it reads four rows of each term, and puts the terms of each together. Other operands come element by element.
#include "ditron/lower/Conversions.h"
#include "ditron/targets/amd/Mfma.h"
#include "ditron/targets/gpu/threads/ThreadLowering.h"

using namespace mlir;

namespace ditron::amd {

using namespace gpu;

namespace {

/// What a lane gives to the instructions of a step, one behind the other.
using Steps = SmallVector<Value, 4>;

/// One side of a product in shared memory. `outer` is the dimension that is not summed over.
class Operand {
public:
  Operand(ThreadBuilder &t, Value base, RankedTensorType tile, unsigned outer, Sharing sharing,
          const Mfma &mfma, Value warpOffset)
      : t_(t), base_(base), memory_(core::layoutOf(tile)), mfma_(mfma), sharing_(sharing),
        bytes_(storageBytes(tile.getElementType())), run_(runOf(tile, outer)) {
    Shape strides = stridesOf(memory_, shapeOf(tile));
    outer_ = strides[outer], depth_ = strides[1 - outer];
    Value row = t.b.create<arith::RemUIOp>(t.loc, t.context.lane, t.i32(kMfmaRows));
    Value part = t.b.create<arith::DivUIOp>(t.loc, t.context.lane, t.i32(kMfmaRows));
    row = t.add(t.mul(row, t.i32(together())), warpOffset);
    thread_ = t.add(t.mul(row, t.i32(outer_)), t.mul(part, t.i32(run_ * depth_)));
  }

  /// Terms of a step.
  int64_t depth() const { return kMfmaParts * run_; }
  /// Instructions that share rows in memory.
  int64_t together() const { return sharing_ == Sharing::quads ? kQuad : 1; }

  /// Of the rows of `together` instructions, from `row` on, and of the terms from `depth` on.
  SmallVector<Steps> load(int64_t row, int64_t depth) {
    SmallVector<SmallVector<Value>> words(static_cast<size_t>(together()));
    if (sharing_ == Sharing::quads)
      loadQuads(row, depth, words);
    else if (depth_ == 1)
      words[0] = loadRun(row, depth);
    else
      words[0] = loadWords(row, depth, 0);
    SmallVector<Steps> result;
    for (ArrayRef<Value> ofRow : words)
      result.push_back(stepsOf(ofRow));
    return result;
  }

private:
  /// Terms that a lane reads behind one another.
  int64_t runOf(RankedTensorType tile, unsigned outer) const {
    constexpr int64_t kMost = 16; // bytes
    int64_t terms = tile.getDimSize(1 - outer), run = mfma_.terms;
    while (2 * run * bytes_ <= kMost && terms % (2 * run * kMfmaParts) == 0)
      run *= 2;
    return run;
  }

  Value address(int64_t row, int64_t depth) {
    return addressIn(t_, base_, memory_, thread_, row * outer_ + depth * depth_, bytes_);
  }

  Value read(Type type, int64_t bytes, Value address) {
    return t_.b.create<LLVM::LoadOp>(t_.loc, type, address, static_cast<unsigned>(bytes));
  }

  SmallVector<Value> loadRun(int64_t row, int64_t depth) {
    int64_t bytes = run_ * bytes_;
    auto type = VectorType::get({bytes / 4}, t_.b.getI32Type());
    return t_.split(read(type, bytes, address(row, depth)));
  }

  void loadQuads(int64_t row, int64_t depth, SmallVector<SmallVector<Value>> &words) {
    if (outer_ != 1) { // it does not lie as was expected
      for (size_t n = 0; n < words.size(); ++n)
        words[n] = loadWords(row, depth, static_cast<int64_t>(n));
      return;
    }
    auto type = VectorType::get({together()}, t_.b.getI16Type());
    auto quad = [&](int64_t term) {
      return read(type, 2 * together(), address(row, depth + term));
    };
    for (int64_t term = 0; term < run_; term += 2) {
      Value first = quad(term), second = quad(term + 1);
      for (int64_t n = 0; n < together(); ++n) {
        Value pair = t_.b.create<vector::ShuffleOp>(t_.loc, first, second,
                                                    ArrayRef<int64_t>{n, together() + n});
        Value word = t_.b.create<LLVM::BitcastOp>(t_.loc, t_.b.getI32Type(), pair);
        words[static_cast<size_t>(n)].push_back(word);
      }
    }
  }

  /// Element by element, those of row `n` of the ones that lie side by side.
  SmallVector<Value> loadWords(int64_t row, int64_t depth, int64_t n) {
    OpBuilder &b = t_.b;
    Type stored = b.getIntegerType(static_cast<unsigned>(8 * bytes_));
    SmallVector<Value> words;
    for (int64_t term = 0; term < run_; ++term) {
      Value element = read(stored, bytes_, address(row + n, depth + term));
      int64_t place = term * bytes_ % 4;
      if (bytes_ < 4)
        element = b.create<arith::ExtUIOp>(t_.loc, b.getI32Type(), element);
      if (place == 0) {
        words.push_back(element);
        continue;
      }
      element = b.create<arith::ShLIOp>(t_.loc, element, t_.i32(8 * place));
      words.back() = b.create<arith::OrIOp>(t_.loc, words.back(), element);
    }
    return words;
  }

  Steps stepsOf(ArrayRef<Value> words) {
    auto wordsOfStep = static_cast<size_t>(mfma_.terms * bytes_ / 4);
    Steps steps;
    for (size_t n = 0; n < words.size(); n += wordsOfStep) {
      Value bits = wordsOfStep == 1 ? words[n] : t_.join(words.slice(n, wordsOfStep));
      steps.push_back(bits.getType() == mfma_.operand
                          ? bits
                          : t_.b.create<LLVM::BitcastOp>(t_.loc, mfma_.operand, bits));
    }
    return steps;
  }

  ThreadBuilder &t_;
  Value base_, thread_;
  Layout memory_;
  const Mfma &mfma_;
  Sharing sharing_;
  int64_t bytes_, run_, outer_ = 0, depth_ = 0;
};

/// The sums of a lane, a vector for each instruction, row by row.
class Sums {
public:
  Sums(ThreadBuilder &t, const MfmaShape &shape, Value acc) : t_(t), shape_(shape) {
    SmallVector<Value> elements = t.split(acc);
    for (int64_t row = 0; row < shape.height(); ++row)
      for (int64_t column = 0; column < shape.width(); ++column) {
        SmallVector<Value> own;
        for (int64_t n = 0; n < kMfmaRun; ++n)
          own.push_back(elements[place(row, column, n)]);
        sums_.push_back(t.join(own));
      }
  }
  Value &at(int64_t row, int64_t column) {
    return sums_[static_cast<size_t>(row * shape_.width() + column)];
  }
  Value all() {
    SmallVector<Value> elements(sums_.size() * kMfmaRun);
    for (int64_t row = 0; row < shape_.height(); ++row)
      for (int64_t column = 0; column < shape_.width(); ++column)
        for (auto [n, element] : llvm::enumerate(t_.split(at(row, column))))
          elements[place(row, column, static_cast<int64_t>(n))] = element;
    return t_.join(elements);
  }

private:
  size_t place(int64_t row, int64_t column, int64_t n) const {
    return static_cast<size_t>(shape_.firstRegister(row, column) + n * shape_.registerStep());
  }

  ThreadBuilder &t_;
  const MfmaShape &shape_;
  SmallVector<Value> sums_;
};

class MfmaPattern : public TilePattern<core::DotOp> {
public:
  MfmaPattern(const TypeConverter &types, MLIRContext *mlirContext, const ThreadContext &context,
              const Chip &chip)
      : TilePattern(types, mlirContext, context, kOwnBenefit), chip_(chip) {}

  LogicalResult matchAndRewrite(core::DotOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    std::optional<MfmaShape> shape = mfmaShape(chip_, op, context_.warps);
    if (!shape || shape->accumulator(context_.warps).canonical() !=
                      core::layoutOf(tileOf(op.getResult())).canonical())
      return b.notifyMatchFailure(op, "threads multiply it");
    ThreadBuilder t(b, op.getLoc(), context_);
    b.replaceOp(op, multiplied(t, op, adaptor, *shape));
    return success();
  }

private:
  Value multiplied(ThreadBuilder &t, core::DotOp op, OpAdaptor adaptor,
                   const MfmaShape &shape) const {
    RankedTensorType lhs = tileOf(op.getLhs()), rhs = tileOf(op.getRhs());
    Mfma mfma = *mfmaOf(chip_, lhs.getElementType(), op.getPrecision());
    auto offset = [&](int64_t stride, int64_t extent, int64_t instructions) {
      Value place = t.digit({Axis::warp, stride, extent, 1});
      return t.mul(place, t.i32(kMfmaRows * instructions));
    };
    Operand left(t, adaptor.getLhs(), lhs, 0, shape.rows, mfma,
                 offset(shape.columnWarps, shape.rowWarps, shape.height()));
    Operand right(t, adaptor.getRhs(), rhs, 1, shape.columns, mfma,
                  offset(1, shape.columnWarps, shape.width()));
    Sums sums(t, shape, adaptor.getAcc());
    for (int64_t depth = 0; depth < lhs.getDimSize(1); depth += left.depth()) {
      SmallVector<Steps> rows = all(left, shape.height(), depth);
      for (int64_t column = 0; column < shape.width(); column += right.together())
        for (auto [n, factor] : llvm::enumerate(right.load(kMfmaRows * column, depth)))
          for (auto [row, steps] : llvm::enumerate(rows))
            for (auto [x, y] : llvm::zip(steps, factor)) {
              Value &sum = sums.at(int64_t(row), column + int64_t(n));
              sum = multiply(t, mfma, y, x, sum);
            }
    }
    return sums.all();
  }

  static SmallVector<Steps> all(Operand &side, int64_t count, int64_t depth) {
    SmallVector<Steps> result;
    for (int64_t n = 0; n < count; n += side.together())
      llvm::append_range(result, side.load(kMfmaRows * n, depth));
    return result;
  }

  static Value multiply(ThreadBuilder &t, const Mfma &mfma, Value rows, Value columns, Value sum) {
    Value none = t.i32(0); // nothing is broadcast, and no blocks are swapped
    return t.b
        .create<LLVM::CallIntrinsicOp>(t.loc, TypeRange(sum.getType()),
                                       t.b.getStringAttr(mfma.name),
                                       ValueRange{rows, columns, sum, none, none, none})
        .getResult(0);
  }

  const Chip &chip_;
};

} // namespace

void addMfmaPatterns(RewritePatternSet &patterns, const TypeConverter &types,
                     const ThreadContext &context, const Chip &chip) {
  patterns.add<MfmaPattern>(types, patterns.getContext(), context, chip);
}

} // namespace ditron::amd
