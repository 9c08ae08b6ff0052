// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ExpandInboxes: an inbox becomes what the other verbs know.
//
//     %box = dist.inbox "box"(%n) : !dist.inbox<1 of tensor<4x8xf32>>
//     dist.send %t to %box[%i] on %peer
//     %u = dist.receive %box[%i]
//  ->
//     %full = dist.signals "box"(%n)
//     %tiles = dist.symmetric "box.tiles"(%n, 4, 8)
//     %sent = dist.symmetric "box.sent"(%ranks, %n, 4, 8)
//     tile.store %t, %sent[%peer, %i, 0, 0]
//     dist.put (the tile of %sent), (the tile %i of %tiles) on %peer
//     dist.notify %full[%i] on %peer add 1
//     dist.wait %full[%i] >= 1
//     %u = tile.load %tiles[%i, 0, 0]
//
// It is what an inbox means, to the interpreter and the checker, and how a backend has it whose
// memory knows no words that carry a flag. test/device/expand-inboxes.mlir shows it.
//
#include "ditron/device/DistOps.h"
#include "ditron/device/LowerInboxes.h"
#include "ditron/device/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/PassManager.h"

namespace ditron::device {
#define GEN_PASS_DEF_EXPANDINBOXES
#include "ditron/device/transforms/Passes.h.inc"
} // namespace ditron::device

using namespace mlir;
using namespace ditron;
using namespace ditron::device;

namespace {

/// One inbox, and what becomes of it.
class Expansion {
public:
  explicit Expansion(InboxOp box)
      : box_(box), type_(cast<InboxType>(box.getInbox().getType())), b_(box.getLoc(), box) {}

  void run() {
    allocate();
    for (Operation *user : llvm::make_early_inc_range(box_->getUsers()))
      if (auto send = dyn_cast<SendOp>(user))
        expand(send);
      else
        expand(cast<ReceiveOp>(user));
    box_.erase();
  }

private:
  Value constant(int64_t value) { return b_.create<arith::ConstantIndexOp>(value); }

  void allocate() {
    SmallVector<Value> extents(box_.getExtents());
    auto signals = SignalsType::get(b_.getContext(), type_.getRank());
    full_ = b_.create<SignalsOp>(signals, box_.getName(), extents);
    for (int64_t extent : type_.getTile().getShape())
      extents.push_back(constant(extent));
    tiles_ = buffer(".tiles", extents);
    extents.insert(extents.begin(), b_.create<NumRanksOp>(b_.getIndexType(), MeshAxis::world));
    sent_ = buffer(".sent", extents);
  }

  Value buffer(StringRef suffix, ArrayRef<Value> extents) {
    auto view = viewType(static_cast<int64_t>(extents.size()), type_.getTile().getElementType(),
                         SpaceKind::symmetric);
    return b_.create<SymmetricOp>(view, (box_.getName() + suffix).str(), extents);
  }

  /// Coordinates of a slot: elements in the leading dimensions, the one tile in those of the tile.
  SmallVector<Value> coords(ValueRange indices) {
    SmallVector<Value> result(indices);
    result.append(static_cast<size_t>(type_.getTile().getRank()), constant(0));
    return result;
  }

  Value chunkAt(Value view, ValueRange coords) {
    auto chunk =
        viewType(type_.getTile().getRank(), type_.getTile().getElementType(), SpaceKind::symmetric);
    return b_.create<core::ChunkOp>(chunk, view, coords, type_.getTile().getShape());
  }

  void stand(Operation *op) {
    b_.setInsertionPoint(op);
    b_.setLoc(op->getLoc());
    before_ = op->getPrevNode();
  }

  /// Erases what the ops since stand() have replaced: its waivers are theirs.
  void replaced(Operation *op) {
    Operation *first = before_ ? before_->getNextNode() : &op->getBlock()->front();
    Attribute waivers = op->getAttr(kWaiveAttr);
    for (Operation *next = first; waivers && next != op; next = next->getNextNode())
      if (!isMemoryEffectFree(next))
        next->setAttr(kWaiveAttr, waivers);
    op->erase();
  }

  void expand(SendOp send) {
    stand(send);
    SmallVector<Value> there = coords(send.getIndices()), here = there;
    here.insert(here.begin(), send.getPeer());
    b_.create<core::StoreOp>(send.getTile(), sent_, here);
    b_.create<PutOp>(chunkAt(sent_, here), chunkAt(tiles_, there), send.getPeer());
    b_.create<NotifyOp>(full_, send.getIndices(), send.getPeer(), NotifyMode::add, constant(1));
    replaced(send);
  }

  void expand(ReceiveOp receive) {
    stand(receive);
    b_.create<WaitOp>(full_, receive.getIndices(), constant(1));
    Value tile = b_.create<core::LoadOp>(receive.getTile().getType(), tiles_,
                                         coords(receive.getIndices()), TypedAttr());
    receive.getTile().replaceAllUsesWith(tile);
    replaced(receive);
  }

  InboxOp box_;
  InboxType type_;
  ImplicitLocOpBuilder b_;
  Value full_, tiles_, sent_;
  Operation *before_ = nullptr; ///< the op in front of what is expanded
};

struct ExpandInboxes : ditron::device::impl::ExpandInboxesBase<ExpandInboxes> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (kernel.isExternal())
      return;
    for (auto box : llvm::make_early_inc_range(kernel.front().getOps<InboxOp>()))
      Expansion(box).run();
  }
};

} // namespace

LogicalResult ditron::device::lowerInboxes(ModuleOp module) {
  PassManager passes(module.getContext());
  passes.addNestedPass<func::FuncOp>(createExpandInboxes());
  return passes.run(module);
}
