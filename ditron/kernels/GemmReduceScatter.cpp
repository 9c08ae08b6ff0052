// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sum over the ranks of A * B, each rank's rows on that rank. A rank multiplies the next rank's
// rows first and its own last, and tells the owner of each tile; the owner fetches a tile once all
// ranks have it and adds in the order of the ranks.
#include "ditron/kernels/FusedGemm.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/AcrossRanks.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/functions/Products.h"
#include "ditron/kernels/kernels.h"

namespace ditron::kernels {

template <class T> static Kernel gemmReduceScatterOf(FusedGemmConfig cfg) {
  using Y = Product<T>;
  return {"gemm-rs(A[R*M,K], B[K,N]) -> C[M,N]", [=](In<T> A, In<T> B, Out<Y> C) {
            auto [m, n, k, group] = cfg.tile;
            auto a = A.split(numRanks()).tiled(m, k);
            auto b = B.tiled(k, n);
            auto c = C.tiled(m, n);
            auto partial = symmetric<Accumulator<T>>({numRanks(), C.rows(), C.cols()}, "partial");
            auto incoming = symmetric<Accumulator<T>>({C.rows(), C.cols()}, "incoming");
            auto mine = partial.tiled(m, n);
            auto fetched = incoming.tiled(m, n);
            auto done = signals({c.rows(), c.cols()}, "done");
            auto [comm, compute] = splitRoles(cfg.commCores);

            compute.run("multiply", [&] {
              for (auto [s, i, j] : mine.tiles(order::nextRankFirstGrouped(group))) {
                mine(s, i, j) = product(a.at(s), i, b, j);
                notify(done.on(s)(i, j));
              }
            });
            comm.run("reduce", [&] {
              for (auto [i, j] : c.tiles(order::grouped(group))) {
                wait(done(i, j), numRanks());
                auto part = [&](Index r) { return partial.on(r).tiled(m, n)(rank(), i, j); };
                c(i, j) = cast<Y>(fetchSum(part, fetched(i, j)));
              }
            });
          }};
}

Kernel gemmReduceScatter(DType type, const FusedGemmConfig &config) {
  return DotTypes::dispatch(type, "gemm-rs",
                            [&]<class T> { return gemmReduceScatterOf<T>(config); });
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  return sumOfProducts(run, row, row.rank * run.problem["M"] + row.row);
}

KernelEntry gemmReduceScatterEntry() {
  return {
      .name = "gemm-rs",
      .summary = "A * B summed over the ranks, each rank's rows on that rank",
      .dtypes = DotTypes::list(),
      .isDistributed = true,
      .parameters = fusedParameters(),
      .defaults = [](const Problem &p) { return fusedDefaults(p, p["M"], /*sums=*/true); },
      .make =
          [](DType type, const Config &config) {
            return isPlaced(config) ? placedGemm(type, config, "C", reduceScattered(0))
                                    : gemmReduceScatter(type, fusedConfig(config));
          },
      .shape = {{"M", 256}, {"N", 512}, {"K", 512}},
      .testShapes = fusedTestShapes(),
      .benchShapes = {{{"M", 512}, {"N", 1024}, {"K", 688}},
                      {{"M", 2048}, {"N", 4096}, {"K", 2752}}},
      .checkCases = fusedCheckCases(),
      .variants = {"m=8,n=16,k=32", "m=8,n=16,k=32,comm=1", "m=8,n=16,k=32,form=placed"},
      .flops = [](const Problem &p,
                  const Config &) { return 2.0 * p["R"] * p["M"] * p["N"] * p["K"]; },
      .baseline = Baseline::gemmThenScatter,
      .reference = reference,
  };
}

} // namespace ditron::kernels
