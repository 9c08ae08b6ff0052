// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/target/nvidia/transforms/Tiles.h"
#include "ditron/target/nvidia/transforms/Passes.h"

using namespace mlir;

namespace ditron::nvidia {

bool isElementwise(Operation *op) {
  if (op->getNumResults() != 1 || !isTile(op->getResult(0)) || op->getNumOperands() == 0)
    return false;
  return isa<core::CastOp>(op) || op->hasTrait<OpTrait::Elementwise>();
}

int64_t matrixDepth(Type element, core::Precision precision) {
  if (element.isBF16() || element.isF16())
    return 16;
  if (element.isInteger(8))
    return 32;
  return element.isF32() && precision == core::Precision::tf32 ? 8 : 0;
}

DotKind kindOf(core::DotOp op) {
  RankedTensorType lhs = tileOf(op.getLhs()), acc = tileOf(op.getAcc());
  int64_t depth = matrixDepth(lhs.getElementType(), op.getPrecision());
  bool fits = depth && lhs.getDimSize(1) % depth == 0 && acc.getDimSize(0) % 16 == 0 &&
              acc.getDimSize(1) % 16 == 0;
  return fits ? DotKind::matrix : DotKind::scalar;
}

int64_t warpsOf(Operation *op) {
  auto function = op->getParentOfType<func::FuncOp>();
  return function->getAttrOfType<IntegerAttr>(kWarpsAttr).getInt();
}

} // namespace ditron::nvidia
