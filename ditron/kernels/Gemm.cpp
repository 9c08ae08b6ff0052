// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C = activation(scale * A * B + bias) + residual, of matrices and of batches of them.
#include "ditron/heuristics/SplitTiles.h"
#include "ditron/heuristics/StreamKTiles.h"
#include "ditron/kernels/Parameters.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/functions/Epilogues.h"
#include "ditron/kernels/functions/PackedMatrix.h"
#include "ditron/kernels/functions/Products.h"
#include "ditron/kernels/functions/SplitSums.h"
#include "ditron/kernels/functions/StreamK.h"
#include "ditron/kernels/kernels.h"

namespace ditron::kernels {

//===-- Kernels -------------------------------------------------------------------------------===//

template <class T> static Kernel gemmOf(GemmConfig cfg) {
  using R = Product<T>;
  return {signatureOf(cfg, cfg.transB ? "gemm(A[M,K], B[N,K]" : "gemm(A[M,K], B[K,N]", "[M,N]"),
          [=](In<T> A, In<T> B, std::optional<In<R, 1>> bias, std::optional<In<R>> residual,
              std::optional<Scalar<f32>> scale, Out<R> C) {
            auto a = A.tiled(cfg.m, cfg.k);
            auto c = C.tiled(cfg.m, cfg.n);
            for (auto at : c.tiles(tileOrder(cfg))) {
              auto [i, j] = at;
              c(i, j) = cast<R>(
                  finished<R, 2>(cfg, productBy(cfg, a, i, B, j), at, {bias, residual, scale}));
            }
          }};
}

/// The same of packed operands.
template <class T> static Kernel gemmOfPacked(GemmConfig cfg) {
  using R = Product<T>;
  return {signatureOf(cfg, cfg.transB ? "gemm(A[M,K], B[N,K]" : "gemm(A[M,K], B[K,N]", "[M,N]"),
          [=](In<T> A, In<T> B, std::optional<In<R, 1>> bias, std::optional<In<R>> residual,
              std::optional<Scalar<f32>> scale, Out<R> C) {
            Operands<T> operands(A, B, cfg.packs, kPackedRows);
            operands.prepare();
            auto a = operands.left.view().tiled(cfg.m, cfg.k);
            auto c = C.tiled(cfg.m, cfg.n);
            for (auto at : c.tiles(tileOrder(cfg))) {
              auto [i, j] = at;
              operands.waitUntilReady();
              auto sum = productBy(cfg, a, i, operands.right.view(), j);
              c(i, j) = cast<R>(finished<R, 2>(cfg, sum, at, {bias, residual, scale}));
            }
          }};
}

/// The same with K in parts, whose sums cores add when they are there.
template <class T> static Kernel gemmOfParts(GemmConfig cfg) {
  using R = Product<T>;
  return {signatureOf(cfg, cfg.transB ? "gemm(A[M,K], B[N,K]" : "gemm(A[M,K], B[K,N]", "[M,N]"),
          [=](In<T> A, In<T> B, std::optional<In<R, 1>> bias, std::optional<In<R>> residual,
              std::optional<Scalar<f32>> scale, Out<R> C) {
            SplitSums<T, Accumulator<T>> sums(cfg, C.rows(), C.cols(), 1, 0);
            Operands<T> operands(A, B, cfg.packs, kPackedRows);
            operands.prepare();
            sums.multiply(
                operands.left.view(), operands.right.view(), [&] { operands.waitUntilReady(); },
                [&](Index, Index i, Index j) { notify(sums.arrived()(i, j)); });
            const GemmConfig &added = sums.added();
            auto c = C.tiled(added.m, added.n);
            for (auto at : c.tiles()) {
              auto [i, j] = at;
              c(i, j) =
                  cast<R>(finished<R, 2>(added, sums.total(i, j), at, {bias, residual, scale}));
            }
          }};
}

/// The same with all steps divided evenly among workers.
template <class T> static Kernel gemmOfWorkers(GemmConfig cfg) {
  using R = Product<T>;
  return {signatureOf(cfg, cfg.transB ? "gemm(A[M,K], B[N,K]" : "gemm(A[M,K], B[K,N]", "[M,N]"),
          [=](In<T> A, In<T> B, std::optional<In<R, 1>> bias, std::optional<In<R>> residual,
              std::optional<Scalar<f32>> scale, Out<R> C) {
            StreamK<T> product(cfg, C.rows(), C.cols(), A.cols());
            Operands<T> operands(A, B, cfg.packs, kPackedRows);
            operands.prepare();
            auto c = C.tiled(cfg.m, cfg.n);
            product.multiply(
                operands.left.view(), operands.right.view(), [&] { operands.waitUntilReady(); },
                [&](Index i, Index j, const Tile &sum) {
                  c(i, j) = cast<R>(finished<R, 2>(cfg, sum, {i, j}, {bias, residual, scale}));
                });
          }};
}

template <class T> static Kernel batchedGemmOf(GemmConfig cfg) {
  using R = Product<T>;
  return {signatureOf(cfg,
                      cfg.transB ? "batched-gemm(A[B,M,K], W[B,N,K]"
                                 : "batched-gemm(A[B,M,K], W[B,K,N]",
                      "[B,M,N]"),
          [=](In<T, 3> A, In<T, 3> W, std::optional<In<R, 1>> bias,
              std::optional<In<R, 3>> residual, std::optional<Scalar<f32>> scale, Out<R, 3> C) {
            auto a = A.tiled(cfg.m, cfg.k);
            auto w = cfg.transB ? W.tiled(cfg.n, cfg.k) : W.tiled(cfg.k, cfg.n);
            auto c = C.tiled(cfg.m, cfg.n);
            for (auto at : c.tiles(tileOrder(cfg))) {
              auto [b, i, j] = at;
              auto sum = cfg.transB ? productOfRows(a.at(b), i, w.at(b), j, cfg.accuracy)
                                    : product(a.at(b), i, w.at(b), j, cfg.accuracy);
              c(b, i, j) = cast<R>(finished<R, 3>(cfg, sum, at, {bias, residual, scale}));
            }
          }};
}

Kernel gemm(DType type, const GemmConfig &config) {
  checkEpilogue(type, config, "gemm");
  return DotTypes::dispatch(type, "gemm", [&]<class T> {
    if (config.workers > 0)
      return gemmOfWorkers<T>(config);
    if (config.parts > 1)
      return gemmOfParts<T>(config);
    return config.packs ? gemmOfPacked<T>(config) : gemmOf<T>(config);
  });
}

Kernel batchedGemm(DType type, const GemmConfig &config) {
  checkEpilogue(type, config, "batched-gemm");
  return DotTypes::dispatch(type, "batched-gemm",
                            [&]<class T> { return batchedGemmOf<T>(config); });
}

//===-- Reference -----------------------------------------------------------------------------===//

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  // Row r of a batch of matrices is row r % M of matrix r / M.
  return finishedSums(run, row, [&](int64_t column) {
    return productOfOperands(run, {row.rank, row.row}, {row.rank, row.row / run.problem["M"]},
                             column);
  });
}

