// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/emission/ViewReads.h"
#include "ditron/core/TileOps.h"

using namespace mlir;

namespace ditron::cpu {

const Access *ViewReads::find(Operation *op) const {
  auto found = accesses_.find(op);
  return found == accesses_.end() ? nullptr : &found->second;
}

Accesses ViewReads::of(Value tile, const TileBuffers &buffers) const {
  Accesses reads;
  std::function<void(Value)> visit = [&](Value tile) {
    Operation *op = tile.getDefiningOp();
    if (!op || buffers.has(tile))
      return;
    if (isa<core::LoadOp>(op) && !llvm::is_contained(reads, &accesses_.at(op)))
      reads.push_back(&accesses_.at(op));
    for (Value operand : op->getOperands())
      if (isTile(operand))
        visit(operand);
  };
  visit(tile);
  return reads;
}

} // namespace ditron::cpu
