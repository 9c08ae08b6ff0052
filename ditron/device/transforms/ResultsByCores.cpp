// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums over the ranks by the cores that compute the summands: each tile goes to the rank that sums
// it once it is there, and the sums, tile by tile, to everybody.
#include "ditron/device/transforms/ResultWriter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace ditron::device {
namespace {

class CoreWriter : public ResultWriter {
public:
  using ResultWriter::ResultWriter;

private:
  void allocate() override {
    for (auto [d, size] : llvm::enumerate(result_.sizes)) // of whole tiles
      extents_[d] = math_.multiply(tileCounts_[d], math_.constant(size));
    staged_ = summandBuffers("staged");
    summands_ = summandBuffers("summands");
    done_ = counters(".done", behind(ranks_, tileCounts_));
    if (result_.isScattered())
      return;
    Values all(extents_), tiles(tileCounts_);
    all[dim()] = math_.multiply(all[dim()], ranks_);
    tiles[dim()] = math_.multiply(tiles[dim()], ranks_);
    sums_ = buffer(".sums", getElementTypeOrSelf(tileType_), all);
    ready_ = counters(".ready", tiles);
  }

  /// The memory of a tile of `view`.
  Value chunk(Builder &b, Value view, ArrayRef<Value> coords) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(tileType_).getShape();
    auto type = cast<MemRefType>(view.getType());
    auto part = viewType(static_cast<int64_t>(shape.size()), type.getElementType(), spaceOf(type));
    return b.create<core::ChunkOp>(part, view, coords, shape);
  }

  /// Stores a tile of the loop where no other one is stored.
  static void store(Builder &b, Value tile, Value view, ArrayRef<Value> coords) {
    b.create<core::StoreOp>(tile, view, coords)->setAttr(kStoredOnceAttr, b.getUnitAttr());
  }

  void send(Builder &b, const TileAt &at) override {
    Values from = behind(at.shard, at.local), to = behind(rank_, at.local);
    Value peer = IndexMath(b).rankAt(axis(), at.shard);
    for (auto [n, sum] : llvm::enumerate(result_.cut.sums)) {
      store(b, forTravel(b, sum, sum), staged_[n], from);
      b.create<PutOp>(chunk(b, staged_[n], from), chunk(b, summands_[n], to), peer);
    }
    b.create<NotifyOp>(done_, to, peer, NotifyMode::add, IndexMath(b).constant(1));
  }

  Values total(Builder &b, const TileAt &at) override {
    auto await = [&](Builder &inner, Value peer) {
      inner.create<WaitOp>(done_, behind(peer, at.local), IndexMath(inner).constant(1));
    };
    return addSummands(b, summands_, await, [&](Builder &) { return at.local; });
  }

  void publish(Builder &b, Value tile, const TileAt &at) override {
    store(b, tile, sums_, at.whole);
    Value place = forEachPeer(b, axis(), /*withSelf=*/false);
    Value peer = IndexMath(b).rankAt(axis(), place);
    b.create<PutOp>(chunk(b, sums_, at.whole), chunk(b, sums_, at.whole), peer);
    b.create<NotifyOp>(ready_, at.whole, peer, NotifyMode::add, IndexMath(b).constant(1));
  }

  Value published(Builder &b, const TileAt &at) override {
    b.create<WaitOp>(ready_, at.whole, IndexMath(b).constant(1));
    return b.create<core::LoadOp>(tileType_, sums_, at.whole, TypedAttr());
  }

  Values staged_, summands_; ///< of each sum
  Value done_, sums_, ready_;
};

} // namespace

std::unique_ptr<ResultWriter> makeCoreWriter(func::FuncOp kernel, PlacedResult &result) {
  return std::make_unique<CoreWriter>(kernel, result);
}

} // namespace ditron::device
