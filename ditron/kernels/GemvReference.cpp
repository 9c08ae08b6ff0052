// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/kernels/GemvReference.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/functions/PackedWeights.h"
#include <cmath>

namespace ditron::kernels {

static constexpr size_t kX = 0, kW = 1;

WeightFormat weightFormatOf(const Config &config) {
  if (int64_t blocked = config.valueOr("blocks", -1); blocked >= 0) // which others do not have
    return blocked ? WeightFormat::blockedQ8_0 : WeightFormat::blocked;
  int64_t packed = config.valueOr("format", -1); // which is none of plain ones
  return static_cast<WeightFormat>(packed + 1);
}
const char *gemvName(WeightFormat format) {
  return format == WeightFormat::plain ? "gemv"
         : isInBlocks(format)          ? "blocked-gemv"
                                       : "packed-gemv";
}
RowNorm rowNormOf(const Config &config) { return static_cast<RowNorm>(config["rms"]); }

/// The numbers of the arguments that not every variant has, and of y.
struct Places {
  explicit Places(const Config &config)
      : norm(kW + moreArgumentsOf(weightFormatOf(config)) + 1),
        residual(norm + (rowNormOf(config) == RowNorm::no ? 0 : 2)),
        nextGain(residual + (config["residual"] ? 1 : 0)), y(nextGain + (config["next"] ? 1 : 0)) {}
  size_t norm; ///< gain or squares; eps is behind it
  size_t residual, nextGain, y;
};

namespace {

/// One row of y.
class Row {
public:
  Row(const Case &run, const OutputRow &row) : run_(run), row_(row) {
    if (rms_ == RowNorm::no)
      return;
    double squares = 0, eps = run.inputs.scalar(places_.norm + 1);
    if (rms_ == RowNorm::yes)
      for (int64_t k = 0; k < K_; ++k)
        squares += x(k) * x(k);
    else
      for (int64_t part = 0; part * run.config["part"] < K_; ++part)
        squares += run.inputs.at(row.rank, places_.norm, row_.row, part);
    scale_ = 1 / std::sqrt(squares / double(K_) + eps);
  }

  /// x times row `n` of W.
  ReferenceSum product(int64_t n) const {
    ReferenceSum sum;
    bool isRounded = run_.config.valueOr("wide", int64_t(Wide::exact)) != int64_t(Wide::exact);
    bool roundsWeights = format_ == WeightFormat::blockedQ8_0 &&
                         !isByBlock(format_, run_.config["rows"] != 0, run_.config["m"]);
    DType type = isRounded ? run_.problem.type : DType::f32;
    for (int64_t k = 0; k < K_; ++k) {
      double gain = rms_ == RowNorm::yes ? run_.inputs.at(row_.rank, places_.norm, k) : 1;
      double factor = x(k) * gain, w = weightAt(run_.inputs, format_, row_.rank, kW, n, k);
      sum.addProduct(factor, w, roundTo(type, roundTo(DType::f32, factor)),
                     roundsWeights ? roundTo(type, w) : w);
    }
    if (isPacked(format_)) // which are rounded
      sum.magnitude *= 2;
    sum.scaleBy(scale_);
    return sum;
  }

private:
  double x(int64_t k) const { return run_.inputs.at(row_.rank, kX, row_.row, k); }

  const Case &run_;
  OutputRow row_;
  WeightFormat format_ = weightFormatOf(run_.config);
  RowNorm rms_ = rowNormOf(run_.config);
  Places places_{run_.config};
  int64_t K_ = depthOf(run_.problem, format_);
  double scale_ = 1;
};

} // namespace

/// silu(gate) * up.
static ReferenceSum gatedSum(const ReferenceSum &gate, const ReferenceSum &up) {
  auto silu = [](double x) { return x / (1 + std::exp(-x)); };
  ReferenceSum result;
  result.value = silu(gate.value) * up.value;
  result.plain = static_cast<float>(silu(gate.plain)) * up.plain;
  // The slope of silu is below 1.13.
  result.magnitude =
      2 * (gate.magnitude * std::abs(up.value) + std::abs(silu(gate.value)) * up.magnitude);
  result.terms = gate.terms;
  return result;
}

/// Anything is a sum of squares that is not below 0.
double gemvInput(const Problem &, const Inputs &inputs, int64_t rank, size_t argument,
                 int64_t element) {
  if (inputs.name(argument) == "squares")
    return 16 * inputs.uniform(rank, argument, element);
  bool isPacked = inputs.type(argument) == DType::i8;
  return isPacked ? packedInput(inputs, rank, argument, element)
                  : inputs.standard(rank, argument, element);
}

namespace {

/// Elements of y, and what is made of them.
class Results {
public:
  Results(const Case &run, const OutputRow &row) : run_(run), row_(row) {
    bool isSummed = run.config["summed"] != 0;
    for (int64_t rank = 0; rank < run.problem.ranks; ++rank)
      if (OutputRow own = row; isSummed || rank == row.rank)
        own.rank = rank, ofX_.emplace_back(run, own);
  }

  ReferenceSum sumOf(int64_t n) const {
    auto gated = static_cast<Gated>(run_.config["gated"]);
    const Row &own = ofX_.front();
    int64_t N = rowsOf(run_.problem, weightFormatOf(run_.config));
    if (gated == Gated::pairs)
      return gatedSum(own.product(2 * n), own.product(2 * n + 1));
    if (gated == Gated::halves)
      return gatedSum(own.product(n), own.product(N + n));
    ReferenceSum sum = own.product(n);
    for (size_t rank = 1; rank < ofX_.size(); ++rank)
      sum.add(ofX_[rank].product(n));
    return sum;
  }
  double residual(int64_t n) const {
    bool isThere = run_.config["residual"] != 0;
    return isThere ? run_.inputs.at(row_.rank, places_.residual, row_.row, n) : 0;
  }
  Expected y(int64_t n, DType type) const {
    return expectedSum(sumOf(n), type, Activation::none, residual(n));
  }
  /// y[n] as one sum.
  ReferenceSum whole(int64_t n) const {
    ReferenceSum sum = sumOf(n);
    sum.add(residual(n));
    return sum;
  }
  Expected scaled(int64_t n, DType type) const {
    ReferenceSum sum = whole(n);
    sum.scaleBy(run_.inputs.at(row_.rank, places_.nextGain, n));
    return expectedSum(sum, type);
  }
  /// The squares of a tile of y.
  Expected squares(int64_t tile) const {
    int64_t all = rowsOf(run_.problem, weightFormatOf(run_.config));
    int64_t width = run_.config["n"], end = std::min((tile + 1) * width, all);
    ReferenceSum squares;
    for (int64_t n = tile * width; n < end; ++n) {
      ReferenceSum sum = whole(n);
      ReferenceSum square = {sum.value * sum.value, 2 * std::abs(sum.value) * sum.magnitude,
                             sum.plain * sum.plain, sum.terms + 1};
      squares.add(square);
    }
    return expectedSum(squares, DType::f32);
  }

private:
  const Case &run_;
  const OutputRow &row_;
  Places places_{run_.config};
  std::vector<Row> ofX_; ///< of the ranks whose products are added
};

} // namespace

std::vector<Expected> gemvReference(const Case &run, const OutputRow &row) {
  Results results(run, row);
  DType type = run.inputs.type(row.argument);
  size_t which = row.argument - Places(run.config).y;
  std::vector<Expected> result;
  for (int64_t n : row.columns)
    result.push_back(which == 0   ? results.y(n, type)
                     : which == 1 ? results.scaled(n, type)
                                  : results.squares(n));
  return result;
}

} // namespace ditron::kernels
