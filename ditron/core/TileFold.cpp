// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tile ops fold to: see test/core/fold.mlir.
#include "ditron/core/TileOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace ditron::core;

Operation *TileDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                            Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

//===-- Shape ---------------------------------------------------------------------------------===//

/// A constant of equal elements stays one in any other shape.
static OpFoldResult foldSplat(Attribute source, Type result) {
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(source))
    return splat.resizeSplat(cast<ShapedType>(result));
  return {};
}

/// The one operand of an op that looks through another one of its kind: op(op(x)) -> op(x).
template <class Op> static OpFoldResult foldThrough(Op op) {
  auto inner = op.getSource().template getDefiningOp<Op>();
  if (!inner)
    return {};
  op.getSourceMutable().assign(inner.getSource());
  return op.getResult();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getResult().getType())
    return getSource();
  if (OpFoldResult splat = foldSplat(adaptor.getSource(), getResult().getType()))
    return splat;
  return foldThrough(*this);
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getResult().getType())
    return getSource();
  if (OpFoldResult splat = foldSplat(adaptor.getSource(), getResult().getType()))
    return splat;
  return foldThrough(*this);
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  ArrayRef<int64_t> permutation = getPermutation();
  if (getSource().getType() == getResult().getType() && llvm::is_sorted(permutation))
    return getSource();
  if (OpFoldResult splat = foldSplat(adaptor.getSource(), getResult().getType()))
    return splat;
  auto inner = getSource().getDefiningOp<TransposeOp>();
  if (!inner)
    return {};
  SmallVector<int64_t> both;
  for (int64_t dim : permutation)
    both.push_back(inner.getPermutation()[dim]);
  setPermutation(both);
  getSourceMutable().assign(inner.getSource());
  return getResult();
}

namespace {

/// A scalar repeated over a tile is repeated over the tile of the other shape.
template <class Op> struct ShapeOfSplat : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    auto splat = op.getSource().template getDefiningOp<tensor::SplatOp>();
    if (!splat)
      return rewriter.notifyMatchFailure(op, "source is no tensor.splat");
    rewriter.replaceOpWithNewOp<tensor::SplatOp>(op, splat.getInput(), op.getResult().getType());
    return success();
  }
};

/// Converts one element and repeats it, instead of converting every element.
struct CastOfSplat : OpRewritePattern<CastOp> {
  using OpRewritePattern<CastOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(CastOp op, PatternRewriter &rewriter) const override {
    auto splat = op.getSource().getDefiningOp<tensor::SplatOp>();
    if (!splat)
      return rewriter.notifyMatchFailure(op, "source is no tensor.splat");
    auto type = cast<RankedTensorType>(op.getResult().getType());
    Value scalar = rewriter.create<CastOp>(op.getLoc(), type.getElementType(), splat.getInput(),
                                           op.getRounding(), op.getSaturate());
    rewriter.replaceOpWithNewOp<tensor::SplatOp>(op, scalar, type);
    return success();
  }
};

} // namespace

void BroadcastOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<ShapeOfSplat<BroadcastOp>>(context);
}
void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<ShapeOfSplat<ReshapeOp>>(context);
}
void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<ShapeOfSplat<TransposeOp>>(context);
}
void CastOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<CastOfSplat>(context);
}

//===-- Casts ---------------------------------------------------------------------------------===//

/// Whether every value of `from` is one of `to`, of the same kind.
static bool isWidening(Type from, Type to) {
  if (from.isIntOrIndex() && to.isIntOrIndex())
    return from.getIntOrFloatBitWidth() <= to.getIntOrFloatBitWidth();
  auto narrow = dyn_cast<FloatType>(from), wide = dyn_cast<FloatType>(to);
  if (!narrow || !wide)
    return false;
  const auto &in = narrow.getFloatSemantics(), &out = wide.getFloatSemantics();
  return llvm::APFloat::semanticsPrecision(in) <= llvm::APFloat::semanticsPrecision(out) &&
         llvm::APFloat::semanticsMaxExponent(in) <= llvm::APFloat::semanticsMaxExponent(out) &&
         llvm::APFloat::semanticsMinExponent(in) >= llvm::APFloat::semanticsMinExponent(out);
}

