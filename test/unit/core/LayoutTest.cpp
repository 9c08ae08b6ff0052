// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The oracle evaluates the definition: digits by division, all replicas, all coordinates of a tile.
// Random layouts mix extents of primes and powers of two, gaps, overlaps, offsets, replicas,
// swizzles.
#include "ditron/core/Layout.h"
#include "RandomLayout.h"
#include "ditron/support/Error.h"
#include <gtest/gtest.h>

using namespace ditron;
using namespace ditron::core;
using namespace ditron::core::testing;

namespace {

constexpr int kTrials = 3000;

Layout parsed(std::string_view text) {
  std::string error;
  auto layout = Layout::parse(text, error);
  EXPECT_TRUE(layout) << text << ": " << error;
  return layout.value_or(Layout());
}

/// Coordinates of a row-major index in a shape, and back.
Shape unflatten(int64_t index, const Shape &shape) {
  Shape result(shape.size());
  for (size_t i = shape.size(); i-- > 0; index /= shape[i])
    result[i] = index % shape[i];
  return result;
}
int64_t flatten(const Shape &at, const Shape &shape) {
  int64_t index = 0;
  for (size_t i = 0; i < shape.size(); ++i)
    index = index * shape[i] + at[i];
  return index;
}
int64_t product(const Shape &shape) {
  int64_t size = 1;
  for (int64_t extent : shape)
    size *= extent;
  return size;
}

TEST(Layout, PlacesAreTheDefinition) {
  Random random(1);
  for (int trial = 0; trial < kTrials; ++trial) {
    Layout layout = random.layout();
    int64_t size = 1;
    for (const Iter &iter : layout.iters())
      size *= iter.extent;
    ASSERT_EQ(layout.size(), size);
    for (int64_t x = 0; x < size; ++x) {
      std::set<Place> places;
      for (int64_t r = 0; r < layout.replicas(); ++r)
        places.insert(layout.place(x, r).at);
      ASSERT_EQ(places, placesOf(layout, x)) << layout.print();
      ASSERT_EQ(int64_t(places.size()), layout.replicas()) << layout.print();
    }
  }
}

TEST(Layout, CanonicalPreservesTheMapAndIsUnique) {
  Random random(2);
  for (int trial = 0; trial < kTrials; ++trial) {
    Layout layout = random.layout(), canonical = layout.canonical();
    ASSERT_EQ(mapOf(layout), mapOf(canonical)) << layout.print() << canonical.print();
    ASSERT_EQ(canonical.canonical(), canonical);
    ASSERT_TRUE(layout.isEquivalent(canonical));
    // Splitting iters and adding trivial ones changes the description only.
    Iters split;
    for (const Iter &iter : layout.iters()) {
      for (int64_t f : {2, 3, 5})
        if (iter.extent % f == 0) {
          split.push_back({f, iter.stride * (iter.extent / f), iter.axis});
          split.push_back({iter.extent / f, iter.stride, iter.axis});
          goto next;
        }
      split.push_back(iter);
    next:
      split.push_back({1, int64_t(random.below(9)), random.axis()});
    }
    Layout other(split, layout.replication(), layout.offset(), layout.swizzles());
    ASSERT_EQ(other.canonical(), canonical) << layout.print();
  }
}

TEST(Layout, EquivalenceAgreesWithEnumeration) {
  Random random(3);
  int equal = 0;
  for (int trial = 0; trial < 200'000; ++trial) { // tiny layouts, so that many agree
    Layout a = random.tiny(), b = random.tiny();
    bool same = mapOf(a) == mapOf(b);
    equal += same;
    ASSERT_EQ(a.isEquivalent(b), same) << a.print() << b.print();
    if (a.swizzles().empty() && b.swizzles().empty() && a.replicas() == 1 && b.replicas() == 1) {
      ASSERT_EQ(a.canonical() == b.canonical(), same) << a.print() << b.print();
    }
  }
  EXPECT_GT(equal, 1000);
}

TEST(Layout, QuestionsAgreeWithEnumeration) {
  Random random(4);
  int injective = 0, surjective = 0;
  for (int trial = 0; trial < 4 * kTrials; ++trial) {
    Layout layout = trial % 2 ? random.layout() : random.tiny();
    std::map<Place, std::set<int64_t>> elements;
    for (int64_t x = 0; x < layout.size(); ++x)
      for (const Place &place : placesOf(layout, x))
        elements[place].insert(x);
    bool single = true, inBox = true;
    int64_t box = 1;
    for (Axis axis : kAxes)
      box *= layout.span(axis);
    for (const auto &[place, held] : elements) {
      single &= held.size() == 1;
      for (Axis axis : kAxes) {
        int64_t at = place[int(axis)], first = layout.offset()[axis];
        inBox &= at >= first && at < first + layout.span(axis);
        ASSERT_LT(at, layout.limit(axis)) << layout.print();
      }
      auto found = layout.elementAt(Coordinates{place});
      ASSERT_TRUE(found && held.count(*found)) << layout.print();
    }
    bool onto = inBox && int64_t(elements.size()) == box;
    ASSERT_EQ(layout.isInjective(), single) << layout.print();
    ASSERT_EQ(layout.isSurjective(), onto) << layout.print();
    ASSERT_EQ(layout.isBijective(), single && onto && layout.replicas() == 1) << layout.print();
    injective += single;
    surjective += onto;
    for (int probe = 0; probe < 20; ++probe) {
      Coordinates place;
      for (Axis axis : kAxes)
        place[axis] = random.below(layout.limit(axis) + 2);
      ASSERT_EQ(layout.elementAt(place).has_value(), elements.count(place.at) > 0);
    }
  }
  EXPECT_GT(injective, kTrials / 4);
  EXPECT_GT(surjective, kTrials / 8);
}

/// Whether the map along dimension d is a sum over the dimensions, each of them a layout: what
/// `group` promises to find.
TEST(Layout, GroupFindsTheDimensionsIfThereAreAny) {
  Random random(5);
  int found = 0, absent = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    Layout layout = Layout(random.layout().iters());
    Shape shape = random.factors(layout.size());
    auto groups = group(layout, shape);
    auto at = [&](size_t d, int64_t i) {
      Shape coordinates(shape.size());
      coordinates[d] = i;
      return layout.place(flatten(coordinates, shape));
    };
    bool separable = true;
    for (size_t d = 0; d < shape.size(); ++d)
      separable &= recognise(shape[d], [&](int64_t i) { return at(d, i); }).has_value();
    for (int64_t x = 0; x < layout.size() && separable; ++x) {
      Coordinates sum;
      for (size_t d = 0; d < shape.size(); ++d)
        sum = sum + at(d, unflatten(x, shape)[d]);
      separable &= sum == layout.place(x);
    }
    ASSERT_EQ(groups.has_value(), separable) << layout.print();
    (groups ? found : absent) += 1;
    if (!groups)
      continue;
    Iters all;
    for (size_t d = 0; d < shape.size(); ++d) {
      Layout part((*groups)[d]);
      ASSERT_EQ(part.size(), shape[d]);
      for (int64_t i = 0; i < shape[d]; ++i)
        ASSERT_EQ(part.place(i), at(d, i)) << layout.print();
      all.insert(all.end(), part.iters().begin(), part.iters().end());
    }
    ASSERT_EQ(Layout(all).canonical(), layout.canonical());
  }
  EXPECT_GT(found, kTrials / 10);
  EXPECT_GT(absent, kTrials / 10);
}

