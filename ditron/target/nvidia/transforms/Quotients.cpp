// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quotients and inverse square roots of f32 by instructions without a branch, where the correctly
// rounded ones take a dozen with one. Infinities, zeros, subnormal numbers and NaN are as they
// should be; other results are right to 2 ulp.
//
//   arith.divf %x, %y  ->  div.full.f32
//   arith.divf 1, %y   ->  rcp.approx.f32
//   math.rsqrt %x      ->  rsqrt.approx.f32
//
// test/target/nvidia/lower-to-nvvm.mlir shows it.
#include "ditron/target/nvidia/transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
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

} // namespace

void addQuotientPatterns(RewritePatternSet &patterns) {
  patterns.add<QuotientPattern, InverseRootPattern>(patterns.getContext(), /*benefit=*/20);
}

} // namespace ditron::nvidia