static llvm::RoundingMode modeOf(Rounding rounding) {
  switch (rounding) {
  case Rounding::nearest_even:
    return llvm::RoundingMode::NearestTiesToEven;
  case Rounding::toward_zero:
    return llvm::RoundingMode::TowardZero;
  case Rounding::down:
    return llvm::RoundingMode::TowardNegative;
  case Rounding::up:
    return llvm::RoundingMode::TowardPositive;
  }
  llvm_unreachable("all roundings are above");
}

/// A float as another float type.
static APFloat convert(APFloat value, FloatType to, CastOp op) {
  bool isNumber = !value.isNaN(), negative = value.isNegative(), loses = false;
  value.convert(to.getFloatSemantics(), modeOf(op.getRounding()), &loses);
  if (op.getSaturate() && isNumber && !value.isFinite())
    return APFloat::getLargest(to.getFloatSemantics(), negative);
  return value;
}

/// A float as an integer: saturates, NaN gives 0; i1 says whether it differs from 0.
static APInt convert(const APFloat &value, unsigned width, Rounding rounding) {
  if (width == 1)
    return APInt(1, !value.isZero());
  llvm::APSInt result(width, /*isUnsigned=*/false);
  bool exact = false;
  value.convertToInteger(result, modeOf(rounding), &exact);
  return result;
}

/// An integer as another one: i1 counts as 0 or 1.
static APInt convert(const APInt &value, unsigned width, bool saturate) {
  if (width == 1)
    return APInt(1, !value.isZero());
  if (value.getBitWidth() == 1)
    return value.zext(width);
  return saturate && width < value.getBitWidth() ? value.truncSSat(width)
                                                 : value.sextOrTrunc(width);
}

/// One constant element as the result's; null if it is neither a float nor an integer.
static TypedAttr foldElement(Attribute element, Type to, CastOp op) {
  auto toFloat = dyn_cast<FloatType>(to);
  if (auto from = dyn_cast<FloatAttr>(element)) {
    if (!toFloat)
      return IntegerAttr::get(
          to, convert(from.getValue(), to.getIntOrFloatBitWidth(), op.getRounding()));
    return FloatAttr::get(toFloat, convert(from.getValue(), toFloat, op));
  }
  auto from = dyn_cast<IntegerAttr>(element);
  if (!from)
    return {};
  APInt value = from.getValue();
  if (!toFloat)
    return IntegerAttr::get(to, convert(value, to.getIntOrFloatBitWidth(), op.getSaturate()));
  APFloat exact(APFloat::IEEEquad()); // holds every i64
  exact.convertFromAPInt(value, /*IsSigned=*/value.getBitWidth() > 1,
                         llvm::RoundingMode::NearestTiesToEven);
  return FloatAttr::get(toFloat, convert(exact, toFloat, op));
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  Type from = getElementTypeOrSelf(getSource()), to = getElementTypeOrSelf(getResult());
  // Saturating makes infinities finite, also where the type stays.
  if (getSource().getType() == getResult().getType() && (!getSaturate() || !isa<FloatType>(to)))
    return getSource();
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getSource())) {
    if (TypedAttr element = foldElement(splat.getSplatValue<Attribute>(), to, *this))
      return SplatElementsAttr::get(cast<ShapedType>(getResult().getType()), element);
  } else if (Attribute element = adaptor.getSource()) {
    if (TypedAttr folded = foldElement(element, to, *this))
      return folded;
  }
  // A widening cast changes no value, so the cast after it may read what it reads.
  auto inner = getSource().getDefiningOp<CastOp>();
  if (!inner || (inner.getSaturate() && isa<FloatType>(from)) ||
      !isWidening(getElementTypeOrSelf(inner.getSource()), from))
    return {};
  getSourceMutable().assign(inner.getSource());
  return getResult();
}
