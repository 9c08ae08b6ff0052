// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums as references compute them: beside the value, what the criterion of accuracy needs.
#pragma once
#include "ditron/kernels/Reference.h"
#include "ditron/kernels/kernels.h"
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace ditron::kernels {

/// A sum in double, with what the criterion of accuracy needs: the same in float, and the sum of
/// absolute values.
struct ReferenceSum {
  double value = 0, magnitude = 0;
  float plain = 0;
  int64_t terms = 0;

  void add(double term) {
    value += term;
    magnitude += std::abs(term);
    plain += static_cast<float>(term);
    ++terms;
  }
  /// The whole sum times a factor, which is another rounding.
  void scaleBy(double factor) {
    value *= factor;
    magnitude *= std::abs(factor);
    plain *= static_cast<float>(factor);
    ++terms;
  }
  /// A sum of its own: what another rank adds.
  void add(const ReferenceSum &part) {
    value += part.value;
    magnitude += part.magnitude;
    plain += part.plain;
    terms += part.terms;
  }
  /// What fast accumulation of 8-bit floats may lose of it: of each term 2^-8 of what terms are on
  /// average. Computed as tile.dot says, the farthest of two million random sums of 128 terms is
  /// off by 0.7 of that; test/kernels/CriterionTest.cpp draws some.
  void allowFastAccum() {
    magnitude *= 1 + 32768 / static_cast<double>(std::max<int64_t>(terms, 1));
  }
  /// What products of operands rounded to tf32, ties either way, may lose of it: of each term 2^-9
  /// of what terms are on average.
  void allowTf32() { magnitude *= 1 + 16384 / static_cast<double>(std::max<int64_t>(terms, 1)); }
  /// What it may lose where it is one of the parts of a sum of `all` terms, and the parts are rounded
  /// to `bits` significant bits before they are added.
  void allowRounding(int bits, int64_t all) {
    double lost = std::ldexp(std::abs(value), -bits);
    magnitude += lost / (std::sqrt(static_cast<double>(all)) * std::ldexp(1.0, -23));
  }
  /// a * b as one term; `plainA` and `plainB` are what is left of them where they are rounded
  /// first.
  void addProduct(double a, double b, double plainA, double plainB) {
    value += a * b;
    magnitude += std::abs(a * b);
    plain += static_cast<float>(plainA) * static_cast<float>(plainB);
    ++terms;
  }
  void addProduct(double a, double b) { addProduct(a, b, a, b); }
};

/// `value` rounded to `type`.
double roundTo(DType type, double value);

/// What activation(sum) + residual is to be as an element of `type`; integers are exact.
Expected expectedSum(const ReferenceSum &sum, DType type, Activation activation = Activation::none,
                     double residual = 0);

/// Terms of a product along K.
struct Terms {
  int64_t first, end;
};

/// One element of a product, as Product<T>: row `row` of argument 0 of `rank` by ofB(k), k being the
/// terms. It is what a product of this accuracy may give.
ReferenceSum productWith(const Inputs &in, int64_t rank, int64_t row, Terms terms,
                         Accuracy accuracy, const std::function<double(int64_t)> &ofB);

/// A row of an operand, or a matrix of a batch of them, of a rank.
struct Place {
  int64_t rank, number;
};

/// A row of argument 0 by column `column` of a matrix of argument 1, which may be transposed: of the
/// accuracy that the configuration asks for.
ReferenceSum productOfOperands(const Case &run, Place row, Place matrix, int64_t column);
/// The same of some of the terms.
ReferenceSum productOfOperands(const Case &run, Place row, Place matrix, int64_t column,
                               Terms terms);

/// A row of activation(scale * sum + bias) + residual, of what the configuration has: the arguments
/// behind the operands.
std::vector<Expected> finishedSums(const Case &run, const OutputRow &row,
                                   const std::function<ReferenceSum(int64_t)> &sumOf);

/// Row `inputRow` of argument 0, summed over the ranks.
std::vector<Expected> sumOfRanks(const Case &run, const OutputRow &row, int64_t inputRow);
/// Row `inputRow` of every rank's argument 0 times its argument 1, summed over the ranks, with the
/// epilogue behind it.
std::vector<Expected> sumOfProducts(const Case &run, const OutputRow &row, int64_t inputRow);

} // namespace ditron::kernels
