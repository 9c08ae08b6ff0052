// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ditron/report/ProductCheck.h"
#include "ditron/support/Parallel.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <mutex>
#include <random>

namespace ditron::tools {

using kernels::Baseline;
using kernels::Inputs;

namespace {

constexpr size_t kVectors = 2;
constexpr double kEps32 = 0x1p-23;

/// Which rows of which ranks' A, times which B, a row of an output is the sum of.
struct Structure {
  Baseline kind;
  int64_t ranks, rank, rowsOfA, rows; ///< rows: of the output

  bool sumsOverRanks() const {
    return kind == Baseline::gemmThenScatter || kind == Baseline::gemmThenReduce;
  }
  /// Calls fn(rank, row of A) for each term of an output's row.
  template <class Fn> void forTerms(int64_t row, const Fn &fn) const {
    if (kind == Baseline::gemm)
      fn(rank, row);
    else if (kind == Baseline::gatherThenGemm)
      fn(row / rowsOfA, row % rowsOfA);
    else
      for (int64_t peer = 0; peer < ranks; ++peer)
        fn(peer, kind == Baseline::gemmThenScatter ? rank * rows + row : row);
  }
};

/// B x for every vector x, and the squared norm of B.
struct ProjectedB {
  std::vector<double> values; ///< kVectors numbers a row of B
  double squares = 0;
};

/// Half a unit in the last place, relative and absolute.
std::pair<double, double> rounding(DType type) {
  switch (type) {
  case DType::f32:
    return {0x1p-24, 0x1p-150};
  case DType::f16:
    return {0x1p-11, 0x1p-25};
  case DType::bf16:
    return {0x1p-8, 0x1p-134};
  case DType::f8e4m3:
    return {0x1p-4, 0x1p-10};
  case DType::f8e5m2:
    return {0x1p-3, 0x1p-17};
  default:
    return {0, 0};
  }
}

class Projection {
public:
  Projection(const Task &task, const Inputs &inputs, int64_t rank, const runtime::Tensor &output)
      : inputs_(inputs.ofTeamOf(rank)), output_(output), type_(output.dtype()), rank_(rank),
        transB_(kernels::hasTransposedB(task.kernel)), depth_(inputs.shape(1)[transB_ ? 1 : 0]),
        width_(output.shape()[1]),
        structure_{task.entry.baseline, task.problem.ranks, task.problem.placeOf(rank),
                   inputs.shape(0)[0], output.shape()[0]} {
    int64_t place = structure_.rank;
    std::mt19937_64 random(static_cast<uint64_t>(1e15 * inputs_.uniform(place, 63, 0)));
    for (int64_t n = 0; n < width_ * int64_t(kVectors); ++n)
      signs_.push_back(random() & (uint64_t(1) << 40) ? 1.0 : -1.0);
    for (int64_t peer = 0; peer < structure_.ranks; ++peer)
      projected_.push_back(peer == place || structure_.sumsOverRanks() ? projectB(peer)
                                                                       : ProjectedB());
  }

  std::optional<std::string> check() const {
    double worst = 1;
    std::optional<std::string> message;
    std::mutex lock;
    inParallel(structure_.rows, rowsWorthAThread(), [&](int64_t begin, int64_t end) {
      auto [ratio, text] = check(begin, end);
      std::lock_guard guard(lock);
      if (text && ratio > worst) {
        worst = ratio;
        message = text;
      }
    });
    return message;
  }

private:
  struct Row {
    double values[kVectors] = {};
    double allowedSquares = 0;
  };

  /// So many rows of a matrix that a thread has a moment's work.
  int64_t rowsWorthAThread() const { return std::max<int64_t>(1, (1 << 20) / depth_); }

