// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exp and exp2 of f32, to 1 ulp over the whole range: infinities, overflow, subnormal results, NaN.
//
//   exp(x)  = 2^n * exp(r),  n = round(x / ln 2),  r = x - n ln 2
//   exp2(x) = 2^n * exp(r),  n = round(x),         r = (x - n) ln 2
//
// exp(r) for |r| <= ln 2 / 2 is 1 + r + r^2 p(r), p of degree 4 with the least maximum of the
// relative error (3.1e-9, by Remez' exchange); n ln 2 is subtracted in two parts (those of Cephes'
// expf, Moshier), of which the first has few bits. 2^n is applied by one instruction where there is
// one, else by two factors, so that neither overflows before the product does.
#include "ditron/lower/Exponentials.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace ditron::lower {

namespace {

/// Arithmetic on f32 or vectors of it.
struct Floats {
  ImplicitLocOpBuilder b;
  Type type;

  Value constant(float value) {
    if (auto vector = dyn_cast<VectorType>(type))
      return b.create<arith::ConstantOp>(DenseElementsAttr::get(vector, value));
    return b.create<arith::ConstantOp>(b.getF32FloatAttr(value));
  }
  Type ints() {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? Type(vector.clone(b.getI32Type())) : b.getI32Type();
  }
  Value integer(int32_t value) {
    if (auto vector = dyn_cast<VectorType>(ints()))
      return b.create<arith::ConstantOp>(DenseElementsAttr::get(vector, value));
    return b.create<arith::ConstantOp>(b.getI32IntegerAttr(value));
  }
  Value fma(Value x, Value y, Value z) { return b.create<math::FmaOp>(x, y, z); }
  Value mul(Value x, Value y) { return b.create<arith::MulFOp>(x, y); }

  /// x within [low, high]; NaN stays.
  Value clamp(Value x, float low, float high) {
    Value isLow = b.create<arith::CmpFOp>(arith::CmpFPredicate::OLT, x, constant(low));
    x = b.create<arith::SelectOp>(isLow, constant(low), x);
    Value isHigh = b.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, x, constant(high));
    return b.create<arith::SelectOp>(isHigh, constant(high), x);
  }

  /// x * y to the next integer, for products below 2^22: where a float has no room for a fraction,
  /// the sum rounds. One instruction less than a product that is rounded.
  Value roundProduct(Value x, float y) {
    constexpr float kNoFraction = 0x1.8p23f;
    Value sum = fma(x, constant(y), constant(kNoFraction));
    return b.create<arith::SubFOp>(sum, constant(kNoFraction));
  }

  /// exp(r) for |r| <= ln 2 / 2.
  Value polynomial(Value r) {
    Value p = constant(1.3814540e-3f);
    for (float c : {8.3687451e-3f, 4.1668391e-2f, 1.6666520e-1f, 4.9999993e-1f, 1.0f, 1.0f})
      p = fma(p, r, constant(c));
    return p;
  }

  Value powerOfTwo(Value n) {
    Value biased = b.create<arith::AddIOp>(n, integer(127));
    return b.create<arith::BitcastOp>(type,
                                      b.create<arith::ShLIOp>(biased, integer(23)).getResult());
  }

  /// x * 2^n for an integral float n, |n| < 256.
  Value scale(Value x, Value n) {
    auto vector = dyn_cast<VectorType>(type);
    if (vector && vector.getNumElements() == 16) {
      Value all = b.create<arith::ConstantOp>(b.getIntegerAttr(b.getI16Type(), -1));
      Value rounding = b.create<LLVM::ConstantOp>(b.getI32Type(), b.getI32IntegerAttr(4));
      return b
          .create<LLVM::CallIntrinsicOp>(
              TypeRange(type), b.getStringAttr("llvm.x86.avx512.mask.scalef.ps.512"),
              ValueRange{x, n, x, all, rounding}, LLVM::FastmathFlagsAttr())
          .getResult(0);
    }
    Value whole = b.create<arith::FPToSIOp>(ints(), n);
    Value half = b.create<arith::ShRSIOp>(whole, integer(1));
    Value rest = b.create<arith::SubIOp>(whole, half);
    return mul(mul(x, powerOfTwo(half)), powerOfTwo(rest));
  }
};

bool isFloat32(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return getElementTypeOrSelf(type).isF32() && (!vector || vector.getRank() == 1);
}

/// exp of a vector of floats, or exp2.
template <class Op> struct PowerPattern : OpRewritePattern<Op> {
  PowerPattern(MLIRContext *context) : OpRewritePattern<Op>(context, /*benefit=*/10) {}
  virtual Value lower(Floats &f, Value x) const = 0;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!isFloat32(op.getType()))
      return rewriter.notifyMatchFailure(op, "f32 only");
    Floats f{ImplicitLocOpBuilder(op.getLoc(), rewriter), op.getType()};
    rewriter.replaceOp(op, lower(f, op.getOperand()));
    return success();
  }
};

struct ExpPattern : PowerPattern<math::ExpOp> {
  using PowerPattern::PowerPattern;
  Value lower(Floats &f, Value operand) const override {
    Value x = f.clamp(operand, -105, 90); // beyond, the result is 0 or infinity anyway
    Value n = f.roundProduct(x, 1.44269504088896341f);
    Value r = f.fma(n, f.constant(-0.693359375f), x);
    r = f.fma(n, f.constant(2.12194440e-4f), r);
    return f.scale(f.polynomial(r), n);
  }
};

struct Exp2Pattern : PowerPattern<math::Exp2Op> {
  using PowerPattern::PowerPattern;
  Value lower(Floats &f, Value operand) const override {
    Value x = f.clamp(operand, -151, 129);
    Value n = f.b.create<math::RoundEvenOp>(x);
    Value fraction = f.b.create<arith::SubFOp>(x, n);
    Value r = f.mul(fraction, f.constant(0.693147180559945309f));
    return f.scale(f.polynomial(r), n);
  }
};

} // namespace

void populateExponentialPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpPattern, Exp2Pattern>(patterns.getContext());
}

} // namespace ditron::lower
