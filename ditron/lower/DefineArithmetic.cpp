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
// test/lower/define-arithmetic.mlir shows it.
#include "ditron/core/TileOps.h"
#include "ditron/lower/Arithmetic.h"
#include "ditron/lower/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

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

struct DefineArithmetic : impl::DefineArithmeticBase<DefineArithmetic> {
  void runOnOperation() override {
    defineUnsigned(getOperation());
    getOperation().walk(clamp);
  }
};

} // namespace
} // namespace ditron::lower