//===-- Registry ------------------------------------------------------------------------------===//

static Config defaults(const Problem &problem) {
  return epilogueDefaults(heuristics::gemmTile(gemmShape(problem, problem["M"]), problem.target));
}

static void retile(const Problem &problem, Config &config) {
  heuristics::GemmShape shape = gemmShape(problem, config);
  if (config.valueOr("operands", 0) == 1)
    shape = packedShape(shape);
  setTile(config, heuristics::gemmTile(shape, problem.target, gemmNeeds(config)));
}

/// What a kernel takes more whose cores signal one another, s.
static constexpr double kSignalSeconds = 4e-6;
/// And one whose cores take tiles from inboxes.
static constexpr double kInboxSeconds = 2.5e-6;
/// Of the time of a whole product, what one in steps takes at most by the model.
static constexpr double kWorthwhile = 0.9;

/// Whether a product may be computed in steps that cores signal one another: on one rank of a GPU,
/// since all ranks of a context launch such a kernel together.
static bool mayTakeSteps(const Problem &problem) {
  return problem.ranks == 1 && problem.target.hasWarpgroups && byteSize(problem.type) == 2;
}

/// Few rows are streamed through where that takes less than `seconds`.
static bool streams(const Problem &problem, Config &config, double seconds) {
  heuristics::GemmShape shape = gemmShape(problem, config);
  auto found = heuristics::streamKTile(shape, problem.target, problem.calibration);
  if (!found.workers || found.seconds + kInboxSeconds > seconds)
    return false;
  setTile(config, found.tile);
  config.set("workers", found.workers);
  return true;
}

