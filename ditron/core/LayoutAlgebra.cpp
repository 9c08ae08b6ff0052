// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/core/Layout.h"
#include "ditron/core/LayoutDetail.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

namespace ditron::core {

using namespace detail;

namespace {

int64_t product(const Shape &shape) {
  int64_t size = 1;
  for (int64_t extent : shape)
    if (extent < 1 || __builtin_mul_overflow(size, extent, &size))
      throw InternalError(fmt::format("layout: {} is no shape of a tile", fmt::join(shape, "x")));
  return size;
}

void expectSize(const Layout &layout, const Shape &shape) {
  if (product(shape) != layout.size())
    throw InternalError(fmt::format("layout {} has {} elements, expected {} of shape {}",
                                    layout.print(), layout.size(), product(shape),
                                    fmt::join(shape, "x")));
}

/// b - a, if it is at least 0 everywhere and positive on one axis at most: an iter's step.
std::optional<Iter> step(const Coordinates &a, const Coordinates &b) {
  Iter iter{1, 0, Axis::m};
  for (Axis axis : kAxes) {
    int64_t difference = b[axis] - a[axis];
    if (difference < 0 || (difference > 0 && iter.stride > 0))
      return std::nullopt;
    if (difference > 0)
      iter = {1, difference, axis};
  }
  return iter;
}

Coordinates advanced(Coordinates from, const Iter &iter, int64_t digits) {
  from[iter.axis] += digits * iter.stride;
  return from;
}

/// The layout of a function of an index: its value at 0 becomes the offset.
std::optional<Layout> layoutOf(int64_t size, const std::function<Coordinates(int64_t)> &f,
                               const Iters &replication, const Coordinates &offset,
                               const std::vector<Swizzle> &swizzles) {
  auto iters = recognise(size, f);
  if (!iters)
    return std::nullopt;
  return Layout(std::move(*iters), replication, offset + f(0), swizzles);
}

/// Layouts map swizzled indices too: the swizzle S' of a coordinate with map(S(x)) == S'(map(x)),
/// if there is one. S acts on the digit x / `inner` % `extent` of the index.
std::optional<Swizzle> pushed(const Layout &map, int64_t inner, int64_t extent, Swizzle swizzle) {
  // Bits of the digit that are always 0 need no place.
  int live = std::bit_width(uint64_t(extent - 1)) - swizzle.base - swizzle.shift;
  swizzle.bits = std::min(swizzle.bits, live);
  Coordinates zero = map.place(0);
  auto low = step(zero, map.place(inner << swizzle.base));
  auto high = step(zero, map.place(inner << (swizzle.base + swizzle.shift)));
  if (!low || !high || low->axis != high->axis || !std::has_single_bit(uint64_t(low->stride)) ||
      !std::has_single_bit(uint64_t(high->stride)))
    return std::nullopt;
  int base = std::countr_zero(uint64_t(low->stride));
  Swizzle result{swizzle.bits, base, std::countr_zero(uint64_t(high->stride)) - base, low->axis};
  if (result.shift < result.bits)
    return std::nullopt;
  for (int64_t x = 0; x < map.size(); ++x) {
    int64_t digit = x / inner % extent, other = swizzle(digit);
    if (other >= extent)
      return std::nullopt;
    Coordinates place = map.place(x);
    place[result.axis] = result(place[result.axis]);
    if (place != map.place(x + (other - digit) * inner))
      return std::nullopt;
  }
  return result;
}

} // namespace

//===-- Functions as layouts ------------------------------------------------------------------===//

// The last iter's extent is where the function stops being linear; dividing it out leaves the
// function of the rest. A last look at every index tells a layout from what only begins like one.
std::optional<Iters> recognise(int64_t size, const std::function<Coordinates(int64_t)> &f) {
  Iters iters;
  const Coordinates zero = f(0);
  for (int64_t unit = 1, rest = size; rest > 1;) {
    auto iter = step(zero, f(unit));
    if (!iter)
      return std::nullopt;
    iter->extent = 2;
    while (iter->extent < rest && f(iter->extent * unit) == advanced(zero, *iter, iter->extent))
      ++iter->extent;
    if (rest % iter->extent != 0)
      return std::nullopt;
    unit *= iter->extent;
    rest /= iter->extent;
    iters.insert(iters.begin(), *iter);
  }
  for (int64_t index = 0; index < size; ++index)
    if (f(index) != zero + sum(iters, index))
      return std::nullopt;
  return iters;
}

//===-- Shapes --------------------------------------------------------------------------------===//

// Canonical iters split in one way at the borders of the dimensions, or not at all.
std::optional<std::vector<Iters>> group(const Layout &layout, const Shape &shape) {
  expectSize(layout, shape);
  Iters rest = merged(layout.iters());
  std::reverse(rest.begin(), rest.end()); // the outermost is taken from the back
  std::vector<Iters> groups;
  for (int64_t extent : shape) {
    Iters &dimension = groups.emplace_back();
    while (extent > 1) {
      Iter iter = rest.back();
      rest.pop_back();
      if (extent % iter.extent == 0) {
        extent /= iter.extent;
        dimension.push_back(iter);
      } else if (iter.extent % extent == 0) {
        int64_t inner = iter.extent / extent;
        dimension.push_back({extent, iter.stride * inner, iter.axis});
        rest.push_back({inner, iter.stride, iter.axis});
        extent = 1;
      } else {
        return std::nullopt;
      }
    }
  }
  return groups;
}

namespace {

/// The swizzles of a tiling; `scale` is the span of the inner layout on each axis.
std::optional<std::vector<Swizzle>> tiledSwizzles(const Layout &outer, const Layout &inner,
                                                  const Layout &scaled) {
  const Layout canonicalOuter = outer.canonical(), canonicalInner = inner.canonical();
  std::vector<Swizzle> swizzles;
  for (const Swizzle &swizzle : canonicalInner.swizzles()) {
    // Every tile must meet the swizzle at the same phase.
    int64_t period = swizzle.period();
    bool aligned = scaled.offset()[swizzle.axis] % period == 0;
    for (const Iters *iters : {&scaled.iters(), &scaled.replication()})
      for (const Iter &iter : onAxis(*iters, swizzle.axis))
        aligned &= iter.stride % period == 0;
    if (!aligned || canonicalOuter.swizzle(swizzle.axis))
      return std::nullopt;
    swizzles.push_back(swizzle);
  }
  for (Swizzle swizzle : canonicalOuter.swizzles()) {
    // The outer coordinate must be a field of bits above the inner one.
    int64_t span = inner.span(swizzle.axis);
    if (!std::has_single_bit(uint64_t(span)) || inner.offset()[swizzle.axis] != 0)
      return std::nullopt;
    swizzle.base += std::countr_zero(uint64_t(span));
    swizzles.push_back(swizzle);
  }
  return swizzles;
}

} // namespace

std::optional<Layout> tile(const Layout &outer, const Shape &outerShape, const Layout &inner,
                           const Shape &innerShape) {
  if (outerShape.size() != innerShape.size())
    throw InternalError(fmt::format("layout: tiles of {} dimensions in a grid of {}",
                                    innerShape.size(), outerShape.size()));
  auto outerGroups = group(outer, outerShape), innerGroups = group(inner, innerShape);
  if (!outerGroups || !innerGroups)
    return std::nullopt;
  auto scale = [&](Iters iters) {
    for (Iter &iter : iters)
      iter.stride *= inner.span(iter.axis);
    return iters;
  };
  Iters iters;
  for (size_t i = 0; i < outerShape.size(); ++i) {
    for (const Iter &iter : scale((*outerGroups)[i]))
      iters.push_back(iter);
    iters.insert(iters.end(), (*innerGroups)[i].begin(), (*innerGroups)[i].end());
  }
  Coordinates offset = outer.offset();
  for (Axis axis : kAxes)
    offset[axis] *= inner.span(axis);
  Layout scaled(scale(outer.iters()), scale(outer.replication()), offset);
  auto swizzles = tiledSwizzles(outer, inner, scaled);
  if (!swizzles)
    return std::nullopt;
  Iters replication = scaled.replication();
  replication.insert(replication.end(), inner.replication().begin(), inner.replication().end());
  return Layout(merged(iters), std::move(replication), offset + inner.offset(),
                std::move(*swizzles));
}

std::optional<Layout> slice(const Layout &layout, const Shape &shape, const Shape &offsets,
                            const Shape &sizes) {
  expectSize(layout, shape);
  bool inside = offsets.size() == shape.size() && sizes.size() == shape.size();
  for (size_t i = 0; inside && i < shape.size(); ++i)
    inside = offsets[i] >= 0 && sizes[i] >= 1 && offsets[i] <= shape[i] - sizes[i];
  if (!inside)
    throw InternalError(fmt::format("layout: slice of {} at {} lies outside of a tile of {}",
                                    fmt::join(sizes, "x"), fmt::join(offsets, ","),
                                    fmt::join(shape, "x")));
  auto groups = group(layout, shape);
  if (!groups) { // no dimension stands by itself: look at the whole box
    auto f = [&](int64_t index) {
      int64_t whole = 0, unit = 1;
      for (size_t i = shape.size(); i-- > 0; index /= sizes[i], unit *= shape[i])
        whole += (offsets[i] + index % sizes[i]) * unit;
      return sum(layout.iters(), whole);
    };
    return layoutOf(product(sizes), f, layout.replication(), layout.offset(), layout.swizzles());
  }
  Iters iters;
  Coordinates offset = layout.offset();
  for (size_t i = 0; i < shape.size(); ++i) {
    auto f = [&](int64_t index) { return sum((*groups)[i], offsets[i] + index); };
    auto part = recognise(sizes[i], f);
    if (!part)
      return std::nullopt;
    iters.insert(iters.end(), part->begin(), part->end());
    offset = offset + f(0);
  }
  return Layout(merged(iters), layout.replication(), offset, layout.swizzles());
}

std::optional<Layout> transpose(const Layout &layout, const Shape &shape,
                                std::span<const int> permutation) {
  auto groups = group(layout, shape);
  std::vector<int> dimensions(shape.size());
  std::iota(dimensions.begin(), dimensions.end(), 0);
  if (!std::is_permutation(permutation.begin(), permutation.end(), dimensions.begin(),
                           dimensions.end()))
    throw InternalError(fmt::format("layout: {} is no permutation of {} dimensions",
                                    fmt::join(permutation, ","), shape.size()));
  if (!groups)
    return std::nullopt;
  Iters iters;
  for (int dimension : permutation)
    iters.insert(iters.end(), (*groups)[dimension].begin(), (*groups)[dimension].end());
  return Layout(merged(iters), layout.replication(), layout.offset(), layout.swizzles());
}

//===-- Composition and inverse ---------------------------------------------------------------===//

std::optional<Layout> compose(const Layout &outer, const Layout &inner) {
  for (Axis axis : kAxes)
    if (axis != Axis::m && inner.uses(axis))
      throw InternalError(fmt::format("layout {} composed as indices: uses axis {}, expected m",
                                      inner.print(), name(axis)));
  if (inner.replicas() != 1)
    throw InternalError(fmt::format("layout {} composed as indices: is replicated", inner.print()));
  auto f = [&](int64_t index) {
    int64_t element = inner.place(index)[Axis::m];
    if (element >= outer.size())
      throw InternalError(fmt::format("layout {} composed as indices names element {} of {}",
                                      inner.print(), element, outer.size()));
    return sum(outer.iters(), element);
  };
  if (auto layout =
          layoutOf(inner.size(), f, outer.replication(), outer.offset(), outer.swizzles()))
    return layout;
  // Where the inner swizzle is not absorbed by the iters, it may pass through them.
  auto swizzle = inner.canonical().swizzle(Axis::m);
  if (!swizzle)
    return std::nullopt;
  Layout plain(inner.iters(), {}, inner.offset());
  if (plain.limit(Axis::m) > outer.size())
    return std::nullopt;
  auto through = pushed(Layout(outer.iters()), 1, outer.size(), *swizzle);
  if (!through || outer.swizzle(through->axis) || outer.offset()[through->axis] != 0 ||
      !onAxis(outer.replication(), through->axis).empty())
    return std::nullopt;
  auto result = compose(outer, plain);
  return result ? std::optional(result->swizzled(*through)) : std::nullopt;
}

std::optional<Layout> inverse(const Layout &layout, std::span<const Axis> axes) {
  if (!layout.isInjective() || !layout.isSurjective())
    return std::nullopt;
  for (Axis axis : kAxes) {
    auto times = std::count(axes.begin(), axes.end(), axis);
    if (times > 1)
      throw InternalError(fmt::format("layout: axis {} is named twice", name(axis)));
    if (times == 0 && layout.span(axis) > 1)
      return std::nullopt;
  }
  // Elements and replicas fill the box once: on each axis the strides are those of a mixed radix.
  Iters all = layout.replication(); // becomes (extent, stride on the axis, axis) with their weights
  std::vector<int64_t> weights(all.size(), 0);
  int64_t weight = 1;
  for (auto iter = layout.iters().rbegin(); iter != layout.iters().rend(); ++iter) {
    all.push_back(*iter);
    weights.push_back(weight);
    weight *= iter->extent;
  }
  Iters iters;
  for (Axis axis : axes) {
    std::vector<size_t> order;
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].axis == axis && all[i].extent > 1)
        order.push_back(i);
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return all[a].stride > all[b].stride; });
    for (size_t i : order)
      iters.push_back({all[i].extent, weights[i], Axis::m});
  }
  Layout result(merged(iters));
  const Layout plain = result, canonical = layout.canonical();
  for (const Swizzle &swizzle : canonical.swizzles()) {
    int64_t inner = 1;
    for (auto axis = axes.rbegin(); axis != axes.rend() && *axis != swizzle.axis; ++axis)
      inner *= layout.span(*axis);
    if (layout.offset()[swizzle.axis] != 0 || result.swizzle(Axis::m))
      return std::nullopt;
    auto through = pushed(plain, inner, layout.span(swizzle.axis), swizzle);
    if (!through)
      return std::nullopt;
    result = result.swizzled(*through);
  }
  return result;
}

} // namespace ditron::core
