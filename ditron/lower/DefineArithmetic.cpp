// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The language has no unsigned integers, and converts by tile.cast. A kernel that is written as IR may say
//
//   %q = arith.divui %x, %y : tensor<16xi32>
//   %i = arith.fptosi %f : tensor<16xf32> to tensor<16xi32>
//
// of which LLVM leaves open what they are where %y is 0 and %f beyond i32. They become
//
//   %zero = arith.cmpi eq, %y, 0
//   %d = arith.divui %x, (arith.select %zero, 1, %y)
//   %q = arith.select %zero, 0, %d
//   %i = tile.cast %f rounding toward_zero : tensor<16xf32> to tensor<16xi32>
//
// test/lower/define-arithmetic.mlir shows it. What no backend has code for is refused: LLVM would look for a library.
#include "ditron/core/TileOps.h"
#include "ditron/lower/Arithmetic.h"
#include "ditron/lower/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace ditron::lower {

#define GEN_PASS_DEF_DEFINEARITHMETIC
#include "ditron/lower/Passes.h.inc"

namespace {

void clamp(arith::FPToSIOp op) {
  OpBuilder b(op);
  auto cast = b.create<core::CastOp>(op.getLoc(), op.getType(), op.getIn(),
                                     core::Rounding::toward_zero, /*saturate=*/false);
  op.replaceAllUsesWith(cast.getResult());
  op.erase();
}

/// Tiles of bf16 and fp8, whose elements are computed in f32.
bool isWidened(Type type) {
  Type element = getElementTypeOrSelf(type);
  return isa<RankedTensorType>(type) &&
         (element.isBF16() || element.isFloat8E4M3FN() || element.isFloat8E5M2());
}

/// Why no backend has code for an op; empty if one has.
StringRef reasonAgainst(Operation *op) {
  if (isa<math::Log10Op>(op))
    return "math.log10 has no lowering; expected math.log2, and a product";
  if (isa<math::PowFOp>(op))
    return "math.powf has no lowering; expected math.exp2 of a product with math.log2";
  if (isa<math::TanOp>(op))
    return "math.tan has no lowering; expected math.sin divided by math.cos";
  auto bits = dyn_cast<arith::BitcastOp>(op);
  if (bits && (isWidened(bits.getIn().getType()) || isWidened(bits.getType())))
    return "arith.bitcast has no lowering for tiles of bf16 and fp8, which are computed in f32; "
           "expected f16, f32 and integers";
  return "";
}

WalkResult refuse(Operation *op) {
  StringRef reason = reasonAgainst(op);
  if (reason.empty())
    return WalkResult::advance();
  op->emitError(reason);
  return WalkResult::interrupt();
}

struct DefineArithmetic : impl::DefineArithmeticBase<DefineArithmetic> {
  void runOnOperation() override {
    if (getOperation().walk(refuse).wasInterrupted())
      return signalPassFailure();
    defineUnsigned(getOperation());
    getOperation().walk(clamp);
  }
};

} // namespace
} // namespace ditron::lower
