// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/core/Layout.h"
#include "ditron/core/LayoutDetail.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <tuple>
#include <utility>

namespace ditron::core {
namespace {

constexpr int64_t kLargest = int64_t(1) << 62;
constexpr std::array<std::string_view, kAxisCount> kNames = {"node", "local", "core", "warp",
                                                             "lane", "reg",   "m"};

/// Fault of one list of iters; adds its size and its reach on each axis.
std::string checkIters(std::string_view what, const Iters &iters, int64_t least, int64_t &size,
                       Coordinates &reach) {
  for (size_t i = 0; i < iters.size(); ++i) {
    const Iter &iter = iters[i];
    if (iter.extent < 1)
      return fmt::format("extent of {} {} is {}, expected 1 or more", what, i, iter.extent);
    if (iter.stride < least)
      return fmt::format("stride of {} {} is {}, expected {} or more", what, i, iter.stride, least);
    int64_t length = 0;
    if (__builtin_mul_overflow(size, iter.extent, &size) || size > kLargest)
      return "the layout has more than 2^62 places";
    if (__builtin_mul_overflow(iter.extent - 1, iter.stride, &length) ||
        __builtin_add_overflow(reach[iter.axis], length, &reach[iter.axis]) ||
        reach[iter.axis] >= kLargest)
      return fmt::format("coordinates on {} reach 2^62", name(iter.axis));
  }
  return {};
}

std::string checkSwizzles(const std::vector<Swizzle> &swizzles) {
  std::array<bool, kAxisCount> seen{};
  for (const Swizzle &swizzle : swizzles) {
    auto text = fmt::format("swizzle<{},{},{}>@{}", swizzle.bits, swizzle.base, swizzle.shift,
                            name(swizzle.axis));
    if (std::exchange(seen[static_cast<int>(swizzle.axis)], true))
      return fmt::format("{} is the second swizzle of its axis, expected one at most", text);
    if (swizzle.bits < 0 || swizzle.base < 0 || swizzle.shift < swizzle.bits)
      return fmt::format("{}: expected bits and base of 0 or more and a shift of bits or more",
                         text);
    if (int64_t(swizzle.bits) + swizzle.base + swizzle.shift > 61)
      return fmt::format("{} reaches beyond bit 61", text);
  }
  return {};
}

} // namespace

std::string_view name(Axis axis) { return kNames[static_cast<int>(axis)]; }

std::optional<Axis> parseAxis(std::string_view name) {
  auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end())
    return std::nullopt;
  return static_cast<Axis>(found - kNames.begin());
}

Coordinates operator+(Coordinates a, const Coordinates &b) {
  for (int i = 0; i < kAxisCount; ++i)
    a.at[i] += b.at[i];
  return a;
}

//===-- Iters ---------------------------------------------------------------------------------===//

namespace detail {

Iters onAxis(const Iters &iters, Axis axis) {
  Iters result;
  std::copy_if(iters.begin(), iters.end(), std::back_inserter(result),
               [&](const Iter &iter) { return iter.axis == axis && iter.extent > 1; });
  return result;
}

int64_t sizeOf(const Iters &iters) {
  int64_t size = 1;
  for (const Iter &iter : iters)
    size *= iter.extent;
  return size;
}

Coordinates sum(const Iters &iters, int64_t index) {
  Coordinates result;
  for (auto iter = iters.rbegin(); iter != iters.rend(); ++iter) {
    result[iter->axis] += index % iter->extent * iter->stride;
    index /= iter->extent;
  }
  return result;
}

int64_t reach(const Iters &iters, Axis axis) {
  int64_t result = 0;
  for (const Iter &iter : iters)
    if (iter.axis == axis)
      result += (iter.extent - 1) * iter.stride;
  return result;
}

Iters merged(const Iters &iters) {
  Iters result;
  for (Iter iter : iters) {
    if (iter.extent == 1)
      continue;
    if (iter.stride == 0) // goes nowhere, on any axis
      iter.axis = Axis::m;
    if (!result.empty() && result.back().axis == iter.axis &&
        result.back().stride == iter.extent * iter.stride)
      result.back() = {result.back().extent * iter.extent, iter.stride, iter.axis};
    else
      result.push_back(iter);
  }
  return result;
}

Iters sorted(Iters iters) {
  std::sort(iters.begin(), iters.end(), [](const Iter &a, const Iter &b) {
    return std::tuple(a.axis, -a.stride, -a.extent) < std::tuple(b.axis, -b.stride, -b.extent);
  });
  return iters;
}

/// Digits of `value` in the iters from `first` on, whose strides descend: a search that has one
/// candidate at each iter wherever the strides leave no choice.
static bool decodeFrom(std::span<const Digit> digits, int64_t value, int64_t rest, int64_t &index) {
  if (digits.empty() || value == 0) // the digits that are left are 0
    return value == 0;
  const auto &[iter, weight] = digits.front();
  rest -= (iter.extent - 1) * iter.stride; // what the iters after this one can reach
  int64_t most = iter.stride == 0 ? 0 : std::min(iter.extent - 1, value / iter.stride);
  for (int64_t digit = most; digit >= 0 && value - digit * iter.stride <= rest; --digit)
    if (decodeFrom(digits.subspan(1), value - digit * iter.stride, rest, index)) {
      index += digit * weight;
      return true;
    }
  return false;
}

std::optional<int64_t> decode(std::vector<Digit> digits, int64_t value) {
  if (value < 0)
    return std::nullopt;
  std::sort(digits.begin(), digits.end(),
            [](const Digit &a, const Digit &b) { return a.iter.stride > b.iter.stride; });
  int64_t rest = 0, index = 0;
  for (const Digit &digit : digits)
    rest += (digit.iter.extent - 1) * digit.iter.stride;
  if (value > rest || !decodeFrom(digits, value, rest, index))
    return std::nullopt;
  return index;
}

bool isSeparated(Iters iters) {
  iters = sorted(std::move(iters));
  int64_t below = 0;
  for (auto iter = iters.rbegin(); iter != iters.rend(); ++iter) {
    if (iter->stride <= below)
      return false;
    below += (iter->extent - 1) * iter->stride;
  }
  return true;
}

} // namespace detail

