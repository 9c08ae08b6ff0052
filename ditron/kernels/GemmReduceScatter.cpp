// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sum over the ranks of A * B, each rank's rows on that rank. A rank multiplies the next rank's
// rows first and its own last. Copy engines send what belongs to another rank there, and the owner
// adds it to its own tiles, in the same order in every run; or some of the cores of the owner fetch
// each tile once all ranks have it.
#include "ditron/heuristics/Communication.h"
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
  return signatureOf(cfg, cfg.transB ? "gemm-rs(A[R*M,K], B[N,K]" : "gemm-rs(A[R*M,K], B[K,N]",
                     "[M,N]");
}

/// P: the type of sums on their way.
template <class T, class P> static Kernel byCopyEngines(FusedGemmConfig cfg) {
  using Y = Product<T>;
  return {signature(cfg),
          [=](In<T> A, In<T> B, std::optional<In<Y, 1>> bias, std::optional<In<Y>> residual,
              std::optional<Scalar<f32>> scale, Out<Y> C) {
            auto a = A.split(numRanks()).tiled(cfg.m, cfg.k);
            auto c = C.tiled(cfg.m, cfg.n);
            // Whole tiles, so that a target may choose the order in which their elements lie.
            auto rows = c.rows() * cfg.m, columns = c.cols() * cfg.n;
            auto staged = symmetric<P>({numRanks(), rows, columns}, "staged");
            auto parts = symmetric<P>({numRanks(), rows, columns}, "parts");
            auto sent = staged.tiled(cfg.m, cfg.n), received = parts.tiled(cfg.m, cfg.n);
            RowChunks chunks(rows, cfg.m, cfg.chunks);
            auto done = signals({numRanks(), chunks.count()}, "done");
            auto arrived = signals({numRanks(), chunks.count()}, "arrived");

            copyEngines().run("scatter", [&] {
              for (auto owner : peers(Ring::next))
                for (auto q : range(chunks.used())) {
                  wait(done(owner, q), chunks.tiles(q) * c.cols());
                  put(chunks.slice(staged.at(owner), q),
                      chunks.slice(parts.on(owner).at(rank()), q));
                  notify(arrived.on(owner)(rank(), q));
                }
            });
            auto order = order::nextRankFirstGrouped(cfg.group);
            for (auto [s, i, j] : sent.tiles(paired(order, cfg.pairs))) {
              auto sum = productBy(cfg, a.at(s), i, B, j);
              auto add = [&] {
                Var total = sum;
                for (auto peer : peers()) {
                  wait(arrived(peer, chunks.of(i)), 1);
                  total += cast<Accumulator<T>>(received(peer, i, j));
                }
                c(i, j) = cast<Y>(finished<Y, 2>(cfg, total, {i, j}, {bias, residual, scale}));
              };
              auto send = [&] {
                sent.at(s)(i, j) = cast<P>(sum);
                notify(done(s, chunks.of(i)));
              };
              when(s == rank(), add, send);
            }
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
            auto a = A.split(numRanks()).tiled(cfg.m, cfg.k);
            auto c = C.tiled(part.m, part.n);
            auto partial = symmetric<Accumulator<T>>({numRanks(), C.rows(), C.cols()}, "partial");
            auto incoming = symmetric<Accumulator<T>>({C.rows(), C.cols()}, "incoming");
            auto mine = partial.tiled(cfg.m, cfg.n);
            auto fetched = incoming.tiled(part.m, part.n);
            auto whole = C.tiled(cfg.m, cfg.n);
            auto done = signals({whole.rows(), whole.cols()}, "done");
            auto [comm, compute] = splitRoles(cfg.commCores);

            compute.run("multiply", [&] {
              auto order = order::nextRankFirstGrouped(cfg.group);
              for (auto [s, i, j] : mine.tiles(paired(order, cfg.pairs))) {
                mine.at(s)(i, j) = productBy(cfg, a.at(s), i, B, j);
                notify(done.on(s)(i, j));
              }
            });
            comm.run("reduce", [&] {
              for (auto at : c.tiles(order::grouped(cfg.group * parts))) {
                auto [i, j] = at;
                wait(done(i / parts, j), numRanks());
                auto from = [&](Index r) {
                  return partial.on(r).tiled(part.m, part.n)(rank(), i, j);
                };
                c(i, j) = cast<Y>(finished<Y, 2>(part, fetchSum(from, fetched(i, j)), at,
                                                 {bias, residual, scale}));
              }
            });
          }};
}

