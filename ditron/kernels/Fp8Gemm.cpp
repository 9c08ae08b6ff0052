// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C = (A * scaleA) * (B * scaleB)^T, of operands in 8-bit floats whose scales bring them into that
// format's range: one for the whole operand, or one for each of its rows. Sums are in f32, by
// default with fast accumulation: tensor cores keep runs in fewer bits, which are promoted to fp32.
// The scales multiply the sums once, at the end.
#include "ditron/kernels/Parameters.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/functions/Products.h"
#include "ditron/kernels/kernels.h"
#include <cmath>

namespace ditron::kernels {

using FloatsOf8Bits = Types<f8e4m3, f8e5m2>;

template <class T> static Kernel fp8GemmOf(Fp8GemmConfig cfg) {
  bool byRows = cfg.scaling == Scaling::rows;
  return {byRows ? "fp8-gemm(A[M,K], B[N,K], scaleA[M], scaleB[N]) -> C[M,N]"
                 : "fp8-gemm(A[M,K], B[N,K], scaleA[1], scaleB[1]) -> C[M,N]",
          [=](In<T> A, In<T> B, In<f32, 1> scaleA, In<f32, 1> scaleB, Out<bf16> C) {
            auto a = A.tiled(cfg.m, cfg.k), b = B.tiled(cfg.n, cfg.k);
            auto c = C.tiled(cfg.m, cfg.n);
            std::optional<Tile> scale; // of all
            if (!byRows)
              scale.emplace(scaleA.read({0}) * scaleB.read({0}));
            auto scaled = [&](const Tile &sum, Index i, Index j) {
              if (scale)
                return sum * *scale;
              return sum * expand(scaleA.tiled(cfg.m)(i), 1) * scaleB.tiled(cfg.n)(j);
            };
            for (auto [i, j] : c.tiles(tileOrder(cfg)))
              c(i, j) = cast<bf16>(scaled(productOfRows(a, i, b, j, cfg.accuracy), i, j));
          }};
}

Kernel fp8Gemm(DType type, const Fp8GemmConfig &config) {
  return FloatsOf8Bits::dispatch(type, "fp8-gemm", [&]<class T> { return fp8GemmOf<T>(config); });
}

//===-- Reference -----------------------------------------------------------------------------===//

static constexpr size_t kScaleA = 2, kScaleB = 3;

/// Scales between 1/4 and 4.
static double input(const Problem &, const Inputs &inputs, int64_t rank, size_t argument,
                    int64_t element) {
  if (argument != kScaleA && argument != kScaleB)
    return inputs.standard(rank, argument, element);
  return std::exp2(4 * inputs.uniform(rank, argument, element) - 2);
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  const Inputs &in = run.inputs;
  bool byRows = run.config["scaling"] != 0;
  double scaleOfA = in.at(row.rank, kScaleA, byRows ? row.row : 0);
  std::vector<Expected> result;
  for (int64_t column : row.columns) {
    ReferenceSum sum = productWith(in, row.rank, row.row, {0, run.problem["K"]},
                                   static_cast<Accuracy>(run.config["accuracy"]),
                                   [&](int64_t k) { return in.at(row.rank, 1, column, k); });
    sum.scaleBy(scaleOfA);
    sum.scaleBy(in.at(row.rank, kScaleB, byRows ? column : 0));
    result.push_back(expectedSum(sum, DType::bf16));
  }
  return result;
}

//===-- Registry ------------------------------------------------------------------------------===//

static PairedTile tileOf(const Problem &problem, Scaling scaling) {
  heuristics::GemmNeeds needs{.isFast = true, .scalesRows = scaling == Scaling::rows};
  auto shape = gemmShape(problem, problem["M"], /*isKMajor=*/true);
  return heuristics::gemmTile(shape, problem.target, needs);
}

static void retile(const Problem &problem, Config &config) {
  setTile(config, tileOf(problem, static_cast<Scaling>(config["scaling"])));
}

static Kernel make(DType type, const Config &config) {
  return fp8Gemm(type, {pairedTile(config), static_cast<Scaling>(config["scaling"]),
                        static_cast<Accuracy>(config["accuracy"])});
}

KernelEntry fp8GemmEntry() {
  KernelEntry entry;
  entry.name = "fp8-gemm";
  entry.summary = "C = (A * scaleA) * (B * scaleB)^T of 8-bit floats, in bf16";
  entry.dtypes = FloatsOf8Bits::list();
  entry.parameters = gemmParameters();
  entry.parameters.push_back(pairsParameter());
  entry.parameters.push_back({"scaling", "what has a scale of its own", {}, {"tensor", "rows"}, 0});
  entry.parameters.push_back(accuracyParameter());
  entry.defaults = [](const Problem &problem) {
    PairedTile tile = tileOf(problem, Scaling::tensor);
    return Config{{"m", tile.m},
                  {"n", tile.n},
                  {"k", tile.k},
                  {"group", tile.group},
                  {"pairs", static_cast<int64_t>(tile.pairs)},
                  {"scaling", 0},
                  {"accuracy", 1}};
  };
  entry.retile = retile;
  entry.make = make;
  entry.shape = {{"M", 512}, {"N", 512}, {"K", 512}};
  entry.testShapes = {{{"M", 1}, {"N", 1}, {"K", 1}},
                      {{"M", 64}, {"N", 48}, {"K", 96}},
                      {{"M", 1}, {"N", 130}, {"K", 37}},
                      {{"M", 67}, {"N", 71}, {"K", 131}}};
  entry.benchShapes = {{{"M", 1024}, {"N", 1024}, {"K", 1024}}};
  entry.checkCases = {{{{"M", 6}, {"N", 5}, {"K", 7}}, "m=4,n=4,k=4"},
                      {{{"M", 6}, {"N", 5}, {"K", 7}}, "m=4,n=4,k=4,scaling=rows"}};
  entry.variants = {"m=10,n=9,k=20", "accuracy=full", "scaling=rows", "scaling=rows,m=10,n=9,k=20"};
  entry.flops = [](const Problem &p, const Config &) {
    return 2.0 * double(p["M"]) * double(p["N"]) * double(p["K"]);
  };
  entry.baseline = Baseline::scaledGemm;
  entry.input = input;
  entry.reference = reference;
  return entry;
}

} // namespace ditron::kernels
