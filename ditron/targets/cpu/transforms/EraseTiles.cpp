// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/transforms/EraseTiles.h"
#include "ditron/targets/cpu/VectorBuilder.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace ditron::cpu {

static bool hasTiles(ValueRange values) { return llvm::any_of(values, isTile); }

/// Takes the tiles out of what a loop or branch yields.
static Operation *withoutTiles(Operation *op) {
  OpBuilder b(op);
  SmallVector<Type> types;
  SmallVector<unsigned> kept;
  for (auto [n, result] : llvm::enumerate(op->getResults()))
    if (!isTile(result)) {
      kept.push_back(n);
      types.push_back(result.getType());
    }
  OperationState state(op->getLoc(), op->getName(), {}, types, op->getAttrs());
  unsigned fixed = op->getNumOperands() - (isa<scf::ForOp>(op) ? op->getNumResults() : 0);
  for (unsigned n = 0; n < fixed; ++n)
    state.operands.push_back(op->getOperand(n));
  if (isa<scf::ForOp>(op))
    for (unsigned n : kept)
      state.operands.push_back(op->getOperand(fixed + n));
  for (Region &region : op->getRegions()) {
    state.addRegion()->takeBody(region);
  }
  Operation *fresh = b.create(state);
  for (Region &region : fresh->getRegions()) {
    if (region.empty())
      continue;
    mlir::Block &block = region.front();
    Operation *yield = block.getTerminator();
    for (unsigned n = op->getNumResults(); n-- > 0;) {
      if (!isTile(op->getResult(n)))
        continue;
      yield->eraseOperand(n);
      if (isa<scf::ForOp>(op)) {
        block.getArgument(n + 1).dropAllUses();
        block.eraseArgument(n + 1);
      }
    }
  }
  for (auto [n, old] : llvm::enumerate(kept))
    op->getResult(old).replaceAllUsesWith(fresh->getResult(n));
  op->dropAllUses();
  op->erase();
  return fresh;
}

void eraseTiles(func::FuncOp function, ArrayRef<Operation *> dead) {
  SmallVector<Operation *> structured, tiles;
  function.walk([&](Operation *op) { // inner ones first
    if (isa<scf::ForOp, scf::IfOp>(op)) {
      if (hasTiles(op->getResults()))
        structured.push_back(op);
    } else if (!isa<scf::YieldOp>(op) &&
               (hasTiles(op->getOperands()) || hasTiles(op->getResults()))) {
      tiles.push_back(op);
    }
  });
  for (Operation *op : structured)
    withoutTiles(op);
  for (Operation *op : dead)
    if (!hasTiles(op->getOperands()))
      tiles.push_back(op);
  for (Operation *op : llvm::reverse(tiles)) {
    op->dropAllUses();
    op->erase();
  }
}

} // namespace ditron::cpu
