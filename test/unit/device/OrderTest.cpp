// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every order of the table is a permutation of every grid, and the two that go round the ranks
// visit the shards in the order they promise, tile by tile.
#include "ditron/device/Order.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <set>
#include <tuple>
#include <vector>

using namespace ditron::device;

namespace {

using Tile = std::tuple<int64_t, int64_t, int64_t>;

std::vector<Tile> visits(const Order<int64_t> &order, const Grid<int64_t> &grid,
                         const Place<int64_t> &place, int64_t group) {
  std::vector<Tile> tiles;
  for (int64_t t = 0; t < grid.batch * grid.rows * grid.cols; ++t) {
    auto [batch, row, col] = order.index(t, grid, place, group);
    tiles.emplace_back(batch, row, col);
  }
  return tiles;
}

std::string describe(const Grid<int64_t> &grid, const Place<int64_t> &place, int64_t group) {
  auto text = [](int64_t x) { return std::to_string(x) + " "; };
  return "batch rows cols height extent " + text(grid.batch) + text(grid.rows) + text(grid.cols) +
         text(grid.height) + text(grid.extent) + "rank " + text(place.rank) + "of " +
         text(place.ranks) + "group " + text(group);
}

Grid<int64_t> gridOf(int64_t batch, int64_t extent, int64_t height, int64_t cols,
                     Sharded sharded = Sharded::rows) {
  return {batch, (extent + height - 1) / height, cols, height, extent, sharded};
}

void expectPermutation(const Grid<int64_t> &grid, const Place<int64_t> &place, int64_t group) {
  for (const Order<int64_t> &order : kOrders<int64_t>) {
    std::vector<Tile> tiles = visits(order, grid, place, group);
    std::set<Tile> distinct(tiles.begin(), tiles.end());
    ASSERT_EQ(distinct.size(), tiles.size()) << order.name << ' ' << describe(grid, place, group);
    for (auto [batch, row, col] : tiles)
      ASSERT_TRUE(0 <= batch && batch < grid.batch && 0 <= row && row < grid.rows && 0 <= col &&
                  col < grid.cols)
          << order.name << ' ' << describe(grid, place, group);
  }
}

/// For a row of tiles, how many places after `from` in the ring its shards are: {least, most}.
std::pair<int64_t, int64_t> steps(const Grid<int64_t> &grid, int64_t row, int64_t from,
                                  int64_t ranks) {
  int64_t shard = grid.extent / ranks, least = ranks, most = -1;
  int64_t end = std::min((row + 1) * grid.height, grid.extent);
  for (int64_t element = row * grid.height; element < end; ++element) {
    int64_t step = (element / shard + ranks - from) % ranks;
    least = std::min(least, step);
    most = std::max(most, step);
  }
  return {least, most};
}

/// The shard each visited tile belongs to never goes back along the ring, so every tile of a shard
/// comes before every tile of the following ones.
void expectRingOrder(const Grid<int64_t> &grid, const Place<int64_t> &place, int64_t group) {
  int64_t gathered = 0, scattered = 0;
  for (auto [batch, row, col] :
       visits(*findOrder<int64_t>("own-shard-first"), grid, place, group)) {
    int64_t step = steps(grid, row, place.rank, place.ranks).second;
    ASSERT_GE(step, gathered) << "gather " << describe(grid, place, group);
    gathered = step;
  }
  int64_t next = (place.rank + 1) % place.ranks;
  for (auto [batch, row, col] :
       visits(*findOrder<int64_t>("next-rank-first"), grid, place, group)) {
    int64_t step = steps(grid, row, next, place.ranks).first;
    ASSERT_GE(step, scattered) << "scatter " << describe(grid, place, group);
    scattered = step;
  }
}

TEST(Order, EveryOrderIsAPermutation) {
  for (int64_t ranks : {1, 2, 3, 4, 5, 7, 8})
    for (int64_t extent = 1; extent <= 40; ++extent) // also fewer elements than ranks, and ragged
      for (int64_t height : {1, 2, 3, 5, 8, 16, 37})
        for (int64_t group : {1, 2, 3, 8})
          for (int64_t rank = 0; rank < ranks; ++rank)
            for (auto [batch, cols] : {std::pair{1, 1}, {1, 3}, {3, 2}})
              expectPermutation(gridOf(batch, extent, height, cols), {rank, ranks}, group);
}

TEST(Order, EveryOrderIsAPermutationOfShardedBatches) {
  for (int64_t ranks : {1, 2, 3, 8})
    for (int64_t batch : {1, 2, 3, 8, 11, 16})
      for (int64_t extent : {1, 7, 20})
        for (int64_t rank = 0; rank < ranks; ++rank)
          expectPermutation(gridOf(batch, extent, 3, 3, Sharded::batch), {rank, ranks}, 2);
}

TEST(Order, ShardsAreVisitedAroundTheRing) {
  for (int64_t ranks : {1, 2, 3, 4, 5, 7, 8})
    for (int64_t shard = 1; shard <= 21; ++shard) // from fewer rows than half a tile to many tiles
      for (int64_t height : {1, 2, 3, 4, 7, 8, 13, 32, 45})
        for (int64_t group : {1, 2, 3, 8})
          for (int64_t rank = 0; rank < ranks; ++rank)
            for (auto [batch, cols] : {std::pair{1, 1}, {1, 3}, {2, 2}}) {
              Grid<int64_t> grid = gridOf(batch, shard * ranks, height, cols);
              expectPermutation(grid, {rank, ranks}, group);
              expectRingOrder(grid, {rank, ranks}, group);
            }
}

/// Tiles that pairs take together: rows of them, or columns, as clusters are dealt a coarser grid.
TEST(Order, PairsTakeEveryTileOnce) {
  for (int64_t ranks : {1, 2, 3, 4, 7})
    for (int64_t extent : {1, 5, 16, 37})
      for (auto [tall, wide] : {std::pair{2, 1}, {1, 2}, {4, 2}})
        for (int64_t rank = 0; rank < ranks; ++rank)
          for (Sharded sharded : {Sharded::rows, Sharded::batch})
            for (const Order<int64_t> &order : kOrders<int64_t>) {
              constexpr int64_t kHeight = 3, kColumns = 5, kBatch = 2;
              Grid<int64_t> tiles = gridOf(kBatch, extent, kHeight, kColumns, sharded);
              Grid<int64_t> pairs =
                  gridOf(kBatch, extent, kHeight * tall, (kColumns + wide - 1) / wide, sharded);
              std::set<Tile> seen;
              for (auto [batch, row, col] : visits(order, pairs, {rank, ranks}, 2))
                for (int64_t cta = 0; cta < tall * wide; ++cta) {
                  int64_t i = row * tall + cta / wide, j = col * wide + cta % wide;
                  bool isInside = i < tiles.rows && j < tiles.cols;
                  EXPECT_TRUE(!isInside || seen.emplace(batch, i, j).second) << order.name;
                }
              EXPECT_EQ(int64_t(seen.size()), tiles.batch * tiles.rows * tiles.cols) << order.name;
            }
}

TEST(Order, AcceptanceShapes) {
  for (int64_t ranks : {2, 3, 4, 8})
    for (int64_t shard : {997, 4091})
      for (int64_t rank = 0; rank < ranks; ++rank) {
        Grid<int64_t> grid = gridOf(1, shard * ranks, 128, 20);
        expectPermutation(grid, {rank, ranks}, 8);
        expectRingOrder(grid, {rank, ranks}, 8);
      }
}

TEST(Order, AlignedShardsBeginAndEndWithTheOwnOne) {
  Grid<int64_t> grid = gridOf(1, 4 * 6, 2, 5); // 3 rows of tiles a rank
  for (int64_t rank = 0; rank < 4; ++rank) {
    auto gather = visits(*findOrder<int64_t>("own-shard-first"), grid, {rank, 4}, 2);
    auto scatter = visits(*findOrder<int64_t>("next-rank-first"), grid, {rank, 4}, 2);
    for (int64_t t = 0; t < 60; ++t) {
      EXPECT_EQ(std::get<1>(gather[t]) / 3, (rank + t / 15) % 4);
      EXPECT_EQ(std::get<1>(scatter[t]) / 3, (rank + 1 + t / 15) % 4);
    }
  }
}

TEST(Order, ShardedBatchesAreRotated) {
  Grid<int64_t> grid = gridOf(8, 5, 2, 3, Sharded::batch); // 2 matrices of 9 tiles a rank
  for (int64_t rank = 0; rank < 4; ++rank) {
    auto gather = visits(*findOrder<int64_t>("own-shard-first"), grid, {rank, 4}, 2);
    auto scatter = visits(*findOrder<int64_t>("next-rank-first"), grid, {rank, 4}, 2);
    for (int64_t t = 0; t < 72; ++t) {
      EXPECT_EQ(std::get<0>(gather[t]), (2 * rank + t / 9) % 8);
      EXPECT_EQ(std::get<0>(scatter[t]), (2 * rank + 2 + t / 9) % 8);
    }
  }
}

TEST(Order, RoundsVisitRowsOfAllBatches) {
  Grid<int64_t> grid = gridOf(4, 14, 2, 3, Sharded::batch); // a matrix of 7 x 3 tiles a rank
  grid.rounds = 2;
  for (int64_t rank = 0; rank < 4; ++rank) {
    auto found = visits(*findOrder<int64_t>("next-rank-first"), grid, {rank, 4}, 2);
    for (int64_t t = 0; t < 84; ++t) {
      auto [batch, row, column] = found[t];
      EXPECT_EQ(row >= 3, t >= 4 * 9);
      EXPECT_EQ(batch, (rank + 1 + (t < 36 ? t / 9 : (t - 36) / 12)) % 4);
    }
  }
}

/// Of fewer rows than rounds some rounds have none.
TEST(Order, RoundsArePermutations) {
  for (int64_t rounds : {1, 2, 3, 5, 8})
    for (int64_t extent : {1, 2, 7, 14, 16})
      for (int64_t rank : {0, 2}) {
        Grid<int64_t> grid = gridOf(3, extent, 2, 5, Sharded::batch);
        grid.rounds = rounds;
        expectPermutation(grid, {rank, 3}, 2);
        Grid<int64_t> several = gridOf(8, extent, 2, 5, Sharded::batch);
        several.rounds = rounds;
        expectPermutation(several, {rank, 3}, 2);
        int64_t round = 0;
        for (auto [batch, row, column] :
             visits(*findOrder<int64_t>("next-rank-first"), grid, {rank, 3}, 2)) {
          int64_t of = ((row + 1) * rounds - 1) / grid.rows;
          EXPECT_GE(of, round);
          round = of;
        }
      }
}

/// What an owner adds to a tile, the others have computed a round before.
TEST(Order, OthersAreARoundAhead) {
  for (int64_t rounds : {2, 3, 4})
    for (int64_t rank = 0; rank < 4; ++rank) {
      Grid<int64_t> grid = gridOf(4, 6, 2, 11, Sharded::batch); // a matrix of 3 x 11 tiles a rank
      grid.rounds = rounds;
      auto found = visits(*findOrder<int64_t>("others-ahead"), grid, {rank, 4}, 2);
      std::vector<int64_t> round(132), isOwn(132), visit(132);
      for (int64_t t = 0; t < 132; ++t) {
        auto [batch, row, column] = found[t];
        isOwn[t] = batch == rank;
        round[t] = ((column + 1) * rounds - 1) / 11 + isOwn[t];
        visit[t] = (batch + 3 - rank) % 4;
      }
      for (int64_t t = 1; t < 132; ++t)
        EXPECT_LE(std::tuple(round[t - 1], visit[t - 1]), std::tuple(round[t], visit[t]));
      EXPECT_EQ(round.back(), rounds);
    }
}

TEST(Order, TheExamplesOfTheEssay) {
  auto rows = [](const char *name, const Grid<int64_t> &grid, Place<int64_t> place, int64_t group) {
    std::vector<int64_t> result;
    for (auto [batch, row, col] : visits(*findOrder<int64_t>(name), grid, place, group))
      result.push_back(row * grid.cols + col);
    return result;
  };
  using Tiles = std::vector<int64_t>;
  EXPECT_EQ(rows("row-major", gridOf(1, 3, 1, 3), {0, 1}, 2), (Tiles{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(rows("grouped", gridOf(1, 3, 1, 3), {0, 1}, 2), (Tiles{0, 3, 1, 4, 2, 5, 6, 7, 8}));
  EXPECT_EQ(rows("own-shard-first", gridOf(1, 15, 4, 1), {1, 3}, 1), (Tiles{2, 3, 0, 1}));
  EXPECT_EQ(rows("next-rank-first", gridOf(1, 15, 4, 1), {0, 3}, 1), (Tiles{1, 2, 3, 0}));
}

TEST(Order, Names) {
  EXPECT_EQ(orderNames(), "row-major, grouped, own-shard-first, next-rank-first, others-ahead");
  EXPECT_TRUE(findOrder<int64_t>("snake") == nullptr);
}

} // namespace

// The compiler's integers: values of an IR, here of a small one that counts its operations and
// refuses to divide negative numbers.
namespace emitted {
struct Value {
  int64_t value;
};
struct Flag {
  bool value;
};
int operations = 0;
Value make(int64_t value) {
  ++operations;
  return {value};
}
int64_t checked(int64_t value) {
  EXPECT_GE(value, 0);
  return value;
}
Value operator+(Value a, Value b) { return make(a.value + b.value); }
Value operator-(Value a, Value b) { return make(a.value - b.value); }
Value operator*(Value a, Value b) { return make(a.value * b.value); }
Value operator/(Value a, Value b) { return make(checked(a.value) / checked(b.value)); }
Value operator%(Value a, Value b) { return make(checked(a.value) % checked(b.value)); }
Value operator+(Value a, int64_t b) { return a + Value{b}; }
Value operator-(Value a, int64_t b) { return a - Value{b}; }
Value operator*(Value a, int64_t b) { return a * Value{b}; }
Value operator/(Value a, int64_t b) { return a / Value{b}; }
Value operator%(Value a, int64_t b) { return a % Value{b}; }
Flag operator<(Value a, Value b) { return {make(a.value < b.value).value != 0}; }
Flag operator==(Value a, Value b) { return {make(a.value == b.value).value != 0}; }
Flag operator==(Value a, int64_t b) { return a == Value{b}; }
Value min(Value a, Value b) { return make(std::min(a.value, b.value)); }
Value min(Value a, int64_t b) { return min(a, Value{b}); }
Value max(Value a, Value b) { return make(std::max(a.value, b.value)); }
Value select(Flag f, Value a, Value b) { return make(f.value ? a.value : b.value); }
} // namespace emitted

TEST(Order, TheSameTextServesTheCompiler) {
  using emitted::Value;
  for (size_t i = 0; i < std::size(kOrders<int64_t>); ++i)
    for (Sharded sharded : {Sharded::rows, Sharded::batch})
      for (auto [height, rounds] : {std::pair{1, 1}, {3, 1}, {16, 1}, {3, 2}})
        for (int64_t rank = 0; rank < 4; ++rank) {
          Grid<int64_t> grid = gridOf(4, 28, height, 3, sharded);
          Grid<Value> values{{4}, {grid.rows}, {3}, {height}, {28}, sharded, rounds};
          grid.rounds = rounds;
          for (int64_t t = 0; t < 4 * grid.rows * 3; ++t) {
            auto tile = kOrders<int64_t>[i].index(t, grid, {rank, 4}, 2);
            emitted::operations = 0;
            auto value = kOrders<Value>[i].index({t}, values, {{rank}, {4}}, 2);
            ASSERT_EQ(tile.batch, value.batch.value);
            ASSERT_EQ(tile.row, value.row.value);
            ASSERT_EQ(tile.col, value.col.value);
            ASSERT_LE(emitted::operations, 80); // some hundred instructions: nothing beside a tile
          }
        }
}
