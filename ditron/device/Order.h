// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tile orders: in which order the tiles of a grid are visited.
//
// A kernel deals the numbers 0, 1, 2, ... to its cores; an order turns the number into a tile. It
// is a pure function and a permutation of the grid, so it may be chosen freely: it changes when a
// tile is computed, never what is computed. Two things make one order faster than another.
//
// Caches. Cores that run at the same time should share operands. Row after row, 132 cores working
// on a product of 64 x 64 tiles touch 3 rows of A but all 64 columns of B. `grouped` walks down the
// columns of a group of rows instead: with groups of 8 the same cores touch 8 rows and 17 columns.
//
//     rowMajor        grouped (2)          The last group may have fewer rows:
//     0  1  2         0  2  4              3 rows in groups of 2 are 2 and 1.
//     3  4  5         1  3  5
//     6  7  8         6  7  8
//
// Ranks. When the rows come from other ranks, begin with those that are here and go on in the order
// in which the others arrive; when rows leave for other ranks, begin with those that travel and
// keep the own ones for last, since nobody waits for them on the wire. All ranks go round the same
// ring from their own places, so at any time no two of them load or serve the same one:
//
//     rank 1 of 4     ownShardFirst: shards 1 2 3 0     nextRankFirst: shards 2 3 0 1
//
// Rows are sharded in elements and visited in tiles, and a tile that straddles shards needs
// (gather) or completes (scatter) all of them. It belongs to the one visited last (gather), so that
// no tile waits for rows while tiles stand ready behind it, or first (scatter), so that a shard is
// complete once its last tile is. Hence a gather starts at the first row of tiles that begins in
// the own shard, ceil(begin / height), a scatter at the row of tiles in which the next rank's rows
// begin, floor(begin / height), and both go on cyclically. Take 3 ranks with 5 rows each in tiles
// of 4 rows:
//
//     tiles of rows     0..3  4..7  8..11  12..14
//     shards in them     0     0,1   1,2     2
//     gather, rank 1    starts at ceil(5/4) = 2:    8.. (1,2), 12.. (2), 0.. (0), 4.. (0,1)
//     scatter, rank 0   starts at floor(5/4) = 1:   4.. (0,1), 8.. (1,2), 12.. (2), 0.. (0)
//
// In a gather the tile 8.. belongs to shard 2 although rank 1 visits it first: nothing else is left
// for shard 1 but the tile 4.., which waits for shard 0. It holds with tiles larger than shards
// too, because what is rotated is the cycle of the rows of tiles and not a rounded count of them a
// shard.
//
// Groups do not cross from the tiles of one shard to those of the next: a core never waits for a
// later shard while tiles of an earlier one are left. With several matrices (batch > 1) the rows
// are sharded in each: all batches of one shard are visited before the next shard. Where the batch
// axis is the sharded one instead, say so in Grid::sharded: it is rotated, each matrix being
// grouped.
//
// The functions are templates over the integer, so that one text serves the interpreter and the
// tests (int64_t) and the compiler, whose integers are values of the IR. Such an I has + - * / %
// with another I and with an int64_t on the right, < and ==, and min(I, I), min(I, int64_t), max(I,
// I) and select(condition, I, I), found beside I. Only non-negative integers are divided, so that
// signed, unsigned, floor and truncating division agree.
//
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace ditron::device {

/// Which axis of the grid is spread over the ranks.
enum class Sharded { rows, batch };

/// A grid of tiles, all counts at least 1.
template <class I> struct Grid {
  I batch, rows, cols;             ///< in tiles
  I height;                        ///< elements in a row of tiles
  I extent;                        ///< elements in all rows: rows == ceil(extent / height)
  Sharded sharded = Sharded::rows; ///< equal parts of extent (or of batch), rank after rank
  int64_t rounds = 1; ///< over batches: nextRankFirst cuts all rows, othersAhead all columns
};

/// A tile of the grid: batch < grid.batch, row < grid.rows, col < grid.cols.
template <class I> struct TileIndex {
  I batch, row, col;
};

/// Who asks: rank < ranks.
template <class I> struct Place {
  I rank, ranks;
};

namespace order {

inline int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t max(int64_t a, int64_t b) { return a < b ? b : a; }
inline int64_t select(bool condition, int64_t a, int64_t b) { return condition ? a : b; }

/// How the sharded axis is visited: from tile `start` on, cyclically.
template <class I> struct Ring {
  I start;
  I first, limit; ///< the run of visits [first, limit) around a given visit that serves one shard
};

/// The visits [first, limit) of rows of `width` tiles, down the columns of groups of rows: the
/// visit (in `row`) and the column of tile `t`, both counted from the first visit of all.
template <class I> TileIndex<I> groupedWithin(I t, I first, I limit, I width, int64_t group) {
  I inside = t - first * width, size = width * group;
  I top = first + inside / size * group;
  I height = min(limit - top, group);
  I rest = inside % size;
  return {t - t, top + rest % height, rest / height};
}

/// A shard's number and size where every rank has a shard; ranks beyond the extent follow the last.
template <class I> struct Shards {
  I own, count, size;
  Shards(const Place<I> &place, I extent)
      : own(min(place.rank, min(place.ranks, extent) - 1)), count(min(place.ranks, extent)),
        size(extent / count) {}
};

/// Gather: own shard first. A row of tiles belongs to the shard of its that is visited last.
template <class I> Ring<I> gatherRing(I visit, const Grid<I> &grid, const Place<I> &place) {
  Shards<I> shards(place, grid.extent);
  I begin = shards.own * shards.size;
  I whole = (begin + grid.height - 1) / grid.height, start = whole % grid.rows;
  // The row that brings the first elements of the shard `step` places after the own one, or of a
  // later one. What follows the own shard within its first, straddling row comes with that row,
  // last: only the rows after it count.
  auto firstVisit = [&](I step) {
    I from = (shards.own + step) % shards.count * shards.size, row = from / grid.height;
    row = select(begin < from, max(row, whole), row);
    return (row + grid.rows - start) % grid.rows;
  };
  I row = (visit + start) % grid.rows, top = row * grid.height;
  I end = min(top + grid.height, grid.extent);
  I last = min((end - 1) / shards.size, shards.count - 1);
  I step = (last + shards.count - shards.own) % shards.count;
  // The row in the middle of which the own shard begins also has the shard visited last.
  step = select(top < begin, select(begin < end, shards.count - 1, step), step);
  return {start, select(step == 0, step, firstVisit(step)),
          select(step == shards.count - 1, grid.rows, firstVisit(step + 1))};
}

/// Scatter: next rank's shard first. A row of tiles belongs to the shard of its that is visited
/// first.
template <class I> Ring<I> scatterRing(I visit, const Grid<I> &grid, const Place<I> &place) {
  Shards<I> shards(place, grid.extent);
  I next = (shards.own + 1) % shards.count, begin = next * shards.size;
  I start = begin / grid.height;
  // The first row without elements of the `step` shards before; `grid.rows` if there is none.
  auto firstVisit = [&](I step) {
    I from = (next + step) % shards.count * shards.size;
    I row = (from + grid.height - 1) / grid.height;
    return (row + grid.rows - start - 1) % grid.rows + 1;
  };
  I row = (visit + start) % grid.rows;
  I first = min(row * grid.height / shards.size, shards.count - 1);
  I step = (first + shards.count - next) % shards.count;
  step = select(row == start, step - step, step);
  return {start, select(step == 0, step, firstVisit(step)),
          select(step == shards.count - 1, grid.rows, firstVisit(step + 1))};
}

/// Batch after batch, row after row. The group is not used.
template <class I>
TileIndex<I> rowMajor(I t, const Grid<I> &grid, const Place<I> &, int64_t group = 1) {
  return {t / (grid.cols * grid.rows), t / grid.cols % grid.rows, t % grid.cols};
}

/// Batch after batch, each down the columns of `group` rows (at least 1) of tiles.
template <class I> TileIndex<I> grouped(I t, const Grid<I> &grid, const Place<I> &, int64_t group) {
  I size = grid.rows * grid.cols, zero = t - t;
  TileIndex<I> tile = groupedWithin<I>(t % size, zero, grid.rows, grid.cols, group);
  return {t / size, tile.row, tile.col};
}

/// The order around a ring: `ring(visit, grid, place)` says where `visit` lies in it.
template <class I, class RingOf>
TileIndex<I> aroundRing(I t, const Grid<I> &grid, const Place<I> &place, int64_t group,
                        RingOf ring) {
  if (grid.sharded == Sharded::batch) {
    I size = grid.rows * grid.cols, one = grid.batch / grid.batch;
    Grid<I> matrices{one, grid.batch, size, one, grid.batch};
    I batch = (t / size + ring(t / size, matrices, place).start) % grid.batch;
    TileIndex<I> tile = grouped<I>(t % size, grid, place, group);
    return {batch, tile.row, tile.col};
  }
  I width = grid.cols * grid.batch;
  Ring<I> at = ring(t / width, grid, place);
  TileIndex<I> tile = groupedWithin<I>(t, at.first, at.limit, width, group);
  return {tile.col / grid.cols, (tile.row + at.start) % grid.rows, tile.col % grid.cols};
}

/// Gather: the own shard, then the next ranks' in ring order, in groups of `group` (at least 1)
/// rows. A tile that straddles shards comes with the one visited last.
template <class I>
TileIndex<I> ownShardFirst(I t, const Grid<I> &grid, const Place<I> &place, int64_t group) {
  return aroundRing(t, grid, place, group, gatherRing<I>);
}

/// The first of the next rank's batches.
template <class I> I nextBatch(const Shards<I> &shards) {
  return (shards.own + shards.count / shards.count) % shards.count * shards.size;
}

/// Scatter of sharded batches in rounds: the next rank's first in each. Round q of Q visits rows
/// q * rows / Q up to those of the next round, of each batch. What follows from a round travels while
/// the next one is computed.
template <class I>
TileIndex<I> nextRankFirstInRounds(I t, const Grid<I> &grid, const Place<I> &place, int64_t group) {
  I zero = t - t, one = grid.batch / grid.batch;
  I rowsBefore = t / (grid.cols * grid.batch); // as many rows of all batches are visited before
  I round = ((rowsBefore + one) * grid.rounds - one) / grid.rows;
  I first = round * grid.rows / grid.rounds;
  I rows = (round + one) * grid.rows / grid.rounds - first, size = rows * grid.cols;
  I inRound = t - first * grid.cols * grid.batch;
  TileIndex<I> tile = groupedWithin<I>(inRound % size, zero, rows, grid.cols, group);
  I batch = (nextBatch(Shards<I>(place, grid.batch)) + inRound / size) % grid.batch;
  return {batch, first + tile.row, tile.col};
}

/// Scatter: the next rank's shard, then the following ones', the own one last, in groups of `group`
/// (at least 1) rows. A tile that straddles shards comes with the one visited first. Sharded rows go
/// in one round.
template <class I>
TileIndex<I> nextRankFirst(I t, const Grid<I> &grid, const Place<I> &place, int64_t group) {
  if (grid.sharded == Sharded::batch && grid.rounds > 1)
    return nextRankFirstInRounds(t, grid, place, group);
  return aroundRing(t, grid, place, group, scatterRing<I>);
}

/// Scatter of sharded batches in rounds of columns, the own batches a round behind the others. Round q of Q visits
/// columns q * cols / Q up to those of the next round, all rows of them, of the other ranks' batches, the next rank's
/// first; then those of the round before of the own batches, to which the others have added by then.
template <class I>
TileIndex<I> othersAheadInRounds(I t, const Grid<I> &grid, const Place<I> &place, int64_t group) {
  I zero = t - t, one = grid.batch / grid.batch;
  Shards<I> shards(place, grid.batch);
  I next = nextBatch(shards), rounds = min(grid.cols, grid.rounds);
  I others = (shards.own * shards.size + grid.batch - next) % grid.batch;
  I own = grid.batch - others;
  auto begin = [&](I round) { return round * grid.cols / rounds; };
  auto endOf = [&](I round) { return begin(min(round + one, rounds)); };
  // The round as if all had as many columns, or the next one: they differ by less than a round.
  I column = t / grid.rows, q = (column * rounds / grid.cols + own) / grid.batch;
  q = select(column < others * endOf(q) + own * begin(q), q, q + one);
  I first = begin(max(q, one) - one), middle = begin(q), end = endOf(q);
  I inside = t - (others * middle + own * first) * grid.rows;
  I ofOthers = others * (end - middle) * grid.rows;
  auto isOther = inside < ofOthers;
  inside = select(isOther, inside, inside - ofOthers);
  I left = select(isOther, middle, first);
  I width = max(select(isOther, end, middle) - left, one), size = width * grid.rows;
  I visit = select(isOther, zero, others) + inside / size;
  TileIndex<I> tile = groupedWithin<I>(inside % size, zero, grid.rows, width, group);
  return {(next + visit) % grid.batch, tile.row, left + tile.col};
}

/// Scatter: as next-rank-first, but in rounds, if there are several, the own tiles of each behind the other ranks'
/// of the next one: what those ranks add to them is there by then, and the sums leave at an even rate.
template <class I>
TileIndex<I> othersAhead(I t, const Grid<I> &grid, const Place<I> &place, int64_t group) {
  if (grid.sharded == Sharded::batch && grid.rounds > 1)
    return othersAheadInRounds(t, grid, place, group);
  return aroundRing(t, grid, place, group, scatterRing<I>);
}

} // namespace order

/// An order by name. `index` maps tile number t < batch * rows * cols to its tile, as rank
/// `place.rank` visits them; `group` is the rows of tiles walked together, at least 1.
template <class I> struct Order {
  std::string_view name;
  TileIndex<I> (*index)(I t, const Grid<I> &grid, const Place<I> &place, int64_t group);
  bool isSameOnAllRanks = false; ///< all ranks visit the tiles one after the other alike
};

/// The one place that names the orders. The permutation test walks it.
template <class I>
inline constexpr Order<I> kOrders[] = {
    {"row-major", order::rowMajor<I>, /*isSameOnAllRanks=*/true},
    {"grouped", order::grouped<I>, /*isSameOnAllRanks=*/true},
    {"own-shard-first", order::ownShardFirst<I>},
    {"next-rank-first", order::nextRankFirst<I>},
    {"others-ahead", order::othersAhead<I>},
};

/// The order of that name, or null; `orderNames()` says what there is.
template <class I> constexpr const Order<I> *findOrder(std::string_view name) {
  for (const Order<I> &order : kOrders<I>)
    if (order.name == name)
      return &order;
  return nullptr;
}

/// "row-major, grouped, ...": for messages.
std::string orderNames();

} // namespace ditron::device