/// The rows of A of each rank, [R,M,K], as they are given or packed.
template <class T>
static Operand<T, 3> rowsOfRanks(const FusedGemmConfig &cfg, const In<T> &A, Index M, int rows) {
  auto given = A.split(numRanks());
  if (!cfg.packs)
    return Operand<T, 3>(given);
  auto copy = symmetric<T>({numRanks(), M, packedColumns<T>(A.cols())}, "packedA");
  return Operand<T, 3>(PackedMatrix<T, 3>(given, copy, rows, "packedA"));
}

/// Cores multiply, and send what belongs to another rank there, tile by tile. P: the type of sums on
/// their way.
template <class T, class P> static Kernel direct(FusedGemmConfig cfg) {
  using Y = Product<T>;
  int copiedRows = evenRows(cfg.m, cfg.chunkRows);
  return {signature(cfg),
          [=](In<T> A, In<T> B, std::optional<In<Y, 1>> bias, std::optional<In<Y>> residual,
              std::optional<Scalar<f32>> scale, Out<Y> C) {
            auto left = rowsOfRanks<T>(cfg, A, C.rows(), copiedRows);
            auto right = operandOf<T>(B, cfg.packs, copiedRows, "packedB");
            auto a = left.view().tiled(cfg.m, cfg.k);
            auto c = C.tiled(cfg.m, cfg.n);
            auto columns = packedColumns<P>(C.cols()); // so that cores access 16 bytes at a time
            auto staged = symmetric<P>({numRanks(), C.rows(), columns}, "staged");
            auto parts = symmetric<P>({numRanks(), C.rows(), columns}, "parts");
            auto sent = staged.tiled(cfg.m, cfg.n), received = parts.tiled(cfg.m, cfg.n);
            auto tiles = staged.slice(2, 0, C.cols()).tiled(cfg.m, cfg.n);
            auto arrived = signals({c.rows(), c.cols()}, "arrived");

            left.prepare();
            right.prepare();
            auto order = order::nextRankFirstGrouped(cfg.group);
            for (auto [s, i, j] : tiles.tiles(paired(order, cfg.pairs))) {
              left.waitUntilReady();
              right.waitUntilReady();
              auto sum = productBy(cfg, a.at(s), i, right.view(), j);
              auto add = [&] {
                Var total = sum;
                wait(arrived(i, j), numRanks() - 1);
                for (auto peer : peers())
                  total += cast<Accumulator<T>>(received(peer, i, j));
                c(i, j) = cast<Y>(finished<Y, 2>(cfg, total, {i, j}, {bias, residual, scale}));
              };
              auto send = [&] {
                sent(s, i, j) = cast<P>(sum);
                put(sent(s, i, j), parts.on(s).tiled(cfg.m, cfg.n)(rank(), i, j));
                notify(arrived.on(s)(i, j));
              };
              when(s == rank(), add, send);
            }
          }};
}

/// Rows of tiles, `height` rows each, of what all ranks have, and the ranks that they belong to.
class RowsOfRanks {
public:
  /// `rows`: of a rank.
  RowsOfRanks(Index rows, int height) : rows_(rows), height_(height) {}

