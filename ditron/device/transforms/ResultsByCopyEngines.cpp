// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums over the ranks that copy engines move. A part of the result is sent in chunks along its first
// dimension, each a run of memory, once all its tiles are there.
//
//     %staged, %summands = dist.symmetric "C.staged", "C.summands"(%ranks, %m, %n) of whole tiles
//     %done, %arrived = dist.signals "C.done", "C.arrived"(%ranks, %chunks)
//     dist.role "exchange" cores %c0 for %c1 on copy {
//       for each other rank %peer, the next one first: for each chunk %q
//         dist.wait %done[%peer, %q] >= tiles of the chunk
//         dist.put %staged[%peer] rows of %q, %summands[%rank] rows of %q on %peer
//         dist.notify %arrived[%rank, %q] on %peer add %c1
//     }
//     dist.tiles (%s, %i, %j) of ... {
//       scf.if %s == %rank {
//         %total = %sum and, for each other rank, the previous one first:
//           dist.wait %arrived[%peer, chunk of %i] >= %c1
//           tile.load %summands[%peer, %i, %j]
//       } else {
//         tile.store %sum, %staged[%s, %i, %j]
//         dist.notify %done[%s, chunk of %i] add %c1
//       }
//     }
//
// Sums of an all-reduce travel in the same chunks ("C.sums", "C.summed", "C.known"), behind all
// summands of this rank.
#include "ditron/device/transforms/ResultWriter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace ditron::device {
namespace {

/// The first dimension of a part, in chunks of whole tiles; the last one may be smaller.
struct Chunks {
  Value extent, tiles; ///< of the dimension
  Value size;          ///< tiles of a chunk
  int64_t height;      ///< elements of a tile

  Value count(IndexMath &math) const { return math.ceilDiv(tiles, size); }
  Value of(IndexMath &math, Value tile) const { return math.divide(tile, size); }
  Value tilesOf(IndexMath &math, Value chunk) const {
    return math.least(size, math.subtract(tiles, math.multiply(chunk, size)));
  }
  Value first(IndexMath &math, Value chunk) const {
    return math.multiply(math.multiply(chunk, size), math.constant(height));
  }
  Value extentOf(IndexMath &math, Value chunk) const {
    Value rest = math.subtract(extent, first(math, chunk));
    return math.least(math.multiply(size, math.constant(height)), rest);
  }
};

class CopyEngineWriter : public ResultWriter {
public:
  using ResultWriter::ResultWriter;

private:
  void allocate() override {
    for (auto [d, size] :
         llvm::enumerate(result_.sizes)) // whole tiles, in an order of the target's
      extents_[d] = math_.multiply(tileCounts_[d], math_.constant(size));
    Value most = math_.constant(result_.placed.placement.getChunks());
    chunks_ = {extents_[0], tileCounts_[0], math_.ceilDiv(tileCounts_[0], most), result_.sizes[0]};
    staged_ = summandBuffers("staged");
    summands_ = summandBuffers("summands");
    done_ = counters(".done", {ranks_, most});
    arrived_ = counters(".arrived", {ranks_, most});
    if (!result_.isScattered()) {
      sums_ = buffer(".sums", getElementTypeOrSelf(tileType_), behind(ranks_, extents_));
      summed_ = counters(".summed", most);
      known_ = counters(".known", {ranks_, most});
    }
    auto role = top_.create<RoleOp>(top_.getStringAttr("exchange"), math_.constant(0),
                                    math_.constant(1), Engine::copy);
    Builder b(top_.getLoc(), top_.getContext());
    b.setInsertionPointToEnd(&role.getBody().emplaceBlock());
    exchangeSummands(b);
    if (!result_.isScattered())
      exchangeSums(b);
  }

  //===-- What copy engines do ----------------------------------------------------------------===//

  /// for (chunk : chunks); the builder is in the body.
  Value forEachChunk(Builder &b) const {
    IndexMath math(b);
    auto loop = b.create<scf::ForOp>(math.constant(0), chunks_.count(math), math.constant(1));
    b.setInsertionPointToStart(loop.getBody());
    return loop.getInductionVar();
  }

  /// A chunk of part `shard` of `whole`.
  Value rowsOf(Builder &b, Value whole, Value shard, Value chunk) const {
    IndexMath math(b);
    Value part = shardOf(b, b.getLoc(), {whole, 0}, shard);
    auto type = cast<MemRefType>(part.getType());
    SmallVector<OpFoldResult> offsets{chunks_.first(math, chunk)},
        sizes{chunks_.extentOf(math, chunk)}, strides(type.getRank(), b.getIndexAttr(1));
    for (int64_t d = 1; d < type.getRank(); ++d) {
      offsets.push_back(b.getIndexAttr(0));
      sizes.push_back(extents_[d]);
    }
    return b.create<memref::SubViewOp>(type, part, offsets, sizes, strides);
  }

