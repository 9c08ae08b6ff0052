// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random layouts, and the definition of a layout's map to hold results against.
#pragma once
#include "ditron/core/Layout.h"
#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

namespace ditron::core::testing {

using Place = std::array<int64_t, kAxisCount>;

/// The places of an element, written from the definition alone.
inline std::set<Place> placesOf(const Layout &layout, int64_t index) {
  std::set<Place> places = {layout.offset().at};
  auto add = [&](const Iter &iter, int64_t first, int64_t last) {
    std::set<Place> next;
    for (Place place : places)
      for (int64_t digit = first; digit <= last; ++digit) {
        Place moved = place;
        moved[int(iter.axis)] += digit * iter.stride;
        next.insert(moved);
      }
    places = next;
  };
  int64_t later = layout.size();
  for (const Iter &iter : layout.iters()) {
    later /= iter.extent;
    int64_t digit = index / later % iter.extent;
    add(iter, digit, digit);
  }
  for (const Iter &iter : layout.replication())
    add(iter, 0, iter.extent - 1);
  std::set<Place> result;
  for (Place place : places) {
    for (const Swizzle &s : layout.swizzles()) {
      int64_t &at = place[int(s.axis)];
      for (int bit = 0; bit < s.bits; ++bit)
        if (at >> (s.base + s.shift + bit) & 1) // bits that are read are not written: shift >= bits
          at ^= int64_t(1) << (s.base + bit);
    }
    result.insert(place);
  }
  return result;
}

inline std::vector<std::set<Place>> mapOf(const Layout &layout) {
  std::vector<std::set<Place>> result;
  for (int64_t index = 0; index < layout.size(); ++index)
    result.push_back(placesOf(layout, index));
  return result;
}

class Random {
public:
  explicit Random(unsigned seed) : engine_(seed) {}

  int64_t below(int64_t bound) { return int64_t(engine_() % uint64_t(bound)); }
  template <class T> T oneOf(std::initializer_list<T> values) {
    return *(values.begin() + below(int64_t(values.size())));
  }
  Axis axis() { return kAxes[below(kAxisCount)]; }
  std::vector<int> permutation(int count) {
    std::vector<int> result(count);
    std::iota(result.begin(), result.end(), 0);
    std::shuffle(result.begin(), result.end(), engine_);
    return result;
  }

  /// A shape of that many elements, of 1 to 3 dimensions or as many as asked for.
  Shape factors(int64_t size, int dimensions = 0) {
    Shape shape(dimensions ? dimensions : 1 + below(3), 1);
    for (int64_t factor = 2; size > 1; ++factor)
      for (; size % factor == 0; size /= factor)
        shape[below(int64_t(shape.size()))] *= factor;
    return shape;
  }

  /// Any layout of up to some hundred elements: mostly strides of a mixed radix in random order,
  /// some with gaps, overlaps or broadcasts.
  Layout layout() {
    for (;;) {
      Iters iters, replication;
      int64_t size = 1, count = below(5);
      for (int i = 0; i < count && size < 120; ++i) {
        iters.push_back({oneOf<int64_t>({1, 2, 2, 3, 4, 5, 6, 7, 8, 11}), 0, someAxis()});
        size *= iters.back().extent;
      }
      for (int64_t i = below(3); i > 1; --i)
        replication.push_back({oneOf<int64_t>({1, 2, 3, 4}), 0, someAxis()});
      assignStrides(iters, replication);
      if (below(6) == 0 && !iters.empty())
        iters[below(int64_t(iters.size()))].stride = below(5);
      Coordinates offset;
      if (below(3) == 0)
        offset[someAxis()] = below(9);
      std::vector<Swizzle> swizzles;
      if (below(3) == 0)
        swizzles.push_back(anySwizzle());
      if (Layout::check(iters, replication, offset, swizzles).empty())
        return Layout(iters, replication, offset, swizzles);
    }
  }

