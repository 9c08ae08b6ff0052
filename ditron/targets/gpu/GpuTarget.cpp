// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/gpu/GpuTarget.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace ditron::gpu {

Layout Products::operand(RankedTensorType tile) const {
  return sharedRows(shapeOf(tile), core::elementBytes(tile.getElementType()));
}

Layout Products::accumulator(core::DotOp dot, Threads threads) const {
  RankedTensorType acc = tileOf(dot.getAcc());
  int64_t run = kAccessBytes / core::elementBytes(acc.getElementType());
  return blocked(shapeOf(acc), std::max<int64_t>(1, run), threads);
}

std::unique_ptr<Products> GpuTarget::products(func::FuncOp, const CompileRequest &) const {
  return std::make_unique<Products>();
}

} // namespace ditron::gpu
