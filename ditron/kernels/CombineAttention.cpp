// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention over all keys, of that over each of some parts of them: the parts weighted by the sums
// of weights that they had.
#include "ditron/heuristics/Extents.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/kernels.h"
#include <cmath>
#include <limits>

namespace ditron::kernels {

template <class T> static Kernel combineAttentionOf(CombineAttentionConfig cfg) {
  return {"combine-attention(x[B,N,P,D], sizes[B,N,P]) -> o[B,N,D]",
          [=](In<f32, 4> x, In<f32, 3> sizes, Out<T, 3> o) {
            require(x.rows() <= cfg.parts, "there are {} parts, this variant takes up to {}",
                    {x.rows(), cfg.parts});
            require(x.cols() <= cfg.d, "the heads have {} elements, this variant takes up to {}",
                    {x.cols(), cfg.d});
            auto os = o.tiled(cfg.d);
            for (auto [b, n, j] : os.tiles()) {
              auto logarithms = Tile(
                  sizes.at(b).at(n).tiled(cfg.parts)(0).padded(std::numeric_limits<f32>::lowest()));
              auto weights = exp2(logarithms - max(logarithms, 0));
              auto share = weights / sum(weights, 0);
              auto parts = Tile(x.at(b).at(n).tiled(cfg.parts, cfg.d)(0, j));
              auto all = sum(parts * reshape(share, {cfg.parts, 1}), 0);
              os(b, n, j) = cast<T>(reshape(all, {cfg.d}));
            }
          }};
}

Kernel combineAttention(DType type, const CombineAttentionConfig &config) {
  return Floats::dispatch(type, "combine-attention",
                          [&]<class T> { return combineAttentionOf<T>(config); });
}

/// Sums of weights between 1 and 2^12; some parts have no keys.
static double input(const Problem &, const Inputs &inputs, int64_t rank, size_t argument,
                    int64_t element) {
  if (argument == 0)
    return inputs.standard(rank, argument, element);
  double x = inputs.uniform(rank, argument, element);
  return x < 0.125 ? std::numeric_limits<f32>::lowest() : 12 * x;
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  const Inputs &in = run.inputs;
  int64_t P = run.problem["P"];
  double top = -INFINITY, total = 0;
  for (int64_t p = 0; p < P; ++p)
    top = std::max(top, in.at(row.rank, 1, row.row, p));
  auto weight = [&](int64_t p) { return std::exp2(in.at(row.rank, 1, row.row, p) - top); };
  for (int64_t p = 0; p < P; ++p)
    total += weight(p);
  std::vector<Expected> result;
  for (int64_t column : row.columns) {
    ReferenceSum sum;
    for (int64_t p = 0; p < P; ++p)
      sum.addProduct(in.at(row.rank, 0, row.row * P + p, column), weight(p) / total);
    sum.magnitude *= 16; // of the logarithms, which are up to 12
    result.push_back(expectedSum(sum, run.problem.type));
  }
  return result;
}

KernelEntry combineAttentionEntry() {
  return {
      .name = "combine-attention",
      .summary = "attention over all keys, of that over each of their parts",
      .dtypes = Floats::list(),
      .parameters = {{"parts", "of the keys, at least", {}},
                     {"d", "elements of a head, at least", {}}},
      .defaults =
          [](const Problem &problem) {
            return Config{{"parts", heuristics::fit(problem["P"], INT64_MAX)},
                          {"d", heuristics::fit(problem["D"], INT64_MAX)}};
          },
      .make =
          [](DType type, const Config &config) {
            return combineAttention(type, {config.get("parts"), config.get("d")});
          },
      .shape = {{"B", 1}, {"N", 32}, {"P", 8}, {"D", 128}},
      .testShapes = {{{"B", 1}, {"N", 1}, {"P", 1}, {"D", 1}},
                     {{"B", 2}, {"N", 5}, {"P", 3}, {"D", 20}},
                     {{"B", 3}, {"N", 4}, {"P", 9}, {"D", 64}}},
      .benchShapes = {{{"B", 64}, {"N", 32}, {"P", 8}, {"D", 128}}},
      .checkCases = {{{{"B", 2}, {"N", 2}, {"P", 3}, {"D", 3}}, "parts=4,d=4"}},
      .variants = {"parts=10,d=100"},
      .bytes = [](const Problem &p) { return 4.0 * p["B"] * p["N"] * p["P"] * p["D"]; },
      .baseline = Baseline::read,
      .input = input,
      .reference = reference,
  };
}

} // namespace ditron::kernels
