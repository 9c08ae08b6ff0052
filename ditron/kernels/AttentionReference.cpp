// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/kernels/AttentionEntry.h"
#include "ditron/kernels/ReferenceSums.h"
#include <cmath>
#include <limits>
#include <numbers>

namespace ditron::kernels {

namespace {

/// The scores of one query, and the weights that they make, relative to the largest.
struct Weights {
  explicit Weights(const AttentionOf &one) {
    std::vector<ReferenceSum> scores(one.numKeys);
    for (int64_t j = 0; j < one.numKeys; ++j) {
      for (int64_t d = 0; d < one.elements; ++d)
        scores[j].addProduct(one.query(d), one.key(0, j, d));
      scores[j].scaleBy(one.scale);
      top = std::max(top, scores[j].value);
      size = std::max(size, scores[j].magnitude);
    }
    for (const ReferenceSum &score : scores) {
      exact.push_back(std::exp(score.value - top));
      plain.push_back(std::exp(score.plain - static_cast<float>(top)));
      total += exact.back();
      plainTotal += plain.back();
    }
  }

  double top = -INFINITY, size = 0, total = 0; ///< `size`: the largest magnitude of a score
  float plainTotal = 0;
  std::vector<double> exact;
  std::vector<float> plain;
};

} // namespace

std::vector<Expected> attendedTo(const AttentionOf &one, std::span<const int64_t> columns) {
  Weights weights(one);
  // As the kernel has them: rounded where they meet the values, but not in their sum.
  for (float &weight : weights.plain)
    weight = static_cast<float>(roundTo(one.type, weight));
  double rounding = one.type == DType::f32 ? 0 : one.type == DType::f16 ? 0x1p-11 : 0x1p-8;
  std::vector<Expected> result;
  for (int64_t column : columns) {
    ReferenceSum sum;
    double squares = 0;
    for (int64_t j = 0; j < one.numKeys; ++j) {
      double value = one.key(1, j, column), term = weights.exact[j] * value;
      sum.value += term;
      sum.magnitude += std::abs(term);
      squares += term * term;
      sum.plain += weights.plain[j] * static_cast<float>(value);
    }
    if (one.numKeys == 0) {
      result.push_back(Expected::exact(0));
      continue;
    }
    // A weight has the relative error of its score's absolute one. Those that are rounded before
    // they meet the values are so relative to another maximum than here.
    double total = weights.total, value = sum.value / total;
    double magnitude = sum.magnitude / total * (4 + 2 * weights.size);
    double narrow = 4 * rounding * std::sqrt(squares) / total;
    int64_t terms = one.numKeys + one.elements;
    double eps = std::sqrt(double(terms)) * 0x1p-23;
    result.push_back({value, roundTo(one.result, sum.plain / weights.plainTotal),
                      magnitude + narrow / eps, terms});
  }
  return result;
}

Expected attendedSize(const AttentionOf &one) {
  if (one.numKeys == 0)
    return Expected::exact(std::numeric_limits<float>::lowest());
  Weights weights(one);
  double value = (weights.top + std::log(weights.total)) * std::numbers::log2e;
  return {value, value, 4 * (weights.size + std::abs(value) + 1), one.numKeys + one.elements};
}

} // namespace ditron::kernels