TEST(Layout, TileIsAnOuterLayoutOfInnerOnes) {
  Random random(6);
  int swizzled = 0, done = 0;
  for (int trial = 0; trial < 4 * kTrials; ++trial) {
    Layout outer = random.tiny(), inner = trial % 2 ? random.tiny() : random.aligned();
    Shape grid = random.factors(outer.size(), 2), shape = random.factors(inner.size(), 2);
    auto tiled = tile(outer, grid, inner, shape);
    if (!tiled)
      continue;
    ++done;
    swizzled += !inner.canonical().swizzles().empty() && outer.size() > 1;
    Shape whole = {grid[0] * shape[0], grid[1] * shape[1]};
    ASSERT_EQ(tiled->size(), product(whole));
    for (int64_t x = 0; x < tiled->size(); ++x) {
      Shape at = unflatten(x, whole);
      int64_t big = flatten({at[0] / shape[0], at[1] / shape[1]}, grid);
      int64_t small = flatten({at[0] % shape[0], at[1] % shape[1]}, shape);
      std::set<Place> expected;
      for (Place o : placesOf(outer, big))
        for (Place i : placesOf(inner, small)) {
          for (Axis axis : kAxes)
            i[int(axis)] += o[int(axis)] * inner.span(axis);
          expected.insert(i);
        }
      ASSERT_EQ(placesOf(*tiled, x), expected) << outer.print() << inner.print();
    }
  }
  EXPECT_GT(done, kTrials);
  EXPECT_GT(swizzled, 20);
}