using namespace detail;

//===-- Construction --------------------------------------------------------------------------===//

std::string Layout::check(const Iters &iters, const Iters &replication, const Coordinates &offset,
                          const std::vector<Swizzle> &swizzles) {
  int64_t size = 1;
  Coordinates reach = offset;
  for (Axis axis : kAxes)
    if (offset[axis] < 0 || offset[axis] >= kLargest)
      return fmt::format("offset on {} is {}, expected 0 or more and below 2^62", name(axis),
                         offset[axis]);
  if (auto fault = checkIters("iter", iters, 0, size, reach); !fault.empty())
    return fault;
  if (auto fault = checkIters("replication iter", replication, 1, size, reach); !fault.empty())
    return fault;
  for (Axis axis : kAxes)
    if (!isSeparated(onAxis(replication, axis)))
      return fmt::format("replication overlaps itself on {}, expected each stride to pass what "
                         "smaller strides reach",
                         name(axis));
  return checkSwizzles(swizzles);
}

Layout::Layout(Iters iters, Iters replication, Coordinates offset, std::vector<Swizzle> swizzles)
    : iters_(std::move(iters)), replication_(std::move(replication)), offset_(offset),
      swizzles_(std::move(swizzles)) {
  if (auto fault = check(iters_, replication_, offset_, swizzles_); !fault.empty())
    throw InternalError("layout: " + fault);
  std::sort(swizzles_.begin(), swizzles_.end(),
            [](const Swizzle &a, const Swizzle &b) { return a.axis < b.axis; });
}

Layout Layout::rowMajor(const Shape &shape, Axis axis) {
  Iters iters;
  for (int64_t extent : shape)
    iters.push_back({extent, 0, axis});
  int64_t stride = 1;
  for (auto iter = iters.rbegin(); iter != iters.rend(); stride *= iter++->extent)
    iter->stride = stride;
  return Layout(std::move(iters));
}

Layout Layout::strided(const Shape &shape, const Shape &strides, Axis axis) {
  if (shape.size() != strides.size())
    throw InternalError(
        fmt::format("layout: {} strides for {} dimensions", strides.size(), shape.size()));
  Iters iters;
  for (size_t i = 0; i < shape.size(); ++i)
    iters.push_back({shape[i], strides[i], axis});
  return Layout(std::move(iters));
}

Layout Layout::replicated(Iter iter) const {
  Iters replication = replication_;
  replication.push_back(iter);
  return Layout(iters_, std::move(replication), offset_, swizzles_);
}

Layout Layout::shifted(const Coordinates &by) const {
  return Layout(iters_, replication_, offset_ + by, swizzles_);
}

Layout Layout::swizzled(Swizzle swizzle) const {
  std::vector<Swizzle> swizzles = swizzles_;
  swizzles.push_back(swizzle);
  return Layout(iters_, replication_, offset_, std::move(swizzles));
}

//===-- Questions -----------------------------------------------------------------------------===//

std::optional<Swizzle> Layout::swizzle(Axis axis) const {
  for (const Swizzle &swizzle : swizzles_)
    if (swizzle.axis == axis)
      return swizzle;
  return std::nullopt;
}

int64_t Layout::size() const { return sizeOf(iters_); }
int64_t Layout::replicas() const { return sizeOf(replication_); }

