// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/kernels/Parts.h"
#include <cmath>

namespace ditron::kernels {

Tile activate(Activation activation, const Tile &x) {
  switch (activation) {
  case Activation::relu:
    return maximum(x, 0);
  case Activation::silu:
    return x * sigmoid(x);
  case Activation::gelu:
    return x * (erf(x * std::sqrt(0.5)) + 1) * 0.5;
  case Activation::none:
    break;
  }
  return x;
}

// Every tile does this: in few instructions, most of them of 32 bits.
Block findBlock(Index number, Index parts, int height, const std::function<Tile(Index)> &sizeOf) {
  Tile wanted = toTile(number);
  Var part = toTile(0), blocksBefore = toTile(0), first = cast<i64>(toTile(0)); // of the block
  Var blocks = toTile(0), rows = cast<i64>(toTile(0)), least = toTile(0); // of the parts so far
  for (auto p : range(parts)) {
    Tile size = sizeOf(p), most = size + (height - 1);
    auto bits = std::countr_zero(static_cast<unsigned>(height));
    blocks += std::has_single_bit(static_cast<unsigned>(height)) ? most >> bits : most / height;
    rows += cast<i64>(size);
    least = minimum(least, size);
    Tile isPast = wanted >= blocks;
    part = select(isPast, toTile(p + 1), part);
    first = select(isPast, rows, first);
    blocksBefore = select(isPast, blocks, blocksBefore);
  }
  Index smallest = toIndex(least);
  require(smallest >= 0, "one of {} parts has {} rows, expected 0 or more", {parts, smallest});
  return {toIndex(part), toIndex(first), number - toIndex(blocksBefore)};
}

Index mostBlocks(Index rows, Index parts, int height) { return rows / height + parts; }

//===-- Configurations ------------------------------------------------------------------------===//

std::vector<ConfigParameter> gemmParameters() {
  return {{"m", "rows of a tile of C", {16, 32, 64, 128, 256}},
          {"n", "columns of a tile of C", {32, 56, 64, 128, 160, 176, 192, 224, 256}},
          {"k", "terms a step adds", {32, 64, 128, 256}},
          {"group", "rows of tiles walked together", {1, 4, 8, 16}}};
}

ConfigParameter pairsParameter() {
  return {"pairs",
          "tiles that two cores side by side take: rows share B, columns share A",
          {},
          {"none", "rows", "columns"},
          0};
}

PairedTile pairedTile(const Config &config) {
  return {gemmTile(config), static_cast<Pairs>(config["pairs"])};
}

Order tileOrder(const PairedTile &tile) {
  return order::grouped(tile.group)
      .together(tile.pairs == Pairs::rows ? 2 : 1, tile.pairs == Pairs::columns ? 2 : 1);
}

ConfigParameter accuracyParameter() {
  return {"accuracy", "what products look at of f32 and of 8-bit floats", {}, {"full", "fast"}, 0};
}

/// What a core with the most to do spends on its tiles of an M x N product, in element updates. A
/// tile of m x n costs as much again per 1/m and 1/n: operands are packed once a tile. The constant
/// was fitted to 1024 x 1024 x 1024 in f32 (0.82 of OpenBLAS at 128 x 256, 0.90 at 512 x 512).
static double cpuCost(int64_t M, int64_t N, int64_t m, int64_t n, int cores) {
  constexpr double kPacking = 12;
  constexpr double kMany = 1 << 14; // of which every core gets as much as the others
  double rows = std::ceil(double(M) / double(m)), columns = std::ceil(double(N) / double(n));
  if (rows * columns > kMany * cores)
    return (double(M) * double(N) + kPacking * (columns * double(M) + rows * double(N))) / cores;
  std::vector<double> load(static_cast<size_t>(cores));
  size_t core = 0;
  for (int64_t i = 0; i < M; i += m)
    for (int64_t j = 0; j < N; j += n) {
      auto height = static_cast<double>(std::min(m, M - i));
      auto width = static_cast<double>(std::min(n, N - j));
      load[core] += height * width + kPacking * (height + width);
      core = (core + 1) % load.size();
    }
  return *std::max_element(load.begin(), load.end());
}

/// The tile of C that keeps all cores busy with the least packing, its operands and accumulator in
/// a second-level cache of 2 MB.
static PairedTile cpuGemmTile(int64_t M, int64_t N, int64_t K, int cores) {
  PairedTile best;
  double least = std::numeric_limits<double>::infinity();
  for (int64_t m : {64, 128, 192, 256, 384, 512})
    for (int64_t n : {64, 128, 256, 384, 512}) {
      int64_t height = fit(M, m), width = fit(N, n);
      double cost = cpuCost(M, N, height, width, cores);
      if (cost < least) {
        least = cost;
        best.m = static_cast<int>(height);
        best.n = static_cast<int>(width);
      }
    }
  best.k = static_cast<int>(fit(K, 256));
  return best;
}

namespace {

/// Tiles of C for warpgroups: their widths are free in steps of 8 columns, so one is looked for
/// that gives all multiprocessors as much to do.
class WarpgroupTiles {
public:
  WarpgroupTiles(const Problem &problem, int64_t rows, const TileNeeds &needs)
      : step_(needs.step), rows_(rows), columns_(problem["N"]), cores_(problem.multiprocessors),
        most_(problem.accumulator), mayPair_(needs.mayPair) {
    if (isFloat(problem.type) && byteSize(problem.type) == 1) {
      most_ = most_ * 2 / 3; // parts of their sums are held twice
      hasParts_ = true;
      edge_ = 96, part_ = 3724;
    } else if (byteSize(problem.type) != 2) {
      mayPair_ = false; // threads store them, which have no registers left for it
      most_ = std::min<int64_t>(most_, 128 * 224); // which takes registers
      step_ = std::max(step_, kExchangedColumns);
    }
    most_ = std::min(most_, needs.most);
  }

