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
// found to hold.
// test/targets/gpu/fold-extents.mlir shows it.
#include "ditron/core/KnownShape.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Transforms/FoldUtils.h"

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_FOLDEXTENTS
#include "ditron/targets/gpu/transforms/Passes.h.inc"

namespace {

/// The extents that are known of an argument, or of a view of a table; null: none are.
DenseI64ArrayAttr knownExtents(func::FuncOp function, Value view) {
  if (auto argument = dyn_cast<BlockArgument>(view))
    return argument.getOwner() == &function.front()
               ? function.getArgAttrOfType<DenseI64ArrayAttr>(argument.getArgNumber(),
                                                              core::kKnownExtentsAttr)
               : nullptr;
  auto chosen = view.getDefiningOp<ViewAtOp>();
  return chosen ? chosen->getAttrOfType<DenseI64ArrayAttr>(core::kKnownExtentsAttr) : nullptr;
}

/// Computes what follows from numbers.
void compute(func::FuncOp function) {
  OperationFolder folder(function.getContext());
  function.walk([&](Operation *op) {
    if (isa_and_nonnull<arith::ArithDialect>(op->getDialect()) && !isa<arith::ConstantOp>(op))
      (void)folder.tryToFold(op);
  });
}

class FoldExtents : public impl::FoldExtentsBase<FoldExtents> {
  void runOnOperation() override {
    getOperation().walk([&](memref::DimOp op) {
      DenseI64ArrayAttr extents = knownExtents(getOperation(), op.getSource());
      std::optional<int64_t> dim = op.getConstantIndex();
      bool isDim = extents && dim && *dim >= 0 && *dim < extents.size();
      if (!isDim || extents[*dim] == core::kUnknownExtent)
        return;
      OpBuilder b(op);
      op.replaceAllUsesWith(
          b.create<arith::ConstantIndexOp>(op.getLoc(), extents[*dim]).getResult());
      op.erase();
    });
    compute(getOperation());
  }
};

} // namespace
} // namespace ditron::gpu
