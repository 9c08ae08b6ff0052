// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums over the ranks that copy engines move. The tiles of a part lie one behind the other, in the
// order in which they are computed, and are sent in chunks, each a run of memory, once all its tiles
// are there.
//
//     %staged, %summands = dist.symmetric "C.staged", "C.summands"(%ranks, %tiles * 128, 256)
//     %done, %arrived = dist.signals "C.done", "C.arrived"(%ranks, %chunks)
//     dist.role "exchange" cores %c0 for %c1 on copy {
//       for each other rank %peer, the next one first: for each chunk %q
//         dist.wait %done[%peer, %q] >= tiles of the chunk
//         dist.put %staged[%peer] tiles of %q, %summands[%rank] tiles of %q on %peer
//         dist.notify %arrived[%rank, %q] on %peer add %c1
//     }
//     dist.tiles (%s, %i, %j) of ... {
//       scf.if %s == %rank {
//         %total = %sum and, for each other rank, the previous one first:
//           dist.wait %arrived[%peer, chunk of %n] >= %c1
//           tile.load %summands[%peer, %n, 0]
//       } else {
//         tile.store %sum, %staged[%s, %n, 0]
//         dist.notify %done[%s, chunk of %n] add %c1
//       }
//     }
//
// %n is the number of tile (%i, %j) in the order of the loop. Any numbering is right; with this one
// the tiles of a chunk are computed in a row.
//
// Sums of an all-reduce travel in the same chunks ("C.sums", "C.summed", "C.known"), behind all
// summands of this rank, along a ring. Nothing is left to multiply while the last chunk
// travels: it has the tiles of the last wave, and no more. The others are equal. In halves the chunks are the upper and the
// lower rows of a part, and the sums of the upper ones travel in front of the lower summands.
#include "ditron/device/transforms/ResultWriter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace ditron::device {
namespace {

/// The tiles of a part in chunks of `size`; the first one may be smaller, and the last one is as given.
struct Chunks {
  Value tiles;      ///< of a part
  Value size, last; ///< tiles of a chunk, and the number of the last one
  Value missing;    ///< what the first chunk lacks

  Value count(IndexMath &math) const { return math.add(last, math.constant(1)); }
  Value of(IndexMath &math, Value tile) const {
    return math.least(math.divide(math.add(tile, missing), size), last);
  }
  Value first(IndexMath &math, Value chunk) const {
    Value begin = math.subtract(math.multiply(chunk, size), missing);
    return math.most(begin, math.constant(0));
  }
  Value tilesOf(IndexMath &math, Value chunk) const {
    Value next = math.add(chunk, math.constant(1));
    Value end = math.subtract(math.multiply(next, size), missing);
    return math.subtract(math.least(tiles, end), first(math, chunk));
  }
};

/// `most` chunks at most of `tiles` tiles, the last one of `left` tiles: at least 1, and no more than
/// all. Where `most` is 1 it has all of them.
Chunks chunksOf(IndexMath &math, Value tiles, int64_t most, Value left) {
  Value zero = math.constant(0);
  if (most == 1)
    return {tiles, tiles, zero, zero};
  Value others = math.subtract(tiles, left);
  Value size = math.most(math.ceilDiv(others, math.constant(most - 1)), left);
  Value last = math.ceilDiv(others, size);
  return {tiles, size, last, math.subtract(math.multiply(last, size), others)};
}

/// Two chunks, `upper` tiles and the rest, which are as many or more. Without upper tiles there is one chunk of all, which
/// lacks nothing: hence the remainder.
Chunks halvesOf(IndexMath &math, Value tiles, Value upper) {
  Value lower = math.subtract(tiles, upper);
  return {tiles, lower, math.least(upper, math.constant(1)),
          math.remainder(math.subtract(lower, upper), tiles)};
}

class CopyEngineWriter : public ResultWriter {
public:
  using ResultWriter::ResultWriter;

private:
  void allocate() override {
    int64_t mostChunks = result_.placed.placement.getChunks();
    chunks_ = isInHalves() ? halvesOf(math_, countTiles(), tilesOfUpperHalf())
                           : chunksOf(math_, countTiles(), mostChunks, tilesOfLastChunk());
    for (auto [d, size] : llvm::enumerate(result_.sizes)) // of whole tiles, one below the other
      extents_[d] = math_.constant(size);
    extents_[0] = math_.multiply(chunks_.tiles, extents_[0]);
    Value most = math_.constant(mostChunks);
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
    exchange(b);
  }

