// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sum over the ranks of A * B, on every rank. The tiles of C belong to the ranks in turn. A
// rank tells the owner of each tile that its part is there; the owner adds the parts in the order
// of the ranks, does the epilogue, and tells everyone that the result is there to be fetched.
#include "ditron/heuristics/Communication.h"
#include "ditron/kernels/FusedGemm.h"
#include "ditron/kernels/Parameters.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/functions/Epilogues.h"
#include "ditron/kernels/functions/PackedMatrix.h"
#include "ditron/kernels/functions/Products.h"
#include "ditron/kernels/functions/ShardCopies.h"
#include "ditron/kernels/functions/SplitSums.h"
#include "ditron/kernels/functions/StreamK.h"
#include "ditron/kernels/kernels.h"

namespace ditron::kernels {

static std::string signature(const FusedGemmConfig &cfg) {
  return signatureOf(cfg, cfg.transB ? "gemm-ar(A[M,K], B[N,K]" : "gemm-ar(A[M,K], B[K,N]",
                     "[M,N]");
}

/// P: the type of sums on their way.
template <class T, class P> static Kernel byCopyEngines(FusedGemmConfig cfg) {
  using Y = Product<T>;
  return {signature(cfg),
          [=](In<T> A, In<T> B, std::optional<In<Y, 1>> bias, std::optional<In<Y>> residual,
              std::optional<Scalar<f32>> scale, Out<Y> C) {
            auto a = A.tiled(cfg.m, cfg.k);
            auto c = C.tiled(cfg.m, cfg.n);
            auto tiles = ceilDiv(c.rows(), numRanks()), rows = tiles * cfg.m; // of a shard
            auto columns = c.cols() * cfg.n; // of whole tiles: see gemm-rs
            auto staged = symmetric<P>({numRanks(), rows, columns}, "staged");
            auto parts = symmetric<P>({numRanks(), rows, columns}, "parts");
            auto totals = symmetric<Y>({numRanks(), rows, columns}, "totals");
            auto sent = staged.tiled(cfg.m, cfg.n), received = parts.tiled(cfg.m, cfg.n);
            auto sums = totals.tiled(cfg.m, cfg.n);
            RowChunks chunks(rows, cfg.m, cfg.chunks);
            auto done = signals({numRanks(), chunks.count()}, "done");
            auto arrived = signals({numRanks(), chunks.count()}, "arrived");
            auto summed = signals(chunks.count(), "summed");
            auto known = signals({numRanks(), chunks.count()}, "known");

            copyEngines().run("exchange", [&] {
              for (auto owner : peers(Ring::next))
                for (auto q : range(chunks.used())) {
                  wait(done(owner, q), chunks.tiles(q) * c.cols());
                  put(chunks.slice(staged.at(owner), q),
                      chunks.slice(parts.on(owner).at(rank()), q));
                  notify(arrived.on(owner)(rank(), q));
                }
              auto ready = [&](Index s, Index q) {
                when(
                    s == rank(), [&] { wait(summed(q), chunks.tiles(q) * c.cols()); },
                    [&] { wait(known(s, q), 1); });
              };
              sendChunksAlongRing(
                  chunks, ready,
                  [&](Index peer, Index s, Index q) {
                    put(chunks.slice(totals.at(s), q), chunks.slice(totals.on(peer).at(s), q));
                  },
                  [&](Index peer, Index s, Index q) { notify(known.on(peer)(s, q)); });
            });
            auto order = order::nextRankFirstGrouped(cfg.group);
            for (auto [s, i, j] : sent.tiles(paired(order, cfg.pairs))) {
              auto row = s * tiles + i, q = chunks.of(i);
              auto sum = productBy(cfg, a, row, B, j);
              auto add = [&] {
                Var total = sum;
                for (auto peer : peers()) {
                  wait(arrived(peer, q), 1);
                  total += cast<Accumulator<T>>(received(peer, i, j));
                }
                Tile y = cast<Y>(finished<Y, 2>(cfg, total, {row, j}, {bias, residual, scale}));
                c(row, j) = y;
                when(numRanks() > 1, [&] {
                  sums.at(s)(i, j) = y;
                  notify(summed(q));
                });
              };
              auto send = [&] {
                sent.at(s)(i, j) = cast<P>(sum);
                notify(done(s, q));
              };
              when(s == rank(), add, send);
            }
            for (auto [s, i, j] : sums.tiles(order::ownShardFirst))
              when(s != rank(), [&] {
                wait(known(s, chunks.of(i)), 1);
                c(s * tiles + i, j) = sums(s, i, j);
              });
          }};
}

template <class T> static Kernel byCores(FusedGemmConfig cfg) {
  using Y = Product<T>;
  FusedGemmConfig part = cfg; // what is summed at a time
  part.m = static_cast<int>(heuristics::summedRows(cfg.m, cfg.n));
  int parts = cfg.m / part.m;
  return {signature(cfg),
          [=](In<T> A, In<T> B, std::optional<In<Y, 1>> bias, std::optional<In<Y>> residual,
              std::optional<Scalar<f32>> scale, Out<Y> C) {
            auto a = A.tiled(cfg.m, cfg.k);
            auto c = C.tiled(cfg.m, cfg.n);
            auto partial = symmetric<Accumulator<T>>({C.rows(), C.cols()}, "partial");
            auto incoming = symmetric<Accumulator<T>>({C.rows(), C.cols()}, "incoming");
            auto total = symmetric<Y>({C.rows(), C.cols()}, "total");
            auto mine = partial.tiled(cfg.m, cfg.n);
            auto fetched = incoming.tiled(part.m, part.n);
            auto sums = total.tiled(part.m, part.n);
            auto done = signals({c.rows(), c.cols()}, "done");
            auto ready = signals({c.rows(), c.cols()}, "ready");
            auto ownerOf = [&](Index i, Index j) { return (i * c.cols() + j) % numRanks(); };
            auto [comm, compute] = splitRoles(cfg.commCores);

            compute.run("multiply", [&] {
              for (auto [i, j] : c.tiles(tileOrder(cfg))) {
                mine(i, j) = productBy(cfg, a, i, B, j);
                notify(done.on(ownerOf(i, j))(i, j));
              }
            });
            comm.run("reduce", [&] {
              // The tiles of this rank, dealt to the cores.
              auto first = rank() + coreId() * numRanks(), step = numRanks() * numCores();
              for (auto t : range(first, c.rows() * c.cols(), step)) {
                auto i = t / c.cols(), j = t % c.cols();
                wait(done(i, j), numRanks());
                for (auto p : range(i * parts, min((i + 1) * parts, sums.rows()))) {
                  auto from = [&](Index r) { return partial.on(r).tiled(part.m, part.n)(p, j); };
                  sums(p, j) = cast<Y>(finished<Y, 2>(part, fetchSum(from, fetched(p, j)), {p, j},
                                                      {bias, residual, scale}));
                }
                for (auto peer : ranks())
                  notify(ready.on(peer)(i, j));
              }
              for (auto [i, j] : c.tiles()) {
                wait(ready(i, j), 1);
                get(total.on(ownerOf(i, j)).tiled(cfg.m, cfg.n)(i, j), c(i, j));
              }
            });
          }};
}

/// Directly, in one shot. Cores divide the columns and K, so that all of them read B. Each sends what it has
/// summed to every rank, and all ranks add all summands, in the same order.
template <class T, class P> static Kernel direct(FusedGemmConfig cfg) {
  using Y = Product<T>;
  return {
      signature(cfg),
      [=](In<T> A, In<T> B, std::optional<In<Y, 1>> bias, std::optional<In<Y>> residual,
          std::optional<Scalar<f32>> scale, Out<Y> C) {
        Operands<T> operands(A, B, cfg.packs, evenRows(cfg.m, cfg.chunkRows));
        SplitSums<T, P> sums(cfg, C.rows(), C.cols(), numRanks(), rank());

        operands.prepare();
        auto share = [&](Index p, Index i, Index j) {
          auto tile = [&](const auto &of) { return of.tiled(cfg.m, cfg.n)(p, i, j); };
          for (auto peer : peers(Ring::next))
            put(tile(sums.summands().at(rank())), tile(sums.summands().on(peer).at(rank())));
          for (auto peer : ranks())
            notify(sums.arrived().on(peer)(i, j));
        };
        sums.multiply(
            operands.left.view(), operands.right.view(), [&] { operands.waitUntilReady(); }, share);
        const GemmConfig &added = sums.added();
        auto c = C.tiled(added.m, added.n);
        for (auto at : c.tiles()) {
          auto [i, j] = at;
          c(i, j) = cast<Y>(finished<Y, 2>(added, sums.total(i, j), at, {bias, residual, scale}));
        }
      }};
}

/// The same with all steps divided evenly among workers. The owner of a tile sends its rank's sum to
/// every rank.
template <class T, class P> static Kernel directByWorkers(FusedGemmConfig cfg) {
  using Y = Product<T>;
  return {signature(cfg),
          [=](In<T> A, In<T> B, std::optional<In<Y, 1>> bias, std::optional<In<Y>> residual,
              std::optional<Scalar<f32>> scale, Out<Y> C) {
            Operands<T> operands(A, B, cfg.packs, evenRows(cfg.m, cfg.chunkRows));
            StreamK<T> product(cfg, C.rows(), C.cols(), A.cols());
            auto c = C.tiled(cfg.m, cfg.n);
            auto sums = inbox<P>({numRanks(), c.rows(), c.cols()}, {cfg.m, cfg.n}, "sums");

            operands.prepare();
            auto share = [&](Index i, Index j, const Tile &sum) {
              sendToAll(cast<P>(sum), sums, i, j);
            };
            product.multiply(
                operands.left.view(), operands.right.view(), [&] { operands.waitUntilReady(); },
                share);
            for (auto at : c.tiles()) {
              auto [i, j] = at;
              Tile total = sumOfAll<T>(sums, {cfg.m, cfg.n}, i, j);
              c(i, j) = cast<Y>(finished<Y, 2>(cfg, total, at, {bias, residual, scale}));
            }
          }};
}

Kernel gemmAllReduce(DType type, const FusedGemmConfig &config) {
  checkEpilogue(type, config, "gemm-ar");
  return DotTypes::dispatch(type, "gemm-ar", [&]<class T> {
    if (config.isDirect && config.workers > 0)
      return config.narrowPartials ? directByWorkers<T, Product<T>>(config)
                                   : directByWorkers<T, Accumulator<T>>(config);
    if (config.isDirect)
      return config.narrowPartials ? direct<T, Product<T>>(config)
                                   : direct<T, Accumulator<T>>(config);
    if (!config.copyEngines)
      return byCores<T>(config);
    return config.narrowPartials ? byCopyEngines<T, Product<T>>(config)
                                 : byCopyEngines<T, Accumulator<T>>(config);
  });
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  return sumOfProducts(run, row, row.row);
}

static std::vector<std::string> variants() {
  std::vector<std::string> result = summedVariants();
  for (const char *one : {"m=8,n=64,k=32,engine=direct,parts=3,partials=result",
                          "engine=direct,operands=packed,m=8,n=32,k=16,parts=2,chunk=3",
                          "m=8,n=16,k=32,group=2,engine=copy,chunks=3,wave=5,form=placed",
                          "m=8,n=16,k=32,group=2,engine=copy,chunks=2,halves=yes,form=placed",
                          "m=8,n=16,k=32,engine=copy,chunks=2,wave=1,partials=result,form=placed",
                          "m=8,n=16,k=32,group=2,engine=direct,rounds=2,form=placed",
                          "m=8,n=16,k=32,engine=direct,rounds=4,partials=result,form=placed",
                          "m=32,n=48,k=16,engine=direct,parts=2,transB=yes,scale=yes,bias=yes,"
                          "activation=silu,residual="
                          "yes"})
    result.emplace_back(one);
  return result;
}

static std::vector<CheckCase> checkCases() {
  std::vector<CheckCase> result = summedCheckCases();
  result.push_back({{{"M", 6}, {"N", 5}, {"K", 7}}, "m=4,n=4,k=2,group=1,engine=direct,parts=3"});
  result.push_back({{{"M", 22}, {"N", 6}, {"K", 7}},
                    "m=4,n=4,k=4,group=2,engine=copy,chunks=3,wave=4,form=placed"});
  result.push_back({{{"M", 22}, {"N", 6}, {"K", 7}},
                    "m=4,n=4,k=4,group=2,engine=copy,chunks=2,halves=yes,form=placed"});
  result.push_back(
      {{{"M", 22}, {"N", 6}, {"K", 7}}, "m=4,n=4,k=4,group=2,engine=direct,rounds=2,form=placed"});
  result.push_back(
      {{{"M", 22}, {"N", 14}, {"K", 7}}, "m=4,n=4,k=4,group=2,engine=direct,rounds=3,form=placed"});
  result.push_back({{{"M", 3}, {"N", 70}, {"K", 2}}, "m=4,n=64,k=2,group=1,engine=direct,parts=2"});
  return result;
}

KernelEntry gemmAllReduceEntry() {
  return {
      .name = "gemm-ar",
      .summary = "A * B summed over the ranks, on every rank",
      .dtypes = DotTypes::list(),
      .isDistributed = true,
      .parameters = fusedParameters(Exchange::allReduce),
      .defaults = [](const Problem &p) { return fusedDefaults(p, Exchange::allReduce); },
      .retile = [](const Problem &p,
                   Config &config) { retileFused(p, config, Exchange::allReduce); },
      .make =
          [](DType type, const Config &config) {
            return isPlaced(config) ? placedGemm("gemm-ar", type, config, "C", allReduced())
                                    : gemmAllReduce(type, fusedConfig(config));
          },
      .shape = {{"M", 256}, {"N", 512}, {"K", 512}},
      .testShapes = fusedTestShapes(),
      .benchShapes = {{{"M", 32}, {"N", 1280}, {"K", 6400}},
                      {{"M", 2048}, {"N", 4096}, {"K", 2752}}},
      .checkCases = checkCases(),
      .scalars = {{"scale", 0.375}},
      .variants = variants(),
      .flops = [](const Problem &p, const Config &) { return 2.0 * p["M"] * p["N"] * p["K"]; },
      .baseline = Baseline::gemmThenReduce,
      .sharedFrom = 2,
      .reference = reference,
  };
}

} // namespace ditron::kernels
