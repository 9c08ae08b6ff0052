// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/Config.h"
#include "ditron/kernels/FusedGemm.h"

namespace ditron::kernels {

static double activated(Activation activation, double x) {
  switch (activation) {
  case Activation::relu:
    return std::max(x, 0.0);
  case Activation::silu:
    return x / (1 + std::exp(-x));
  case Activation::gelu:
    return x * (std::erf(x * std::sqrt(0.5)) + 1) * 0.5;
  case Activation::none:
    break;
  }
  return x;
}

double roundTo(DType type, double value) {
  alignas(8) std::byte element[8];
  storeElement(type, element, value);
  return loadElement(type, element);
}

Expected expectedSum(const ReferenceSum &sum, DType type, Activation activation, double residual) {
  if (!isFloat(type))
    return Expected::exact(sum.value + residual);
  // The slope of each activation is below 1.13, and its own arithmetic adds a few roundings.
  double magnitude = activation == Activation::none ? sum.magnitude : 2 * sum.magnitude;
  double plain = roundTo(DType::f32, activated(activation, sum.plain));
  plain = roundTo(DType::f32, plain + residual);
  return {activated(activation, sum.value) + residual, roundTo(type, plain),
          magnitude + std::abs(residual), sum.terms};
}

/// An f32 rounded to 10 bits of mantissa.
static double roundedToTf32(double value) {
  int exponent = 0;
  double mantissa = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, 11)), exponent - 11);
}

ReferenceSum productWith(const Inputs &in, int64_t rank, int64_t row, Terms terms,
                         Accuracy accuracy, const std::function<double(int64_t)> &ofB) {
  bool isFast = accuracy == Accuracy::fast, rounds = isFast && in.type(0) == DType::f32;
  ReferenceSum sum;
  for (int64_t k = terms.first; k < terms.end; ++k) {
    double a = in.at(rank, 0, row, k), b = ofB(k);
    if (rounds)
      sum.addProduct(a, b, roundedToTf32(a), roundedToTf32(b));
    else
      sum.addProduct(a, b);
  }
  if (isFast && isFloat(in.type(0)) && byteSize(in.type(0)) == 1)
    sum.allowFastAccum();
  if (rounds)
    sum.allowTf32();
  return sum;
}

std::vector<Expected> sumOfRanks(const Case &run, const OutputRow &row, int64_t inputRow) {
  std::vector<Expected> result;
  for (int64_t column : row.columns) {
    ReferenceSum sum;
    for (int64_t r = 0; r < run.problem.ranks; ++r)
      sum.add(run.inputs.at(r, 0, inputRow, column));
    result.push_back(expectedSum(sum, run.inputs.type(row.argument)));
  }
  return result;
}

ReferenceSum productOfOperands(const Case &run, Place row, Place matrix, int64_t column) {
  return productOfOperands(run, row, matrix, column, {0, run.problem["K"]});
}

ReferenceSum productOfOperands(const Case &run, Place row, Place matrix, int64_t column,
                               Terms terms) {
  int64_t K = run.problem["K"], N = run.problem["N"];
  bool transB = run.config["transB"] != 0;
  auto accuracy = static_cast<Accuracy>(run.config["accuracy"]);
  return productWith(run.inputs, row.rank, row.number, terms, accuracy, [&](int64_t k) {
    return transB ? run.inputs.at(matrix.rank, 1, matrix.number * N + column, k)
                  : run.inputs.at(matrix.rank, 1, matrix.number * K + k, column);
  });
}

std::vector<Expected> finishedSums(const Case &run, const OutputRow &row,
                                   const std::function<ReferenceSum(int64_t)> &sumOf) {
  auto activation = static_cast<Activation>(run.config["activation"]);
  size_t next = 2; // the arguments behind the operands are those that there are
  size_t bias = run.config["bias"] ? next++ : 0, residual = run.config["residual"] ? next++ : 0;
  double scale = run.config["scale"] ? run.inputs.scalar(next) : 1;
  std::vector<Expected> result;
  for (int64_t column : row.columns) {
    ReferenceSum sum = sumOf(column);
    sum.scaleBy(scale);
    if (bias)
      sum.add(run.inputs.at(row.rank, bias, column));
    double more = residual ? run.inputs.at(row.rank, residual, row.row, column) : 0;
    result.push_back(expectedSum(sum, run.inputs.type(row.argument), activation, more));
  }
  return result;
}

/// The significant bits in which a rank's sums travel; 0: they travel as they are.
static int bitsOfPartials(const Case &run, DType type) {
  if (!run.config.valueOr("partials", 0) || !run.config.valueOr("engine", 0))
    return 0;
  return type == DType::bf16 ? 8 : type == DType::f16 ? 11 : 0;
}

/// The terms of each sum that a rank sends: those of steps of `k` of a part of K.
static std::vector<Terms> termsSent(const Case &run) {
  int64_t parts = isDirect(run.config) ? run.config.valueOr("parts", 1) : 1;
  int64_t K = run.problem["K"], step = run.config["k"], steps = (K + step - 1) / step;
  std::vector<Terms> result;
  for (int64_t p = 0; p < parts; ++p)
    result.push_back(
        {std::min(K, p * steps / parts * step), std::min(K, (p + 1) * steps / parts * step)});
  return result;
}

std::vector<Expected> sumOfProducts(const Case &run, const OutputRow &row, int64_t inputRow) {
  int bits = bitsOfPartials(run, run.inputs.type(row.argument));
  std::vector<Terms> parts = termsSent(run);
  int64_t all = run.problem["K"] * run.problem.ranks;
  return finishedSums(run, row, [&](int64_t column) {
    ReferenceSum sum;
    for (int64_t r = 0; r < run.problem.ranks; ++r)
      for (const Terms &terms : parts) {
        ReferenceSum part = productOfOperands(run, {r, inputRow}, {r, 0}, column, terms);
        if (bits)
          part.allowRounding(bits, all);
        sum.add(part);
      }
    return sum;
  });
}

} // namespace ditron::kernels