  /// Whether the chunks of a sum are those of its two rounds.
  bool isInHalves() const { return !result_.isScattered() && result_.rounds() == 2; }

  /// Of a part.
  Value countTiles() {
    Value tiles = tileCounts_.front();
    for (Value count : ArrayRef(tileCounts_).drop_front())
      tiles = math_.multiply(tiles, count);
    return tiles;
  }

  /// As order next-rank-first has them in two rounds.
  Value tilesOfUpperHalf() {
    return math_.multiply(math_.divide(tileCounts_[0], math_.constant(2)), tileCounts_[1]);
  }

  /// Those of the last wave, or as many as the others have.
  Value tilesOfLastChunk() {
    PlacementAttr placement = result_.placed.placement;
    Value tiles = countTiles(), one = math_.constant(1);
    if (placement.getWave() == 0)
      return math_.ceilDiv(tiles, math_.constant(placement.getChunks()));
    Value before = math_.subtract(math_.multiply(ranks_, tiles), one);
    Value left = math_.add(math_.remainder(before, math_.constant(placement.getWave())), one);
    return math_.least(left, tiles);
  }

  /// The number of a tile in its part: down the columns of groups of rows, as the loop goes.
  Value numberOf(Builder &b, const TileAt &at) const {
    IndexMath math(b);
    if (at.local.size() < 2)
      return at.local.front();
    size_t row = at.local.size() - 2;
    Value before = math.constant(0);
    for (size_t d = 0; d < row; ++d)
      before = math.multiply(math.add(before, at.local[d]), tileCounts_[d + 1]);
    Value i = at.local[row], j = at.local[row + 1], columns = tileCounts_[row + 1];
    if (!isInHalves())
      return math.add(math.multiply(before, columns),
                      numberWithin(math, i, j, {tileCounts_[row], columns}));
    Value half = math.divide(tileCounts_[row], math.constant(2));
    Value isUpper = b.create<arith::CmpIOp>(arith::CmpIPredicate::slt, i, half);
    auto choose = [&](Value upper, Value lower) {
      return b.create<arith::SelectOp>(isUpper, upper, lower);
    };
    Value first = choose(math.constant(0), half);
    Value rows = choose(half, math.subtract(tileCounts_[row], half));
    return math.add(math.multiply(first, columns),
                    numberWithin(math, math.subtract(i, first), j, {rows, columns}));
  }

  /// The number of tile (i, j) in a grid of (rows, columns).
  Value numberWithin(IndexMath &math, Value i, Value j, std::pair<Value, Value> grid) const {
    auto [rows, columns] = grid;
    Value group = math.constant(result_.tiles.getOrder().getParameter());
    Value inGroup = math.remainder(i, group), top = math.subtract(i, inGroup);
    Value height = math.least(group, math.subtract(rows, top));
    Value column = math.add(math.multiply(j, height), inGroup);
    return math.add(math.multiply(top, columns), column);
  }

  /// Where a tile lies in its part of a buffer.
  Values placeOf(Builder &b, const TileAt &at) const {
    Values place(at.local.size(), IndexMath(b).constant(0));
    place.front() = numberOf(b, at);
    return place;
  }

  //===-- What copy engines do ----------------------------------------------------------------===//

  /// for (chunk : chunks); the builder is in the body.
  Value forEachChunk(Builder &b) const {
    IndexMath math(b);
    auto loop = b.create<scf::ForOp>(math.constant(0), chunks_.count(math), math.constant(1));
    b.setInsertionPointToStart(loop.getBody());
    return loop.getInductionVar();
  }

  /// The tiles of a chunk of part `shard` of `whole`.
  Value tilesOf(Builder &b, Value whole, Value shard, Value chunk) const {
    IndexMath math(b);
    Value part = shardOf(b, b.getLoc(), {whole, 0}, shard);
    auto type = cast<MemRefType>(part.getType());
    Value height = math.constant(result_.sizes[0]);
    SmallVector<OpFoldResult> offsets{math.multiply(chunks_.first(math, chunk), height)},
        sizes{math.multiply(chunks_.tilesOf(math, chunk), height)},
        strides(type.getRank(), b.getIndexAttr(1));
    for (int64_t d = 1; d < type.getRank(); ++d) {
      offsets.push_back(b.getIndexAttr(0));
      sizes.push_back(math.dim(part, d));
    }
    return b.create<memref::SubViewOp>(type, part, offsets, sizes, strides);
  }