  PairedTile best() const {
    PairedTile result;
    if (rows_ <= kFewRows) { // computed transposed: few rows are few columns
      result.m = static_cast<int>(std::max(kStep, fit(rows_, kFewRows)));
      result.n = kWarpgroup;
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
    if (rows_ > kWarpgroup && mayPair_) // else weights are read, which nobody shares
      result.pairs = pairsFor(result.m, result.n);
    result.group = result.pairs == Pairs::rows ? 16 : 8;
    return result;
  }

private:
  static constexpr int64_t kStep = 8; ///< of widths, and of the rows that a core reads of a tile
  static constexpr int kWarpgroup = 64, kFewRows = 32; ///< of its products; too few for them

  /// One warpgroup's where there are no rows for two.
  std::vector<int64_t> heights() const {
    if (rows_ <= kWarpgroup)
      return {kWarpgroup};
    return {128, 256};
  }

  /// In how many parts a product is computed whose sums are short (columnsOfParts of
  /// targets/nvidia decides).
  static int64_t partsOf(int64_t m, int64_t n) {
    constexpr int64_t kWhole = 192; // columns, of one warpgroup's rows
    return m > 2 * kWarpgroup || n > kWhole ? 2 : 1;
  }

  /// Whether the parts are equally wide: registers are short for others.
  bool comesEvenly(int64_t m, int64_t n) const {
    return !hasParts_ || m > 2 * kWarpgroup || partsOf(m, n) == 1 || n % (2 * kStep) == 0;
  }

  /// How often all multiprocessors, in groups that take `m` x `n` tiles together, multiply one tile
  /// each, times what that costs: its elements, and something for what it reads.
  double costOf(int64_t m, int64_t n, int64_t groupRows, int64_t groupColumns) const {
    auto parts = [](int64_t extent, int64_t size) { return (extent + size - 1) / size; };
    int64_t groups = parts(rows_, m * groupRows) * parts(columns_, n * groupColumns);
    int64_t rounds = parts(groups, cores_ / (groupRows * groupColumns));
    int64_t cost = m * n + edge_ * (m + n) + part_ * partsOf(m, n);
    return static_cast<double>(rounds) * static_cast<double>(cost);
  }

  /// Two cores read the larger operand together where that costs no round.
  Pairs pairsFor(int64_t m, int64_t n) const {
    double alone = costOf(m, n, 1, 1);
    bool rows = rows_ > m && n % (2 * kStep) == 0 && costOf(m, n, 2, 1) <= alone;
    bool columns = columns_ > n && costOf(m, n, 1, 2) <= alone;
    if (rows && (n >= m || !columns))
      return Pairs::rows;
    return columns ? Pairs::columns : Pairs::none;
  }

  int64_t step_, rows_, columns_, cores_, most_;
  bool hasParts_ = false; ///< of their sums, which are short
  bool mayPair_;
  /// What a row or column of a tile costs beside its elements, and a part of it, in elements:
  /// fitted to the rates of tiles of 16-bit, and above of 8-bit floats on an H200 (docs/nvidia.md).
  int64_t edge_ = 8, part_ = 0;
};

} // namespace

/// The tile of C on a GPU: 128 x 128 or less where products are those of warps.
static PairedTile gpuGemmTile(const Problem &problem, int64_t rows, const TileNeeds &needs) {
  constexpr int64_t kFewRows = 32;
  int64_t bytes = static_cast<int64_t>(byteSize(problem.type));
  // Warpgroups need terms enough, and rows of whole 16 bytes.
  bool isExact = !isFloat(problem.type), isFast = needs.accuracy == Accuracy::fast;
  bool isType = bytes == 2 || (needs.hasDenseTerms && bytes == 1 && !isExact && isFast) ||
                (needs.hasDenseTerms && rows > kFewRows && (isExact || isFast));
  bool isForWarpgroups = isType && problem.accumulator > 128 * 128 && problem["K"] > 32 &&
                         problem["K"] * bytes % 16 == 0 && problem["N"] * bytes % 16 == 0;
  PairedTile tile;
  if (isForWarpgroups) {
    tile = WarpgroupTiles(problem, rows, needs).best();
  } else {
    tile.m = static_cast<int>(fit(rows, 128));
    tile.n = static_cast<int>(fit(problem["N"], 128));
  }
  // Rows of 128 bytes, but 64 terms of 8-bit floats that are widened; where memory is waited for,
  // few large steps.
  int64_t most = bytes == 1 && (isForWarpgroups || !isFloat(problem.type)) ? 128 : 64;
  if (isForWarpgroups && bytes == 4)
    most = 32;
  if (isForWarpgroups && bytes == 2 && tile.m < 64)
    most = 256;
  tile.k = static_cast<int>(fit(problem["K"], most));
  return tile;
}

PairedTile gemmTile(const Problem &problem, int64_t rows, const TileNeeds &needs) {
  if (problem.machine == Machine::gpu)
    return gpuGemmTile(problem, rows, needs);
  return cpuGemmTile(rows, problem["N"], problem["K"],
                     static_cast<int>(std::max<int64_t>(1, problem.cores)));
}

GemmTile gemmTile(const Config &config) {
  return {config.get("m"), config.get("n"), config.get("k"), config.get("group")};
}

void setTile(Config &config, const PairedTile &tile) {
  config.set("m", tile.m);
  config.set("n", tile.n);
  config.set("k", tile.k);
  config.set("group", tile.group);
  config.set("pairs", static_cast<int64_t>(tile.pairs));
}

std::vector<ConfigParameter> rowParameters() {
  return {{"rows", "rows of a tile", {1, 2, 4, 8, 16}},
          {"width", "columns of a tile", {256, 512, 1024, 2048, 4096, 8192}}};
}

/// Rows of H elements for a tile: few, for several to share its overhead.
static int64_t rowsOfTile(int64_t H) {
  constexpr int64_t kElements = 4096, kMost = 8;
  return static_cast<int64_t>(
      std::bit_floor(static_cast<uint64_t>(std::clamp<int64_t>(kElements / H, 1, kMost))));
}

/// What the width of a tile that holds a row of H elements is a multiple of: whole vectors on a
/// CPU. On a GPU what all threads of four warps access at a time, or more in long rows, which have
/// more warps.
static int64_t widthStep(const Problem &problem, int64_t H) {
  if (problem.machine != Machine::gpu)
    return 16;
  constexpr int64_t kThreads = 128, kNarrow = 4; // bytes
  auto element = static_cast<int64_t>(byteSize(problem.type)), bytes = H * element | 16;
  int64_t access = std::max(bytes & -bytes, element);
  return std::max({fit(H, INT64_MAX) / (access <= kNarrow ? 32 : 8),
                   kThreads * access / element / rowsOfTile(H), int64_t(1)});
}

Config rowDefaults(const Problem &problem) {
  // One tile a row where the row and what is computed from it stay in a core's first-level cache,
  // or a GPU's registers.
  constexpr int64_t kWidest = 8192, kWidestOfGpu = 32768;
  bool isGpu = problem.machine == Machine::gpu;
  int64_t H = problem["H"], width = isGpu ? 8192 : 2048;
  if (H <= 16)
    width = fit(H, 16);
  else if (int64_t step = widthStep(problem, H); H <= (isGpu ? kWidestOfGpu : kWidest))
    width = (H + step - 1) / step * step;
  return {{"rows", fit(problem["T"], rowsOfTile(width))}, {"width", width}};
}

Config elementDefaults(const Problem &problem) {
  if (problem.machine != Machine::gpu)
    return rowDefaults(problem);
  // Tiles of as many elements whatever H is: the widest that cover at most a twentieth more of a
  // row than narrow ones do.
  constexpr int64_t kElements = 4096, kNarrowest = 256;
  int64_t H = problem["H"], width = fit(H, kNarrowest);
  auto covered = [&](int64_t wide) { return (H + wide - 1) / wide * wide; };
  for (int64_t wide = kElements; wide > width; wide /= 2)
    if (covered(wide) * 20 <= covered(width) * 21)
      width = wide; // and the narrower ones are not looked at
  return {{"rows", fit(problem["T"], kElements / width)}, {"width", width}};
}

RowConfig rowConfig(const Config &config) { return {config.get("rows"), config.get("width")}; }

std::vector<ConfigParameter> chunkParameters() {
  return {{"rows", "rows of a chunk", {1, 4, 16, 64}},
          {"columns", "columns of a chunk", {512, 1024, 4096, 16384}}};
}

static Config chunksOf(int64_t elements, int64_t rows, int64_t columns) {
  int64_t width = fit(columns, elements);
  return {{"rows", fit(rows, elements / width)}, {"columns", width}};
}

Config movedChunks(const Problem &problem, int64_t rows, int64_t columns) {
  // From 64 KB on, signals cost nothing.
  return chunksOf(65536 / static_cast<int64_t>(byteSize(problem.type)), rows, columns);
}

Config summedChunks(int64_t rows, int64_t columns) {
  // A sum stays in a core's cache while the parts go by.
  return chunksOf(8192, rows, columns);
}

ChunkConfig chunkConfig(const Config &config) {
  return {config.get("rows"), config.get("columns")};
}

std::vector<ConfigParameter> fusedParameters() {
  std::vector<ConfigParameter> parameters = gemmParameters();
  parameters.push_back({"comm",
                        "cores that move data (0: all do, before or after they multiply)",
                        {0, 1, 2},
                        {},
                        0});
  return parameters;
}

Config fusedDefaults(const Problem &problem, int64_t rows, bool sums) {
  constexpr int64_t kSummed = 128 * 128; // elements that GPUs have registers for, twice
  Problem fused = problem;
  if (sums)
    fused.accumulator = std::min(fused.accumulator, kSummed);
  GemmTile tile = gemmTile(fused, rows, {.step = kExchangedColumns});
  int64_t comm = problem.machine == Machine::gpu ? 16 : problem.cores >= 4 ? 1 : 0;
  return {{"m", tile.m}, {"n", tile.n}, {"k", tile.k}, {"group", tile.group}, {"comm", comm}};
}

FusedGemmConfig fusedConfig(const Config &config) { return {gemmTile(config), config.get("comm")}; }

std::vector<Dimensions> fusedTestShapes() {
  return {{{"M", 1}, {"N", 1}, {"K", 1}},
          {{"M", 7}, {"N", 13}, {"K", 11}},
          {{"M", 1}, {"N", 48}, {"K", 5}},
          {{"M", 2}, {"N", 3}, {"K", 4099}},
          {{"M", 33}, {"N", 48}, {"K", 96}}};
}

std::vector<CheckCase> fusedCheckCases() {
  return {{{{"M", 6}, {"N", 5}, {"K", 7}}, "m=4,n=4,k=4,group=1,comm=0"},
          {{{"M", 6}, {"N", 5}, {"K", 7}}, "m=4,n=4,k=4,group=1,comm=1"},
          {{{"M", 10}, {"N", 3}, {"K", 7}}, "m=4,n=4,k=4,group=1,comm=0"},
          {{{"M", 3}, {"N", 2}, {"K", kChunkColumns + 3}}, "m=2,n=2,k=4096,comm=1"}};
}

//===-- References ----------------------------------------------------------------------------===//

static double activated(Activation activation, double x) {
  switch (activation) {
  case Activation::relu:
    return std::max(x, 0.0);
  case Activation::silu:
    return x / (1 + std::exp(-x));
  case Activation::gelu:
    return x * (std::erf(x * std::sqrt(0.5)) + 1) * 0.5;
  case Activation::none:
    break;
  }
  return x;
}

double roundTo(DType type, double value) {
  alignas(8) std::byte element[8];
  storeElement(type, element, value);
  return loadElement(type, element);
}

Expected expectedSum(const ReferenceSum &sum, DType type, Activation activation, double residual) {
  if (!isFloat(type))
    return Expected::exact(sum.value + residual);
  // The slope of each activation is below 1.13, and its own arithmetic adds a few roundings.
  double magnitude = activation == Activation::none ? sum.magnitude : 2 * sum.magnitude;
  double plain = roundTo(DType::f32, activated(activation, sum.plain));
  plain = roundTo(DType::f32, plain + residual);
  return {activated(activation, sum.value) + residual, roundTo(type, plain),
          magnitude + std::abs(residual), sum.terms};
}

ReferenceSum productOf(const Inputs &in, int64_t rank, int64_t row, int64_t firstOfB,
                       int64_t column, int64_t K) {
  return productWith(in, rank, row, K, Accuracy::full,
                     [&](int64_t k) { return in.at(rank, 1, firstOfB + k, column); });
}

/// An f32 rounded to 10 bits of mantissa.
static double roundedToTf32(double value) {
  int exponent = 0;
  double mantissa = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, 11)), exponent - 11);
}

