// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/core/LayoutConversion.h"
#include "ditron/core/LayoutDetail.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <utility>

namespace ditron::core {

using namespace detail;

namespace {

/// A digit that moves by `step` from one layout to the other.
struct Drift {
  int64_t extent, step;
};

/// The iters of one axis, all others standing still.
Iters projected(Iters iters, Axis axis) {
  for (Iter &iter : iters)
    if (iter.axis != axis)
      iter.stride = 0;
  return merged(iters);
}

/// The digits in which both maps can be written, innermost first, and how each moves; no value if
/// their extents do not refine each other.
std::optional<std::vector<Drift>> drifts(Iters from, Iters to) {
  std::vector<Drift> result;
  while (!from.empty()) {
    Iter &a = from.back(), &b = to.back();
    int64_t common = std::min(a.extent, b.extent);
    if (a.extent % common != 0 || b.extent % common != 0)
      return std::nullopt;
    if (a.stride != b.stride && common > 1)
      result.push_back({common, b.stride - a.stride});
    for (Iters *iters : {&from, &to}) {
      Iter &iter = iters->back();
      iter = {iter.extent / common, iter.stride * common, iter.axis};
      if (iter.extent == 1)
        iters->pop_back();
    }
  }
  return result;
}

std::vector<Digit> weightless(const Iters &iters) {
  std::vector<Digit> digits;
  for (const Iter &iter : iters)
    digits.push_back({iter, 0});
  return digits;
}

} // namespace

std::string_view name(Reach reach) {
  constexpr std::string_view kNames[] = {"none",   "thread", "warp",   "core",
                                         "device", "node",   "cluster"};
  return kNames[static_cast<int>(reach)];
}

Conversion::Conversion(Layout source, Layout target)
    : source_(source.canonical()), target_(target.canonical()) {
  if (source_.size() != target_.size())
    throw InternalError(fmt::format("conversion from {} of {} elements to {} of {}",
                                    source_.print(), source_.size(), target_.print(),
                                    target_.size()));
  if (!target_.isInjective())
    throw InternalError(
        fmt::format("conversion to {}, which wants several elements at a place", target_.print()));
  for (Axis axis : kAxes) {
    bool threads = axis == Axis::warp || axis == Axis::lane || axis == Axis::reg;
    bool memories = axis == Axis::m && fromMemory() != toMemory();
    if (!memories && !(threads && (fromMemory() || toMemory())))
      changes_[static_cast<int>(axis)] = differs(axis);
  }
}

// Replicas are free on each axis by itself, so the axes can be asked one by one. On one of them, an
// element is wanted at w + r' for all replicas r' of the target and found at f + r for all r of the
// source; w - f takes every sum of the drifts. It is all there if each of these sums is some r.
bool Conversion::differs(Axis axis) const {
  Iters replicas = onAxis(source_.replication(), axis),
        wanted = onAxis(target_.replication(), axis);
  auto found = weightless(replicas);
  auto from = source_.swizzle(axis), to = target_.swizzle(axis);
  Iters a = projected(source_.iters(), axis), b = projected(target_.iters(), axis);
  bool bothPlain = from == to && (!from || (replicas.empty() && wanted.empty()));
  if (auto moves = bothPlain ? drifts(a, b) : std::nullopt) {
    std::set<int64_t> sums = {target_.offset()[axis] - source_.offset()[axis]};
    for (const Iter &iter : wanted)
      moves->push_back({iter.extent, iter.stride});
    for (const Drift &drift : *moves) {
      std::set<int64_t> more;
      for (int64_t sum : sums)
        for (int64_t digit = 0; digit < drift.extent; ++digit)
          if (!decode(found, *more.insert(sum + digit * drift.step).first))
            return true;
      sums = std::move(more);
    }
    return std::any_of(sums.begin(), sums.end(),
                       [&](int64_t sum) { return !decode(found, sum).has_value(); });
  }
  for (int64_t index = 0; index < target_.size(); ++index)
    for (int64_t replica = 0; replica < sizeOf(wanted); ++replica) {
      int64_t place = target_.offset()[axis] + sum(b, index)[axis] + sum(wanted, replica)[axis];
      place = to ? (*to)(place) : place;
      place = from ? (*from)(place) : place;
      if (!decode(found, place - source_.offset()[axis] - sum(a, index)[axis]))
        return true;
    }
  return false;
}

Reach Conversion::reach() const {
  constexpr std::pair<Axis, Reach> kOutermostFirst[] = {
      {Axis::node, Reach::cluster}, {Axis::local, Reach::node}, {Axis::core, Reach::device},
      {Axis::m, Reach::core},       {Axis::warp, Reach::core},  {Axis::lane, Reach::warp},
      {Axis::reg, Reach::thread}};
  for (auto [axis, reach] : kOutermostFirst) {
    if (changes(axis))
      return reach;
    if (axis == Axis::core && fromMemory() != toMemory()) // a load or a store
      return Reach::core;
  }
  return Reach::none;
}

std::optional<Coordinates> Conversion::sourceOf(const Coordinates &place) const {
  auto element = target_.elementAt(place);
  if (!element)
    return std::nullopt;
  Coordinates result = source_.place(*element);
  Coordinates first = source_.offset() + sum(source_.iters(), *element);
  for (Axis axis : kAxes) {
    auto swizzle = source_.swizzle(axis);
    int64_t wanted = swizzle ? (*swizzle)(place[axis]) : place[axis];
    if (decode(weightless(onAxis(source_.replication(), axis)), wanted - first[axis]))
      result[axis] = place[axis];
  }
  return result;
}

std::optional<Layout> Conversion::quotient(std::span<const Axis> axes) const {
  auto elements = inverse(target_, axes);
  if (!elements)
    return std::nullopt;
  return compose(Layout(source_.iters(), {}, source_.offset(), source_.swizzles()), *elements);
}

//===-- Banks ---------------------------------------------------------------------------------===//

namespace {

/// Passes that some words need, and the fewest if they were spread evenly.
void addPasses(const std::set<int64_t> &words, const Banks &banks, AccessCost &cost) {
  std::vector<int64_t> load(banks.count);
  for (int64_t word : words)
    ++load[word % banks.count];
  cost.wavefronts += *std::max_element(load.begin(), load.end());
  cost.ideal += (int64_t(words.size()) + banks.count - 1) / banks.count;
}

} // namespace

std::optional<AccessCost> accessCost(const Layout &memory, const Layout &registers,
                                     int64_t elementBytes, int64_t vector, Banks banks) {
  if (memory.size() != registers.size())
    throw InternalError(fmt::format("access of {} of {} elements by {} of {}", memory.print(),
                                    memory.size(), registers.print(), registers.size()));
  if (elementBytes < 1 || vector < 1 || banks.count < 1 || banks.wordBytes < 1)
    throw InternalError(fmt::format("access of {} elements of {} bytes in {} banks of {} bytes: "
                                    "expected 1 or more of each",
                                    vector, elementBytes, banks.count, banks.wordBytes));
  // One instruction of one warp: the addresses, in elements, of the registers of each lane.
  using Warp = std::array<int64_t, kAxisCount>;
  std::map<std::pair<Warp, int64_t>, std::map<int64_t, std::map<int64_t, int64_t>>> instructions;
  for (int64_t index = 0; index < registers.size(); ++index)
    for (int64_t replica = 0; replica < registers.replicas(); ++replica) {
      Coordinates place = registers.place(index, replica);
      int64_t lane = std::exchange(place[Axis::lane], 0), reg = std::exchange(place[Axis::reg], 0);
      instructions[{place.at, reg / vector}][lane][reg % vector] = memory.place(index)[Axis::m];
    }
  AccessCost cost;
  int64_t lanesAtOnce = std::max<int64_t>(1, banks.count * banks.wordBytes / elementBytes / vector);
  for (const auto &[instruction, lanes] : instructions) {
    ++cost.accesses;
    std::map<int64_t, std::set<int64_t>> words; // by group of lanes
    for (const auto &[lane, addresses] : lanes) {
      int64_t first = addresses.begin()->second - addresses.begin()->first;
      if (first % vector != 0 || int64_t(addresses.size()) != vector)
        return std::nullopt;
      for (auto [reg, address] : addresses)
        if (address != first + reg)
          return std::nullopt;
      int64_t end = ((first + vector) * elementBytes - 1) / banks.wordBytes;
      for (int64_t word = first * elementBytes / banks.wordBytes; word <= end; ++word)
        words[lane / lanesAtOnce].insert(word);
    }
    for (const auto &[group, touched] : words)
      addPasses(touched, banks, cost);
  }
  return cost;
}

} // namespace ditron::core
