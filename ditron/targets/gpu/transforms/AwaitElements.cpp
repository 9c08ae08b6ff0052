// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simt-await-elements: loads of self-signaling memory wait for its elements.
//
//   %a = tile.load %q[%i, %j]
//   %n = tile.reduce ... %a ...               %q0:2 = simt.await_elements(%q, %q) at(%i, %j, %i, %k) ...
//   %b = tile.load %q[%i, %k]       becomes   %n = tile.reduce ... %q0#0 ...
//   tile.store ...                            tile.store ...
//
// To look for elements takes a trip to memory, and what is looked for behind one another takes one trip after the
// other. So loads of a block wait together, as far as nothing but reading and computing is between them. They may come
// before other waits, as a task of a graph needs what it reads to end.
// test/targets/gpu/await-elements.mlir shows it.
#include "ditron/targets/gpu/GpuTarget.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/analysis/Distribution.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_AWAITELEMENTS
#include "ditron/targets/gpu/transforms/Passes.h.inc"

namespace {

/// A load of a tile, or of an element.
struct Load {
  explicit Load(Operation *op) : op(op) {}

  static bool is(Operation *op) {
    return isa<core::LoadOp, memref::LoadOp>(op) && op->hasAttr(kSiteAttr) &&
           isSelfSignaling(op->getOperand(0));
  }
  Value view() const { return op->getOperand(0); }
  OperandRange coords() const { return op->getOperands().drop_front(); }
  Attribute padding() const {
    auto load = dyn_cast<core::LoadOp>(op);
    return load && load.getPadding() ? Attribute(*load.getPadding())
                                     : UnitAttr::get(op->getContext());
  }
  int64_t site() const { return op->getAttrOfType<IntegerAttr>(kSiteAttr).getInt(); }

  /// What threads hold of it.
  RankedTensorType registers(Threads threads) const {
    Type type = op->getResult(0).getType();
    auto tile = dyn_cast<RankedTensorType>(type);
    if (!tile)
      tile = RankedTensorType::get(SmallVector<int64_t>(coords().size(), 1), type);
    else if (!isShared(tile))
      return tile;
    int64_t run = kAccessBytes / core::elementBytes(tile.getElementType());
    return core::withLayout(tile, blocked(shapeOf(tile), run, threads));
  }

  void replace(Value tile) const {
    OpBuilder b(op);
    Type type = op->getResult(0).getType();
    if (!isa<RankedTensorType>(type))
      tile = b.create<ElementOp>(op->getLoc(), type, tile);
    else if (tile.getType() != type)
      tile = b.create<core::ConvertLayoutOp>(op->getLoc(), type, tile);
    op->getResult(0).replaceAllUsesWith(tile);
    op->erase();
  }

  Operation *op;
};

/// Loads of a block that wait together, where the first one stands.
class Group {
public:
  explicit Group(Threads threads) : threads_(threads) {}

  /// Whether the load belongs to it; what it takes is found out in front of the first one then.
  bool take(Load load) {
    if (!loads_.empty() && !bring(load.op))
      return false;
    loads_.push_back(load);
    return true;
  }

  void build() {
    if (loads_.empty())
      return;
    OpBuilder b(loads_.front().op);
    SmallVector<Type> types;
    SmallVector<Value> views, coords;
    SmallVector<int64_t> counts, sites;
    SmallVector<Attribute> paddings;
    for (const Load &load : loads_) {
      types.push_back(load.registers(threads_));
      views.push_back(load.view());
      llvm::append_range(coords, load.coords());
      counts.push_back(static_cast<int64_t>(load.coords().size()));
      sites.push_back(load.site());
      paddings.push_back(load.padding());
    }
    auto await = b.create<AwaitElementsOp>(loads_.front().op->getLoc(), types, views, coords,
                                           launchWords(), counts, sites, b.getArrayAttr(paddings));
    for (auto [load, tile] : llvm::zip_equal(loads_, await.getTiles()))
      load.replace(tile);
    loads_.clear();
  }

private:
  Operation *first() const { return loads_.front().op; }

  /// What is computed of the place of a load behind the first one goes in front of that.
  bool bring(Operation *load) {
    SmallVector<Operation *> needed, wanted;
    auto want = [&](Operation *op) {
      for (Value value : op->getOperands())
        if (Operation *made = value.getDefiningOp();
            made && made->getBlock() == load->getBlock() && first()->isBeforeInBlock(made))
          wanted.push_back(made);
    };
    for (want(load); !wanted.empty();) {
      Operation *op = wanted.pop_back_val();
      if (op->getNumRegions() > 0 || !isMemoryEffectFree(op))
        return false;
      needed.push_back(op);
      want(op);
    }
    llvm::sort(needed, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    needed.erase(llvm::unique(needed), needed.end());
    for (Operation *op : needed)
      op->moveBefore(first());
    return true;
  }

  SmallVector<Value> launchWords() const {
    auto function = first()->getParentOfType<func::FuncOp>();
    SmallVector<Value> words;
    for (BlockArgument argument : function.getArguments())
      if (function.getArgAttr(argument.getArgNumber(), kLaunchWordAttr))
        words.push_back(argument);
    return words;
  }

  Threads threads_;
  SmallVector<Load> loads_;
};

class AwaitElements : public impl::AwaitElementsBase<AwaitElements> {
public:
  using AwaitElementsBase::AwaitElementsBase;

private:
  void runOnOperation() override {
    WalkResult result = getOperation().walk([](Operation *op) {
      return Load::is(op) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (!result.wasInterrupted())
      return;
    const GpuTarget *target = targetNamed(targetName, getOperation());
    if (!target)
      return signalPassFailure();
    threads_ = {warpsOf(getOperation().front().getTerminator()), target->traits().lanes};
    getOperation().walk([&](Block *block) { await(*block); });
  }

  void await(Block &block) const {
    Group group(threads_);
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (Load::is(&op)) {
        if (group.take(Load(&op)))
          continue;
        group.build();
        group.take(Load(&op));
      } else if (op.getNumRegions() > 0 || hasEffect<MemoryEffects::Write>(&op)) {
        group.build();
      }
    }
    group.build();
  }

  Threads threads_ = {};
};

} // namespace
} // namespace ditron::gpu
