// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// y = x * W^T of few rows x, as a step of a decoder has them: W is read once, and that takes the
// time. What stands before and behind such a product in a decoder is done with it: the norm of x,
// the gate of a feed-forward layer, the residual.
#include "ditron/kernels/GemvReference.h"
#include "ditron/kernels/functions/AcrossRanks.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/functions/PackedWeights.h"
#include "ditron/kernels/kernels.h"
#include <deque>
#include <fmt/format.h>
#include <type_traits>
#include <variant>

namespace ditron::kernels {

static std::string signatureOf(const GemvConfig &cfg) {
  std::string rows = rowsText(cfg.format), depth = depthText(cfg.format);
  std::string text = fmt::format(
      "{}(x[B,{}], {}, {}, {}, {}, {}", gemvName(cfg.format), depth,
      signatureOf(cfg.format, "W", cfg.gated == Gated::none ? 1 : 2),
      cfg.rms == RowNorm::yes ? "gain[" + depth + "]" : "-",
      cfg.rms == RowNorm::started ? fmt::format("squares[B,ceil({}/{})]", depth, cfg.part) : "-",
      cfg.rms == RowNorm::no ? "-" : "eps",
      cfg.residual == Residual::none ? "-" : "residual[B," + rows + "]");
  if (!cfg.startsNorm)
    return fmt::format("{}) -> y[B,{}]", text, rows);
  return fmt::format("{}, nextGain[{}]) -> y[B,{}], scaled[B,{}], nextSquares[B,ceil({}/{})]", text,
                     rows, rows, rows, rows, cfg.n);
}

/// The argument W: a matrix, or one in blocks.
template <class W, WeightFormat format> using WeightArgument = In<W, isInBlocks(format) ? 4 : 2>;

/// Weights of W, in rows or in blocks, or packed in i8.
template <class W> struct GemvWeights {
  std::variant<In<W>, In<W, 4>> values;
  std::optional<In<f16>> scales, minima;
};

/// What x may be normalised with.
template <class X> struct GemvNorm {
  std::optional<In<X, 1>> gain;
  std::optional<In<f32>> squares;
  std::optional<Scalar<f32>> eps;

  /// The sums of the squares of rows `i`, of which `m` make a tile, in lanes: they are added up when they
  /// are asked for.
  Tile partsOf(int m, Index i) const {
    constexpr int kParts = 512;
    int width = std::max(kParts / m, 16);
    auto parts = squares->tiled(m, width);
    Var sum = Tile(parts(i, 0));
    for (auto n : range(ceilDiv(squares->cols(), width) - 1))
      sum += parts(i, n + 1);
    return sum;
  }
  /// What a sum of K squares is normalised by.
  Tile scaleOf(const Tile &squaresOfRow, Index K) const {
    return rsqrt(squaresOfRow / cast<f32>(toTile(K)) + *eps);
  }
};

/// The rows of the gates (0) among 2 * N, or of what they gate (1). All of them where nothing is gated.
template <class T>
static View<T, 2, Access::read> rowsOf(const GemvConfig &cfg, const In<T> &view, Index N,
                                       int which) {
  if (cfg.gated == Gated::none)
    return view;
  if (cfg.gated == Gated::pairs)
    return view.split(N).at(1, which);
  return view.slice(0, which * N, N);
}
/// The same of rows in blocks, and of the scales of these.
template <class T, int rank>
static View<T, rank, Access::read> blockRowsOf(const GemvConfig &cfg, const In<T, rank> &view,
                                               Index N, int which) {
  if (cfg.gated == Gated::none)
    return view;
  return view.slice(0, which * (N / kBlockRows), N / kBlockRows);
}

/// The same of blocks with scales.
static PackedBlocks blocksOf(const GemvConfig &cfg, const GemvWeights<i8> &weights, Index N,
                             int which) {
  return {blockRowsOf(cfg, std::get<In<i8, 4>>(weights.values), N, which),
          blockRowsOf(cfg, *weights.scales, N, which)};
}

/// Step `k` of tile `j` of those rows.
template <class W>
static Tile weightsOf(const GemvConfig &cfg, const GemvWeights<W> &weights, Index N, int which,
                      Index j, Index k) {
  if constexpr (std::is_same_v<W, i8>)
    if (isInBlocks(cfg.format))
      return unpacked(blocksOf(cfg, weights, N, which), cfg.n, cfg.k, j, k);
  if (const auto *blocks = std::get_if<In<W, 4>>(&weights.values))
    return unblocked(blockRowsOf(cfg, *blocks, N, which), cfg.n, cfg.k, j, k);
  View<W, 2, Access::read> rows = rowsOf(cfg, std::get<In<W>>(weights.values), N, which);
  if constexpr (std::is_same_v<W, i8>) {
    PackedViews views{rows, rowsOf(cfg, *weights.scales, N, which), {}};
    if (weights.minima)
      views.minima = rowsOf(cfg, *weights.minima, N, which);
    return unpacked(views, cfg.format, cfg.n, cfg.k, j, k);
  } else {
    return rows.tiled(cfg.n, cfg.k)(j, k);
  }
}

/// Products of a tile of x and one of rows of W, and of the rows that give what is gated.
struct GemvSums {
  Tile first, second;
};

/// Sums of products of x with rows of W: of all terms, or of those of each place in a step that have one scale,
/// [k/32,m,n].
class GemvSum {
public:
  explicit GemvSum(const GemvConfig &cfg)
      : cfg_(cfg), isByBlock_(isByBlock(cfg.format, cfg.isLong, cfg.m)),
        sum_(isByBlock_ ? zeros<f32>(cfg.k / kBlock, cfg.m, cfg.n) : zeros<f32>(cfg.m, cfg.n)) {}

