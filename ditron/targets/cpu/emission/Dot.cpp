// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/emission/Dot.h"
#include "ditron/targets/cpu/emission/ColumnProduct.h"
#include "ditron/targets/cpu/emission/RowProduct.h"

using namespace mlir;

namespace ditron::cpu {

void addProduct(const DotContext &context, core::DotOp op, Value result) {
  DotShape shape = DotShape::of(op, context.v);
  Value right = context.buffers.has(op.getRhs()) ? Value() : rowsOfRight(op, shape.lanes);
  if (right)
    return RowProduct(context, op, right).addTo(result);
  if (isDirect({shape.m, shape.n, shape.lanes, context.v.target.registers}))
    return DirectProduct(context, op).addTo(result);
  PanelProduct(context, op).addTo(result);
}

} // namespace ditron::cpu