ReferenceSum productWith(const Inputs &in, int64_t rank, int64_t row, int64_t K, Accuracy accuracy,
                         const std::function<double(int64_t)> &ofB) {
  bool isFast = accuracy == Accuracy::fast, rounds = isFast && in.type(0) == DType::f32;
  ReferenceSum sum;
  for (int64_t k = 0; k < K; ++k) {
    double a = in.at(rank, 0, row, k), b = ofB(k);
    if (rounds)
      sum.addProduct(a, b, roundedToTf32(a), roundedToTf32(b));
    else
      sum.addProduct(a, b);
  }
  if (isFast && isFloat(in.type(0)) && byteSize(in.type(0)) == 1)
    sum.allowShortSums();
  if (rounds)
    sum.allowTf32();
  return sum;
}

std::vector<Expected> sumOfRanks(const Case &run, const OutputRow &row, int64_t inputRow) {
  std::vector<Expected> result;
  for (int64_t column : row.columns) {
    ReferenceSum sum;
    for (int64_t r = 0; r < run.problem.ranks; ++r)
      sum.add(run.inputs.at(r, 0, inputRow, column));
    result.push_back(expectedSum(sum, run.inputs.type(row.argument)));
  }
  return result;
}

std::vector<Expected> sumOfProducts(const Case &run, const OutputRow &row, int64_t inputRow) {
  std::vector<Expected> result;
  for (int64_t column : row.columns) {
    ReferenceSum sum;
    for (int64_t r = 0; r < run.problem.ranks; ++r)
      sum.add(productOf(run.inputs, r, inputRow, 0, column, run.problem["K"]));
    result.push_back(expectedSum(sum, run.inputs.type(row.argument)));
  }
  return result;
}

} // namespace ditron::kernels
