// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FuseDot: a product that is only added to something accumulates into it.
//
//     %p = tile.dot %a, %b, %zero
//     %r = arith.addf %acc, %p            ->    %r = tile.dot %a, %b, %acc
//
// Matrix units add into their accumulator for nothing. The order of the sum over k is not
// specified, so the result stays within what tile.dot promises. test/core/fuse-dot.mlir shows it.
//
#include "ditron/core/TileOps.h"
#include "ditron/core/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace ditron::core {
#define GEN_PASS_DEF_FUSEDOT
#include "ditron/core/transforms/Passes.h.inc"
} // namespace ditron::core

using namespace mlir;
using namespace ditron::core;

namespace {

/// Whether all elements are constant zeros.
bool isZero(Value tile) {
  if (auto splat = tile.getDefiningOp<tensor::SplatOp>())
    tile = splat.getInput();
  return matchPattern(tile, m_AnyZeroFloat()) || matchPattern(tile, m_Zero());
}

template <class AddOp> struct FuseAdd : OpRewritePattern<AddOp> {
  using OpRewritePattern<AddOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(AddOp add, PatternRewriter &rewriter) const override {
    for (auto [product, other] :
         {std::pair(add.getRhs(), add.getLhs()), std::pair(add.getLhs(), add.getRhs())}) {
      auto dot = product.template getDefiningOp<DotOp>();
      if (!dot || !dot->hasOneUse() || !isZero(dot.getAcc()))
        continue;
      rewriter.replaceOpWithNewOp<DotOp>(add, dot.getLhs(), dot.getRhs(), other,
                                         dot.getPrecision());
      return success();
    }
    return rewriter.notifyMatchFailure(
        add, "neither operand is a dot with zero accumulator and no other use");
  }
};

struct FuseDot : ditron::core::impl::FuseDotBase<FuseDot> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FuseAdd<arith::AddFOp>, FuseAdd<arith::AddIOp>>(&getContext());
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
