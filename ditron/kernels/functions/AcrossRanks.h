// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device functions of kernels that several ranks run together.
#pragma once
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/kernels.h"
#include "ditron/lang/Inbox.h"
#include <array>
#include <deque>
#include <vector>

namespace ditron::kernels {

/// The sum over the ranks, in their order, of tile (i, j) of `parts`, whose leading dimension
/// counts them.
template <class T, Access access>
Tile sumOverRanks(const Tiled<T, 3, 2, access> &parts, Index i, Index j) {
  Var total = zeros<Accumulator<T>>(parts.height(), parts.width());
  for (auto r : range(numRanks()))
    total += cast<Accumulator<T>>(parts(r, i, j));
  return total;
}

/// Tile (i, j) of the own part, to which those of the other ranks are added, the next one's first.
/// `parts` counts the ranks; `arrived(peer)` waits until that rank's is there.
template <class T, Access own, Access access>
Tile sumWithPeers(const TileRef<T, own> &mine, const Tiled<T, 3, 2, access> &parts, Index i,
                  Index j, const auto &arrived) {
  Var total = cast<Accumulator<T>>(mine);
  for (auto peer : peers(Ring::next)) {
    arrived(peer);
    total += cast<Accumulator<T>>(parts(peer, i, j));
  }
  return total;
}

/// A tile of this rank to slot (this rank, i, j) of every other rank's `box`.
inline void sendToPeers(const Tile &tile, const InboxArray<3, false> &box, Index i, Index j) {
  for (auto peer : peers())
    send(tile, box.on(peer)(rank(), i, j));
}

/// The sums over the ranks, in their order, of tiles of T of each, in the accumulator's type: of
/// `mine`, and of what sendToPeers has sent to slots (r, i, columns). All ranks have the same bits.
template <class T>
std::vector<Tile> sumsOfReceived(const std::vector<Tile> &mine, const InboxArray<3, false> &box,
                                 Index i, const std::vector<Index> &columns) {
  std::deque<Var<Tile>> totals;
  for (const Tile &tile : mine)
    totals.emplace_back(full<Accumulator<T>>(tile.shape(), 0));
  for (auto r : range(numRanks())) {
    auto each = [&](const auto &tileOf) {
      for (size_t n = 0; n < mine.size(); ++n)
        totals[n] += cast<Accumulator<T>>(tileOf(n));
    };
    auto keep = [&] { each([&](size_t n) { return mine[n]; }); };
    auto take = [&] { each([&](size_t n) { return receive(box(r, i, columns[n])); }); };
    when(r == rank(), keep, take);
  }
  return {totals.begin(), totals.end()};
}

/// Of one tile.
template <class T>
Tile sumOfReceived(const Tile &mine, const InboxArray<3, false> &box, Index i, Index j) {
  return sumsOfReceived<T>({mine}, box, i, {j}).front();
}

/// A tile of this rank to slot (this rank, i, j) of every rank's `box`, its own one last.
inline void sendToAll(const Tile &tile, const InboxArray<3, false> &box, Index i, Index j) {
  sendToPeers(tile, box, i, j);
  send(tile, box.on(rank())(rank(), i, j));
}

/// The sum over the ranks, in their order, of what sendToAll has sent, in the accumulator's type: a
/// tile of these extents.
template <class T>
Tile sumOfAll(const InboxArray<3, false> &box, std::array<int, 2> shape, Index i, Index j) {
  Var total = zeros<Accumulator<T>>(shape[0], shape[1]);
  for (auto r : range(numRanks()))
    total += cast<Accumulator<T>>(receive(box(r, i, j)));
  return total;
}

/// The same of tiles that lie on the ranks: from(r) is rank r's, fetched into `incoming`.
template <class T, Access access>
Tile fetchSum(const auto &from, const TileRef<T, access> &incoming) {
  Var total = zeros<T>(static_cast<int>(incoming.shape[0]), static_cast<int>(incoming.shape[1]));
  for (auto r : range(numRanks())) {
    get(from(r), incoming);
    total += incoming;
  }
  return total;
}

/// Roles of `commCores` cores and of the rest; with 0, both are all cores: one role after the
/// other.
inline std::array<Role, 2> splitRoles(int commCores) {
  if (commCores > 0)
    return splitCores(commCores);
  return {Role(0, numCores()), Role(0, numCores())};
}

/// Tiles of a grid, dealt to the cores, which send(i, j) and then receive(i, j) each: the next one is sent before the last
/// one is received, so that it is under way.
inline void inTurn(Index rows, Index columns, const auto &send, const auto &receive) {
  auto count = ceilDiv(max(rows * columns - coreId(), 0), numCores());
  auto at = [&](Index number, const auto &stage) {
    Index tile = coreId() + number * numCores();
    stage(tile / columns, tile % columns);
  };
  for (auto step : range(count + 1)) {
    when(step < count, [&] { at(step, send); });
    when(step > 0, [&] { at(step - 1, receive); });
  }
}

/// Every other core begins when the first of what the core before it gets has arrived, arrives(i, j): from then on half
/// of the cores send while the others receive. All send at the same time else, and then nobody does.
inline void stagger(Index columns, Index count, const auto &arrives) {
  when(coreId() % 2 == 1 && coreId() < count, [&] {
    Index before = coreId() - 1;
    arrives(before / columns, before % columns);
  });
}

/// What cores send(i, j), a batch of tiles at a time, and what they receive(i, j), which waits by arrives(i, j): some of
/// them only send while the others receive, or every core does both, in turn.
inline void sendAndReceive(const TransferConfig &cfg, const auto &batches, const auto &send,
                           const auto &arrives, const auto &receive) {
  if (cfg.senders > 0) {
    auto each = [&](const auto &stage) {
      for (auto [i, j] : batches.tiles())
        stage(i, j);
    };
    auto [sending, receiving] = splitCores(cfg.senders);
    sending.run("send", [&] { each(send); });
    receiving.run("receive", [&] { each(receive); });
    return;
  }
  if (cfg.stagger)
    stagger(batches.cols(), batches.rows() * batches.cols(), arrives);
  inTurn(batches.rows(), batches.cols(), send, receive);
}

/// take(row) of the rows of tiles in batch `i`, of those that a matrix has.
inline void eachOfBatch(const TransferConfig &cfg, Index i, Index rows, const auto &take) {
  if (cfg.batch == 1)
    return take(i);
  for (auto row : range(i * cfg.batch, min((i + 1) * cfg.batch, rows)))
    take(row);
}

/// Rows of tiles of a shard, cut into chunks that copy engines move one by one; the last one may
/// have fewer rows.
class RowChunks {
public:
  /// Of a shard of `rows` rows, in tiles of `height`.
  RowChunks(Index rows, int height, int count)
      : rows_(rows), height_(height), tiles_(ceilDiv(rows, height)), size_(ceilDiv(tiles_, count)),
        count_(count) {}

