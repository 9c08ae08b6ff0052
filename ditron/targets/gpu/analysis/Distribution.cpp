// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/gpu/analysis/Distribution.h"
#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <numeric>
#include <set>

namespace ditron::gpu {

using core::Iter;
using core::Swizzle;

namespace {

int64_t elementsOf(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

/// The largest power of two that divides `extent`, at most `most`, itself a power of two.
int64_t powerIn(int64_t extent, int64_t most) { return std::min(most, extent & -extent); }

int64_t log2(int64_t power) { return std::countr_zero(static_cast<uint64_t>(power)); }

/// The parts of a tile's dimensions, dealt one axis after the other.
class Dealer {
public:
  explicit Dealer(const Shape &shape) : rest_(shape), dims_(shape.size()) {}

  /// Puts `extent` places of dimension `dim` outside of what it has got so far.
  void deal(size_t dim, int64_t extent, int64_t stride, Axis axis) {
    if (extent > 1)
      dims_[dim].insert(dims_[dim].begin(), {extent, stride, axis});
    rest_[dim] /= extent;
  }
  int64_t rest(size_t dim) const { return rest_[dim]; }
  Layout layout(Iters replication) const {
    Iters iters;
    for (const Iters &dim : dims_)
      iters.insert(iters.end(), dim.begin(), dim.end());
    return Layout(iters, std::move(replication));
  }

private:
  Shape rest_;
  std::vector<Iters> dims_;
};

/// What is left of an axis of `size` places when `used` are, as replication.
void replicate(Iters &replication, int64_t size, int64_t used, Axis axis) {
  if (used < size)
    replication.push_back({size / used, used, axis});
}

} // namespace

//===-- Layouts -------------------------------------------------------------------------------===//

Layout blocked(const Shape &shape, int64_t vector, Threads threads, WarpsTake first) {
  Dealer dealer(shape);
  size_t dims = shape.size(), last = dims - 1;
  int64_t registers = powerIn(shape[last], vector);
  dealer.deal(last, registers, 1, Axis::reg);
  int64_t lanes = 1;
  for (size_t dim = shape.size(); dim-- > 0;) {
    int64_t part = powerIn(dealer.rest(dim), threads.lanes / lanes);
    dealer.deal(dim, part, lanes, Axis::lane);
    lanes *= part;
  }
  int64_t used = 1;
  for (size_t n = 0; n < dims; ++n) {
    size_t dim = first == WarpsTake::rows ? n : last - n;
    int64_t part = powerIn(dealer.rest(dim), threads.warps / used);
    dealer.deal(dim, part, used, Axis::warp);
    used *= part;
  }
  for (size_t dim = dims; dim-- > 0;) {
    int64_t rest = dealer.rest(dim);
    dealer.deal(dim, rest, registers, Axis::reg);
    registers *= rest;
  }
  Iters replication;
  replicate(replication, threads.warps, used, Axis::warp);
  replicate(replication, threads.lanes, lanes, Axis::lane);
  return dealer.layout(replication);
}

std::pair<int64_t, int64_t> warpGrid(const Shape &shape, const Shape &unit, int64_t warps) {
  int64_t rows = 1, columns = 1;
  int64_t height = shape[0], width = shape[1]; // of a warp
  while (rows * columns < warps) {
    bool splitsRows = height % (2 * unit[0]) == 0, splitsColumns = width % (2 * unit[1]) == 0;
    if (!splitsRows && !splitsColumns)
      break;
    if (splitsRows && (!splitsColumns || height >= width)) {
      rows *= 2;
      height /= 2;
    } else {
      columns *= 2;
      width /= 2;
    }
  }
  return {rows, columns};
}

std::optional<Layout> collapsed(const Layout &layout, const Shape &shape, int64_t axis) {
  auto dims = core::group(layout, shape);
  if (!dims || !layout.swizzles().empty())
    return std::nullopt;
  Iters replication = layout.replication();
  for (const Iter &iter : (*dims)[static_cast<size_t>(axis)])
    if (iter.axis != Axis::reg && iter.extent > 1)
      replication.push_back(iter);
  (*dims)[static_cast<size_t>(axis)].clear();
  // The registers that are left close up.
  std::vector<Iter *> registers;
  for (Iters &dim : *dims)
    for (Iter &iter : dim)
      if (iter.axis == Axis::reg && iter.extent > 1)
        registers.push_back(&iter);
  std::sort(registers.begin(), registers.end(),
            [](const Iter *a, const Iter *b) { return a->stride < b->stride; });
  int64_t next = 1;
  for (Iter *iter : registers) {
    iter->stride = next;
    next *= iter->extent;
  }
  Iters iters;
  for (const Iters &dim : *dims)
    iters.insert(iters.end(), dim.begin(), dim.end());
  std::sort(replication.begin(), replication.end(), [](const Iter &a, const Iter &b) {
    return std::pair(a.axis, -a.stride) < std::pair(b.axis, -b.stride);
  });
  return Layout(iters, replication, layout.offset());
}

namespace {

/// The iters of a dimension with factors of two split off, the last, fastest one first.
Iters halves(const Iters &iters) {
  Iters result;
  for (auto iter = iters.rbegin(); iter != iters.rend(); ++iter) {
    Iter rest = *iter;
    for (; rest.extent % 2 == 0; rest.extent /= 2, rest.stride *= 2)
      result.push_back({2, rest.stride, rest.axis});
    if (rest.extent > 1)
      result.push_back(rest);
  }
  return result;
}

/// Numbers registers anew: those of the last dimension's `run` neighbours first.
void renumber(std::vector<Iters> &dims, size_t run) {
  std::vector<Iter *> registers;
  Iters &last = dims.back(); // fastest first
  for (Iters &dim : dims)
    for (Iter &iter : dim)
      if (iter.axis == Axis::reg && iter.extent > 1)
        registers.push_back(&iter);
  auto rank = [&](const Iter *iter) {
    bool isNear = !last.empty() && iter >= last.data() && iter < last.data() + run;
    return std::pair(!isNear, isNear ? iter - last.data() : iter->stride);
  };
  std::sort(registers.begin(), registers.end(),
            [&](const Iter *a, const Iter *b) { return rank(a) < rank(b); });
  int64_t next = 1;
  for (Iter *iter : registers) {
    iter->stride = next;
    next *= iter->extent;
  }
}

} // namespace

std::optional<Layout> gathered(const Layout &layout, const Shape &shape, int64_t run) {
  auto dims = core::group(layout, shape);
  if (!dims || !layout.swizzles().empty())
    return std::nullopt;
  Iters &last = dims->back();
  last = halves(last);
  size_t near = static_cast<size_t>(log2(run));
  if (last.size() < near)
    return std::nullopt;
  bool isChanged = false;
  for (size_t bit = 0; bit < near; ++bit) {
    if (last[bit].extent != 2 || last[bit].axis == Axis::warp)
      return std::nullopt;
    if (last[bit].axis == Axis::reg)
      continue;
    auto free =
        std::find_if(last.begin() + static_cast<ptrdiff_t>(near), last.end(),
                     [](const Iter &iter) { return iter.extent == 2 && iter.axis == Axis::reg; });
    if (free == last.end())
      return std::nullopt;
    std::swap(*free, last[bit]);
    isChanged = true;
  }
  if (!isChanged)
    return std::nullopt;
  renumber(*dims, near);
  std::reverse(last.begin(), last.end());
  Iters iters;
  for (const Iters &dim : *dims)
    iters.insert(iters.end(), dim.begin(), dim.end());
  return Layout(iters, layout.replication()).canonical();
}

Layout sharedRows(const Shape &shape, int64_t elementBytes) {
  Layout rows = Layout::rowMajor(shape);
  int64_t rowBytes = shape.back() * elementBytes;
  bool isRegular = std::has_single_bit(static_cast<uint64_t>(rowBytes)) && rowBytes >= 32;
  int64_t height = elementsOf(shape) / shape.back();
  if (!isRegular || height % 8 != 0)
    return rows;
  int64_t bits = std::min<int64_t>(3, log2(rowBytes / 16));
  int64_t shift = std::max<int64_t>(log2(rowBytes), 7) - 4;
  return rows.swizzled({static_cast<int>(bits), static_cast<int>(log2(16 / elementBytes)),
                        static_cast<int>(shift), Axis::m});
}

//===-- Reading them --------------------------------------------------------------------------===//

std::optional<Distribution> Distribution::of(const Layout &layout, const Shape &shape) {
  auto dims = core::group(layout, shape);
  if (!dims || !layout.swizzles().empty())
    return std::nullopt;
  Distribution result;
  result.shape_ = shape;
  result.registers_ = layout.limit(Axis::reg);
  result.thread_.resize(shape.size());
  result.elements_.assign(static_cast<size_t>(result.registers_), Shape(shape.size(), 0));
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    int64_t weight = 1;
    const Iters &iters = (*dims)[dim];
    for (auto iter = iters.rbegin(); iter != iters.rend(); ++iter) {
      if (iter->axis == Axis::reg)
        for (int64_t reg = 0; reg < result.registers_; ++reg)
          result.elements_[static_cast<size_t>(reg)][dim] +=
              reg / iter->stride % iter->extent * weight;
      else if (iter->extent > 1)
        result.thread_[dim].push_back({iter->axis, iter->stride, iter->extent, weight});
      weight *= iter->extent;
    }
  }
  return result;
}

int64_t Distribution::registerOf(const Shape &element) const {
  auto found = std::find(elements_.begin(), elements_.end(), element);
  return found == elements_.end() ? -1 : found - elements_.begin();
}

int64_t Distribution::run(int64_t most) const {
  size_t last = shape_.size() - 1;
  int64_t run = std::gcd(registers_, most);
  for (const Digit &digit : thread_[last])
    run = std::gcd(run, digit.weight);
  auto isDense = [&] {
    for (int64_t reg = 0; reg < registers_; ++reg) {
      Shape expected = element(reg / run * run);
      if (expected[last] % run != 0)
        return false;
      expected[last] += reg % run;
      if (expected != element(reg))
        return false;
    }
    return true;
  };
  run = powerIn(run, std::bit_floor(static_cast<uint64_t>(run)));
  while (run > 1 && (shape_[last] % run != 0 || !isDense()))
    run /= 2;
  return run;
}

Shape Distribution::at(int64_t warp, int64_t lane, int64_t reg) const {
  Shape result = element(reg);
  for (size_t dim = 0; dim < shape_.size(); ++dim)
    for (const Digit &digit : thread_[dim])
      result[dim] +=
          (digit.axis == Axis::warp ? warp : lane) / digit.stride % digit.extent * digit.weight;
  return result;
}

int64_t Distribution::size() const {
  int64_t size = 1;
  for (int64_t extent : shape_)
    size *= extent;
  return size;
}

int64_t Distribution::number(int64_t warp, int64_t lane, int64_t reg) const {
  Shape coordinates = at(warp, lane, reg);
  int64_t number = 0;
  for (size_t dim = 0; dim < coordinates.size(); ++dim)
    number = number * shape_[dim] + coordinates[dim];
  return number;
}

//===-- Exchanges -----------------------------------------------------------------------------===//

namespace {

/// What one bit of the number of a lane or warp adds to the coordinates.
Shape addedBy(const Distribution &tile, Axis axis, int64_t place) {
  Shape result(tile.shape().size(), 0);
  for (size_t dim = 0; dim < result.size(); ++dim)
    for (const Digit &digit : tile.thread(dim))
      if (digit.axis == axis)
        result[dim] += place / digit.stride % digit.extent * digit.weight;
  return result;
}

/// Places of an axis on which what is added to the coordinates depends.
int64_t placesOn(const Distribution &tile, Axis axis) {
  int64_t places = 1;
  for (size_t dim = 0; dim < tile.shape().size(); ++dim)
    for (const Digit &digit : tile.thread(dim))
      if (digit.axis == axis)
        places = std::max(places, digit.stride * digit.extent);
  return places;
}

/// Whether every part of the threads' coordinates is that of single bits.
bool isBinary(const Distribution &tile) {
  for (size_t dim = 0; dim < tile.shape().size(); ++dim)
    for (const Digit &digit : tile.thread(dim))
      if (!std::has_single_bit(static_cast<uint64_t>(digit.stride)) ||
          !std::has_single_bit(static_cast<uint64_t>(digit.extent)))
        return false;
  return true;
}

Shape sum(Shape a, const Shape &b) {
  for (size_t dim = 0; dim < a.size(); ++dim)
    a[dim] += b[dim];
  return a;
}

std::vector<Shape> elementsIn(const Distribution &tile) {
  std::vector<Shape> elements;
  for (int64_t reg = 0; reg < tile.registers(); ++reg)
    elements.push_back(tile.element(reg));
  return elements;
}

} // namespace

std::optional<std::vector<std::pair<size_t, size_t>>> partners(std::vector<Shape> &elements,
                                                               const Exchange &exchange) {
  std::map<Shape, size_t> byElement;
  for (size_t n = 0; n < elements.size(); ++n)
    byElement.emplace(elements[n], n);
  std::vector<std::pair<size_t, size_t>> pairs;
  std::vector<bool> isPaired(elements.size());
  for (const auto &[element, low] :
       byElement) { // in ascending order: the lower one of a pair first
    if (isPaired[low])
      continue;
    auto high = byElement.find(sum(element, exchange.after));
    if (high == byElement.end() || isPaired[high->second])
      return std::nullopt;
    isPaired[low] = isPaired[high->second] = true;
    pairs.emplace_back(low, high->second);
  }
  for (auto [low, high] : pairs)
    elements[high] = sum(elements[low], exchange.before);
  return pairs;
}

std::optional<std::vector<Exchange>> exchanges(const Distribution &from, const Distribution &to) {
  if (from.shape() != to.shape() || from.registers() != to.registers() || !isBinary(from) ||
      !isBinary(to))
    return std::nullopt;
  int64_t warps = std::max(placesOn(from, Axis::warp), placesOn(to, Axis::warp));
  int64_t lanes = std::max(placesOn(from, Axis::lane), placesOn(to, Axis::lane));
  for (int64_t warp = 1; warp < warps; warp *= 2)
    if (addedBy(from, Axis::warp, warp) != addedBy(to, Axis::warp, warp))
      return std::nullopt;
  std::vector<Exchange> result;
  std::vector<Shape> elements = elementsIn(from);
  Shape none(from.shape().size(), 0);
  for (int64_t bit = 0; int64_t(1) << bit < lanes; ++bit) {
    Exchange one{bit, addedBy(from, Axis::lane, int64_t(1) << bit),
                 addedBy(to, Axis::lane, int64_t(1) << bit)};
    if (one.before == one.after)
      continue;
    if (one.before == none || one.after == none || !partners(elements, one))
      return std::nullopt;
    result.push_back(std::move(one));
  }
  std::vector<Shape> wanted = elementsIn(to);
  std::sort(elements.begin(), elements.end());
  std::sort(wanted.begin(), wanted.end());
  return elements == wanted ? std::optional(result) : std::nullopt;
}

//===-- Banks ---------------------------------------------------------------------------------===//

int64_t warpsAlong(const Distribution &tile, size_t axis) {
  int64_t count = 1;
  for (const Digit &digit : tile.thread(axis))
    if (digit.axis == Axis::warp)
      count *= digit.extent;
  return count;
}

int64_t bankPasses(int64_t lanes, int64_t bytes, llvm::function_ref<int64_t(int64_t)> byteOf) {
  constexpr int64_t kBanks = 32, kWordBytes = 4;
  int64_t lanesAtOnce = std::min(lanes, kBanks * kWordBytes / bytes), total = 0;
  for (int64_t first = 0; first < lanes; first += lanesAtOnce) {
    std::array<std::set<int64_t>, kBanks> words;
    for (int64_t lane = first; lane < first + lanesAtOnce; ++lane) {
      int64_t byte = byteOf(lane), last = (byte + bytes - 1) / kWordBytes;
      for (int64_t word = byte / kWordBytes; word <= last; ++word)
        words[static_cast<size_t>(word % kBanks)].insert(word);
    }
    size_t most = 0;
    for (const std::set<int64_t> &bank : words)
      most = std::max(most, bank.size());
    total += static_cast<int64_t>(most);
  }
  return total;
}

namespace {

/// Passes through the banks when the first warp accesses all its registers, `run` at a time.
int64_t passes(const Layout &memory, const Distribution &registers, int64_t run,
               int64_t elementBytes, int64_t lanes) {
  int64_t total = 0;
  for (int64_t reg = 0; reg < registers.registers(); reg += run)
    total += bankPasses(lanes, run * elementBytes, [&](int64_t lane) {
      return memory.place(registers.number(0, lane, reg))[Axis::m] * elementBytes;
    });
  return total;
}

} // namespace

Layout sharedBetween(const Distribution &a, int64_t runA, const Distribution &b, int64_t runB,
                     int64_t elementBytes, int64_t lanes) {
  Layout best = Layout::rowMajor(a.shape());
  int64_t size = elementsOf(a.shape());
  auto cost = [&](const Layout &memory) {
    return passes(memory, a, runA, elementBytes, lanes) +
           passes(memory, b, runB, elementBytes, lanes);
  };
  int64_t least = cost(best), base = log2(std::max(runA, runB));
  for (int64_t bits = 1; bits <= 5; ++bits)
    for (int64_t shift = bits; shift <= 10; ++shift) {
      Swizzle swizzle{static_cast<int>(bits), static_cast<int>(base), static_cast<int>(shift),
                      Axis::m};
      if (size % swizzle.period() != 0)
        break;
      Layout candidate = Layout::rowMajor(a.shape()).swizzled(swizzle);
      if (int64_t found = cost(candidate); found < least) {
        least = found;
        best = candidate;
      }
    }
  return best;
}

Layout sharedRowsApart(const Distribution &tile, int64_t run, int64_t elementBytes, int64_t lanes) {
  constexpr int64_t kAligned = 16, kMostApart = 128; // bytes
  const Shape &shape = tile.shape();
  Layout best = Layout::rowMajor(shape);
  int64_t least = passes(best, tile, run, elementBytes, lanes);
  for (int64_t apart = kAligned; apart < kMostApart; apart *= 2) {
    Layout candidate = Layout::strided(shape, {shape[1] + apart / elementBytes, 1});
    if (int64_t found = passes(candidate, tile, run, elementBytes, lanes); found < least) {
      least = found;
      best = candidate;
    }
  }
  return best;
}

} // namespace ditron::gpu
