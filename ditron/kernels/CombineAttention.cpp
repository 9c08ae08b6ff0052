// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention over all keys, of that over each of some parts of them: the parts weighted by the sums
// of weights that they had.
#include "ditron/heuristics/AttentionTiles.h"
#include "ditron/heuristics/Extents.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/functions/JoinParts.h"
#include <cmath>

namespace ditron::kernels {

/// Every head of o, a view of [B,N,D].
template <class T>
static void combineAll(const CombineAttentionConfig &cfg, const In<f32, 4> &x,
                       const In<f32, 3> &sizes, const View<T, 3, Access::write> &o) {
  require(x.cols() <= cfg.d, "the heads have {} elements, this variant takes up to {}",
          {x.cols(), cfg.d});
  auto os = o.tiled(cfg.d);
  for (auto [b, n, j] : os.tiles())
    os(b, n, j) = cast<T>(joinedParts(cfg, x.at(b).at(n), sizes.at(b).at(n), j));
}

template <class T> static Kernel combineAttentionOf(CombineAttentionConfig cfg) {
  if (cfg.flat)
    return {"combine-attention(x[B,N,P,D], sizes[B,N,P]) -> o[B,N*D]",
            [=](In<f32, 4> x, In<f32, 3> sizes, Out<T> o) {
              combineAll<T>(cfg, x, sizes, o.split(1, x.dim(1)));
            }};
  return {"combine-attention(x[B,N,P,D], sizes[B,N,P]) -> o[B,N,D]",
          [=](In<f32, 4> x, In<f32, 3> sizes, Out<T, 3> o) { combineAll<T>(cfg, x, sizes, o); }};
}

Kernel combineAttention(DType type, const CombineAttentionConfig &config) {
  return Floats::dispatch(type, "combine-attention",
                          [&]<class T> { return combineAttentionOf<T>(config); });
}

/// Sums of weights between 1 and 2^12; the last parts of some heads have no keys.
static double input(const Problem &problem, const Inputs &inputs, int64_t rank, size_t argument,
                    int64_t element) {
  if (argument == 0)
    return inputs.standard(rank, argument, element);
  int64_t P = problem["P"], head = element / P;
  bool hasKeys = double(element % P) < inputs.uniform(rank, argument, head * P) * 1.5 * double(P);
  return hasKeys ? 12 * inputs.uniform(rank, argument, element) : kNoSize;
}

/// Column d of a head of a sequence, `number` counting those of all.
static Expected expectedOf(const Case &run, int64_t rank, int64_t number, int64_t d) {
  const Inputs &in = run.inputs;
  int64_t P = run.problem["P"];
  double top = kNoSize, total = 0;
  auto size = [&](int64_t p) { return in.at(rank, 1, number, p); };
  for (int64_t p = 0; p < P; ++p)
    top = std::max(top, size(p));
  auto weight = [&](int64_t p) { return size(p) > kNoSize ? std::exp2(size(p) - top) : 0; };
  for (int64_t p = 0; p < P; ++p)
    total += weight(p);
  if (total == 0)
    return Expected::exact(0);
  ReferenceSum sum;
  for (int64_t p = 0; p < P; ++p)
    sum.addProduct(in.at(rank, 0, number * P + p, d), weight(p) / total);
  sum.magnitude *= 16; // of the logarithms, which are up to 12
  return expectedSum(sum, run.problem.type);
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  int64_t N = run.problem["N"], D = run.problem["D"];
  std::vector<Expected> result;
  for (int64_t column : row.columns)
    result.push_back(run.config["flat"]
                         ? expectedOf(run, row.rank, row.row * N + column / D, column % D)
                         : expectedOf(run, row.rank, row.row, column));
  return result;
}

KernelEntry combineAttentionEntry() {
  return {
      .name = "combine-attention",
      .summary = "attention over all keys, of that over each of their parts",
      .dtypes = Floats::list(),
      .parameters = {{"parts", "of the keys, that are joined at a time", {}},
                     {"d", "elements of a head, at least", {}},
                     {"flat", "o is [B,N*D]", {}, {"no", "yes"}, 0}},
      .defaults =
          [](const Problem &problem) {
            auto [parts, d] = heuristics::joinTile(problem["P"], problem["D"], problem.target);
            return Config{{"parts", parts}, {"d", d}, {"flat", 0}};
          },
      .make =
          [](DType type, const Config &config) {
            return combineAttention(type,
                                    {config.get("parts"), config.get("d"), config["flat"] != 0});
          },
      .shape = {{"B", 1}, {"N", 32}, {"P", 8}, {"D", 128}},
      .testShapes = {{{"B", 1}, {"N", 1}, {"P", 1}, {"D", 1}},
                     {{"B", 2}, {"N", 5}, {"P", 3}, {"D", 20}},
                     {{"B", 3}, {"N", 4}, {"P", 9}, {"D", 64}},
                     {{"B", 1}, {"N", 3}, {"P", 131}, {"D", 16}}},
      .benchShapes = {{{"B", 64}, {"N", 32}, {"P", 8}, {"D", 128}}},
      .checkCases = {{{{"B", 2}, {"N", 2}, {"P", 3}, {"D", 3}}, "parts=2,d=4"}},
      .variants = {"parts=10,d=100", "parts=2,flat=yes"},
      .bytes = [](const Problem &p) { return 4.0 * p["B"] * p["N"] * p["P"] * p["D"]; },
      .baseline = Baseline::read,
      .input = input,
      .reference = reference,
  };
}

} // namespace ditron::kernels