  /// A layout of a few elements on two axes with small strides.
  Layout tiny() {
    for (;;) {
      Iters iters, replication;
      for (int64_t i = below(4); i > 0; --i)
        iters.push_back({1 + below(3), below(5), oneOf({Axis::lane, Axis::m})});
      for (int64_t i = below(5); i > 3; --i)
        replication.push_back({1 + below(3), 1 + below(4), oneOf({Axis::lane, Axis::m})});
      if (below(8) == 0)
        replication = {{2, 1, Axis::lane}, {2, oneOf<int64_t>({2, 3}), Axis::lane}};
      Coordinates offset;
      if (below(4) == 0)
        offset[Axis::m] = below(3);
      std::vector<Swizzle> swizzles;
      if (below(4) == 0)
        swizzles.push_back({1, int(below(2)), 1 + int(below(2)), Axis::m});
      if (Layout::check(iters, replication, offset, swizzles).empty())
        return Layout(iters, replication, offset, swizzles);
    }
  }

  /// A layout that fills a box, often of powers of two, so that swizzles stay within it.
  Layout aligned() {
    Iters iters, replication;
    int64_t size = 1, count = 1 + below(4);
    bool binary = below(3) != 0;
    for (int i = 0; i < count && size < 128; ++i) {
      int64_t extent = binary ? int64_t(1) << (1 + below(4)) : 2 + below(6);
      iters.push_back({extent, 0, oneOf({Axis::lane, Axis::m, Axis::m})});
      size *= extent;
    }
    if (below(3) == 0)
      replication.push_back({2 + below(2), 0, oneOf({Axis::lane, Axis::warp})});
    gaps_ = false;
    assignStrides(iters, replication);
    gaps_ = true;
    Layout result(iters, replication);
    if (below(2)) {
      int bits = 1 + int(below(2));
      result = result.swizzled({bits, int(below(3)), bits + int(below(2)), Axis::m});
    }
    return result;
  }

  /// A layout on m whose places are elements of a tile of that size.
  Layout indices(int64_t size) {
    for (;;) {
      Iters iters;
      Shape shape = factors(size, 1 + int(below(3)));
      int64_t stride = 1;
      for (int64_t extent : shape) {
        iters.push_back({1 + below(extent), stride, Axis::m});
        if (below(2))
          iters.back().extent = extent;
        stride *= extent;
      }
      std::shuffle(iters.begin(), iters.end(), engine_);
      Layout layout(iters);
      if (int64_t spare = size - layout.span(Axis::m); spare > 0 && below(2)) {
        Coordinates offset;
        offset[Axis::m] = below(spare);
        layout = layout.shifted(offset);
      }
      if (below(2)) {
        int bits = 1 + int(below(2));
        layout = layout.swizzled({bits, int(below(3)), bits + int(below(2)), Axis::m});
      }
      if (layout.limit(Axis::m) <= size)
        return layout;
    }
  }

private:
  Axis someAxis() {
    return oneOf({Axis::warp, Axis::lane, Axis::reg, Axis::m, Axis::m, Axis::local});
  }

  Swizzle anySwizzle() {
    int bits = int(below(4));
    return {bits, int(below(4)), bits + int(below(3)), oneOf({Axis::m, Axis::m, Axis::lane})};
  }

  /// Strides of a mixed radix, the iters in random order on each axis, now and then with a gap.
  void assignStrides(Iters &iters, Iters &replication) {
    std::vector<Iter *> all;
    for (Iters *list : {&iters, &replication})
      for (Iter &iter : *list)
        all.push_back(&iter);
    std::shuffle(all.begin(), all.end(), engine_);
    Coordinates next;
    for (Iter *iter : all) {
      int64_t &stride = next[iter->axis];
      stride = std::max<int64_t>(stride, 1) + (gaps_ && below(8) == 0 ? below(3) : 0);
      iter->stride = stride;
      stride *= iter->extent;
    }
  }

  std::mt19937_64 engine_;
  bool gaps_ = true;
};

} // namespace ditron::core::testing
