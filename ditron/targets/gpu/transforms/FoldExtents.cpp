// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simt-fold-extents: nothing asks for an extent that is known.
//
//   %x = simt.view_at %table[%n] {tile.known_extents = array<i64: -1, 4096>} : !llvm.ptr -> memref<?x?xf32, ...>
//   %k = memref.dim %x, %c1
//   %steps = arith.ceildivsi %k, %c1024 : index
// becomes
//   %steps = arith.constant 4 : index
//
// So a loop knows how many iterations it has, symmetric memory how large it is, and what a kernel requires of shapes is
// found to hold. A view of another shape has the extents that it was made with.
// test/targets/gpu/fold-extents.mlir shows it.
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Transforms/FoldUtils.h"

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_FOLDEXTENTS
#include "ditron/targets/gpu/transforms/Passes.h.inc"

namespace {

/// The extent that is asked for, where it is a number: known of such a view, or what another one was expanded to.
std::optional<int64_t> askedExtent(memref::DimOp op) {
  std::optional<int64_t> dim = op.getConstantIndex();
  if (!dim || *dim < 0 || *dim >= cast<MemRefType>(op.getSource().getType()).getRank())
    return std::nullopt;
  auto expanded = op.getSource().getDefiningOp<memref::ExpandShapeOp>();
  if (!expanded)
    return knownExtent(op.getSource(), static_cast<unsigned>(*dim));
  Builder b(op.getContext());
  return getConstantIntValue(
      getMixedValues(expanded.getStaticOutputShape(), expanded.getOutputShape(), b)[*dim]);
}

/// In the order of the program, so that what an op takes has been computed.
class FoldExtents : public impl::FoldExtentsBase<FoldExtents> {
  void runOnOperation() override {
    OperationFolder folder(&getContext());
    getOperation().walk([&](Operation *op) {
      if (auto dim = dyn_cast<memref::DimOp>(op))
        replaceKnown(dim);
      else if (isa_and_nonnull<arith::ArithDialect>(op->getDialect()) &&
               !isa<arith::ConstantOp>(op))
        (void)folder.tryToFold(op);
    });
  }

  void replaceKnown(memref::DimOp op) {
    std::optional<int64_t> extent = askedExtent(op);
    if (!extent)
      return;
    OpBuilder b(op);
    op.replaceAllUsesWith(b.create<arith::ConstantIndexOp>(op.getLoc(), *extent).getResult());
    op.erase();
  }
};

} // namespace
} // namespace ditron::gpu
