// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layouts that the NVIDIA backend chooses: every thread holds what it should, rows of shared
// memory meet all banks.
#include "ditron/target/nvidia/Distribution.h"
#include "ditron/target/nvidia/Chip.h"
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
        expectFull(blocked(shape, vector, warps), shape, warps);
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

TEST(Distribution, CollapsedTilesAreWhereTheirElementsWere) {
  for (const Shape &shape : kShapes)
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      Layout layout = blocked(shape, 4, 4);
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
  EXPECT_EQ(Distribution::of(blocked({4, 1024}, 4, 4), {4, 1024})->run(4), 4);
  EXPECT_EQ(Distribution::of(blocked({4, 1024}, 4, 4), {4, 1024})->run(2), 2);
  EXPECT_EQ(Distribution::of(blocked({3, 10}, 8, 4), {3, 10})->run(8), 2);
  EXPECT_EQ(Distribution::of(accumulator({64, 64}, 4), {64, 64})->run(8), 2);
  EXPECT_EQ(Distribution::of(blocked({1, 97}, 4, 1), {1, 97})->run(4), 1);
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

TEST(SharedBetween, IsBijectiveAndBetterThanRows) {
  Shape shape{64, 64};
  auto from = Distribution::of(accumulator(shape, 4), shape);
  auto to = Distribution::of(blocked(shape, 8, 4), shape);
  Layout memory = sharedBetween(*from, 2, *to, 8, 2);
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
