// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/reference/TileMath.h"
#include "ditron/reference/ViewedMemory.h"
#include "ditron/support/Error.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APSInt.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace ditron::reference {

using core::Extremum;
using core::ReduceKind;
using core::Rounding;
using llvm::ArrayRef;

//===-- Casts ---------------------------------------------------------------------------------===//

namespace {

/// What tile.cast takes an integer for: an i1 counts as 0 or 1, the others are signed.
int64_t numberOf(DType type, int64_t value) { return type == DType::i1 ? value != 0 : value; }

struct Range {
  int64_t least, largest;
};
Range rangeOf(DType type) {
  return {std::numeric_limits<int64_t>::min() >> (64 - bitWidth(type)),
          std::numeric_limits<int64_t>::max() >> (64 - bitWidth(type))};
}

const llvm::fltSemantics &semanticsOf(DType type) {
  switch (type) {
  case DType::f16:
    return llvm::APFloat::IEEEhalf();
  case DType::bf16:
    return llvm::APFloat::BFloat();
  case DType::f8e4m3:
    return llvm::APFloat::Float8E4M3FN();
  case DType::f8e5m2:
    return llvm::APFloat::Float8E5M2();
  case DType::f32:
    return llvm::APFloat::IEEEsingle();
  default:
    throw InternalError("an integer type has no float semantics");
  }
}

double largestFinite(DType type) {
  bool loses;
  llvm::APFloat value = llvm::APFloat::getLargest(semanticsOf(type));
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmTowardZero, &loses);
  return value.convertToDouble();
}

double truncateTo(DType type, double value) {
  bool loses;
  llvm::APFloat narrow(value);
  narrow.convert(semanticsOf(type), llvm::APFloat::rmTowardZero, &loses);
  narrow.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmTowardZero, &loses);
  return narrow.convertToDouble();
}

double floatToFloat(DType to, double value, Rounding rounding, bool saturate) {
  if (saturate && !std::isnan(value)) {
    double largest = largestFinite(to);
    value = std::clamp(value, -largest, largest);
  }
  return rounding == Rounding::toward_zero ? truncateTo(to, value) : roundTo(to, value);
}

int64_t floatToInteger(DType to, double value, Rounding rounding) {
  if (to == DType::i1)
    return value != 0;
  if (std::isnan(value))
    return 0;
  double whole = rounding == Rounding::nearest_even  ? std::nearbyint(value)
                 : rounding == Rounding::toward_zero ? std::trunc(value)
                 : rounding == Rounding::down        ? std::floor(value)
                                                     : std::ceil(value);
  Range range = rangeOf(to);
  if (whole <= static_cast<double>(range.least))
    return range.least;
  // As a double the largest i64 is 2^63, which no int64_t holds: hence >=.
  return whole >= static_cast<double>(range.largest) ? range.largest : static_cast<int64_t>(whole);
}

/// Rounded once: by way of double an i64 would be rounded twice.
double roundInteger(DType to, const llvm::APSInt &value) {
  bool loses;
  llvm::APFloat exact(llvm::APFloat::IEEEquad());
  exact.convertFromAPInt(value, value.isSigned(), llvm::APFloat::rmNearestTiesToEven);
  exact.convert(semanticsOf(to), llvm::APFloat::rmNearestTiesToEven, &loses);
  exact.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return exact.convertToDouble();
}

int64_t integerToInteger(DType to, int64_t value, bool saturate) {
  if (to == DType::i1)
    return value != 0;
  Range range = rangeOf(to);
  return saturate ? std::clamp(value, range.least, range.largest) : value;
}

} // namespace

double integerToFloat(DType to, int64_t value) {
  return roundInteger(to, llvm::APSInt(llvm::APInt(64, value), /*isUnsigned=*/false));
}

double integerToFloat(DType to, uint64_t value) {
  return roundInteger(to, llvm::APSInt(llvm::APInt(64, value), /*isUnsigned=*/true));
}

Value castTo(mlir::Type source, mlir::Type result, const Value &value, Rounding rounding,
             bool saturate) {
  DType from = elementType(source), to = elementType(result);
  if (isFloat(from) && isFloat(to))
    return mapElements<double>(
        result, [=](double x) { return floatToFloat(to, x, rounding, saturate); }, value);
  if (isFloat(from))
    return mapElements<double>(
        result, [=](double x) { return floatToInteger(to, x, rounding); }, value);
  if (isFloat(to))
    return mapElements<int64_t>(
        result,
        [=](int64_t x) {
          int64_t number = numberOf(from, x);
          double largest = largestFinite(to);
          if (saturate && std::fabs(static_cast<double>(number)) > largest)
            return number < 0 ? -largest : largest;
          return integerToFloat(to, number);
        },
        value);
  return mapElements<int64_t>(
      result, [=](int64_t x) { return integerToInteger(to, numberOf(from, x), saturate); }, value);
}

