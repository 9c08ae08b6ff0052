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
    staged_ = summandBuffers("staged");
    summands_ = summandBuffers("summands");
    done_ = counters(".done", tileCounts_);
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

  void send(Builder &b, const TileAt &at) override {
    Values from = behind(at.shard, at.local), to = behind(rank_, at.local);
    Value peer = IndexMath(b).rankAt(axis(), at.shard);
    for (auto [n, sum] : llvm::enumerate(result_.cut.sums)) {
      b.create<core::StoreOp>(forTravel(b, sum, sum), staged_[n], from);
      b.create<PutOp>(chunk(b, staged_[n], from), chunk(b, summands_[n], to), peer);
    }
    b.create<NotifyOp>(done_, at.local, peer, NotifyMode::add, IndexMath(b).constant(1));
  }

  /// In the order of the ranks.
  Values total(Builder &b, const TileAt &at) override {
    IndexMath math(b);
    b.create<WaitOp>(done_, at.local, math.subtract(ranks_, math.constant(1)));
    Values totals;
    for (auto [n, own] : llvm::enumerate(result_.cut.sums)) {
      auto type = cast<RankedTensorType>(own.getType());
      Value zero = b.create<arith::ConstantOp>(
          cast<TypedAttr>(DenseElementsAttr::get(type, b.getZeroAttr(type.getElementType()))));
      Value before = addSummands(b, zero, n, at, math.constant(0), rank_);
      Value here = add(b, before, own);
      Value next = math.add(rank_, math.constant(1));
      totals.push_back(addSummands(b, here, n, at, next, ranks_));
    }
    return totals;
  }

  /// `start` and summands number `n` of the ranks from `first` to `end`.
  Value addSummands(Builder &b, Value start, size_t n, const TileAt &at, Value first, Value end) {
    auto loop = b.create<scf::ForOp>(first, end, IndexMath(b).constant(1), start);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value summand = loadSummand(b, summands_[n], behind(loop.getInductionVar(), at.local), start);
    b.create<scf::YieldOp>(add(b, loop.getRegionIterArg(0), summand));
    return loop.getResult(0);
  }

  void publish(Builder &b, Value tile, const TileAt &at) override {
    b.create<core::StoreOp>(tile, sums_, at.whole);
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
