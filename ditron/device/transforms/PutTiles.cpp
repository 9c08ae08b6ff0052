// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PutTiles: a tile that is stored to be put goes to the peer from where it is computed.
//
//     tile.store %t, %staged[%s, %i, %j]
//     %from = tile.chunk %staged[%s, %i, %j] shape [128, 256]
//     %to = tile.chunk %parts[%rank, %i, %j] shape [128, 256]
//     dist.put_notify %from, %to, %done[%rank, %i, %j] on %s add %c1
//  ->
//     tile.store %t, %staged[%s, %i, %j]
//     dist.put_tile %t, %parts[%rank, %i, %j] on %s
//     dist.notify %done[%rank, %i, %j] on %s add %c1
//
// Where the link is mapped memory the tile is read from registers then, and not from memory once
// more. The store stays: a target may copy from there later, and others may read it. Nothing between
// the store and the put may write there: no other store, no put of something else to that memory, which
// may be that of this rank, and no wait, behind which a peer may. A put in a loop over peers is one put
// for each.
// test/device/put-tiles.mlir shows it.
//
#include "ditron/device/DistOps.h"
#include "ditron/device/Provenance.h"
#include "ditron/device/transforms/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace ditron::device {
#define GEN_PASS_DEF_PUTTILES
#include "ditron/device/transforms/Passes.h.inc"
} // namespace ditron::device

using namespace mlir;
using namespace ditron::device;
namespace core = ditron::core;

namespace {

/// Whether a chunk is the memory of the tile that an access at `coords` of `view` has.
bool isTileOf(core::ChunkOp chunk, Value view, ValueRange coords, RankedTensorType tile) {
  return chunk && chunk.getView() == view && chunk.getCoords() == coords &&
         chunk.getShape() == tile.getShape();
}

/// Whether an op puts something else than the tile of `store` to the memory that has it.
bool putsOver(core::StoreOp store, Operation *op) {
  Value destination;
  bool isOfTile = false;
  llvm::TypeSwitch<Operation *>(op)
      .Case<PutOp, PutNotifyOp>([&](auto put) {
        destination = put.getDestination();
        isOfTile = isTileOf(put.getSource().template getDefiningOp<core::ChunkOp>(),
                            store.getView(), store.getCoords(), store.getTile().getType());
      })
      .Case([&](PutTileOp put) {
        destination = put.getDestination();
        isOfTile = put.getTile() == store.getTile();
      });
  return destination && !isOfTile && originOf(destination) == originOf(store.getView());
}

/// Whether nothing from behind `store` up to `put`, which it comes before, may write what it has stored.
bool staysUntil(core::StoreOp store, Operation *put) {
  Operation *end = store->getBlock()->findAncestorOpInBlock(*put);
  if (!end || !store->isBeforeInBlock(end))
    return false;
  auto mayWrite = [&](Operation *op) {
    return isa<core::StoreOp, core::ScatterOp, core::AtomicAddOp, GetOp, WaitOp, ReceiveOp,
               BarrierOp, RoleOp>(op) ||
           putsOver(store, op);
  };
  for (Operation *op = store->getNextNode(); op != end->getNextNode(); op = op->getNextNode())
    if (op->walk([&](Operation *inner) {
            return mayWrite(inner) ? WalkResult::interrupt() : WalkResult::advance();
          }).wasInterrupted())
      return false;
  return true;
}

/// Puts tiles in place of the memory that they are stored to.
class Rewriter {
public:
  explicit Rewriter(core::StoreOp store) : store_(store), tile_(store.getTile().getType()) {}

  void run() {
    for (Operation *user : llvm::to_vector(store_.getView().getUsers()))
      if (auto chunk = dyn_cast<core::ChunkOp>(user);
          isTileOf(chunk, store_.getView(), store_.getCoords(), tile_)) {
        llvm::SetVector<Operation *> puts(chunk->user_begin(), chunk->user_end());
        for (Operation *put : puts)
          rewrite(put, chunk);
        unused_.insert(chunk);
      }
    for (Operation *chunk : unused_)
      if (chunk->use_empty())
        chunk->erase();
  }

private:
  void rewrite(Operation *op, core::ChunkOp from) {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](PutOp put) {
          if (put.getSource() == from && putTile(put, put.getDestination(), put.getPeer()))
            put.erase();
        })
        .Case([&](PutNotifyOp put) {
          if (put.getSource() != from || !putTile(put, put.getDestination(), put.getPeer()))
            return;
          OpBuilder(put).create<NotifyOp>(put.getLoc(), put.getSignals(), put.getIndices(),
                                          put.getPeer(), put.getMode(), put.getValue());
          put.erase();
        });
  }

  bool putTile(Operation *put, Value destination, Value peer) {
    auto to = destination.getDefiningOp<core::ChunkOp>();
    if (!to || to.getShape() != tile_.getShape() || !staysUntil(store_, put))
      return false;
    OpBuilder(put).create<PutTileOp>(put->getLoc(), store_.getTile(), to.getView(), to.getCoords(),
                                     peer);
    unused_.insert(to);
    return true;
  }

  core::StoreOp store_;
  RankedTensorType tile_;
  llvm::SetVector<Operation *> unused_; ///< chunks, once puts are rewritten
};

struct PutTiles : ditron::device::impl::PutTilesBase<PutTiles> {
  void runOnOperation() override {
    SmallVector<core::StoreOp> stores;
    getOperation().walk([&](core::StoreOp store) {
      if (originOf(store.getView()).getDefiningOp<SymmetricOp>())
        stores.push_back(store);
    });
    for (core::StoreOp store : stores)
      Rewriter(store).run();
  }
};

} // namespace
