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
// test/targets/gpu/simplify-dots.mlir shows it.
#include "ditron/targets/gpu/GpuTarget.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/gpu/transforms/Passes.h"

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
    getOperation().walk([](core::DotOp dot) {
      if (tileOf(dot.getLhs()).getDimSize(1) == 1)
        replaceByArithmetic(dot);
    });
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
