// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nvidia-widen-dots: every value of the 8-bit floats is a value of f16, and the tensor cores add up
// products of f16 in f32, those of 8-bit floats in fewer bits.
//
//   %d = tile.dot %a, %b, %acc : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN> ->
//   tensor<64x64xf32>
// becomes
//   %x = tile.cast %a : tensor<64x64xf8E4M3FN> to tensor<64x64xf16>
//   %y = tile.cast %b : tensor<64x64xf8E4M3FN> to tensor<64x64xf16>
//   %d = tile.dot %x, %y, %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
//
// test/target/nvidia/widen-dots.mlir shows it.
#include "ditron/target/nvidia/transforms/Passes.h"
#include "ditron/target/nvidia/transforms/Tiles.h"

using namespace mlir;

namespace ditron::nvidia {

#define GEN_PASS_DEF_WIDENDOTS
#include "ditron/target/nvidia/transforms/Passes.h.inc"

namespace {

class WidenDots : public impl::WidenDotsBase<WidenDots> {
  void runOnOperation() override {
    getOperation().walk([](core::DotOp dot) {
      Type element = tileOf(dot.getLhs()).getElementType();
      if (!element.isFloat8E4M3FN() && !element.isFloat8E5M2())
        return;
      OpBuilder b(dot);
      for (unsigned n : {0, 1}) {
        Value tile = dot->getOperand(n);
        auto wide = RankedTensorType::get(tileOf(tile).getShape(), b.getF16Type());
        dot->setOperand(n, b.create<core::CastOp>(dot.getLoc(), wide, tile,
                                                  core::Rounding::nearest_even, false));
      }
    });
  }
};

} // namespace
} // namespace ditron::nvidia