  /// Step k of row tile j, of the first rows or of those that give what is gated.
  template <class F, class W>
  void add(const Tile &factor, const GemvWeights<W> &weights, Index N, int which, Index j,
           Index k) {
    if constexpr (std::is_same_v<W, i8>)
      if (isByBlock_)
        return addByBlock<F>(factor,
                             termsOf(blocksOf(cfg_, weights, N, which), cfg_.n, cfg_.k, j, k));
    Tile read = weightsOf(cfg_, weights, N, which, j, k);
    sum_ += dot(factor, transpose(std::is_same_v<F, W> ? read : Tile(cast<F>(read))));
  }
  Tile all() const {
    return isByBlock_ ? reshape(ditron::sum(Tile(sum_), 0), {cfg_.m, cfg_.n}) : Tile(sum_);
  }

private:
  template <class F> void addByBlock(const Tile &factor, const PackedTerms &terms) {
    Tile x = transpose(reshape(factor, {cfg_.m, cfg_.k / kBlock, kBlock}), {1, 0, 2});
    sum_ = fma(dot(x, transpose(cast<F>(terms.q))), terms.scales, sum_);
  }

  const GemvConfig &cfg_;
  bool isByBlock_;
  Var<Tile> sum_;
};

/// Those of tiles (i, columns) of y, x normalised where there is a gain, multiplied in F.
template <class F, class W, class X>
static std::vector<GemvSums> productsOf(const GemvConfig &cfg, const In<X> &x,
                                        const GemvWeights<W> &weights, const GemvNorm<X> &norm,
                                        Index N, Index i, const std::vector<Index> &columns) {
  std::deque<GemvSum> sums, others;
  for (size_t n = 0; n < columns.size(); ++n) {
    sums.emplace_back(cfg);
    others.emplace_back(cfg);
  }
  Var squares = zeros<f32>(cfg.m, 1);
  std::optional<Tile> parts; // on their way while products are taken
  if (norm.squares && cfg.isLong)
    parts.emplace(norm.partsOf(cfg.m, i));
  for (auto k : range(ceilDiv(x.cols(), cfg.k))) {
    Tile read = x.tiled(cfg.m, cfg.k)(i, k);
    if (norm.gain) {
      auto wide = cast<f32>(read);
      squares += ditron::sum(wide * wide, 1);
    }
    auto scaled = norm.gain ? cast<f32>(read) * cast<f32>(norm.gain->tiled(cfg.k)(k)) : read;
    auto factor = cast<F>(scaled);
    for (size_t n = 0; n < columns.size(); ++n) {
      sums[n].template add<F>(factor, weights, N, 0, columns[n], k);
      if (cfg.gated != Gated::none)
        others[n].template add<F>(factor, weights, N, 1, columns[n], k);
    }
  }
  if (norm.squares && !parts)
    parts.emplace(norm.partsOf(cfg.m, i));
  std::optional<Tile> scale;
  if (norm.eps)
    scale.emplace(norm.scaleOf(parts ? ditron::sum(*parts, 1) : Tile(squares), x.cols()));
  std::vector<GemvSums> result;
  for (size_t n = 0; n < columns.size(); ++n) {
    Tile first = sums[n].all(), second = others[n].all();
    result.push_back(scale ? GemvSums{first * *scale, second * *scale} : GemvSums{first, second});
  }
  return result;
}

/// The same of one row of x, element by element: a tile of a tensor core would be almost empty, and of
/// f32 there is none.
template <class F, class W, class X>
static GemvSums elementsOf(const GemvConfig &cfg, const In<X> &x, const GemvWeights<W> &weights,
                           const GemvNorm<X> &norm, Index N, Index i, Index j) {
  Var sums = zeros<f32>(cfg.n, cfg.k), others = zeros<f32>(cfg.n, cfg.k);
  Var squares = zeros<f32>(1, cfg.k);
  std::optional<Tile> parts; // on their way while products are taken
  if (norm.squares)
    parts.emplace(norm.partsOf(1, i));
  for (auto k : range(ceilDiv(x.cols(), cfg.k))) {
    auto read = cast<f32>(Tile(x.tiled(1, cfg.k)(i, k)));
    if (norm.gain)
      squares = fma(read, read, squares);
    auto scaled = norm.gain ? read * cast<f32>(norm.gain->tiled(cfg.k)(k)) : read;
    auto factor = cast<f32>(cast<F>(scaled));
    sums = fma(factor, cast<f32>(weightsOf(cfg, weights, N, 0, j, k)), sums);
    if (cfg.gated != Gated::none)
      others = fma(factor, cast<f32>(weightsOf(cfg, weights, N, 1, j, k)), others);
  }
  // The sums that threads take together stand together.
  Tile ofRows = ditron::sum(sums, 1), ofOthers = ditron::sum(others, 1);
  Tile ofSquares = ditron::sum(parts.value_or(squares), 1);
  auto row = [&](const Tile &terms) { return reshape(terms, {1, cfg.n}); };
  if (!norm.eps)
    return {row(ofRows), row(ofOthers)};
  Tile scale = norm.scaleOf(ofSquares, x.cols());
  return {row(ofRows) * scale, row(ofOthers) * scale};
}

/// What a product has around it.
template <class W, class X, class Y> struct GemvOperands {
  In<X> x;
  GemvWeights<W> weights;
  GemvNorm<X> norm;
  std::optional<In<Y>> residual;
};

/// What ranks have of the tiles of y; none where y is not summed over them.
using Parts = std::optional<InboxArray<3, false>>;

static Parts partsOf(const GemvConfig &cfg, Index rows, Index columns) {
  if (!cfg.summed)
    return {};
  return inbox<f32>({numRanks(), rows, columns}, {cfg.m, cfg.n}, "parts");
}

/// Tiles (i, columns) of y before they are rounded, multiplied in F. A residual that is asked for early is there
/// when the products are. All tiles are sent before one is received.
template <class F, class W, class X, class Y>
static std::vector<Tile> resultsOf(const GemvConfig &cfg, const GemvOperands<W, X, Y> &in,
                                   const Parts &parts, Index N, Index i,
                                   const std::vector<Index> &columns) {
  auto residualOf = [&](Index j) { return Tile(in.residual->tiled(cfg.m, cfg.n)(i, j)); };
  std::vector<Tile> residuals;
  bool isEarly = cfg.residual == Residual::early || cfg.byElements || cfg.isLong;
  if (in.residual && isEarly)
    for (Index j : columns)
      residuals.push_back(residualOf(j));
  std::vector<GemvSums> sums =
      cfg.byElements
          ? std::vector{elementsOf<F>(cfg, in.x, in.weights, in.norm, N, i, columns.front())}
          : productsOf<F>(cfg, in.x, in.weights, in.norm, N, i, columns);
  std::vector<Tile> own, results;
  for (auto [first, second] : sums)
    own.push_back(cfg.gated == Gated::none ? first : Tile(first * sigmoid(first) * second));
  auto overRanks = [&] {
    for (size_t n = 0; n < columns.size(); ++n)
      sendToPeers(own[n], *parts, i, columns[n]);
    return sumsOfReceived<f32>(own, *parts, i, columns);
  };
  std::vector<Tile> totals = parts ? overRanks() : own;
  if (!in.residual)
    return totals;
  for (size_t n = 0; n < columns.size(); ++n)
    results.push_back(totals[n] +
                      cast<f32>(residuals.empty() ? residualOf(columns[n]) : residuals[n]));
  return results;
}

/// tiles(i, columns): the places of the tiles of y that a core computes together.
template <class Y>
static void eachGroup(const GemvConfig &cfg, const Out<Y> &y, const auto &tiles) {
  for (auto [i, group] :
       y.tiled(cfg.m, cfg.n * cfg.together).tiles(order::rowMajor.sharedBy(cfg.sharers))) {
    std::vector<Index> columns;
    for (int n = 0; n < cfg.together; ++n)
      columns.push_back(cfg.together == 1 ? group : group * cfg.together + n);
    tiles(i, columns);
  }
}

/// Products in F of x in X and weights in W, as results in Y.
template <class F, class W, class X, class Y, WeightFormat format>
static Kernel gemvOf(GemvConfig cfg) {
  using Weights = WeightArgument<W, format>;
  using Scales = std::optional<In<f16>>;
  using Gain = std::optional<In<X, 1>>;
  if (!cfg.startsNorm)
    return {signatureOf(cfg), [=](In<X> x, Weights weights, Scales scales, Scales minima, Gain gain,
                                  std::optional<In<f32>> squares, std::optional<Scalar<f32>> eps,
                                  std::optional<In<Y>> residual, Out<Y> y) {
              GemvOperands<W, X, Y> in{
                  x, {weights, scales, minima}, {gain, squares, eps}, residual};
              auto ys = y.tiled(cfg.m, cfg.n);
              Parts parts =
                  partsOf(cfg, ys.rows(), cfg.together * ceilDiv(y.cols(), cfg.n * cfg.together));
              eachGroup(cfg, y, [&](Index i, const std::vector<Index> &columns) {
                std::vector<Tile> results = resultsOf<F>(cfg, in, parts, y.cols(), i, columns);
                for (size_t n = 0; n < columns.size(); ++n)
                  ys(i, columns[n]) = cast<Y>(results[n]);
              });
            }};
  return {signatureOf(cfg), [=](In<X> x, Weights weights, Scales scales, Scales minima, Gain gain,
                                std::optional<In<f32>> squares, std::optional<Scalar<f32>> eps,
                                std::optional<In<Y>> residual, In<Y, 1> nextGain, Out<Y> y,
                                Out<X> scaled, Out<f32> nextSquares) {
            GemvOperands<W, X, Y> in{x, {weights, scales, minima}, {gain, squares, eps}, residual};
            auto ys = y.tiled(cfg.m, cfg.n);
            Parts parts =
                partsOf(cfg, ys.rows(), cfg.together * ceilDiv(y.cols(), cfg.n * cfg.together));
            eachGroup(cfg, y, [&](Index i, const std::vector<Index> &columns) {
              std::vector<Tile> gains;
              for (Index j : columns)
                gains.push_back(cast<f32>(Tile(nextGain.tiled(cfg.n)(j))));
              std::vector<Tile> results = resultsOf<F>(cfg, in, parts, y.cols(), i, columns);
              for (size_t n = 0; n < columns.size(); ++n) {
                Index j = columns[n];
                ys(i, j) = cast<Y>(results[n]);
                scaled.tiled(cfg.m, cfg.n)(i, j) = cast<X>(results[n] * gains[n]);
                nextSquares.tiled(cfg.m, 1)(i, j) = sum(results[n] * results[n], 1);
              }
            });
          }};
}

/// Of weights in W, products in T.
template <class T, class W, WeightFormat format> static Kernel gemvOf(const GemvConfig &config) {
  switch (config.wide) {
  case Wide::no:
    return gemvOf<T, W, T, T, format>(config);
  case Wide::yes:
    return gemvOf<T, W, f32, f32, format>(config);
  case Wide::exact:
    return gemvOf<f32, W, f32, f32, format>(config);
  case Wide::results:
    return gemvOf<T, W, T, f32, format>(config);
  }
  throw InternalError("a product that is wide in no way");
}

Kernel gemv(DType type, const GemvConfig &config) {
  checkBlocks(config.format, config.n, config.k, gemvName(config.format));
  if (isInBlocks(config.format) && config.gated == Gated::pairs)
    throw CompileError("blocked-gemv: gates are in pairs, expected none or halves");
  if (config.sharers < 1 || config.sharers > 8 || (config.sharers & (config.sharers - 1)) != 0)
    throw CompileError(fmt::format("gemv: sharers is {}, expected 1, 2, 4 or 8", config.sharers));
  if (config.summed && config.gated != Gated::none)
    throw CompileError("gemv: a gated product is summed over ranks, expected one without gates");
  if (config.together < 1 || config.together > 4)
    throw CompileError(fmt::format("gemv: together is {}, expected 1 to 4", config.together));
  if (config.together > 1 && (config.byElements || config.sharers > 1))
    throw CompileError(
        fmt::format("gemv: together is {}, expected 1 with by=elements or with several sharers",
                    config.together));
  if (config.byElements && config.m != 1)
    throw CompileError(fmt::format("gemv: m is {}, expected 1 with by=elements", config.m));
  Kernel kernel = Floats::dispatch(type, gemvName(config.format), [&]<class T> {
    if (config.format == WeightFormat::plain)
      return gemvOf<T, T, WeightFormat::plain>(config);
    if (config.format == WeightFormat::blocked)
      return gemvOf<T, T, WeightFormat::blocked>(config);
    if (config.format == WeightFormat::blockedQ8_0)
      return gemvOf<T, i8, WeightFormat::blockedQ8_0>(config);
    return config.wide == Wide::no ? gemvOf<f32, i8, T, T, WeightFormat::q8_0>(config)
                                   : gemvOf<f32, i8, f32, f32, WeightFormat::q8_0>(config);
  });
  return config.residual == Residual::none ? kernel : kernel.inPlace("y", "residual");
}

} // namespace ditron::kernels