  /// The worst of these rows, by how much it exceeds its bound, and what to say of it; no text
  /// where none does.
  std::pair<double, std::optional<std::string>> check(int64_t begin, int64_t end) const {
    double worst = 1;
    std::optional<std::string> message;
    for (int64_t row = begin; row < end; ++row) {
      Row expected = rowOfProducts(row), found = rowOfOutput(row);
      double bound = 8 * std::sqrt(expected.allowedSquares + found.allowedSquares);
      for (size_t v = 0; v < kVectors; ++v) {
        double error = std::abs(found.values[v] - expected.values[v]);
        double ratio = error <= bound ? 0 : bound > 0 ? error / bound : HUGE_VAL;
        if (std::isnan(error) || ratio > worst) {
          worst = std::isnan(error) ? HUGE_VAL : ratio;
          message = fmt::format("row {} of rank {}'s output times a random vector of +1 and -1: "
                                "found {}, expected {} within {:.3g}",
                                row, rank_, found.values[v], expected.values[v], bound);
        }
      }
    }
    return {worst, message};
  }

  ProjectedB projectB(int64_t rank) const {
    ProjectedB result;
    result.values.resize(size_t(depth_) * kVectors);
    std::mutex lock;
    int64_t grain = std::max<int64_t>(1, (1 << 20) / width_);
    inParallel(depth_, grain, [&](int64_t begin, int64_t end) {
      double squares = 0;
      for (int64_t k = begin; k < end; ++k)
        for (int64_t n = 0; n < width_; ++n) {
          double b = transB_ ? inputs_.at(rank, 1, n, k) : inputs_.at(rank, 1, k, n);
          squares += b * b;
          for (size_t v = 0; v < kVectors; ++v)
            result.values[size_t(k) * kVectors + v] += b * signs_[size_t(n) * kVectors + v];
        }
      std::lock_guard guard(lock);
      result.squares += squares;
    });
    return result;
  }

  Row rowOfProducts(int64_t row) const {
    Row result;
    double squaresOfA = 0, squaresOfB = 0;
    int64_t terms = 0;
    structure_.forTerms(row, [&](int64_t rank, int64_t rowOfA) {
      // A kernel that multiplies by the own B has no other.
      const ProjectedB &b = projected_[structure_.sumsOverRanks() ? rank : structure_.rank];
      for (int64_t k = 0; k < depth_; ++k) {
        double a = inputs_.at(rank, 0, rowOfA, k);
        squaresOfA += a * a;
        for (size_t v = 0; v < kVectors; ++v)
          result.values[v] += a * b.values[size_t(k) * kVectors + v];
      }
      squaresOfB += b.squares;
      terms += depth_;
    });
    if (isFloat(type_))
      result.allowedSquares = 4 * double(terms) * kEps32 * kEps32 * squaresOfA * squaresOfB;
    return result;
  }

  Row rowOfOutput(int64_t row) const {
    Row result;
    auto [relative, absolute] = rounding(type_);
    auto *elements =
        static_cast<const std::byte *>(output_.data()) + row * width_ * byteSize(type_);
    for (int64_t n = 0; n < width_; ++n) {
      double c = loadElement(type_, elements + n * byteSize(type_));
      double half = std::abs(c) * relative + absolute;
      result.allowedSquares += half * half;
      for (size_t v = 0; v < kVectors; ++v)
        result.values[v] += c * signs_[size_t(n) * kVectors + v];
    }
    return result;
  }

  const Inputs inputs_; ///< of the rank's team
  const runtime::Tensor &output_;
  DType type_;
  int64_t rank_; ///< of all ranks
  bool transB_;  ///< B is transposed
  int64_t depth_, width_;
  Structure structure_;
  std::vector<double> signs_;
  std::vector<ProjectedB> projected_; ///< by rank
};

} // namespace

bool isProjectable(const Task &task) {
  Baseline baseline = task.entry.baseline;
  if (baseline == Baseline::none || baseline == Baseline::copy || baseline == Baseline::read)
    return false;
  for (const kernels::Config::Value &value : task.config.values())
    if ((value.name == "bias" || value.name == "activation" || value.name == "accuracy") &&
        value.value != 0)
      return false;
  return task.kernel.signature().arguments().size() == 3;
}

std::optional<std::string> checkProjection(const Task &task, const Inputs &inputs, int64_t rank,
                                           const runtime::Tensor &output) {
  return Projection(task, inputs, rank, output).check();
}

} // namespace ditron::tools
