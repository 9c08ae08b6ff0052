// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simt-simplify-dots: products that are better said otherwise.
//
// Every value of the 8-bit floats is a value of f16, and the tensor cores add up products of f16 in
// f32, those of 8-bit floats in fewer bits. Unless the target multiplies them as they are, where
// precision fast_accum allows it (Products of GpuTarget.h):
//
//   %d = tile.dot %a, %b, %acc : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN> ->
//   tensor<64x64xf32>
// becomes
//   %x = tile.cast %a : tensor<64x64xf8E4M3FN> to tensor<64x64xf16>
//   %y = tile.cast %b : tensor<64x64xf8E4M3FN> to tensor<64x64xf16>
//   %d = tile.dot %x, %y, %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
//
// A product of one term has nothing to add up:
//
//   %d = tile.dot %a, %b, %acc : tensor<8x1xf32>, tensor<1x16xf32> -> tensor<8x16xf32>
// becomes
//   %x = tile.broadcast %a : tensor<8x1xf32> -> tensor<8x16xf32>
//   %y = tile.broadcast %b : tensor<1x16xf32> -> tensor<8x16xf32>
//   %d = math.fma %x, %y, %acc : tensor<8x16xf32>
//
// Nor do tensor cores multiply a batch, unless it was sliced over warps (nvidia-slice-products):
//
//   %d = tile.dot %a, %b, %acc : tensor<2x8x4xf32>, tensor<2x4x16xf32> -> tensor<2x8x16xf32>
// becomes
//   %x = a reshaped to 2x8x1x4 and broadcast;  %y = b transposed, reshaped to 2x1x16x4 and broadcast
//   %p = arith.mulf %x, %y : tensor<2x8x16x4xf32>
//   %s = tile.reduce sum %p axis 3 : tensor<2x8x16x4xf32> -> tensor<2x8x16x1xf32>
//   %d = arith.addf of that, reshaped, and %acc
//
// test/targets/gpu/simplify-dots.mlir shows it.
#include "ditron/targets/gpu/GpuTarget.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_SIMPLIFYDOTS
#include "ditron/targets/gpu/transforms/Passes.h.inc"

namespace {

Value cast(OpBuilder &b, Value tile, Type element) {
  RankedTensorType type = tileOf(tile);
  if (type.getElementType() == element)
    return tile;
  return b.create<core::CastOp>(tile.getLoc(), RankedTensorType::get(type.getShape(), element),
                                tile, core::Rounding::nearest_even, false);
}

void widen(core::DotOp dot) {
  OpBuilder b(dot);
  for (unsigned n : {0, 1})
    dot->setOperand(n, cast(b, dot->getOperand(n), b.getF16Type()));
  dot.setPrecision(core::Precision::ieee);
}

bool isBatch(core::DotOp dot) { return tileOf(dot.getAcc()).getRank() > 2; }

int64_t termsOf(core::DotOp dot) {
  return tileOf(dot.getAcc()).getNumElements() * tileOf(dot.getLhs()).getShape().back();
}

/// With the terms of each sum along the last dimension, behind one of all products.
void replaceBatch(core::DotOp dot) {
  ImplicitLocOpBuilder b(dot.getLoc(), dot);
  RankedTensorType acc = tileOf(dot.getAcc());
  Type element = acc.getElementType();
  int64_t m = acc.getShape().end()[-2], n = acc.getShape().back(),
          k = tileOf(dot.getLhs()).getShape().back(), count = acc.getNumElements() / (m * n);
  auto shaped = [&](Value tile, ArrayRef<int64_t> shape) -> Value {
    return b.create<core::ReshapeOp>(RankedTensorType::get(shape, element), tile);
  };
  auto factor = [&](Value apart) -> Value {
    return b.create<core::BroadcastOp>(RankedTensorType::get({count, m, n, k}, element), apart);
  };
  Value rows = cast(b, dot.getLhs(), element),
        columns = shaped(cast(b, dot.getRhs(), element), {count, k, n});
  columns = b.create<core::TransposeOp>(RankedTensorType::get({count, n, k}, element), columns,
                                        ArrayRef<int64_t>{0, 2, 1});
  Value x = factor(shaped(rows, {count, m, 1, k})), y = factor(shaped(columns, {count, 1, n, k}));
  bool isOfFloats = isa<FloatType>(element);
  Value products = isOfFloats ? b.create<arith::MulFOp>(x, y).getResult()
                              : b.create<arith::MulIOp>(x, y).getResult();
  constexpr uint64_t kTerms = 3;
  Value sums = b.create<core::ReduceOp>(RankedTensorType::get({count, m, n, 1}, element),
                                        core::ReduceKind::sum, products, kTerms);
  sums = shaped(sums, acc.getShape());
  Value result = isOfFloats ? b.create<arith::AddFOp>(sums, dot.getAcc()).getResult()
                            : b.create<arith::AddIOp>(sums, dot.getAcc()).getResult();
  dot.getResult().replaceAllUsesWith(result);
  dot.erase();
}

void replaceByArithmetic(core::DotOp dot) {
  OpBuilder b(dot);
  RankedTensorType type = tileOf(dot.getAcc());
  Type element = type.getElementType();
  auto factor = [&](Value tile) -> Value {
    tile = cast(b, tile, element);
    if (tile.getType() == type)
      return tile;
    return b.create<core::BroadcastOp>(dot.getLoc(), type, tile);
  };
  Value x = factor(dot.getLhs()), y = factor(dot.getRhs()), result;
  if (isa<FloatType>(element))
    result = b.create<math::FmaOp>(dot.getLoc(), x, y, dot.getAcc());
  else
    result = b.create<arith::AddIOp>(dot.getLoc(), b.create<arith::MulIOp>(dot.getLoc(), x, y),
                                     dot.getAcc());
  dot.getResult().replaceAllUsesWith(result);
  dot.erase();
}

class SimplifyDots : public impl::SimplifyDotsBase<SimplifyDots> {
public:
  using SimplifyDotsBase::SimplifyDotsBase;

private:
  void runOnOperation() override {
    const GpuTarget *target = targetNamed(targetName, getOperation());
    if (!target)
      return signalPassFailure();
    constexpr int64_t kMostTerms = 1 << 16; // which threads have in registers
    SmallVector<core::DotOp> batches;
    getOperation().walk([&](core::DotOp dot) {
      if (isBatch(dot))
        batches.push_back(dot);
      else if (tileOf(dot.getLhs()).getDimSize(1) == 1)
        replaceByArithmetic(dot);
    });
    for (core::DotOp dot : batches) {
      if (termsOf(dot) > kMostTerms) {
        dot.emitError() << "a batch of products has no lowering to " << target->machines()
                        << " with " << termsOf(dot) << " terms, expected at most " << kMostTerms;
        return signalPassFailure();
      }
      replaceBatch(dot);
    }
    CompileRequest request{.schedule = {.warps = int(warps), .ctasPerSm = int(ctasPerSm)},
                           .tensorMaps = tensorMaps};
    if (target->products(getOperation(), request)->multiply8BitFloats())
      return;
    getOperation().walk([](core::DotOp dot) {
      Type element = tileOf(dot.getLhs()).getElementType();
      if (element.isFloat8E4M3FN() || element.isFloat8E5M2())
        widen(dot);
    });
  }
};

} // namespace
} // namespace ditron::gpu
