// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sum over the ranks of A * B, on every rank. The tiles of C belong to the ranks in turn. A
// rank tells the owner of each tile that its part is there; the owner adds the parts in the order
// of the ranks and tells everyone that the sum is there to be fetched.
#include "ditron/kernels/FusedGemm.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/AcrossRanks.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/functions/Products.h"
#include "ditron/kernels/kernels.h"

namespace ditron::kernels {

template <class T> static Kernel gemmAllReduceOf(FusedGemmConfig cfg) {
  using Y = Product<T>;
  return {"gemm-ar(A[M,K], B[K,N]) -> C[M,N]", [=](In<T> A, In<T> B, Out<Y> C) {
            auto [m, n, k, group] = cfg.tile;
            auto a = A.tiled(m, k), b = B.tiled(k, n);
            auto c = C.tiled(m, n);
            auto partial = symmetric<Accumulator<T>>({C.rows(), C.cols()}, "partial");
            auto incoming = symmetric<Accumulator<T>>({C.rows(), C.cols()}, "incoming");
            auto total = symmetric<Y>({C.rows(), C.cols()}, "total");
            auto mine = partial.tiled(m, n), fetched = incoming.tiled(m, n);
            auto sums = total.tiled(m, n);
            auto done = signals({c.rows(), c.cols()}, "done");
            auto ready = signals({c.rows(), c.cols()}, "ready");
            auto ownerOf = [&](Index i, Index j) { return (i * c.cols() + j) % numRanks(); };
            auto [comm, compute] = splitRoles(cfg.commCores);

            compute.run("multiply", [&] {
              for (auto [i, j] : c.tiles()) {
                mine(i, j) = product(a, i, b, j);
                notify(done.on(ownerOf(i, j))(i, j));
              }
            });
            comm.run("reduce", [&] {
              // The tiles of this rank, dealt to the cores.
              auto first = rank() + coreId() * numRanks(), step = numRanks() * numCores();
              for (auto t : range(first, c.rows() * c.cols(), step)) {
                auto i = t / c.cols(), j = t % c.cols();
                wait(done(i, j), numRanks());
                auto part = [&](Index r) { return partial.on(r).tiled(m, n)(i, j); };
                sums(i, j) = cast<Y>(fetchSum(part, fetched(i, j)));
                for (auto peer : ranks())
                  notify(ready.on(peer)(i, j));
              }
              for (auto [i, j] : c.tiles()) {
                wait(ready(i, j), 1);
                get(total.on(ownerOf(i, j)).tiled(m, n)(i, j), c(i, j));
              }
            });
          }};
}

Kernel gemmAllReduce(DType type, const FusedGemmConfig &config) {
  return DotTypes::dispatch(type, "gemm-ar", [&]<class T> { return gemmAllReduceOf<T>(config); });
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  return sumOfProducts(run, row, row.row);
}

KernelEntry gemmAllReduceEntry() {
  return {
      .name = "gemm-ar",
      .summary = "A * B summed over the ranks, on every rank",
      .dtypes = DotTypes::list(),
      .isDistributed = true,
      .parameters = fusedParameters(),
      .defaults = [](const Problem &p) { return fusedDefaults(p, p["M"], /*sums=*/true); },
      .make =
          [](DType type, const Config &config) {
            return isPlaced(config) ? placedGemm(type, config, "C", allReduced())
                                    : gemmAllReduce(type, fusedConfig(config));
          },
      .shape = {{"M", 256}, {"N", 512}, {"K", 512}},
      .testShapes = fusedTestShapes(),
      .benchShapes = {{{"M", 32}, {"N", 1280}, {"K", 6400}},
                      {{"M", 2048}, {"N", 4096}, {"K", 2752}}},
      .checkCases = fusedCheckCases(),
      .variants = {"m=8,n=16,k=32", "m=8,n=16,k=32,comm=1", "m=8,n=16,k=32,form=placed"},
      .flops = [](const Problem &p, const Config &) { return 2.0 * p["M"] * p["N"] * p["K"]; },
      .baseline = Baseline::gemmThenReduce,
      .reference = reference,
  };
}

} // namespace ditron::kernels