  int count() const { return count_; }
  /// How many have rows: these come first.
  Index used() const { return ceilDiv(tiles_, size_); }
  /// The chunk of a row of tiles.
  Index of(Index i) const { return i / size_; }
  /// Rows of tiles in a chunk.
  Index tiles(Index chunk) const { return max(min(size_, tiles_ - chunk * size_), 0); }
  /// Its first row, and how many it has.
  Index first(Index chunk) const { return min(chunk * size_ * height_, rows_); }
  Index rows(Index chunk) const { return min(size_ * height_, rows_ - first(chunk)); }
  /// These rows of a shard.
  auto slice(const auto &shard, Index chunk) const {
    return shard.slice(0, first(chunk), rows(chunk));
  }

private:
  Index rows_;
  int height_;
  Index tiles_, size_;
  int count_;
};

/// Elements of an extent that belong to no rank below `rank`, in equal parts of `size`, the last
/// ones smaller or empty: the part of this rank is view.slice(0, first, count).
struct Shard {
  Index first, count;
  Shard(Index rank, Index size, Index extent)
      : first(min(rank * size, extent)), count(min(size, extent - first)) {}
};

/// The rows of a matrix in shards, one a rank; the last ones have fewer rows, or none.
class Shards {
public:
  explicit Shards(Index rows) : rows_(rows), size_(ceilDiv(rows, numRanks())) {}

  /// Rows of a shard, the last ones aside.
  Index size() const { return size_; }
  /// How many rows lie in rows `first` .. `first + count` of the owner's shard.
  Index rowsOf(Index owner, Index first, Index count) const {
    return min(count, rows_ - min(owner * size_ + first, rows_));
  }
  /// These rows of the matrix, or of another one of its shape.
  auto of(const auto &matrix, Index owner, Index first, Index count) const {
    Index from = min(owner * size_ + first, rows_);
    return matrix.slice(0, from, rowsOf(owner, first, count));
  }
  auto of(const auto &matrix, Index owner) const { return of(matrix, owner, 0, size_); }
  /// What they take of a buffer for a shard, or for one of each rank.
  template <class T, int rank, Access access>
  View<T, rank, access> room(const View<T, rank, access> &buffer, Index owner, Index first,
                             Index count) const {
    return buffer.slice(rank - 2, first, rowsOf(owner, first, count));
  }
  auto room(const auto &buffer, Index owner) const { return room(buffer, owner, 0, size_); }

private:
  Index rows_, size_;
};

} // namespace ditron::kernels
