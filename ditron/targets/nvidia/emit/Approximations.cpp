// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of f32 by what the chip has for them, without a branch. Infinities, zeros, subnormal
// numbers and NaN are as they should be; other results are right to 2 ulp.
//
//   arith.divf %x, %y  ->  div.full.f32, where a correctly rounded quotient takes a dozen
//                          instructions, one of them a branch
//   arith.divf 1, %y   ->  rcp.approx.f32
//   math.rsqrt %x      ->  rsqrt.approx.f32
//   math.exp2 %x       ->  ex2.approx.f32; marked afn: subnormal results may become 0
//   math.log2 %x       ->  lg2.approx.f32, where it is marked afn; others are computed in double
//   math.exp %x        ->  2^n * 2^f,  n + f = x / ln 2,  n an integer from -126 to 126
//
// n is the sum of a saturated product and a number so large that floats have no fractions there,
// rounded down: its lowest bits are those of 2^n's exponent. Beyond the range of n, f takes what is
// left, so that 2^f alone makes infinity, zero and the subnormal results.
//
// test/targets/gpu/lower-to-llvm.mlir shows it.
#include "ditron/targets/nvidia/emit/Approximations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace ditron::nvidia {
namespace {

bool isFloat32(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return getElementTypeOrSelf(type).isF32() && (!vector || vector.getRank() == 1);
}

/// An instruction of scalars on each element.
Value elementByElement(OpBuilder &b, mlir::Location loc, StringRef text, ValueRange operands) {
  auto one = [&](ValueRange scalars) -> Value {
    std::string constraints = "=f";
    for (size_t n = 0; n < scalars.size(); ++n)
      constraints += ",f";
    auto op = b.create<LLVM::InlineAsmOp>(
        loc, TypeRange(b.getF32Type()), scalars, text, constraints, /*has_side_effects=*/false,
        /*is_align_stack=*/false,
        LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
    return op->getResult(0);
  };
  auto vector = dyn_cast<VectorType>(operands[0].getType());
  if (!vector)
    return one(operands);
  SmallVector<Value> elements;
  for (int64_t n = 0; n < vector.getNumElements(); ++n) {
    SmallVector<Value> scalars;
    for (Value operand : operands)
      scalars.push_back(b.create<vector::ExtractOp>(loc, operand, n));
    elements.push_back(one(scalars));
  }
  return b.create<vector::FromElementsOp>(loc, vector, elements);
}

/// 2^n and f for the exponential of x: eight instructions with the product.
Value exponential(ImplicitLocOpBuilder &b, Value x) {
  auto isVector = dyn_cast<VectorType>(x.getType());
  auto constant = [&](float value) -> Value {
    if (isVector)
      return b.create<arith::ConstantOp>(DenseElementsAttr::get(isVector, value));
    return b.create<arith::ConstantOp>(b.getF32FloatAttr(value));
  };
  constexpr float kPerLn2 = 1.44269504088896341f; // 1 / ln 2, and what that float is short of it
  constexpr float kRest = 1.92596299e-8f;
  constexpr float kRange = 252, kNoFraction = 0x1.8p23f; // n + 126 is from 0 to kRange
  Value share = elementByElement(b, b.getLoc(), "fma.rn.sat.f32 $0, $1, $2, $3;",
                                 {x, constant(kPerLn2 / kRange), constant(0.5f)});
  // The 1 makes the biased exponent, n + 127, of n + 126.
  Value biased = elementByElement(b, b.getLoc(), "fma.rm.f32 $0, $1, $2, $3;",
                                  {share, constant(kRange), constant(kNoFraction + 1)});
  Value n = b.create<arith::SubFOp>(biased, constant(kNoFraction + 127));
  Value f = b.create<math::FmaOp>(x, constant(kPerLn2), b.create<arith::NegFOp>(n));
  f = b.create<math::FmaOp>(x, constant(kRest), f);
  Type ints = isVector ? Type(isVector.clone(b.getI32Type())) : b.getI32Type();
  Value by = isVector ? Value(b.create<arith::ConstantOp>(
                            DenseElementsAttr::get(cast<VectorType>(ints), APInt(32, 23))))
                      : Value(b.create<arith::ConstantIntOp>(23, 32));
  Value bits = b.create<arith::ShLIOp>(b.create<arith::BitcastOp>(ints, biased), by);
  Value power = elementByElement(b, b.getLoc(), "ex2.approx.ftz.f32 $0, $1;", f);
  return b.create<arith::MulFOp>(b.create<arith::BitcastOp>(x.getType(), bits), power);
}

bool isOne(Value value) {
  APFloat number(0.0f);
  if (auto broadcast = value.getDefiningOp<vector::BroadcastOp>())
    return isOne(broadcast.getSource());
  DenseElementsAttr elements;
  if (matchPattern(value, m_Constant(&elements)) && elements.isSplat())
    return elements.getSplatValue<APFloat>().isExactlyValue(1);
  return matchPattern(value, m_ConstantFloat(&number)) && number.isExactlyValue(1);
}

struct QuotientPattern : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::DivFOp op, PatternRewriter &b) const override {
    if (!isFloat32(op.getType()))
      return b.notifyMatchFailure(op, "f32 only");
    Value x = op.getLhs(), y = op.getRhs();
    b.replaceOp(op, isOne(x)
                        ? elementByElement(b, op.getLoc(), "rcp.approx.f32 $0, $1;", {y})
                        : elementByElement(b, op.getLoc(), "div.full.f32 $0, $1, $2;", {x, y}));
    return success();
  }
};

