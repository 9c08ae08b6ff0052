// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What each register computes by itself, and what only says which register is which:
//
//   arith.addf %x, %y : tensor<4x64xf32, #l>   ->  arith.addf %x, %y : vector<2xf32>
//   tile.transpose %x [1, 0]                   ->  %x
//   tile.broadcast %x                          ->  vector.shuffle %x, %x [0, 0, 1, 1]
//
// and what scalars of narrow floats compute, which is done as for an element of a tile.
#include "ditron/lower/Conversions.h"
#include "ditron/targets/gpu/threads/ThreadLowering.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace ditron::gpu {
namespace {

constexpr auto kNearest = core::Rounding::nearest_even;

bool isNarrow(Type element) {
  return isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
}

/// Ops of arith and math: the same op on vectors. What narrow floats compute is rounded to them.
struct ElementwisePattern : ConversionPattern {
  ElementwisePattern(const TypeConverter &types, MLIRContext *mlirContext)
      : ConversionPattern(types, MatchAnyOpTypeTag(), /*benefit=*/1, mlirContext) {}

  LogicalResult matchAndRewrite(Operation *op, ArrayRef<Value> operands,
                                ConversionPatternRewriter &b) const override {
    if (!isElementwise(op) || isa<core::CastOp>(op) || !isMemoryEffectFree(op))
      return b.notifyMatchFailure(op, "not elementwise");
    RankedTensorType tile = tileOf(op->getResult(0));
    Type element = tile.getElementType();
    Value result;
    if (isa<arith::ExtFOp>(op)) {
      result = operands[0];
    } else if (isa<arith::TruncFOp>(op)) {
      result = lower::roundTo(b, op->getLoc(), operands[0], element, kNearest, false, true);
    } else {
      OperationState state(op->getLoc(), op->getName(), operands, vectorOf(tile), op->getAttrs());
      result = b.create(state)->getResult(0);
      if (isNarrow(element) && !isa<arith::SelectOp>(op))
        result = lower::roundTo(b, op->getLoc(), result, element, kNearest, false, true);
    }
    b.replaceOp(op, result);
    return success();
  }
};

/// A scalar of the program as a vector of one element in its compute type, and back.
Value widened(OpBuilder &b, mlir::Location loc, Value scalar) {
  Type element = scalar.getType(), stored = lower::storageType(element);
  if (element.isInteger(1))
    scalar = b.create<arith::ExtUIOp>(loc, stored, scalar);
  else if (stored != element)
    scalar = b.create<arith::BitcastOp>(loc, stored, scalar);
  Value vector = b.create<vector::BroadcastOp>(loc, VectorType::get({1}, stored), scalar);
  return lower::fromStorage(b, loc, vector, element);
}

Value narrowed(OpBuilder &b, mlir::Location loc, Value vector, Type element) {
  vector = lower::toStorage(b, loc, vector, element, true);
  Value scalar = b.create<vector::ExtractOp>(loc, vector, int64_t(0));
  if (element.isInteger(1))
    return b.create<arith::TruncIOp>(loc, element, scalar);
  if (scalar.getType() != element)
    return b.create<arith::BitcastOp>(loc, element, scalar);
  return scalar;
}

/// Ops of arith and math on scalars of narrow floats: computed in f32, and rounded once.
struct ScalarPattern : ConversionPattern {
  ScalarPattern(const TypeConverter &types, MLIRContext *mlirContext)
      : ConversionPattern(types, MatchAnyOpTypeTag(), /*benefit=*/1, mlirContext) {}

  LogicalResult matchAndRewrite(Operation *op, ArrayRef<Value> operands,
                                ConversionPatternRewriter &b) const override {
    if (!isNarrowScalar(op))
      return b.notifyMatchFailure(op, "no scalar of a narrow float");
    mlir::Location loc = op->getLoc();
    Type to = op->getResult(0).getType();
    SmallVector<Value> sources;
    for (Value operand : operands)
      sources.push_back(widened(b, loc, operand));
    Value result = sources[0];
    if (!isa<arith::ExtFOp, arith::TruncFOp>(op)) {
      auto type = VectorType::get({1}, lower::computeType(to));
      OperationState state(loc, op->getName(), sources, type, op->getAttrs());
      result = b.create(state)->getResult(0);
    }
    if (isNarrow(to))
      result = lower::roundTo(b, loc, result, to, kNearest, false, true);
    b.replaceOp(op, narrowed(b, loc, result, to));
    return success();
  }
};

struct CastPattern : TilePattern<core::CastOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(core::CastOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Type from = getElementTypeOrSelf(op.getSource()), to = getElementTypeOrSelf(op.getResult());
    bool isScalar = !isTile(op.getResult());
    if (Value result = isScalar ? Value() : bf16OfBytes(op, adaptor.getSource(), b)) {
      b.replaceOp(op, result);
      return success();
    }
    Value source = isScalar ? widened(b, op.getLoc(), op.getSource()) : adaptor.getSource();
    Value result =
        lower::convert(b, op.getLoc(), source, from, to, op.getRounding(), op.getSaturate(), true);
    b.replaceOp(op, isScalar ? narrowed(b, op.getLoc(), result, to) : result);
    return success();
  }

private:
  /// Whole words of i8 as bf16, where the chip does that at once; else null.
  Value bf16OfBytes(core::CastOp op, Value source, ConversionPatternRewriter &b) const {
    constexpr int64_t kBytes = 4; // of a word
    Type from = getElementTypeOrSelf(op.getSource()), to = getElementTypeOrSelf(op.getResult());
    int64_t count = cast<VectorType>(source.getType()).getNumElements();
    if (!from.isInteger(8) || !to.isBF16() || count % kBytes)
      return nullptr;
    ThreadBuilder t(b, op.getLoc(), context_);
    auto words = VectorType::get({count / kBytes}, b.getI32Type());
    SmallVector<Value> pairs = t.instructions->bf16OfBytes(
        t.split(b.create<vector::BitCastOp>(op.getLoc(), words, source)));
    if (pairs.empty())
      return nullptr;
    auto halves = VectorType::get({count}, lower::storageType(to));
    return t.loaded(b.create<vector::BitCastOp>(op.getLoc(), halves, t.join(pairs)), to);
  }
};