/// A product with few tiles has K in parts where that takes less time, or is streamed if it may be.
static void splitTerms(const Problem &problem, Config &config, bool mayStream) {
  config.set("parts", 1);
  config.set("workers", 0);
  if (!mayTakeSteps(problem) || !hasWholeRows(problem, config))
    return;
  heuristics::GemmShape shape = gemmShape(problem, config);
  const heuristics::Calibration &rates = problem.calibration;
  double each = 2 * 4.0 * double(shape.M * shape.N) / rates.memoryBandwidth;
  auto split = heuristics::splitTile(shape, problem.target, gemmNeeds(config), rates, each);
  double whole = heuristics::splitSeconds(shape, pairedTile(config), 1, problem.target, rates);
  bool isSplit = split.parts > 1 && split.seconds + kSignalSeconds <= kWorthwhile * whole;
  double least = isSplit ? split.seconds + kSignalSeconds : kWorthwhile * whole;
  if ((mayStream && streams(problem, config, least)) || !isSplit)
    return;
  setTile(config, split.tile);
  config.set("parts", split.parts);
}

/// Odd rows are packed where copies cost less than products of odd rows.
static void packOperands(const Problem &problem, Config &config) {
  if (!mayTakeSteps(problem) || hasWholeRows(problem, config))
    return;
  Config packed = config;
  packed.set("operands", 1);
  retile(problem, packed);
  heuristics::GemmShape shape = gemmShape(problem, config);
  const heuristics::Calibration &rates = problem.calibration;
  auto seconds = [&](const Config &way, const heuristics::Calibration &calibration) {
    return heuristics::splitSeconds(shape, pairedTile(way), 1, problem.target, calibration);
  };
  double copies = heuristics::packSeconds(shape, rates);
  if (seconds(packed, rates) + copies + kSignalSeconds < seconds(config, ratesOfOddRows(problem)))
    config = packed;
}

static KernelEntry commonEntry() {
  KernelEntry entry;
  entry.dtypes = DotTypes::list();
  entry.parameters = epilogueParameters();
  entry.scalars = {{"scale", 0.375}};
  entry.defaults = defaults;
  entry.retile = retile;
  entry.variants = {"m=10,n=9,k=20",
                    "transB=yes",
                    "transB=yes,m=10,n=9,k=20",
                    "accuracy=fast",
                    "transB=yes,accuracy=fast",
                    "bias=yes",
                    "bias=yes,activation=relu",
                    "activation=silu",
                    "activation=gelu",
                    "scale=yes",
                    "residual=yes",
                    "scale=yes,bias=yes,activation=silu,residual=yes"};
  entry.baseline = Baseline::gemm;
  entry.reference = reference;
  return entry;
}

