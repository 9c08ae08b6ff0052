// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The product of every rank's rows of A with this rank's B. Copy engines, or some of the cores, send
// the own rows to the other ranks, the previous one first, since it multiplies them next. The cores
// multiply rows as they arrive, the own ones first.
#include "ditron/kernels/FusedGemm.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/AcrossRanks.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/functions/Epilogues.h"
#include "ditron/kernels/functions/PackedMatrix.h"
#include "ditron/kernels/functions/Products.h"
#include "ditron/kernels/functions/StreamK.h"
#include "ditron/kernels/kernels.h"

namespace ditron::kernels {

static std::string signature(const FusedGemmConfig &cfg) {
  return signatureOf(cfg, cfg.transB ? "ag-gemm(A[M,K], B[N,K]" : "ag-gemm(A[M,K], B[K,N]",
                     "[R*M,N]");
}

/// Tile (i, j) of shard s of the result.
template <class Y>
static Tile finish(const FusedGemmConfig &cfg, const Tile &sum, const std::array<Index, 3> &at,
                   const Epilogue<Y, 2> &epilogue) {
  Var x = activated<Y>(cfg, sum, at[2], epilogue.bias, epilogue.scale);
  if (epilogue.residual)
    x += cast<f32>(std::apply(epilogue.residual->split(numRanks()).tiled(cfg.m, cfg.n), at));
  return x;
}

template <class T> static Kernel byCopyEngines(FusedGemmConfig cfg) {
  using Y = Product<T>;
  return {signature(cfg),
          [=](In<T> A, In<T> B, std::optional<In<Y, 1>> bias, std::optional<In<Y>> residual,
              std::optional<Scalar<f32>> scale, Out<Y> C) {
            auto full = symmetric<T>({numRanks(), A.rows(), A.cols()}, "full");
            auto c = C.split(numRanks()).tiled(cfg.m, cfg.n);
            auto arrived = signals({numRanks()}, "arrived");

            copyEngines().run("gather", [&] {
              for (auto peer : peers()) {
                put(A, full.on(peer).at(rank()));
                notify(arrived.on(peer)(rank()));
              }
            });
            auto order = order::ownShardFirstGrouped(cfg.group);
            for (auto at : c.tiles(paired(order, cfg.pairs))) {
              auto [s, i, j] = at;
              auto isOwn = s == rank();
              wait(arrived(s), select(isOwn, 0, 1));
              auto a = choose(isOwn, A, full.at(s)).tiled(cfg.m, cfg.k);
              auto sum = productBy(cfg, a, i, B, j);
              c.at(s)(i, j) = cast<Y>(finish<Y>(cfg, sum, at, {bias, residual, scale}));
            }
          }};
}

template <class T> static Kernel byCores(FusedGemmConfig cfg) {
  using Y = Product<T>;
  // Tiles of a group of rows are multiplied together, so they wait for it together.
  int height = cfg.m * cfg.group, chunkRows = evenRows(height, cfg.chunkRows);
  return {signature(cfg),
          [=](In<T> A, In<T> B, std::optional<In<Y, 1>> bias, std::optional<In<Y>> residual,
              std::optional<Scalar<f32>> scale, Out<Y> C) {
            auto full = symmetric<T>({numRanks(), A.rows(), A.cols()}, "full");
            auto a = full.tiled(cfg.m, cfg.k);
            auto c = C.split(numRanks()).tiled(cfg.m, cfg.n);
            auto mine = A.tiled(chunkRows, kChunkColumns), groups = A.tiled(height, kChunkColumns);
            auto ready = signals({numRanks(), groups.rows()}, "ready");
            auto [comm, compute] = splitRoles(cfg.commCores);

            comm.run("gather", [&] {
              for (auto step : range(numRanks())) {
                auto peer = (rank() + numRanks() - step) % numRanks();
                for (auto [i, part] : mine.tiles()) {
                  put(mine(i, part),
                      full.on(peer).tiled(chunkRows, kChunkColumns)(rank(), i, part));
                  notify(ready.on(peer)(rank(), i / (height / chunkRows)));
                }
              }
            });
            compute.run("multiply", [&] {
              auto order = order::ownShardFirstGrouped(cfg.group);
              for (auto at : c.tiles(paired(order, cfg.pairs))) {
                auto [s, i, j] = at;
                auto g = i / cfg.group;
                auto rows = min(A.rows() - g * height, height);
                wait(ready(s, g), ceilDiv(rows, chunkRows) * mine.cols());
                auto sum = productBy(cfg, a.at(s), i, B, j);
                c.at(s)(i, j) = cast<Y>(finish<Y>(cfg, sum, at, {bias, residual, scale}));
              }
            });
          }};
}

/// All cores send the own rows to the other ranks before they multiply what has arrived. Operands that
/// are packed are sent, and copied, in rows of whole 16 bytes.
template <class T> static Kernel direct(FusedGemmConfig cfg) {
  using Y = Product<T>;
  int chunkRows = evenRows(cfg.m, cfg.chunkRows);
  return {signature(cfg),
          [=](In<T> A, In<T> B, std::optional<In<Y, 1>> bias, std::optional<In<Y>> residual,
              std::optional<Scalar<f32>> scale, Out<Y> C) {
            auto columns = cfg.packs ? packedColumns<T>(A.cols()) : A.cols();
            auto full = symmetric<T>({numRanks(), A.rows(), columns}, "full");
            auto right = operandOf<T>(B, cfg.packs, chunkRows, "packedB");
            auto c = C.split(numRanks()).tiled(cfg.m, cfg.n);
            auto chunks = [&](const auto &rows) { return rows.tiled(chunkRows, kPackedColumns); };
            auto given = chunks(A);
            auto mine = chunks(full.at(rank()));
            auto ready = signals({numRanks(), A.tiled(cfg.m, cfg.k).rows()}, "ready");

            for (auto [i, part] : mine.tiles()) {
              mine(i, part) = given(i, part);
              for (auto peer : peers())
                put(mine(i, part), chunks(full.on(peer).at(rank()))(i, part));
              for (auto peer : ranks())
                notify(ready.on(peer)(rank(), i / (cfg.m / chunkRows)));
            }
            right.prepare();
            auto order = order::ownShardFirstGrouped(cfg.group);
            for (auto at : c.tiles(paired(order, cfg.pairs))) {
              auto [s, i, j] = at;
              right.waitUntilReady();
              auto rows = min(A.rows() - i * cfg.m, cfg.m);
              wait(ready(s, i), ceilDiv(rows, chunkRows) * mine.cols());
              auto sum = productBy(cfg, full.tiled(cfg.m, cfg.k).at(s), i, right.view(), j);
              c.at(s)(i, j) = cast<Y>(finish<Y>(cfg, sum, at, {bias, residual, scale}));
            }
          }};
}

/// The same for few rows: they travel in inboxes, and tiles have rows of all ranks, so that B is read
/// once. All steps are divided evenly among workers.
template <class T> static Kernel directByWorkers(FusedGemmConfig cfg) {
  using Y = Product<T>;
  return {signature(cfg),
          [=](In<T> A, In<T> B, std::optional<In<Y, 1>> bias, std::optional<In<Y>> residual,
              std::optional<Scalar<f32>> scale, Out<Y> C) {
            int chunkRows = evenRows(cfg.m, cfg.chunkRows);
            auto columns = cfg.packs ? packedColumns<T>(A.cols()) : A.cols();
            auto full = symmetric<T>({C.rows(), columns}, "full");
            auto right = operandOf<T>(B, cfg.packs, chunkRows, "packedB");
            StreamK<T> product(cfg, C.rows(), C.cols(), columns);
            auto given = A.tiled(chunkRows, kPackedColumns);
            auto gathered = full.split(numRanks()).tiled(chunkRows, kPackedColumns);
            auto mine = gathered.at(rank());
            auto box = inbox<T>({numRanks(), given.rows(), given.cols()},
                                {chunkRows, kPackedColumns}, "box");
            auto there = signals(1, "there");

            for (auto [i, part] : mine.tiles())
              sendToPeers(given(i, part), box, i, part);
            right.prepare();
            for (auto [i, part] : mine.tiles()) {
              mine(i, part) = given(i, part);
              for (auto peer : peers())
                gathered(peer, i, part) = receive(box(peer, i, part));
              notify(there(0));
            }
            auto ready = [&] {
              right.waitUntilReady();
              wait(there(0), mine.rows() * mine.cols());
            };
            auto c = C.tiled(cfg.m, cfg.n);
            auto keep = [&](Index i, Index j, const Tile &sum) {
              c(i, j) = cast<Y>(finished<Y, 2>(cfg, sum, {i, j}, {bias, residual, scale}));
            };
            product.multiply(View<T, 2, Access::read>(full.data()), right.view(), ready, keep);
          }};
}

Kernel allGatherGemm(DType type, const FusedGemmConfig &config) {
  checkEpilogue(type, config, "ag-gemm");
  return DotTypes::dispatch(type, "ag-gemm", [&]<class T> {
    if (config.isDirect)
      return config.workers > 0 ? directByWorkers<T>(config) : direct<T>(config);
    return config.copyEngines ? byCopyEngines<T>(config) : byCores<T>(config);
  });
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  // The row of A is another rank's, B is this rank's.
  int64_t M = run.problem["M"], owner = row.row / M;
  return finishedSums(run, row, [&](int64_t column) {
    return productOfOperands(run, {owner, row.row % M}, {row.rank, 0}, column);
  });
}

KernelEntry allGatherGemmEntry() {
  return {
      .name = "ag-gemm",
      .summary = "all-gather of A's rows, overlapped with their product with B",
      .dtypes = DotTypes::list(),
      .isDistributed = true,
      .parameters = fusedParameters(Exchange::gather),
      .defaults = [](const Problem &p) { return fusedDefaults(p, Exchange::gather); },
      .retile = [](const Problem &p, Config &config) { retileFused(p, config, Exchange::gather); },
      .make =
          [](DType type, const Config &config) {
            return isPlaced(config) ? placedGemm("ag-gemm", type, config, "A", gathered(0))
                                    : allGatherGemm(type, fusedConfig(config));
          },
      .shape = {{"M", 256}, {"N", 512}, {"K", 512}},
      .testShapes = fusedTestShapes(),
      .benchShapes = {{{"M", 512}, {"N", 688}, {"K", 1024}},
                      {{"M", 2048}, {"N", 2752}, {"K", 4096}}},
      .checkCases = directCheckCases(),
      .scalars = {{"scale", 0.375}},
      .variants = directVariants(),
      .flops = [](const Problem &p,
                  const Config &) { return 2.0 * p["R"] * p["M"] * p["N"] * p["K"]; },
      .baseline = Baseline::gatherThenGemm,
      .reference = reference,
  };
}

} // namespace ditron::kernels
