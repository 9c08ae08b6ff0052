// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/core/LayoutConversion.h"
#include "RandomLayout.h"
#include "ditron/support/Error.h"
#include <gtest/gtest.h>

using namespace ditron;
using namespace ditron::core;
using namespace ditron::core::testing;

namespace {

Layout parsed(std::string_view text) {
  std::string error;
  auto layout = Layout::parse(text, error);
  EXPECT_TRUE(layout) << text << ": " << error;
  return layout.value_or(Layout());
}

/// The axes that tell places apart for a pair of layouts: memory is one for all threads of a core.
std::vector<Axis> axesOf(const Layout &source, const Layout &target) {
  bool from = source.uses(Axis::m), to = target.uses(Axis::m);
  if (!from && !to)
    return {Axis::node, Axis::local, Axis::core, Axis::warp, Axis::lane, Axis::reg};
  if (from && to)
    return {Axis::node, Axis::local, Axis::core, Axis::m};
  return {Axis::node, Axis::local, Axis::core};
}

/// For every place that wants an element, the nearest replica; of these the farthest.
Reach reachByEnumeration(const Layout &source, const Layout &target) {
  std::map<Axis, Reach> reaches = {{Axis::node, Reach::cluster}, {Axis::local, Reach::node},
                                   {Axis::core, Reach::device},  {Axis::m, Reach::core},
                                   {Axis::warp, Reach::core},    {Axis::lane, Reach::warp},
                                   {Axis::reg, Reach::thread}};
  bool crosses = source.uses(Axis::m) != target.uses(Axis::m);
  Reach farthest = crosses ? Reach::core : Reach::none;
  for (int64_t x = 0; x < target.size(); ++x)
    for (const Place &wanted : placesOf(target, x)) {
      Reach nearest = Reach::cluster;
      for (const Place &found : placesOf(source, x)) {
        Reach distance = Reach::none;
        for (Axis axis : axesOf(source, target))
          if (wanted[int(axis)] != found[int(axis)]) {
            distance = reaches[axis];
            break;
          }
        nearest = std::min(nearest, distance);
      }
      farthest = std::max(farthest, nearest);
    }
  return farthest;
}

/// Two layouts of the same size with something in common, both from few iters of a few axes.
std::pair<Layout, Layout> randomPair(Random &random) {
  static const std::vector<std::vector<Axis>> kPlaces = {{Axis::reg, Axis::lane},
                                                         {Axis::reg, Axis::lane, Axis::warp},
                                                         {Axis::lane, Axis::reg, Axis::local},
                                                         {Axis::m},
                                                         {Axis::m, Axis::local},
                                                         {Axis::m, Axis::core},
                                                         {Axis::reg, Axis::core},
                                                         {Axis::node, Axis::m}};
  for (;;) {
    std::vector<Layout> pair;
    auto axes = kPlaces[random.below(kPlaces.size())];
    Shape extents = random.factors(random.oneOf<int64_t>({4, 6, 8, 12, 24, 36, 60}), 3);
    for (int side = 0; side < 2; ++side) {
      if (side == 1 && random.below(3) == 0)
        axes = kPlaces[random.below(kPlaces.size())];
      if (side == 1 && random.below(3) == 0)
        extents = random.factors(extents[0] * extents[1] * extents[2], 3);
      Iters iters, replication;
      Coordinates next, offset;
      for (int64_t extent : extents)
        iters.push_back({extent, 0, axes[random.below(axes.size())]});
      for (int64_t i = random.below(3); i > 0; --i)
        replication.push_back({2 + random.below(2), 0, axes[random.below(axes.size())]});
      for (int d : random.permutation(3)) {
        int64_t &stride = next[iters[d].axis];
        iters[d].stride = stride = std::max<int64_t>(stride, 1);
        stride *= iters[d].extent;
        if (d == 0)
          for (Iter &iter : replication) {
            int64_t &above = next[iter.axis];
            iter.stride = above = std::max<int64_t>(above, 1);
            above *= iter.extent;
          }
      }
      if (random.below(4) == 0)
        offset[axes[0]] = random.below(3);
      std::vector<Swizzle> swizzles;
      if (random.below(4) == 0)
        swizzles.push_back({1, int(random.below(2)), 1 + int(random.below(2)), axes[0]});
      if (Layout::check(iters, replication, offset, swizzles).empty())
        pair.emplace_back(iters, replication, offset, swizzles);
    }
    if (pair.size() == 2 && pair[1].isInjective())
      return {pair[0], pair[1]};
  }
}

TEST(LayoutConversion, ReachAgreesWithEnumeration) {
  Random random(21);
  std::map<Reach, int> seen;
  for (int trial = 0; trial < 30'000; ++trial) {
    auto [source, target] = randomPair(random);
    Reach reach = Conversion(source, target).reach();
    ASSERT_EQ(reach, reachByEnumeration(source, target)) << source.print() << target.print();
    ++seen[reach];
  }
  EXPECT_EQ(seen.size(), 7u); // every reach was met
}

TEST(LayoutConversion, EveryTargetPlaceHasItsNearestSource) {
  Random random(22);
  int quotients = 0;
  for (int trial = 0; trial < 5'000; ++trial) {
    auto [source, target] = randomPair(random);
    Conversion conversion(source, target);
    for (int64_t x = 0; x < target.size(); ++x)
      for (const Place &wanted : placesOf(target, x)) {
        auto from = conversion.sourceOf(Coordinates{wanted});
        ASSERT_TRUE(from);
        auto replicas = placesOf(source, x);
        ASSERT_TRUE(replicas.count(from->at)) << source.print() << target.print();
        for (Axis axis : kAxes) { // no replica agrees where the chosen one does not
          bool any = std::any_of(replicas.begin(), replicas.end(), [&](const Place &place) {
            return place[int(axis)] == wanted[int(axis)];
          });
          ASSERT_EQ((*from)[axis] == wanted[int(axis)], any) << source.print() << target.print();
        }
      }
    std::vector<Axis> axes;
    Shape box;
    for (Axis axis : kAxes)
      if (target.span(axis) > 1)
        axes.push_back(axis), box.push_back(target.span(axis));
    auto quotient = conversion.quotient(axes);
    quotients += quotient.has_value();
    for (int64_t p = 0; quotient && p < quotient->size(); ++p) {
      Coordinates place = target.offset();
      int64_t rest = p;
      for (size_t i = axes.size(); i-- > 0; rest /= box[i])
        place[axes[i]] += rest % box[i];
      ASSERT_EQ(quotient->place(p), source.place(*target.elementAt(place)))
          << source.print() << target.print();
    }
  }
  EXPECT_GT(quotients, 500);
}

TEST(LayoutConversion, TheExamplesOfTheHeader) {
  auto reach = [](std::string_view from, std::string_view to) {
    return name(Conversion(parsed(from), parsed(to)).reach());
  };
  EXPECT_EQ(reach("(2 : 1@reg, 2 : 2@reg)", "(2 : 2@reg, 2 : 1@reg)"), "thread");
  EXPECT_EQ(reach("(8 : 1@lane | replicate 4 : 1@reg)", "(8 : 1@lane)"), "none");
  EXPECT_EQ(reach("(8 : 4@lane, 4 : 1@lane)", "(8 : 1@lane, 4 : 8@lane)"), "warp");
  EXPECT_EQ(reach("(4 : 1@warp, 32 : 1@lane)", "(128 : 1@reg | replicate 32 : 1@lane)"), "core");
  EXPECT_EQ(reach("(4 : 1@local, 64 : 1@m)", "(256 : 1@m | replicate 4 : 1@local)"), "node");
  EXPECT_EQ(reach("(256 : 1@m | replicate 4 : 1@local)", "(4 : 1@local, 64 : 1@m)"), "core");
  EXPECT_EQ(reach("(64 : 1@m)", "(32 : 1@lane, 2 : 1@reg)"), "core"); // a load
  EXPECT_EQ(reach("(6 : 1@core)", "(2 : 3@core, 3 : 1@core)"), "none");
  EXPECT_EQ(reach("(2 : 1@node, 4 : 1@local)", "(4 : 1@local, 2 : 1@node)"), "cluster");
}

TEST(LayoutConversion, LargeTensorsNeedNoEnumeration) {
  Layout sharded = parsed("(4 : 1@local, 13312 : 16384@m, 16384 : 1@m)");
  Layout columns = parsed("(53248 : 4096@m, 4 : 1@local, 4096 : 1@m)");
  Layout whole = parsed("(872415232 : 1@m | replicate 4 : 1@local)");
  EXPECT_EQ(Conversion(sharded, whole).reach(), Reach::node);
  EXPECT_EQ(Conversion(sharded, columns).reach(), Reach::node);
  EXPECT_EQ(Conversion(whole, columns).reach(), Reach::core);
  EXPECT_EQ(Conversion(sharded, sharded).reach(), Reach::none);
}

TEST(LayoutConversion, WrongUseIsReported) {
  EXPECT_THROW(Conversion(parsed("(4 : 1@m)"), parsed("(5 : 1@m)")), InternalError);
  EXPECT_THROW(Conversion(parsed("(4 : 1@m)"), parsed("(4 : 0@m)")), InternalError);
  EXPECT_FALSE(
      Conversion(parsed("(4 : 1@m)"), parsed("(4 : 2@m)")).sourceOf({{0, 0, 0, 0, 0, 0, 1}}));
}

//===-- Banks ---------------------------------------------------------------------------------===//

/// A 64x64 tile of 2-byte elements read by one warp as 8x8 matrices: lane l takes the 16 bytes at
/// row l % 8 of a matrix, four matrices below each other.
const std::string kRowsByLane = "(2 : 8@reg, 32 : 1@lane, 8 : 16@reg, 8 : 1@reg)";

TEST(Banks, SwizzleSpreadsColumnsOfChunks) {
  Layout registers = parsed(kRowsByLane);
  auto plain = accessCost(parsed("(4096 : 1@m)"), registers, 2, 8);
  auto swizzled = accessCost(parsed("(4096 : 1@m | swizzle<3,3,3>@m)"), registers, 2, 8);
  auto padded = accessCost(parsed("(64 : 72@m, 64 : 1@m)"), registers, 2, 8);
  ASSERT_TRUE(plain && swizzled && padded);
  EXPECT_EQ(plain->accesses, 16);
  EXPECT_EQ(plain->ideal, 64);
  EXPECT_EQ(plain->wavefronts, 8 * 64); // 8 lanes of a group in the same 4 banks
  EXPECT_EQ(swizzled->conflicts(), 0);
  EXPECT_EQ(padded->conflicts(), 0);
}

TEST(Banks, KnownPatterns) {
  Layout lanes = parsed("(32 : 1@lane)");
  EXPECT_EQ(accessCost(parsed("(32 : 1@m)"), lanes, 4, 1)->wavefronts, 1);
  EXPECT_EQ(accessCost(parsed("(32 : 2@m)"), lanes, 4, 1)->wavefronts, 2);
  EXPECT_EQ(accessCost(parsed("(32 : 32@m)"), lanes, 4, 1)->wavefronts, 32);
  EXPECT_EQ(accessCost(parsed("(32 : 33@m)"), lanes, 4, 1)->wavefronts, 1);
  EXPECT_EQ(accessCost(parsed("(32 : 0@m)"), lanes, 4, 1)->wavefronts, 1); // one word for all
  EXPECT_EQ(accessCost(parsed("(32 : 1@m)"), lanes, 2, 1)->wavefronts, 1); // two lanes a word
  EXPECT_EQ(accessCost(parsed("(32 : 1@m)"), lanes, 8, 1)->wavefronts, 2);
  EXPECT_EQ(accessCost(parsed("(32 : 1@m)"), lanes, 4, 1, {16, 4})->wavefronts, 2);
}

TEST(Banks, VectorsMustBeConsecutiveAndAligned) {
  Layout pairs = parsed("(32 : 1@lane, 2 : 1@reg)");
  EXPECT_TRUE(accessCost(parsed("(64 : 1@m)"), pairs, 4, 2));
  EXPECT_FALSE(accessCost(parsed("(32 : 1@m, 2 : 32@m)"), pairs, 4, 2));
  EXPECT_FALSE(accessCost(parsed("(64 : 1@m | offset 1@m)"), pairs, 4, 2));
  EXPECT_FALSE(accessCost(parsed("(64 : 1@m)"), pairs, 4, 4)); // only two registers a lane
  EXPECT_THROW(accessCost(parsed("(32 : 1@m)"), pairs, 4, 1), InternalError);
}

} // namespace