KernelEntry gemmEntry() {
  KernelEntry entry = commonEntry();
  entry.name = "gemm";
  entry.summary = "C = activation(scale * A * B + bias) + residual";
  entry.make = [](DType type, const Config &config) { return gemm(type, gemmConfig(config)); };
  entry.parameters.push_back(partsParameter());
  entry.parameters.push_back(workersParameter());
  entry.parameters.push_back(operandsParameter());
  entry.defaults = [](const Problem &problem) {
    Config config = defaults(problem);
    config.add({"parts", 1});
    config.add({"workers", 0});
    config.add({"operands", 0});
    splitTerms(problem, config, /*mayStream=*/true);
    packOperands(problem, config);
    return config;
  };
  entry.retile = [](const Problem &problem, Config &config) {
    bool isStreamed = config["workers"] > 0 && config["parts"] == 1;
    retile(problem, config);
    splitTerms(problem, config, isStreamed);
  };
  for (const char *one :
       {"m=10,n=9,k=20,parts=2", "operands=packed", "operands=packed,parts=2,bias=yes,transB=yes",
        "parts=3,scale=yes,bias=yes,activation=silu,residual=yes,transB=yes",
        "m=10,n=9,k=20,workers=5", "m=8,n=64,k=16,workers=3",
        "workers=3,operands=packed,scale=yes,bias=yes,activation=silu,residual=yes,transB=yes"})
    entry.variants.emplace_back(one);
  entry.shape = {{"M", 512}, {"N", 512}, {"K", 512}};
  entry.testShapes = {{{"M", 1}, {"N", 1}, {"K", 1}},
                      {{"M", 64}, {"N", 48}, {"K", 96}},
                      {{"M", 67}, {"N", 71}, {"K", 131}},
                      {{"M", 1}, {"N", 130}, {"K", 37}}};
  entry.checkCases = {
      {{{"M", 6}, {"N", 5}, {"K", 7}}, "m=4,n=4,k=4"},
      {{{"M", 6}, {"N", 5}, {"K", 7}}, "m=4,n=4,k=4,scale=yes,bias=yes,residual=yes"},
      {{{"M", 6}, {"N", 5}, {"K", 7}}, "m=4,n=4,k=2,parts=3"},
      {{{"M", 6}, {"N", 5}, {"K", 7}}, "m=4,n=4,k=2,workers=5"},
      {{{"M", 6}, {"N", 5}, {"K", 7}}, "m=4,n=4,k=4,operands=packed"}};
  entry.benchShapes = {{{"M", 512}, {"N", 512}, {"K", 512}},
                       {{"M", 1024}, {"N", 1024}, {"K", 1024}},
                       {{"M", 2048}, {"N", 2048}, {"K", 2048}},
                       {{"M", 2048}, {"N", 2752}, {"K", 4096}}};
  entry.flops = [](const Problem &p, const Config &) {
    return 2.0 * double(p["M"]) * double(p["N"]) * double(p["K"]);
  };
  return entry;
}

KernelEntry batchedGemmEntry() {
  KernelEntry entry = commonEntry();
  entry.name = "batched-gemm";
  entry.summary = "C[b] = activation(scale * A[b] * W[b] + bias) + residual[b]";
  entry.make = [](DType type, const Config &config) {
    return batchedGemm(type, gemmConfig(config));
  };
  entry.shape = {{"B", 8}, {"M", 256}, {"N", 256}, {"K", 256}};
  entry.testShapes = {{{"B", 1}, {"M", 1}, {"N", 1}, {"K", 1}},
                      {{"B", 3}, {"M", 65}, {"N", 31}, {"K", 67}}};
  entry.checkCases = {{{{"B", 2}, {"M", 6}, {"N", 5}, {"K", 7}}, "m=4,n=4,k=4"}};
  entry.benchShapes = {{{"B", 16}, {"M", 512}, {"N", 512}, {"K", 512}}};
  entry.flops = [](const Problem &p, const Config &) {
    return 2.0 * double(p["B"]) * double(p["M"]) * double(p["N"]) * double(p["K"]);
  };
  entry.baseline = Baseline::none;
  return entry;
}

} // namespace ditron::kernels