Value splat(mlir::Type result, const Value &element) {
  if (!isa<mlir::RankedTensorType>(result))
    return element;
  Tile tile(elementType(result), shapeOf(result));
  if (isFloat(tile.type))
    std::ranges::fill(tile.as<double>(), std::get<double>(element));
  else
    std::ranges::fill(tile.as<int64_t>(), std::get<int64_t>(element));
  return std::make_shared<Tile>(std::move(tile));
}

//===-- Dot -----------------------------------------------------------------------------------===//

namespace {

/// One matrix product: c[m,n] += a[m,k] * b[k,n]. Walking along rows of b leaves the order of k.
template <class Accumulator, class Element>
void multiply(const Element *a, const Element *b, Element *c, int64_t m, int64_t n, int64_t k) {
  for (int64_t i = 0; i < m; ++i) {
    std::vector<Accumulator> row(c + i * n, c + (i + 1) * n);
    for (int64_t l = 0; l < k; ++l) {
      auto left = static_cast<Accumulator>(a[i * k + l]);
      for (int64_t j = 0; j < n; ++j) {
        Accumulator product = left * static_cast<Accumulator>(b[l * n + j]);
        row[j] += product;
      }
    }
    std::copy(row.begin(), row.end(), c + i * n);
  }
}

template <class Accumulator, class Element>
void multiplyBatches(const Tile &lhs, const Tile &rhs, Tile &result) {
  size_t rank = lhs.shape.size();
  int64_t m = lhs.shape[rank - 2], k = lhs.shape[rank - 1], n = rhs.shape[rank - 1];
  int64_t batches = numElements(ArrayRef<int64_t>(lhs.shape).drop_back(2));
  for (int64_t batch = 0; batch < batches; ++batch)
    multiply<Accumulator>(lhs.as<Element>().data() + batch * m * k,
                          rhs.as<Element>().data() + batch * k * n,
                          result.as<Element>().data() + batch * m * n, m, n, k);
}

} // namespace

Tile dot(const Tile &lhs, const Tile &rhs, const Tile &acc) {
  Tile result = acc;
  if (isFloat(lhs.type))
    multiplyBatches<float, double>(lhs, rhs, result);
  else // unsigned, because that wraps
    multiplyBatches<uint32_t, int64_t>(lhs, rhs, result);
  normalize(result);
  return result;
}

//===-- Reductions ----------------------------------------------------------------------------===//

namespace {

/// The lines of a tile along one axis: element i of a line stands at first + i * stride.
struct Lines {
  int64_t count, extent, stride;
  Lines(const Tile &tile, int64_t axis)
      : count(tile.size() / tile.shape[axis]), extent(tile.shape[axis]),
        stride(denseStrides(tile.shape)[axis]) {}
  int64_t first(int64_t line) const { return line / stride * stride * extent + line % stride; }
};

/// Floats combine in f32; NaN wins over every number.
double combine(ReduceKind kind, double a, double b) {
  switch (kind) {
  case ReduceKind::sum:
    return static_cast<float>(a + b);
  case ReduceKind::prod:
    return static_cast<float>(a * b);
  case ReduceKind::max:
    return std::isnan(a) || a > b ? a : b;
  case ReduceKind::min:
    return std::isnan(a) || a < b ? a : b;
  }
  throw InternalError("unknown kind of reduction");
}

/// Integers combine wrapping.
int64_t combine(ReduceKind kind, int64_t a, int64_t b) {
  switch (kind) {
  case ReduceKind::sum:
    return static_cast<int64_t>(uint64_t(a) + uint64_t(b));
  case ReduceKind::prod:
    return static_cast<int64_t>(uint64_t(a) * uint64_t(b));
  case ReduceKind::max:
    return std::max(a, b);
  case ReduceKind::min:
    return std::min(a, b);
  }
  throw InternalError("unknown kind of reduction");
}

template <class Element>
void reduceLines(ReduceKind kind, const Tile &source, int64_t axis, Tile &result) {
  Lines lines(source, axis);
  const auto &in = source.as<Element>();
  for (int64_t line = 0; line < lines.count; ++line) {
    Element value = in[lines.first(line)];
    for (int64_t i = 1; i < lines.extent; ++i)
      value = combine(kind, value, in[lines.first(line) + i * lines.stride]);
    result.as<Element>()[line] = value;
  }
}

template <class Element>
void scanLines(ReduceKind kind, const Tile &source, int64_t axis, Tile &result) {
  Lines lines(source, axis);
  const auto &in = source.as<Element>();
  for (int64_t line = 0; line < lines.count; ++line) {
    Element value = in[lines.first(line)];
    for (int64_t i = 0; i < lines.extent; ++i) {
      int64_t at = lines.first(line) + i * lines.stride;
      value = i == 0 ? value : combine(kind, value, in[at]);
      result.as<Element>()[at] = value;
    }
  }
}

/// Is a better than b: is a the new extremum?
template <class Element> bool beats(Extremum kind, Element a, Element b) {
  if (b != b) // nothing beats a NaN
    return false;
  return a != a || (kind == Extremum::max ? a > b : a < b);
}

template <class Element>
void findExtrema(Extremum kind, const Tile &source, int64_t axis, Tile &result) {
  Lines lines(source, axis);
  const auto &in = source.as<Element>();
  for (int64_t line = 0; line < lines.count; ++line) {
    int64_t first = lines.first(line), best = 0;
    for (int64_t i = 1; i < lines.extent; ++i)
      if (beats(kind, in[first + i * lines.stride], in[first + best * lines.stride]))
        best = i;
    result.as<int64_t>()[line] = best;
  }
}

Extents without(const Tile &source, int64_t axis) {
  Extents shape = source.shape;
  shape[axis] = 1;
  return shape;
}

} // namespace