struct ConstantPattern : TilePattern<arith::ConstantOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(arith::ConstantOp op, OpAdaptor,
                                ConversionPatternRewriter &b) const override {
    auto elements = dyn_cast<SplatElementsAttr>(op.getValue());
    if (!elements)
      return op.emitError() << "a constant tile of several values; expected one value";
    VectorType type = vectorOf(cast<RankedTensorType>(op.getType()));
    TypedAttr value;
    if (isa<FloatType>(type.getElementType()))
      value = b.getFloatAttr(type.getElementType(),
                             elements.getSplatValue<APFloat>().convertToDouble());
    else
      value = b.getIntegerAttr(type.getElementType(), elements.getSplatValue<APInt>());
    b.replaceOpWithNewOp<arith::ConstantOp>(
        op, DenseElementsAttr::get(type, ArrayRef<Attribute>(value)));
    return success();
  }
};

struct SplatPattern : TilePattern<tensor::SplatOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tensor::SplatOp op, OpAdaptor,
                                ConversionPatternRewriter &b) const override {
    VectorType type = vectorOf(op.getType());
    Value one = b.create<vector::ExtractOp>(op.getLoc(), widened(b, op.getLoc(), op.getInput()),
                                            int64_t(0));
    b.replaceOpWithNewOp<vector::BroadcastOp>(op, type, one);
    return success();
  }
};

struct IotaPattern : TilePattern<core::IotaOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(core::IotaOp op, OpAdaptor,
                                ConversionPatternRewriter &b) const override {
    RankedTensorType tile = tileOf(op.getResult());
    Distribution places = *Distribution::of(core::layoutOf(tile), shapeOf(tile));
    ThreadBuilder t(b, op.getLoc(), context_);
    auto axis = static_cast<size_t>(op.getAxis());
    SmallVector<int32_t> registers;
    for (int64_t reg = 0; reg < places.registers(); ++reg)
      registers.push_back(static_cast<int32_t>(places.element(reg)[axis]));
    VectorType type = vectorOf(tile);
    Value own = b.create<arith::ConstantOp>(
        op.getLoc(), DenseElementsAttr::get(type, ArrayRef<int32_t>(registers)));
    Value thread = b.create<vector::BroadcastOp>(op.getLoc(), type, t.coordinate(places, axis));
    b.replaceOpWithNewOp<arith::AddIOp>(op, thread, own);
    return success();
  }
};

/// The layouts were chosen such that elements stay where they are.
template <class Op> struct RenamePattern : TilePattern<Op> {
  using TilePattern<Op>::TilePattern;
  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    b.replaceOp(op, adaptor.getSource());
    return success();
  }
};

struct BroadcastPattern : TilePattern<core::BroadcastOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(core::BroadcastOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    RankedTensorType from = tileOf(op.getSource()), to = tileOf(op.getResult());
    Distribution source = *Distribution::of(core::layoutOf(from), shapeOf(from));
    Distribution result = *Distribution::of(core::layoutOf(to), shapeOf(to));
    SmallVector<int64_t> registers;
    for (int64_t reg = 0; reg < result.registers(); ++reg) {
      Shape element = result.element(reg);
      for (size_t dim = 0; dim < element.size(); ++dim)
        if (source.shape()[dim] == 1)
          element[dim] = 0;
      registers.push_back(source.registerOf(element));
    }
    ThreadBuilder t(b, op.getLoc(), context_);
    b.replaceOp(op, t.pick(adaptor.getSource(), registers));
    return success();
  }
};

} // namespace

bool isNarrowScalar(Operation *op) {
  if (!isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
      isa<arith::BitcastOp, arith::SelectOp>(op) || op->getNumOperands() == 0)
    return false;
  return isNarrow(op->getOperand(0).getType()) || // of several, all are of one type
         (isa<arith::TruncFOp>(op) && isNarrow(op->getResult(0).getType()));
}

void addElementPatterns(RewritePatternSet &patterns, const TypeConverter &types,
                        const ThreadContext &context) {
  MLIRContext *mlirContext = patterns.getContext();
  patterns.add<ElementwisePattern, ScalarPattern>(types, mlirContext);
  patterns.add<CastPattern, ConstantPattern, SplatPattern, IotaPattern, BroadcastPattern,
               RenamePattern<core::TransposeOp>, RenamePattern<core::ReshapeOp>>(types, mlirContext,
                                                                                 context);
}

} // namespace ditron::gpu