  /// Waits for all tiles of a chunk.
  void awaitTiles(Builder &b, Value counters, ArrayRef<Value> at) const {
    IndexMath math(b);
    b.create<WaitOp>(counters, at, chunks_.tilesOf(math, at.back()));
  }

  void exchange(Builder &b) {
    auto forEachOwner = [&] { return forEachPeer(b, axis(), /*withSelf=*/false, Ring::next); };
    if (isInHalves()) {
      Value half = forEachChunk(b);
      {
        OpBuilder::InsertionGuard guard(b);
        sendSummands(b, forEachOwner(), half);
      }
      return exchangeSums(b, half);
    }
    {
      OpBuilder::InsertionGuard guard(b);
      Value owner = forEachOwner();
      sendSummands(b, owner, forEachChunk(b));
    }
    if (!result_.isScattered())
      exchangeSums(b, forEachChunk(b));
  }

  void sendSummands(Builder &b, Value place, Value chunk) const {
    Value peer = IndexMath(b).rankAt(axis(), place);
    awaitTiles(b, done_, {place, chunk});
    for (auto [from, to] : llvm::zip_equal(staged_, summands_))
      b.create<PutOp>(tilesOf(b, from, place, chunk), tilesOf(b, to, rank_, chunk), peer);
    notify(b, arrived_, {rank_, chunk}, peer);
  }

  /// Sums go along a ring: a chunk of the own ones to the previous rank, and then those of the same chunk that the next rank
  /// sends, its own ones first. No two ranks ever send to the same one, and share its link.
  void exchangeSums(Builder &b, Value chunk) const {
    awaitTiles(b, summed_, chunk);
    IndexMath math(b);
    Value zero = math.constant(0), one = math.constant(1);
    Value place = math.remainder(math.subtract(math.add(rank_, ranks_), one), ranks_);
    Value peer = math.rankAt(axis(), place);
    auto steps = b.create<scf::ForOp>(zero, math.subtract(ranks_, one), one);
    b.setInsertionPointToStart(steps.getBody());
    Value step = steps.getInductionVar(), shard = math.remainder(math.add(rank_, step), ranks_);
    b.create<WaitOp>(known_, ValueRange{shard, chunk},
                     math.least(step, one)); // the own ones are there
    Value tiles = tilesOf(b, sums_, shard, chunk);
    b.create<PutOp>(tiles, tiles, peer);
    notify(b, known_, {shard, chunk}, peer);
  }

  /// Adds 1 to a counter, of this rank where `peer` is null.
  static void notify(Builder &b, Value counters, ArrayRef<Value> at, Value peer) {
    b.create<NotifyOp>(counters, at, peer, NotifyMode::add, IndexMath(b).constant(1));
  }

  //===-- Tiles -------------------------------------------------------------------------------===//

  Value chunkOf(Builder &b, const TileAt &at) const {
    IndexMath math(b);
    return chunks_.of(math, numberOf(b, at));
  }

  /// Stores a tile of part `at.shard`.
  void store(Builder &b, Value tile, Value whole, const TileAt &at) const {
    b.create<core::StoreOp>(tile, shardOf(b, b.getLoc(), {whole, 0}, at.shard), placeOf(b, at));
  }

  void send(Builder &b, const TileAt &at) override {
    for (auto [sum, staged] : llvm::zip_equal(result_.cut.sums, staged_))
      store(b, forTravel(b, sum, sum), staged, at);
    notify(b, done_, {at.shard, chunkOf(b, at)}, Value());
  }

  Values total(Builder &b, const TileAt &at) override {
    auto await = [&](Builder &inner, Value peer) {
      inner.create<WaitOp>(arrived_, ValueRange{peer, chunkOf(inner, at)},
                           IndexMath(inner).constant(1));
    };
    return addSummands(b, summands_, await, [&](Builder &inner) { return placeOf(inner, at); });
  }

  void publish(Builder &b, Value tile, const TileAt &at) override {
    store(b, tile, sums_, at);
    notify(b, summed_, chunkOf(b, at), Value());
  }

  Value published(Builder &b, const TileAt &at) override {
    b.create<WaitOp>(known_, ValueRange{at.shard, chunkOf(b, at)}, IndexMath(b).constant(1));
    return b.create<core::LoadOp>(tileType_, sums_, behind(at.shard, placeOf(b, at)), TypedAttr());
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
