// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/heuristics/WarpgroupTiles.h"
#include "ditron/heuristics/Extents.h"
#include <limits>

namespace ditron::heuristics {

static constexpr int64_t kStep = 8; ///< of widths, and of the rows that a CTA reads of a tile

/// For tiles that threads store: lanes exchange results for wide accesses in this number of
/// columns.
static constexpr int64_t kExchangedColumns = 32;

/// Elements of a tile that an epilogue leaves registers for: no code spills with these.
static int64_t mostBeside(const GemmNeeds &needs) {
  const Epilogue &epilogue = needs.epilogue;
  bool isPlain = !epilogue.activation && !epilogue.bias && !epilogue.scale;
  if (needs.scalesRows)
    return 128 * 224;
  if (needs.isSummed)
    return 128 * 256;
  if (epilogue.residual)
    return isPlain ? 128 * 192 : 128 * 128;
  return isPlain ? INT64_MAX : 128 * 256;
}

WarpgroupTiles::WarpgroupTiles(const GemmShape &shape, const DeviceTraits &target,
                               const GemmNeeds &needs)
    : step_(needs.isStoredByThreads ? kExchangedColumns : kStep), rows_(shape.M), columns_(shape.N),
      count_(shape.count), cores_(target.sms), most_(target.accumulator),
      mayPair_(!needs.scalesRows) {
  if (isFloat(shape.type) && byteSize(shape.type) == 1) {
    most_ = most_ * 2 / 3; // parts that are promoted are held twice
    isPromoted_ = true;
    edge_ = 96, part_ = 3724;
  } else if (byteSize(shape.type) != 2) {
    mayPair_ = false; // threads store them, which have no registers left for it
    most_ = std::min<int64_t>(most_, 128 * 224); // which takes registers
    step_ = std::max(step_, kExchangedColumns);
  }
  most_ = std::min(most_, mostBeside(needs));
}

PairedTile WarpgroupTiles::best() const {
  PairedTile result;
  if (rows_ <= kFewRows) {
    result.m = static_cast<int>(std::max(kStep, fit(rows_, kFewRows)));
    result.n = kWarpgroupRows;
    return result;
  }
  double least = std::numeric_limits<double>::infinity();
  for (int64_t m : heights())
    for (int64_t n = 256; n >= step_; n -= step_) {
      bool isFor = m * n <= most_ && n < columns_ + step_ && comesEvenly(m, n);
      if (double cost = costOf(m, n, 1, 1); isFor && cost < least) {
        least = cost;
        result.m = static_cast<int>(m);
        result.n = static_cast<int>(n);
      }
    }
  if (rows_ > kWarpgroupRows && mayPair_) // else B is read, which nobody shares
    result.pairs = pairsFor(result.m, result.n);
  result.group = result.pairs == Pairs::rows ? 16 : 8;
  return result;
}

/// One warpgroup's where there are no rows for two.
std::vector<int64_t> WarpgroupTiles::heights() const {
  if (rows_ <= kWarpgroupRows)
    return {kWarpgroupRows};
  return {128, 256};
}

/// In how many parts a product of fp8 is computed and promoted to fp32: its lowering decides alike.
static int64_t partsOf(int64_t m, int64_t n) {
  constexpr int64_t kWhole = 192; // columns, of one warpgroup's rows
  return m > 2 * kWarpgroupRows || n > kWhole ? 2 : 1;
}

/// Whether the parts are equally wide: there are too few registers for others.
bool WarpgroupTiles::comesEvenly(int64_t m, int64_t n) const {
  return !isPromoted_ || m > 2 * kWarpgroupRows || partsOf(m, n) == 1 || n % (2 * kStep) == 0;
}

/// How often all SMs, in groups that take `m` x `n` tiles together, multiply one tile each, times
/// what that costs: its elements, and something for what it reads.
double WarpgroupTiles::costOf(int64_t m, int64_t n, int64_t groupRows, int64_t groupColumns) const {
  int64_t groups = count_ * tilesOf(rows_, m * groupRows) * tilesOf(columns_, n * groupColumns);
  int64_t rounds = tilesOf(groups, cores_ / (groupRows * groupColumns));
  int64_t cost = m * n + edge_ * (m + n) + part_ * partsOf(m, n);
  return static_cast<double>(rounds) * static_cast<double>(cost);
}

/// A pair of CTAs shares the larger operand where that costs no round: rows of B no less wide than
/// those of A are high. Sharing less than that costs more than it saves: of 256 x 176 and 256 x 128,
/// 1 to 4 % on an H200.
Pairs WarpgroupTiles::pairsFor(int64_t m, int64_t n) const {
  double alone = costOf(m, n, 1, 1);
  bool rows = rows_ > m && n % (2 * kStep) == 0 && costOf(m, n, 2, 1) <= alone;
  bool columns = columns_ > n && costOf(m, n, 1, 2) <= alone;
  if (rows && n >= m)
    return Pairs::rows;
  return columns ? Pairs::columns : Pairs::none;
}

} // namespace ditron::heuristics
