// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rotary position embedding (Su et al., "RoFormer", arXiv 2104.09864) with half-split pairing: of
// each head element i turns with element i + H, i < H, by the angle of pair i at the token's
// position; or with adjacent pairs, element 2 * i with element 2 * i + 1. Cosines and sines come in tables, so that any scaling of the angles is the caller's,
// and large positions lose no accuracy. A token's heads share a row of them.
#include "ditron/heuristics/RowTiles.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/kernels.h"
#include <cmath>

namespace ditron::kernels {

template <class T> static Kernel ropeOf(RopeConfig cfg) {
  return {"rope(x[T,N,2*H], positions[T], cosines[P,H], sines[P,H]) -> y[T,N,2*H]",
          [=](In<T, 3> x, In<i32, 1> positions, In<f32> cosines, In<f32> sines, Out<T, 3> y) {
            Index half = cosines.cols();
            // The first elements of the pairs (0), or the second ones.
            auto elements = [&](const auto &view, int which) {
              if (cfg.pairs == RopePairs::adjacent)
                return view.split(2, half).at(3, which).tiled(cfg.heads, cfg.width);
              return view.slice(2, which * half, half).tiled(cfg.heads, cfg.width);
            };
            auto xs = elements(x, 0), xs2 = elements(x, 1);
            auto ys = elements(y, 0), ys2 = elements(y, 1);
            for (auto [t, n, h] : ys.tiles()) {
              // Where the tables are read is known last: by what is read first.
              Index position = toIndex(positions.read({t}));
              auto a = cast<f32>(xs(t, n, h)), b = cast<f32>(xs2(t, n, h));
              // at() ends the launch beyond the table.
              auto cosine = Tile(cosines.at(position).tiled(cfg.width)(h));
              auto sine = Tile(sines.at(position).tiled(cfg.width)(h));
              ys(t, n, h) = cast<T>(a * cosine - b * sine);
              ys2(t, n, h) = cast<T>(b * cosine + a * sine);
            }
          }};
}

Kernel rope(DType type, const RopeConfig &config) {
  return Floats::dispatch(type, "rope", [&]<class T> { return ropeOf<T>(config); });
}

//===-- Reference -----------------------------------------------------------------------------===//

static constexpr size_t kX = 0, kPositions = 1, kCosines = 2, kSines = 3;

/// Positions in any order, and the tables of the usual angles: position * 10000^(-pair / pairs).
static double input(const Problem &problem, const Inputs &inputs, int64_t rank, size_t argument,
                    int64_t element) {
  if (argument == kX)
    return inputs.standard(rank, argument, element);
  if (argument == kPositions)
    return std::floor(inputs.uniform(rank, argument, element) * double(problem["P"]));
  int64_t H = problem["H"];
  double angle = double(element / H) * std::pow(10000.0, -double(element % H) / double(H));
  return argument == kCosines ? std::cos(angle) : std::sin(angle);
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  const Inputs &in = run.inputs;
  int64_t N = run.problem["N"], H = run.problem["H"];
  auto position = static_cast<int64_t>(in.at(row.rank, kPositions, row.row / N));
  std::vector<Expected> result;
  for (int64_t column : row.columns) {
    bool isAdjacent = run.config["pairs"] == 1;
    int64_t pair = isAdjacent ? column / 2 : column % H;
    int64_t other = isAdjacent ? column ^ 1 : (column + H) % (2 * H);
    bool isFirst = isAdjacent ? column % 2 == 0 : column < H;
    double cosine = in.at(row.rank, kCosines, position, pair);
    double sine = in.at(row.rank, kSines, position, pair);
    ReferenceSum sum;
    sum.addProduct(in.at(row.rank, kX, row.row, column), cosine);
    sum.addProduct(in.at(row.rank, kX, row.row, other), isFirst ? -sine : sine);
    result.push_back(expectedSum(sum, run.problem.type));
  }
  return result;
}

static Config defaults(const Problem &problem) {
  auto [heads, width] =
      heuristics::headTile(problem["N"], problem["H"], problem.type, problem.target);
  return {{"heads", heads}, {"width", width}, {"pairs", 0}};
}

KernelEntry ropeEntry() {
  return {
      .name = "rope",
      .summary = "rotates pairs of elements of each head by the angles of the token's position",
      .dtypes = Floats::list(),
      .parameters = {{"heads", "heads of a tile", {1, 4, 8, 16, 32, 64}},
                     {"width", "pairs of a tile", {32, 64, 128}},
                     {"pairs",
                      "elements that turn together: i and i + H, or 2 * i and 2 * i + 1",
                      {},
                      {"halves", "adjacent"},
                      0}},
      .defaults = defaults,
      .make =
          [](DType type, const Config &config) {
            return rope(type, {config.get("heads"), config.get("width"),
                               static_cast<RopePairs>(config["pairs"])});
          },
      .shape = {{"T", 512}, {"N", 8}, {"H", 64}, {"P", 4096}},
      .testShapes = {{{"T", 1}, {"N", 1}, {"H", 1}, {"P", 1}},
                     {{"T", 7}, {"N", 5}, {"H", 3}, {"P", 11}},
                     {{"T", 13}, {"N", 9}, {"H", 32}, {"P", 8}},
                     {{"T", 11}, {"N", 3}, {"H", 41}, {"P", 100}}},
      .benchShapes = {{{"T", 2048}, {"N", 32}, {"H", 64}, {"P", 4096}},
                      {{"T", 4096}, {"N", 32}, {"H", 64}, {"P", 4096}}},
      .checkCases = {{{{"T", 3}, {"N", 5}, {"H", 3}, {"P", 4}}, "heads=2,width=2"},
                     {{{"T", 3}, {"N", 5}, {"H", 3}, {"P", 4}}, "heads=2,width=2,pairs=adjacent"}},
      .variants = {"heads=2,width=8", "heads=3,width=5", "pairs=adjacent"},
      .bytes = [](const Problem &p) { return 4.0 * p["T"] * p["N"] * p["H"] * byteSize(p.type); },
      .baseline = Baseline::copy,
      .input = input,
      .reference = reference,
  };
}

} // namespace ditron::kernels