TEST(Layout, SliceIsThePartOfTheMap) {
  Random random(7);
  int done = 0, absent = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    Layout layout = random.layout();
    Shape shape = random.factors(layout.size()), offsets, sizes;
    for (int64_t extent : shape) {
      sizes.push_back(1 + random.below(extent));
      offsets.push_back(random.below(extent - sizes.back() + 1));
    }
    auto part = slice(layout, shape, offsets, sizes);
    auto whole = [&](int64_t x) {
      Shape at = unflatten(x, sizes);
      for (size_t d = 0; d < at.size(); ++d)
        at[d] += offsets[d];
      return flatten(at, shape);
    };
    if (!part) { // then no iters describe it
      Layout plain(layout.iters());
      ASSERT_FALSE(recognise(product(sizes), [&](int64_t x) { return plain.place(whole(x)); }));
      ++absent;
      continue;
    }
    ++done;
    ASSERT_EQ(part->size(), product(sizes));
    for (int64_t x = 0; x < part->size(); ++x)
      ASSERT_EQ(placesOf(*part, x), placesOf(layout, whole(x))) << layout.print();
  }
  EXPECT_GT(done, kTrials / 4);
  EXPECT_GT(absent, kTrials / 20);
}

TEST(Layout, TransposePermutesDimensions) {
  Random random(8);
  for (int trial = 0; trial < kTrials; ++trial) {
    Layout layout = random.layout();
    Shape shape = random.factors(layout.size(), 3);
    std::vector<int> order = random.permutation(3);
    auto turned = transpose(layout, shape, order);
    if (!turned)
      continue;
    Shape to = {shape[order[0]], shape[order[1]], shape[order[2]]};
    for (int64_t x = 0; x < layout.size(); ++x) {
      Shape at = unflatten(x, shape);
      ASSERT_EQ(placesOf(*turned, flatten({at[order[0]], at[order[1]], at[order[2]]}, to)),
                placesOf(layout, x));
    }
  }
}

TEST(Layout, ComposeFollowsBothMaps) {
  Random random(9);
  int done = 0, through = 0;
  for (int trial = 0; trial < 4 * kTrials; ++trial) {
    Layout outer = trial % 2 ? random.layout() : random.aligned();
    Layout inner = random.indices(outer.size());
    auto composed = compose(outer, inner);
    if (!composed)
      continue;
    ++done;
    through += !inner.canonical().swizzles().empty() && !composed->swizzles().empty();
    ASSERT_EQ(composed->size(), inner.size());
    for (int64_t x = 0; x < inner.size(); ++x)
      ASSERT_EQ(placesOf(*composed, x), placesOf(outer, inner.place(x)[Axis::m]))
          << outer.print() << inner.print();
  }
  EXPECT_GT(done, kTrials);
  EXPECT_GT(through, 20);
}

TEST(Layout, InverseLeadsFromEveryPlaceToItsElement) {
  Random random(10);
  int done = 0, replicated = 0, swizzled = 0;
  for (int trial = 0; trial < 6 * kTrials; ++trial) {
    Layout layout = trial % 3 == 0 ? random.layout() : random.aligned();
    std::vector<Axis> axes;
    for (int i : random.permutation(kAxisCount))
      if (layout.span(kAxes[i]) > 1 || random.below(2))
        axes.push_back(kAxes[i]);
    auto back = inverse(layout, axes);
    bool one = layout.isInjective() && layout.isSurjective();
    if (layout.canonical().swizzles().empty()) {
      ASSERT_EQ(back.has_value(), one) << layout.print();
    }
    if (!back)
      continue;
    ++done;
    replicated += layout.replicas() > 1;
    swizzled += !layout.canonical().swizzles().empty();
    Shape box;
    for (Axis axis : axes)
      box.push_back(layout.span(axis));
    ASSERT_EQ(back->size(), product(box));
    for (int64_t p = 0; p < back->size(); ++p) {
      Coordinates place = layout.offset();
      Shape at = unflatten(p, box);
      for (size_t i = 0; i < axes.size(); ++i)
        place[axes[i]] += at[i];
      int64_t element = back->place(p)[Axis::m];
      ASSERT_TRUE(placesOf(layout, element).count(place.at)) << layout.print() << back->print();
    }
  }
  EXPECT_GT(done, kTrials);
  EXPECT_GT(replicated, 50);
  EXPECT_GT(swizzled, 50);
}