  /// Waits for all tiles of a chunk.
  void awaitTiles(Builder &b, Value counters, ArrayRef<Value> at) const {
    IndexMath math(b);
    Value tiles = chunks_.tilesOf(math, at.back());
    for (Value count : ArrayRef(tileCounts_).drop_front())
      tiles = math.multiply(tiles, count);
    b.create<WaitOp>(counters, at, tiles);
  }

  void exchangeSummands(Builder &b) {
    OpBuilder::InsertionGuard guard(b);
    Value place = forEachPeer(b, axis(), /*withSelf=*/false, Ring::next);
    Value peer = IndexMath(b).rankAt(axis(), place), chunk = forEachChunk(b);
    awaitTiles(b, done_, {place, chunk});
    for (auto [from, to] : llvm::zip_equal(staged_, summands_))
      b.create<PutOp>(rowsOf(b, from, place, chunk), rowsOf(b, to, rank_, chunk), peer);
    notify(b, arrived_, {rank_, chunk}, peer);
  }

  void exchangeSums(Builder &b) {
    OpBuilder::InsertionGuard guard(b);
    Value chunk = forEachChunk(b);
    awaitTiles(b, summed_, chunk);
    Value place = forEachPeer(b, axis(), /*withSelf=*/false);
    Value peer = IndexMath(b).rankAt(axis(), place);
    Value rows = rowsOf(b, sums_, rank_, chunk);
    b.create<PutOp>(rows, rows, peer);
    notify(b, known_, {rank_, chunk}, peer);
  }

  /// Adds 1 to a counter, of this rank where `peer` is null.
  static void notify(Builder &b, Value counters, ArrayRef<Value> at, Value peer) {
    b.create<NotifyOp>(counters, at, peer, NotifyMode::add, IndexMath(b).constant(1));
  }

  //===-- Tiles -------------------------------------------------------------------------------===//

  Value chunkOf(Builder &b, const TileAt &at) const {
    IndexMath math(b);
    return chunks_.of(math, at.local[0]);
  }

  /// Stores a tile of part `at.shard`.
  static void store(Builder &b, Value tile, Value whole, const TileAt &at) {
    b.create<core::StoreOp>(tile, shardOf(b, b.getLoc(), {whole, 0}, at.shard), at.local);
  }

  void send(Builder &b, const TileAt &at) override {
    for (auto [sum, staged] : llvm::zip_equal(result_.cut.sums, staged_))
      store(b, forTravel(b, sum, sum), staged, at);
    notify(b, done_, {at.shard, chunkOf(b, at)}, Value());
  }

  /// The own summands first, then those of the previous ranks.
  Values total(Builder &b, const TileAt &at) override {
    IndexMath math(b);
    Values own(result_.cut.sums.begin(), result_.cut.sums.end());
    auto loop = b.create<scf::ForOp>(math.constant(1), ranks_, math.constant(1), own);
    OpBuilder::InsertionGuard guard(b);
    Block *body = loop.getBody();
    b.setInsertionPointToStart(body);
    Value peer =
        math.remainder(math.subtract(math.add(rank_, ranks_), loop.getInductionVar()), ranks_);
    b.create<WaitOp>(arrived_, ValueRange{peer, chunkOf(b, at)}, math.constant(1));
    Values totals;
    for (auto [n, sum] : llvm::enumerate(own))
      totals.push_back(add(b, loop.getRegionIterArg(n),
                           loadSummand(b, summands_[n], behind(peer, at.local), sum)));
    b.create<scf::YieldOp>(totals);
    return Values(loop.getResults());
  }

  void publish(Builder &b, Value tile, const TileAt &at) override {
    store(b, tile, sums_, at);
    notify(b, summed_, chunkOf(b, at), Value());
  }

  Value published(Builder &b, const TileAt &at) override {
    b.create<WaitOp>(known_, ValueRange{at.shard, chunkOf(b, at)}, IndexMath(b).constant(1));
    return b.create<core::LoadOp>(tileType_, sums_, behind(at.shard, at.local), TypedAttr());
  }

  Chunks chunks_ = {};
  Values staged_, summands_; ///< of each sum
  Value done_, arrived_, sums_, summed_, known_;
};

} // namespace

std::unique_ptr<ResultWriter> makeCopyEngineWriter(func::FuncOp kernel, PlacedResult &result) {
  return std::make_unique<CopyEngineWriter>(kernel, result);
}

} // namespace ditron::device