struct InverseRootPattern : OpRewritePattern<math::RsqrtOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::RsqrtOp op, PatternRewriter &b) const override {
    if (!isFloat32(op.getType()))
      return b.notifyMatchFailure(op, "f32 only");
    b.replaceOp(op, elementByElement(b, op.getLoc(), "rsqrt.approx.f32 $0, $1;", op.getOperand()));
    return success();
  }
};

struct ExponentialPattern : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ExpOp op, PatternRewriter &rewriter) const override {
    if (!isFloat32(op.getType()))
      return rewriter.notifyMatchFailure(op, "f32 only");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, exponential(b, op.getOperand()));
    return success();
  }
};

struct PowerPattern : OpRewritePattern<math::Exp2Op> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::Exp2Op op, PatternRewriter &b) const override {
    if (!isFloat32(op.getType()))
      return b.notifyMatchFailure(op, "f32 only");
    bool isFlushed = bitEnumContainsAny(op.getFastmath(), arith::FastMathFlags::afn);
    const char *text = isFlushed ? "ex2.approx.ftz.f32 $0, $1;" : "ex2.approx.f32 $0, $1;";
    b.replaceOp(op, elementByElement(b, op.getLoc(), text, op.getOperand()));
    return success();
  }
};

/// One that the program asks for: others are computed in double (lower/Maths.cpp).
struct LogarithmPattern : OpRewritePattern<math::Log2Op> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::Log2Op op, PatternRewriter &b) const override {
    bool isAsked = bitEnumContainsAny(op.getFastmath(), arith::FastMathFlags::afn);
    if (!isAsked || !isFloat32(op.getType()))
      return b.notifyMatchFailure(op, "f32 of an approximation only");
    b.replaceOp(op,
                elementByElement(b, op.getLoc(), "lg2.approx.ftz.f32 $0, $1;", op.getOperand()));
    return success();
  }
};

} // namespace

void addApproximatePatterns(RewritePatternSet &patterns) {
  patterns
      .add<QuotientPattern, InverseRootPattern, ExponentialPattern, PowerPattern, LogarithmPattern>(
          patterns.getContext(), /*benefit=*/20);
}

} // namespace ditron::nvidia
