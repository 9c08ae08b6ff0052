// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layouts that the NVIDIA backend chooses: every thread holds what it should, rows of shared
// memory meet all banks.
#include "ditron/targets/gpu/analysis/Distribution.h"
#include "ditron/targets/nvidia/analysis/TensorCores.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

namespace ditron::nvidia {
namespace {

const std::vector<Shape> kShapes = {{1},       {97},      {512},     {16384},  {4, 1024},
                                    {3, 10},   {10, 9},   {1, 64},   {64, 1},  {16, 8},
                                    {128, 64}, {64, 256}, {7, 5, 3}, {2, 8, 4}};

int64_t indexOf(const Shape &at, const Shape &shape) {
  int64_t index = 0;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    index = index * shape[dim] + at[dim];
  return index;
}

/// Every place of every thread holds the element that the layout puts there, and all are held.
void expectFull(const Layout &layout, const Shape &shape, int64_t warps) {
  SCOPED_TRACE(layout.print());
  auto tile = Distribution::of(layout, shape);
  ASSERT_TRUE(tile);
  std::set<int64_t> held;
  for (int64_t warp = 0; warp < warps; ++warp)
    for (int64_t lane = 0; lane < kLanes; ++lane)
      for (int64_t reg = 0; reg < tile->registers(); ++reg) {
        core::Coordinates place;
        place[Axis::warp] = warp, place[Axis::lane] = lane, place[Axis::reg] = reg;
        int64_t index = indexOf(tile->at(warp, lane, reg), shape);
        held.insert(index);
        EXPECT_EQ(layout.elementAt(place), index);
      }
  EXPECT_EQ(int64_t(held.size()), layout.size());
}

TEST(Distribution, BlockedTilesAreFull) {
  for (const Shape &shape : kShapes)
    for (int64_t warps : {1, 4, 8})
      for (int64_t vector : {1, 4, 8})
        expectFull(blocked(shape, vector, {warps, kLanes}), shape, warps);
}

TEST(Distribution, AccumulatorsAreFull) {
  for (const Shape &shape : {Shape{16, 16}, {64, 32}, {128, 256}, {48, 80}, {16, 256}})
    for (int64_t warps : {1, 4, 8})
      expectFull(accumulator(shape, warps), shape, warps);
}

TEST(Distribution, AccumulatorIsTheFragmentOfTheInstruction) {
  Distribution tile = *Distribution::of(accumulator({16, 16}, 1), {16, 16});
  for (int64_t lane = 0; lane < kLanes; ++lane)
    for (int64_t reg = 0; reg < 8; ++reg) {
      Shape expected{lane / 4 + reg / 2 % 2 * 8, lane % 4 * 2 + reg % 2 + reg / 4 * 8};
      EXPECT_EQ(tile.at(0, lane, reg), expected) << "lane " << lane << ", register " << reg;
    }
}

TEST(Distribution, WarpgroupAccumulatorsAreFull) {
  for (const Shape &shape : {Shape{64, 16}, {64, 256}, {128, 192}, {256, 80}})
    for (int64_t warps : {4, 8})
      if (shape[0] % (16 * warps) == 0)
        expectFull(warpgroupAccumulator(shape, warps), shape, warps);
}

TEST(Distribution, WarpgroupAccumulatorIsTheFragmentOfTheInstruction) {
  Distribution tile = *Distribution::of(warpgroupAccumulator({256, 32}, 8), {256, 32});
  ASSERT_EQ(tile.registers(), 32);
  for (int64_t warp = 0; warp < 8; ++warp)
    for (int64_t lane = 0; lane < kLanes; ++lane)
      for (int64_t reg = 0; reg < 32; ++reg) {
        int64_t block = reg / 16, within = reg % 16; // each block of 64 rows is one instruction's
        Shape expected{warp / 4 * 128 + block * 64 + warp % 4 * 16 + lane / 4 + within / 2 % 2 * 8,
                       within / 4 * 8 + lane % 4 * 2 + within % 2};
        EXPECT_EQ(tile.at(warp, lane, reg), expected) << warp << ", " << lane << ", " << reg;
      }
}

/// The element that each register of each thread holds after the exchanges, as shuffles make it.
void expectExchanged(const Layout &source, const Layout &target, const Shape &shape,
                     int64_t warps) {
  auto from = Distribution::of(source, shape), to = Distribution::of(target, shape);
  auto steps = exchanges(*from, *to);
  ASSERT_TRUE(steps);
  std::vector<Shape> elements;
  for (int64_t reg = 0; reg < from->registers(); ++reg)
    elements.push_back(from->element(reg));
  using Lanes = std::vector<std::vector<Shape>>; // by lane and register
  for (int64_t warp = 0; warp < warps; ++warp) {
    Lanes held(kLanes);
    for (int64_t lane = 0; lane < kLanes; ++lane)
      for (int64_t reg = 0; reg < from->registers(); ++reg)
        held[size_t(lane)].push_back(from->at(warp, lane, reg));
    std::vector<Shape> places = elements;
    for (const Exchange &step : *steps) {
      Lanes after = held;
      auto pairs = partners(places, step);
      ASSERT_TRUE(pairs);
      for (auto [low, high] : *pairs)
        for (size_t lane = 0; lane < size_t(kLanes); ++lane) {
          size_t other = lane ^ size_t(1) << step.laneBit;
          if (lane >> step.laneBit & 1)
            after[lane][low] = held[other][high];
          else
            after[lane][high] = held[other][low];
        }
      held = after;
    }
    for (int64_t lane = 0; lane < kLanes; ++lane)
      for (int64_t reg = 0; reg < to->registers(); ++reg) {
        auto found = std::find(places.begin(), places.end(), to->element(reg));
        ASSERT_NE(found, places.end());
        ASSERT_EQ(held[size_t(lane)][size_t(found - places.begin())], to->at(warp, lane, reg));
      }
  }
}

TEST(Exchanges, GatherNeighboursOfAccumulators) {
  for (const Shape &shape : {Shape{128, 256}, {128, 192}, {128, 64}})
    for (int64_t run : {4, 8})
      for (auto [layout, warps] :
           {std::pair(warpgroupAccumulator(shape, 8), 8), {accumulator(shape, 4), 4}}) {
        SCOPED_TRACE(layout.print());
        auto near = gathered(layout, shape, run);
        ASSERT_TRUE(near);
        expectFull(*near, shape, warps);
        EXPECT_EQ(Distribution::of(*near, shape)->run(run), run);
        expectExchanged(layout, *near, shape, warps);
      }
}

TEST(Exchanges, NeedRegistersToExchange) {
  EXPECT_FALSE(gathered(accumulator({16, 16}, 1), {16, 16}, 8));            // 16 columns in 4 lanes
  EXPECT_FALSE(gathered(blocked({4, 1024}, 4, {4, kLanes}), {4, 1024}, 4)); // nothing to do
  auto a = Distribution::of(accumulator({64, 64}, 4), {64, 64});
  auto b = Distribution::of(blocked({64, 64}, 8, {4, kLanes}), {64, 64});
  EXPECT_FALSE(exchanges(*a, *b)); // between warps
}

TEST(Distribution, CollapsedTilesAreWhereTheirElementsWere) {
  for (const Shape &shape : kShapes)
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      Layout layout = blocked(shape, 4, {4, kLanes});
      Shape small = shape;
      small[axis] = 1;
      auto collapsedLayout = collapsed(layout, shape, int64_t(axis));
      ASSERT_TRUE(collapsedLayout);
      expectFull(*collapsedLayout, small, 4);
      auto large = Distribution::of(layout, shape),
           tile = Distribution::of(*collapsedLayout, small);
      for (int64_t reg = 0; reg < large->registers(); ++reg) {
        Shape at = large->element(reg);
        at[axis] = 0;
        ASSERT_GE(tile->registerOf(at), 0);
        Shape place = large->at(3, 17, reg);
        place[axis] = 0;
        EXPECT_EQ(tile->at(3, 17, tile->registerOf(at)), place);
      }
    }
}

TEST(Distribution, RunsAreNeighbours) {
  EXPECT_EQ(Distribution::of(blocked({4, 1024}, 4, {4, kLanes}), {4, 1024})->run(4), 4);
  EXPECT_EQ(Distribution::of(blocked({4, 1024}, 4, {4, kLanes}), {4, 1024})->run(2), 2);
  EXPECT_EQ(Distribution::of(blocked({3, 10}, 8, {4, kLanes}), {3, 10})->run(8), 2);
  EXPECT_EQ(Distribution::of(accumulator({64, 64}, 4), {64, 64})->run(8), 2);
  EXPECT_EQ(Distribution::of(blocked({1, 97}, 4, {1, kLanes}), {1, 97})->run(4), 1);
}

TEST(SharedRows, EightRowsOfAChunkMeetAllBanks) {
  for (int64_t width : {16, 32, 64, 128, 256}) {
    Shape shape{64, width};
    Layout memory = sharedRows(shape, 2);
    EXPECT_TRUE(memory.isBijective());
    for (int64_t chunk = 0; chunk < width / 8; ++chunk)
      for (int64_t row = 0; row < 64; row += 8) {
        std::set<int64_t> banks; // groups of 16 bytes
        for (int64_t n = 0; n < 8; ++n)
          banks.insert(memory.place((row + n) * width + chunk * 8)[Axis::m] / 8 % 8);
        EXPECT_EQ(banks.size(), 8u) << width << " columns, chunk " << chunk;
      }
  }
}

/// Where TMA puts an element of a box, and where wgmma looks for it: rows of 128 bytes
/// one behind the other, chunks of 16 bytes permuted by the row's number modulo 8.
TEST(SharedPanels, AreTheBoxesOfTma) {
  for (int64_t bytes : {1, 2, 4})
    for (int64_t rows : {64, 128}) {
      int64_t width = kPanelBytes / bytes;
      Shape shape{rows, 3 * width};
      Layout memory = sharedPanels(shape, bytes);
      EXPECT_TRUE(memory.isBijective());
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < shape[1]; ++column) {
          int64_t within = column % width * bytes, chunk = within / 16 ^ row % 8;
          int64_t expected =
              column / width * rows * kPanelBytes + row * kPanelBytes + chunk * 16 + within % 16;
          ASSERT_EQ(memory.place(row * shape[1] + column)[Axis::m] * bytes, expected);
        }
    }
}

TEST(SharedBetween, IsBijectiveAndBetterThanRows) {
  Shape shape{64, 64};
  auto from = Distribution::of(accumulator(shape, 4), shape);
  auto to = Distribution::of(blocked(shape, 8, {4, kLanes}), shape);
  Layout memory = sharedBetween(*from, 2, *to, 8, 2, kLanes);
  EXPECT_TRUE(memory.isBijective());
  EXPECT_TRUE(memory.swizzle(Axis::m));
}

TEST(Chips, CodeRunsOnTheDeviceItIsChosenFor) {
  EXPECT_EQ(chipFor(9, 0)->name, "sm_90a");
  EXPECT_EQ(chipFor(8, 9)->name, "sm_89");
  EXPECT_EQ(chipFor(8, 6)->name, "sm_80");
  EXPECT_EQ(chipFor(10, 0)->name, "sm_89");
  EXPECT_EQ(chipFor(7, 5), nullptr);
}

} // namespace
} // namespace ditron::nvidia