  /// The first row of tiles with rows of this rank, and how many there are.
  Index first() const { return rank() * rows_ / height_; }
  Index count() const { return ceilDiv((rank() + 1) * rows_, height_) - first(); }
  /// The ranks with rows in row `i` of tiles: from one up to another.
  auto ranksOf(Index i) const {
    return range(i * height_ / rows_, min(ceilDiv((i + 1) * height_, rows_), numRanks()));
  }
  /// The row of this rank that each row of a tile in row `i` is; those of other ranks are outside.
  Tile rowsIn(Index i) const { return iota(height_) + (i * height_ - rank() * rows_); }

private:
  Index rows_;
  int height_;
};

/// The same for few rows: tiles have rows of all ranks, so that B is read once, and sums travel in
/// inboxes, with the rows of other ranks, which are few. All steps are divided evenly among workers.
template <class T, class P> static Kernel directByWorkers(FusedGemmConfig cfg) {
  using Y = Product<T>;
  return {
      signature(cfg),
      [=](In<T> A, In<T> B, std::optional<In<Y, 1>> bias, std::optional<In<Y>> residual,
          std::optional<Scalar<f32>> scale, Out<Y> C) {
        Operands<T> operands(A, B, cfg.packs, evenRows(cfg.m, cfg.chunkRows));
        StreamK<T> product(cfg, A.rows(), C.cols(), A.cols());
        auto columns = ceilDiv(C.cols(), cfg.n);
        auto box = inbox<P>({numRanks(), ceilDiv(A.rows(), cfg.m), columns}, {cfg.m, cfg.n}, "box");
        RowsOfRanks rows(C.rows(), cfg.m);

        operands.prepare();
        auto share = [&](Index i, Index j, const Tile &sum) {
          for (auto owner : rows.ranksOf(i))
            send(cast<P>(sum), box.on(owner)(rank(), i, j));
        };
        product.multiply(
            operands.left.view(), operands.right.view(), [&] { operands.waitUntilReady(); }, share);
        for (auto [n, j] : grid({rows.count(), columns})) {
          Index i = rows.first() + n;
          Tile total = sumOfAll<T>(box, {cfg.m, cfg.n}, i, j), own = rows.rowsIn(i);
          Var x = activated(cfg, total, j, bias, scale);
          if (residual)
            x += cast<f32>(residual->gather(own, j, cfg.n));
          C.scatter(own, j, cast<Y>(x));
        }
      }};
}

Kernel gemmReduceScatter(DType type, const FusedGemmConfig &config) {
  checkEpilogue(type, config, "gemm-rs");
  return DotTypes::dispatch(type, "gemm-rs", [&]<class T> {
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
  return sumOfProducts(run, row, row.rank * run.problem["M"] + row.row);
}

KernelEntry gemmReduceScatterEntry() {
  return {
      .name = "gemm-rs",
      .summary = "A * B summed over the ranks, each rank's rows on that rank",
      .dtypes = DotTypes::list(),
      .isDistributed = true,
      .parameters = fusedParameters(Exchange::reduceScatter),
      .defaults = [](const Problem &p) { return fusedDefaults(p, Exchange::reduceScatter); },
      .retile = [](const Problem &p,
                   Config &config) { retileFused(p, config, Exchange::reduceScatter); },
      .make =
          [](DType type, const Config &config) {
            return isPlaced(config) ? placedGemm("gemm-rs", type, config, "C", reduceScattered(0))
                                    : gemmReduceScatter(type, fusedConfig(config));
          },
      .shape = {{"M", 256}, {"N", 512}, {"K", 512}},
      .testShapes = fusedTestShapes(),
      .benchShapes = {{{"M", 512}, {"N", 1024}, {"K", 688}},
                      {{"M", 2048}, {"N", 4096}, {"K", 2752}}},
      .checkCases = summedCheckCases(),
      .scalars = {{"scale", 0.375}},
      .variants = summedVariants(),
      .flops = [](const Problem &p,
                  const Config &) { return 2.0 * p["R"] * p["M"] * p["N"] * p["K"]; },
      .baseline = Baseline::gemmThenScatter,
      .reference = reference,
  };
}

} // namespace ditron::kernels
