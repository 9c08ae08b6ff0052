// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/heuristics/RowTiles.h"
#include "ditron/heuristics/Extents.h"
#include "ditron/heuristics/GemmTiles.h"
#include "ditron/heuristics/WarpgroupTiles.h"

namespace ditron::heuristics {

/// Rows of H elements for a tile: few, for several to share its overhead.
static int64_t rowsOfTile(int64_t H) {
  constexpr int64_t kElements = 4096, kMost = 8;
  return static_cast<int64_t>(
      std::bit_floor(static_cast<uint64_t>(std::clamp<int64_t>(kElements / H, 1, kMost))));
}

/// What the width of a tile that holds a row of H elements is a multiple of: whole vectors on a
/// CPU. On a GPU what all threads of four warps access at a time, or more in long rows, which have
/// more warps.
static int64_t widthStep(const RowShape &shape, const DeviceTraits &target) {
  constexpr int64_t kComputed = 4, kWarps = 4, kNarrow = 4; // bytes of an element, and of an access
  if (!target.isGpu())
    return target.vectorBytes / kComputed;
  auto element = static_cast<int64_t>(byteSize(shape.type)), bytes = shape.H * element | 16;
  int64_t access = std::max(bytes & -bytes, element), threads = kWarps * target.lanes;
  return std::max({fit(shape.H, INT64_MAX) / (access <= kNarrow ? 32 : 8),
                   threads * access / element / rowsOfTile(shape.H), int64_t(1)});
}

RowTile rowTile(const RowShape &shape, const DeviceTraits &target) {
  constexpr int64_t kWidest = 8192, kWidestOfGpu = 32768;
  int64_t H = shape.H, width = target.isGpu() ? 8192 : 2048;
  if (H <= 16)
    width = fit(H, 16);
  else if (int64_t step = widthStep(shape, target); H <= (target.isGpu() ? kWidestOfGpu : kWidest))
    width = tilesOf(H, step) * step;
  return {fit(shape.T, rowsOfTile(width)), width};
}

RowTile elementTile(const RowShape &shape, const DeviceTraits &target) {
  if (!target.isGpu())
    return rowTile(shape, target);
  // The widest that cover at most a twentieth more of a row than narrow ones do.
  constexpr int64_t kElements = 4096, kNarrowest = 256;
  int64_t width = fit(shape.H, kNarrowest);
  auto covered = [&](int64_t wide) { return tilesOf(shape.H, wide) * wide; };
  for (int64_t wide = kElements; wide > width; wide /= 2)
    if (covered(wide) * 20 <= covered(width) * 21)
      width = wide; // and the narrower ones are not looked at
  return {fit(shape.T, kElements / width), width};
}

/// The widest tile of a row that gives half of the SMs or more one.
static int64_t tileForSms(const RowShape &shape, int64_t sms) {
  constexpr int64_t kWidest = 4096, kNarrowest = 1024;
  int64_t width = kWidest;
  while (width > kNarrowest && 2 * shape.T * tilesOf(shape.H, width) < sms)
    width /= 2;
  return fit(shape.H, width);
}

PartTile partTile(const RowShape &shape, int64_t cores, const DeviceTraits &target) {
  constexpr int64_t kPartsOfSm = 32, kPartsOfCore = 4, kWidestOfCpu = 512, kFewestOfCpu = 8192;
  bool isGpu = target.isGpu();
  int64_t width = isGpu ? tileForSms(shape, target.sms)
                        : std::min(elementTile(shape, target).width, kWidestOfCpu);
  int64_t wanted = tilesOf(isGpu ? kPartsOfSm * target.sms : kPartsOfCore * cores, shape.T);
  int64_t tiles = tilesOf(shape.H, width);
  int64_t parts = std::min(wanted, isGpu ? tiles : tilesOf(shape.H, kFewestOfCpu));
  return {width, parts > 1 ? tilesOf(tiles, parts) : 0};
}

int64_t vectorTile(int64_t N, int64_t cores, const DeviceTraits &target) {
  constexpr int64_t kLongest = 16384, kTilesPerCore = 4;
  int64_t tile = 1024;
  while (!target.isGpu() && tile < kLongest && 2 * tile * kTilesPerCore * cores <= N)
    tile *= 2;
  return fit(N, tile);
}

RowTile headTile(int64_t heads, int64_t width, DType type, const DeviceTraits &target) {
  constexpr int64_t kBytesOfGpu = 4096, kElementsOfCpu = 4096, kWidest = 512;
  int64_t bytes = static_cast<int64_t>(byteSize(type));
  int64_t elements = target.isGpu() ? kBytesOfGpu / bytes : kElementsOfCpu;
  int64_t pairs = fit(width, kWidest);
  return {fit(heads, std::max<int64_t>(1, elements / pairs)), pairs};
}

/// Rows of W of a tile: many, for x to be read once for all of them, unless cores get uneven shares.
static int64_t weightsOfTile(const GemvShape &shape) {
  constexpr int64_t kFewest = 16;
  for (int64_t n = 64; n > kFewest; n /= 2) {
    int64_t most = tilesOf(tilesOf(shape.N, n), shape.cores) * n;
    if (most * shape.cores * 20 <= shape.N * 21)
      return n;
  }
  return fit(shape.N, kFewest);
}

/// A few rows of W for the threads of a CTA to read on end, in accesses of 16 bytes, with sums in
/// registers: twice as many where the product is gated, and squares of x where it is normalised. Long rows
/// are streamed, and a CTA may take more of them.
static GemvTile elementsOfGpu(const GemvShape &shape, const DeviceTraits &target) {
  constexpr int64_t kRows = 4, kTerms = 256, kShortTerms = 512, kLongRow = 4096; // bytes
  bool isShort = shape.type != DType::f32, isFull = shape.isGated || shape.isNormed;
  int64_t rows = isShort && shape.isNormed && !shape.isGated ? 2 * kRows : kRows;
  int64_t terms = shape.isPacked || (isShort && !isFull) ? kShortTerms : kTerms;
  if (shape.isLong && target.hasWarpgroups && !shape.isPacked) {
    rows = isFull ? kRows : 2 * kRows;
    terms = kLongRow / static_cast<int64_t>(byteSize(shape.type));
  }
  return {1, fit(shape.N, rows), fit(shape.K, terms), true};
}

/// Rows of W that stream, for tensor cores: those of one product, in pieces long enough for a copy each. Tiles
/// that one core has anyway are computed together, where they are two: x is asked for once, and
/// sums that travel take one trip. So are three where x has more than a few rows, for which all threads wait, and pairs of
/// a vocabulary's. Few rows x take half as many rows of W where cores get more even shares so; pieces of packed ones, which
/// are half as long in bytes, are twice as long then.
static GemvTile longRowsOfGpu(const GemvShape &shape) {
  constexpr int64_t kRows = 16, kTerms = 1024, kFewRows = 4, kManyColumns = 32768;
  GemvTile tile{.m = fit(shape.B, INT64_MAX), .n = kRows, .k = kTerms};
  auto tilesOfCore = [&](int64_t rows) { return tilesOf(tilesOf(shape.N, rows), shape.cores); };
  int64_t each = tilesOfCore(kRows);
  bool arePairsEven = 2 * tilesOfCore(2 * kRows) * 20 <= each * 21;
  if (!shape.isGated && (each == 2 || (each == 3 && tile.m > kFewRows)))
    tile.together = int(each);
  else if (!shape.isGated && shape.N >= kManyColumns && tile.m > kFewRows && arePairsEven)
    tile.together = 2;
  else if (tile.m <= kFewRows && shape.K >= 2 * kTerms &&
           tilesOfCore(kRows / 2) < 2 * tilesOfCore(kRows))
    tile.n /= 2, tile.k *= shape.isPacked ? 2 : 1;
  return tile;
}

/// Two SMs share a tile where one each would leave half of all idle: memory is read evenly then, and more of W
/// is there before x is. Where the sums of a tile are many, or terms few, adding them takes longer than that
/// saves. Four SMs took longer in all shapes that were measured, on an H100.
static int64_t sharersOf(const GemvShape &shape, const PairedTile &tile,
                         const DeviceTraits &target) {
  constexpr int64_t kMostSums = 1024, kFewestTerms = 4096;
  int64_t tiles = tilesOf(shape.B, tile.m) * tilesOf(shape.N, tile.n);
  bool mayShare = target.hasWarpgroups && tile.n == kWarpgroupRows &&
                  int64_t(tile.m) * tile.n <= kMostSums && shape.K >= kFewestTerms;
  return mayShare && 2 * tiles <= target.sms ? 2 : 1;
}

/// Few rows of W come in steps of about 16 KB: what is read is W, and the longer its pieces are, the faster it comes.
static int64_t termsOf(const GemvShape &shape, const PairedTile &tile, const DeviceTraits &target) {
  constexpr int64_t kStep = 16 * 1024, kLongest = 256;
  if (!target.hasWarpgroups || shape.isGated)
    return tile.k;
  auto terms = static_cast<uint64_t>(kStep / (tile.n * int64_t(byteSize(shape.type))));
  return std::clamp<int64_t>(static_cast<int64_t>(std::bit_floor(terms)), tile.k,
                             std::max<int64_t>(tile.k, kLongest));
}

GemvTile gemvTile(const GemvShape &shape, const DeviceTraits &target) {
  constexpr int64_t kRows = 64, kFew = 16, kFewest = 8;
  DType factors = shape.isExact ? DType::f32 : shape.type;
  bool isShort = factors != DType::f32;
  if (target.isGpu() && isShort && shape.isLong && shape.B <= kFewest)
    return longRowsOfGpu(shape);
  if (target.isGpu() && !isShort && shape.B <= kFew)
    return elementsOfGpu(shape, target);
  constexpr int64_t kElements = 262144, kLongest = 16384; // of x
  if (target.isGpu()) {
    PairedTile tile =
        gemmTile({shape.B, shape.N, shape.K, factors, shape.cores, 1, /*isKMajor=*/true}, target);
    return {tile.m, tile.n, isShort ? termsOf(shape, tile, target) : tile.k, false,
            isShort ? sharersOf(shape, tile, target) : 1};
  }
  constexpr int64_t kBlock = 32; // of packed weights, and whole vectors
  int64_t steps = tilesOf(shape.K, kLongest);
  int64_t k = tilesOf(tilesOf(shape.K, steps), kBlock) * kBlock;
  return {std::min({shape.B, kRows, std::max(kElements / k, kFewest)}), weightsOfTile(shape), k};
}

} // namespace ditron::heuristics
