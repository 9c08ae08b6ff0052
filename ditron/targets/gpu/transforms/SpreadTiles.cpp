// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simt-spread-tiles: each tile gets a CTA of its own, where CTAs need not be there together.
//
//   %n = memref.dim %x, %c0 : ...
//   scf.for %i = %core to %n step %cores { %r = arith.divui %i, %m ... }
// becomes, in a kernel with simt.tiles = ["a0.0"] (the text of abi/Extent.h, one of each loop),
//   scf.if %core < %n { %r = arith.index_castui (arith.divui (%core, %m as i32)) ... }
//
// A launch has as many CTAs as the largest of these counts says, fewer than 2^31. The hardware
// hands them to SMs as those have room. They are not equally fast, as some share their
// way to memory with more others: where each walks an equal share, all wait for the slowest, and
// row kernels reach 0.89 of a copy's speed instead of 0.97. Nothing is computed before the first
// loads but what they need, since no loop is there to compute it for.
//
// It is so where nothing but those loops asks for a CTA's number, loops carry nothing from tile to
// tile, nothing is read before them, and no products are computed: their pipes run across tiles.
// test/targets/gpu/spread-tiles.mlir shows it.
#include "ditron/core/TileOps.h"
#include "ditron/device/DistOps.h"
#include "ditron/lower/ExtentText.h"
#include "ditron/lower/Passes.h"
#include "ditron/targets/gpu/transforms/Passes.h"

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_SPREADTILES
#include "ditron/targets/gpu/transforms/Passes.h.inc"

namespace {

/// Whether an op keeps a kernel from having a CTA for each tile.
bool needsFewCores(Operation *op) {
  if (isa<core::DotOp>(op))
    return true;
  return isa_and_present<device::DistDialect>(op->getDialect()) &&
         !isa<device::CoreOp, device::NumCoresOp>(op);
}

/// Whether an op before or behind the loops costs next to nothing, for any number of CTAs.
bool isLight(Operation *op) {
  return isMemoryEffectFree(op) ||
         isa<core::RequireOp, device::CoreOp, device::NumCoresOp, func::ReturnOp>(op);
}

/// The loops that deal tiles to CTAs; none if something else does.
SmallVector<scf::ForOp> dealingLoops(func::FuncOp function) {
  SmallVector<scf::ForOp> loops;
  for (Operation &op : function.front()) {
    auto loop = dyn_cast<scf::ForOp>(op);
    bool deals = loop && loop.getLowerBound().getDefiningOp<device::CoreOp>() &&
                 loop.getStep().getDefiningOp<device::NumCoresOp>() && loop.getNumResults() == 0;
    if (!deals && !isLight(&op))
      return {};
    if (deals)
      loops.push_back(loop);
  }
  return loops;
}

/// Whether a CTA's number, or that of CTAs, is only what those loops start with and step by.
bool onlyBounds(Operation *op, ArrayRef<scf::ForOp> loops) {
  return llvm::all_of(op->getUses(), [&](OpOperand &use) {
    auto loop = dyn_cast<scf::ForOp>(use.getOwner());
    return loop && llvm::is_contained(loops, loop) &&
           use.get() == (isa<device::CoreOp>(op) ? loop.getLowerBound() : loop.getStep());
  });
}

/// Numbers below 2^31, by which tiles are numbered, are divided in 32 bits.
void narrowDivisions(Value number) {
  for (Operation *user : llvm::make_early_inc_range(number.getUsers())) {
    if (!isa<arith::DivUIOp, arith::RemUIOp>(user) || user->getOperand(0) != number)
      continue;
    OpBuilder b(user);
    Location loc = user->getLoc();
    Type i32 = b.getI32Type();
    // By what does not fit: the quotient is 0, as it is by the largest that does.
    Value most = b.create<arith::ConstantIndexOp>(loc, UINT32_MAX);
    Value divisor = b.createOrFold<arith::MinUIOp>(loc, user->getOperand(1), most);
    Value operands[] = {b.create<arith::IndexCastUIOp>(loc, i32, number),
                        b.create<arith::IndexCastUIOp>(loc, i32, divisor)};
    Operation *narrow = b.create(loc, user->getName().getIdentifier(), operands, i32);
    Value wide = b.create<arith::IndexCastUIOp>(loc, b.getIndexType(), narrow->getResult(0));
    user->getResult(0).replaceAllUsesWith(wide);
    user->erase();
    narrowDivisions(wide);
  }
}

/// The loop's body, for the one tile of this CTA.
void spread(scf::ForOp loop) {
  OpBuilder b(loop);
  Value core = loop.getLowerBound();
  Value exists =
      b.create<arith::CmpIOp>(loop.getLoc(), arith::CmpIPredicate::slt, core, loop.getUpperBound());
  auto branch = b.create<scf::IfOp>(loop.getLoc(), exists);
  Block *body = loop.getBody();
  narrowDivisions(loop.getInductionVar());
  loop.getInductionVar().replaceAllUsesWith(core);
  branch.thenBlock()->getOperations().splice(branch.thenBlock()->getTerminator()->getIterator(),
                                             body->getOperations(), body->begin(),
                                             body->getTerminator()->getIterator());
  loop.erase();
}

class SpreadTiles : public impl::SpreadTilesBase<SpreadTiles> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || function->hasAttr(lower::kCopyEnginesAttr)) // whose CTAs have room
      return;
    SmallVector<scf::ForOp> loops = dealingLoops(function);
    WalkResult found = function.walk([&](Operation *op) {
      bool isOther = isa<device::CoreOp, device::NumCoresOp>(op) && !onlyBounds(op, loops);
      return needsFewCores(op) || isOther ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (found.wasInterrupted() || loops.empty())
      return;
    Builder b(&getContext());
    SmallVector<Attribute> counts;
    for (scf::ForOp loop : loops) {
      lower::ExtentText text;
      if (failed(text.add(loop.getUpperBound())))
        return;
      counts.push_back(b.getStringAttr(text.text()));
    }
    llvm::for_each(loops, spread);
    function->setAttr(kTilesAttr, b.getArrayAttr(counts));
  }
};

} // namespace
} // namespace ditron::gpu