TEST(Layout, RecogniseFindsEveryLayoutAndNothingElse) {
  Random random(11);
  for (int trial = 0; trial < kTrials; ++trial) {
    Layout layout(random.layout().iters());
    auto place = [&](int64_t x) { return layout.place(x); };
    auto iters = recognise(layout.size(), place);
    ASSERT_TRUE(iters);
    ASSERT_EQ(*iters, layout.canonical().iters());
    if (layout.size() < 3)
      continue;
    int64_t wrong = random.below(layout.size());
    auto broken = recognise(layout.size(), [&](int64_t x) {
      Coordinates result = place(x);
      result[Axis::core] += x == wrong;
      return result;
    });
    if (broken) {
      Layout found(*broken);
      for (int64_t x = 0; x < layout.size(); ++x)
        ASSERT_EQ(found.place(x)[Axis::core],
                  place(x)[Axis::core] + (x == wrong) - (wrong == 0 ? 1 : 0));
    }
  }
}

//===-- Text ----------------------------------------------------------------------------------===//

TEST(Layout, TextRoundTrips) {
  Random random(12);
  for (int trial = 0; trial < kTrials; ++trial) {
    Layout layout = random.layout();
    ASSERT_EQ(parsed(layout.print()), layout) << layout.print();
  }
  EXPECT_EQ(Layout().print(), "()");
  EXPECT_EQ(parsed("()"), Layout());
  std::string_view all =
      "(8 : 4@lane, 2 : 1@reg | replicate 2 : 16@warp | offset 3@m | swizzle<3,3,3>@m)";
  EXPECT_EQ(parsed(all).print(), all);
  EXPECT_EQ(parsed("(| swizzle<1,2,3>@m|offset 1@core,2@m)").print(),
            "(| offset 1@core, 2@m | swizzle<1,2,3>@m)");
}

TEST(Layout, TextErrorsSayWhatWasExpectedWhere) {
  auto error = [](std::string_view text) {
    std::string message;
    EXPECT_FALSE(Layout::parse(text, message)) << text;
    return message;
  };
  EXPECT_EQ(error("8 : 1@m"), "expected '(' at character 0, found '8 : 1@m'");
  EXPECT_EQ(error("(8 1@m)"), "expected ':' at character 3, found '1@m)'");
  EXPECT_EQ(error("(8 : 1@register)"), "expected an axis (node, local, core, warp, lane, reg, m) "
                                       "at character 7, found 'register)'");
  EXPECT_EQ(error("(8 : 1@m"), "expected ')' at character 8, found the end");
  EXPECT_EQ(error("(8 : 1@m) x"), "expected the end at character 10, found 'x'");
  EXPECT_EQ(error("(8 : 1@m, )"), "expected an integer at character 10, found ')'");
  EXPECT_EQ(error("(| offset 1@m | offset 1@lane)"),
            "expected no second section 'offset' at character 16, found 'offset 1@lan'");
  EXPECT_EQ(error("(| rotate 1)"),
            "expected replicate, offset or swizzle at character 3, found 'rotate 1)'");
  EXPECT_EQ(error("(0 : 1@m)"), "extent of iter 0 is 0, expected 1 or more");
  EXPECT_EQ(error("(2 : 1@m, 2 : -1@m)"), "stride of iter 1 is -1, expected 0 or more");
  EXPECT_EQ(error("(| replicate 2 : 0@lane)"),
            "stride of replication iter 0 is 0, expected 1 or more");
  EXPECT_EQ(error("(| replicate 3 : 1@lane, 2 : 2@lane)"),
            "replication overlaps itself on lane, expected each stride to pass what smaller "
            "strides reach");
  EXPECT_EQ(error("(| offset -1@m)"), "offset on m is -1, expected 0 or more and below 2^62");
  EXPECT_EQ(error("(| swizzle<3,3,2>@m)"), "swizzle<3,3,2>@m: expected bits and base of 0 or more "
                                           "and a shift of bits or more");
  EXPECT_EQ(error("(4611686018427387904 : 2@m)"), "coordinates on m reach 2^62");
  EXPECT_THROW(Layout({{0, 1, Axis::m}}), InternalError);
}