Tile reduce(ReduceKind kind, const Tile &source, int64_t axis) {
  Tile result(source.type, without(source, axis));
  if (isFloat(source.type))
    reduceLines<double>(kind, source, axis, result);
  else
    reduceLines<int64_t>(kind, source, axis, result);
  normalize(result);
  return result;
}

Tile reduceIndex(Extremum kind, const Tile &source, int64_t axis) {
  Tile result(DType::i32, without(source, axis));
  if (isFloat(source.type))
    findExtrema<double>(kind, source, axis, result);
  else
    findExtrema<int64_t>(kind, source, axis, result);
  return result;
}

Tile scan(ReduceKind kind, const Tile &source, int64_t axis) {
  Tile result(source.type, source.shape);
  if (isFloat(source.type))
    scanLines<double>(kind, source, axis, result);
  else
    scanLines<int64_t>(kind, source, axis, result);
  normalize(result);
  return result;
}

//===-- Shape ---------------------------------------------------------------------------------===//

namespace {

/// A tile of `shape` whose elements are the source's at `strides` (0 repeats a dimension).
template <class Element> void pick(const Tile &source, ArrayRef<int64_t> strides, Tile &result) {
  Extents index(result.shape.size(), 0);
  for (Element &element : result.as<Element>()) {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d)
      at += index[d] * strides[d];
    element = source.as<Element>()[at];
    for (int d = static_cast<int>(index.size()) - 1; d >= 0 && ++index[d] == result.shape[d]; --d)
      index[d] = 0;
  }
}

Tile pick(const Tile &source, ArrayRef<int64_t> strides, ArrayRef<int64_t> shape) {
  Tile result(source.type, shape);
  if (isFloat(source.type))
    pick<double>(source, strides, result);
  else
    pick<int64_t>(source, strides, result);
  return result;
}

} // namespace

Tile broadcast(const Tile &source, ArrayRef<int64_t> shape) {
  Extents strides = denseStrides(source.shape);
  for (size_t d = 0; d < strides.size(); ++d)
    if (source.shape[d] == 1)
      strides[d] = 0;
  return pick(source, strides, shape);
}

Tile transpose(const Tile &source, ArrayRef<int64_t> permutation) {
  Extents all = denseStrides(source.shape), strides, shape;
  for (int64_t d : permutation) {
    strides.push_back(all[d]);
    shape.push_back(source.shape[d]);
  }
  return pick(source, strides, shape);
}

Tile iota(ArrayRef<int64_t> shape, int64_t axis) {
  Tile result(DType::i32, shape);
  Lines lines(result, axis);
  for (int64_t line = 0; line < lines.count; ++line)
    for (int64_t i = 0; i < lines.extent; ++i)
      result.as<int64_t>()[lines.first(line) + i * lines.stride] = i;
  return result;
}

} // namespace ditron::reference