int64_t Layout::span(Axis axis) const {
  return 1 + reach(iters_, axis) + reach(replication_, axis);
}

int64_t Layout::limit(Axis axis) const {
  int64_t block = swizzle(axis) ? swizzle(axis)->block() : 1;
  return (offset_[axis] + span(axis) + block - 1) / block * block;
}

bool Layout::uses(Axis axis) const { return offset_[axis] != 0 || span(axis) > 1; }

Coordinates Layout::place(int64_t index, int64_t replica) const {
  Coordinates result = offset_ + sum(iters_, index) + sum(replication_, replica);
  for (const Swizzle &swizzle : swizzles_)
    result[swizzle.axis] = swizzle(result[swizzle.axis]);
  return result;
}

std::optional<int64_t> Layout::elementAt(const Coordinates &place) const {
  std::array<std::vector<Digit>, kAxisCount> digits;
  for (const Iter &iter : replication_)
    digits[static_cast<int>(iter.axis)].push_back({iter, 0});
  int64_t weight = 1, index = 0;
  for (auto iter = iters_.rbegin(); iter != iters_.rend(); weight *= iter++->extent)
    digits[static_cast<int>(iter->axis)].push_back({*iter, weight});
  for (Axis axis : kAxes) {
    if (place[axis] < 0)
      return std::nullopt;
    int64_t value = swizzle(axis) ? (*swizzle(axis))(place[axis]) : place[axis];
    auto part = decode(std::move(digits[static_cast<int>(axis)]), value - offset_[axis]);
    if (!part)
      return std::nullopt;
    index += *part;
  }
  return index;
}

// Digits on different axes are independent, so two elements share a place if and only if two sums
// of digits are equal on some axis.
bool Layout::isInjective() const {
  for (Axis axis : kAxes) {
    Iters all = onAxis(iters_, axis);
    if (std::any_of(all.begin(), all.end(), [](const Iter &iter) { return iter.stride == 0; }))
      return false;
    for (const Iter &iter : onAxis(replication_, axis))
      all.push_back(iter);
    if (isSeparated(all))
      continue;
    int64_t count = sizeOf(all);
    if (count > reach(all, axis) + 1) // more sums than numbers to be
      return false;
    std::set<int64_t> seen;
    for (int64_t i = 0; i < count; ++i)
      if (!seen.insert(sum(all, i)[axis]).second)
        return false;
  }
  return true;
}

bool Layout::isSurjective() const {
  for (Axis axis : kAxes) {
    Iters all = onAxis(iters_, axis), replication = onAxis(replication_, axis);
    all.insert(all.end(), replication.begin(), replication.end());
    all = sorted(std::move(all));
    int64_t below = 0; // all of 0..below is reached; a larger stride would leave a hole after it
    for (auto iter = all.rbegin(); iter != all.rend(); ++iter) {
      if (iter->stride > below + 1)
        return false;
      below += (iter->extent - 1) * iter->stride;
    }
    auto swizzle = this->swizzle(axis);
    int64_t first = offset_[axis], end = first + span(axis);
    if (!swizzle || (first % swizzle->block() == 0 && end % swizzle->block() == 0))
      continue;
    for (int64_t place = first; place < end; ++place)
      if ((*swizzle)(place) < first || (*swizzle)(place) >= end)
        return false;
  }
  return true;
}

bool Layout::isBijective() const { return replicas() == 1 && isInjective() && isSurjective(); }

Layout Layout::canonical() const {
  std::vector<Swizzle> swizzles;
  for (const Swizzle &swizzle : swizzles_) // without one of the upper bits set, it does nothing
    if (swizzle.bits > 0 &&
        (offset_[swizzle.axis] + span(swizzle.axis) - 1) >> (swizzle.base + swizzle.shift) != 0)
      swizzles.push_back(swizzle);
  return Layout(merged(iters_), merged(sorted(replication_)), offset_, std::move(swizzles));
}

bool Layout::isEquivalent(const Layout &other) const {
  Layout a = canonical(), b = other.canonical();
  if (a == b)
    return true;
  if (a.size() != b.size() || a.replicas() != b.replicas())
    return false;
  auto places = [](const Layout &layout, int64_t index) {
    std::set<std::array<int64_t, kAxisCount>> result;
    for (int64_t replica = 0; replica < layout.replicas(); ++replica)
      result.insert(layout.place(index, replica).at);
    return result;
  };
  if (a.swizzles_ == b.swizzles_) { // a bijection of places, and the least place is replica 0
    if (a.iters_ != b.iters_ || a.offset_ != b.offset_)
      return false;
    return a.replication_ == b.replication_ || places(a, 0) == places(b, 0);
  }
  for (int64_t index = 0; index < a.size(); ++index)
    if (places(a, index) != places(b, index))
      return false;
  return true;
}

} // namespace ditron::core