//===-- The essay -----------------------------------------------------------------------------===//

TEST(Layout, TheExamplesOfTheEssay) {
  EXPECT_EQ(Layout::rowMajor({64, 32}).canonical().print(), "(2048 : 1@m)");
  EXPECT_EQ(Layout::strided({64, 32}, {1, 64}).print(), "(64 : 1@m, 32 : 64@m)");
  EXPECT_EQ(Layout::strided({64, 32}, {40, 1}).print(), "(64 : 40@m, 32 : 1@m)");

  Layout fragment = parsed("(2 : 2@reg, 8 : 4@lane, 4 : 1@lane, 2 : 1@reg)");
  EXPECT_TRUE(fragment.isBijective());
  for (int64_t i = 0; i < 16; ++i)
    for (int64_t j = 0; j < 8; ++j) {
      Coordinates place = fragment.place(8 * i + j);
      EXPECT_EQ(place[Axis::lane], i % 8 * 4 + j / 2);
      EXPECT_EQ(place[Axis::reg], i / 8 * 2 + j % 2);
    }

  // A 48x80 tile over 6 warps.
  Layout registers = Layout::rowMajor({1, 5}, Axis::reg),
         warps = Layout::rowMajor({3, 2}, Axis::warp);
  Layout warp = *tile(registers, {1, 5}, fragment, {16, 8});
  Layout all = *tile(warps, {3, 2}, warp, {16, 40});
  EXPECT_EQ(all.print(), "(3 : 2@warp, 2 : 2@reg, 8 : 4@lane, 2 : 1@warp, 5 : 4@reg, 4 : 1@lane, "
                         "2 : 1@reg)");
  EXPECT_EQ(all.size(), 48 * 80);
  EXPECT_TRUE(all.isBijective());
  EXPECT_EQ(all.span(Axis::warp), 6);
  EXPECT_EQ(all.span(Axis::lane), 32);
  EXPECT_EQ(all.span(Axis::reg), 20);
  EXPECT_EQ(slice(all, {48, 80}, {16, 40}, {16, 40}),
            warp.shifted({{0, 0, 0, 3, 0, 0, 0}}).canonical());
}

TEST(Layout, SwizzlesRepeatAcrossTiles) {
  Layout atom = Layout::rowMajor({8, 64}).swizzled({3, 3, 3, Axis::m});
  auto two = tile(Layout::rowMajor({2, 1}), {2, 1}, atom, {8, 64});
  ASSERT_TRUE(two);
  EXPECT_EQ(two->print(), "(1024 : 1@m | swizzle<3,3,3>@m)");
  // Half an atom does not fill a period: the second tile would be swizzled otherwise.
  Layout half = Layout::rowMajor({4, 64}).swizzled({3, 3, 3, Axis::m});
  EXPECT_FALSE(tile(Layout::rowMajor({2, 1}), {2, 1}, half, {4, 64}));
}

TEST(Layout, WrongUseIsReported) {
  Layout layout = Layout::rowMajor({4, 6});
  EXPECT_THROW(group(layout, {5, 5}), InternalError);
  EXPECT_THROW(slice(layout, {4, 6}, {3, 0}, {2, 6}), InternalError);
  EXPECT_THROW(slice(layout, {4, 6}, {0}, {4}), InternalError);
  EXPECT_THROW(compose(Layout::rowMajor({4}), layout), InternalError);
  EXPECT_THROW(compose(layout, Layout::rowMajor({4}, Axis::lane)), InternalError);
  std::vector<int> twice = {0, 0};
  EXPECT_THROW(transpose(layout, {4, 6}, twice), InternalError);
}

} // namespace
