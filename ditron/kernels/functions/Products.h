// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device functions of products.
#pragma once
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/kernels.h"

namespace ditron::kernels {

/// What a product of T looks at.
template <class T> Precision precisionOf(Accuracy accuracy) {
  if (accuracy == Accuracy::full || (kDType<T> != DType::f32 && byteSize(kDType<T>) > 1))
    return Precision::ieee;
  if (kDType<T> == DType::f32)
    return Precision::tf32;
  return isFloat(kDType<T>) ? Precision::fastAccum : Precision::ieee;
}

/// Steps along K: of all of it, or of a part of a product whose summands several cores compute.
struct Steps {
  Index first, count;

  explicit Steps(Index all) : first(0), count(all) {}
  /// From one up to another.
  Steps(Index begin, Index end) : first(begin), count(end - begin) {}
  /// Part `part` of `parts`, as even as can be; some have none where there are fewer steps.
  Steps(Index all, Index part, int parts)
      : first(part * all / parts), count((part + 1) * all / parts - first) {}
};

/// Tile (i, j) of a * b, in the accumulator's type, of these steps.
template <class T, Access accessA, Access accessB>
Tile product(const Tiled<T, 2, 2, accessA> &a, Index i, const Tiled<T, 2, 2, accessB> &b, Index j,
             Accuracy accuracy, const Steps &steps) {
  Var acc = zeros<Accumulator<T>>(a.height(), b.width());
  for (auto step : range(steps.count)) {
    Index k = steps.first + step;
    acc += dot(a(i, k), b(k, j), precisionOf<T>(accuracy));
  }
  return acc;
}
template <class T, Access accessA, Access accessB>
Tile product(const Tiled<T, 2, 2, accessA> &a, Index i, const Tiled<T, 2, 2, accessB> &b, Index j,
             Accuracy accuracy = Accuracy::full) {
  return product(a, i, b, j, accuracy, Steps(a.cols()));
}

/// Tile (i, j) of a * b transposed: rows of both are multiplied, as they lie in memory.
template <class T, Access accessA, Access accessB>
Tile productOfRows(const Tiled<T, 2, 2, accessA> &a, Index i, const Tiled<T, 2, 2, accessB> &b,
                   Index j, Accuracy accuracy, const Steps &steps) {
  Var acc = zeros<Accumulator<T>>(a.height(), b.height());
  for (auto step : range(steps.count)) {
    Index k = steps.first + step;
    acc += dot(a(i, k), transpose(b(j, k)), precisionOf<T>(accuracy));
  }
  return acc;
}
template <class T, Access accessA, Access accessB>
Tile productOfRows(const Tiled<T, 2, 2, accessA> &a, Index i, const Tiled<T, 2, 2, accessB> &b,
                   Index j, Accuracy accuracy = Accuracy::full) {
  return productOfRows(a, i, b, j, accuracy, Steps(a.cols()));
}

/// Tile (i, j) of a * B, or of a times the transposed B, of these steps.
template <class T, Access accessA, Access accessB>
Tile productBy(const GemmConfig &config, const Tiled<T, 2, 2, accessA> &a, Index i,
               const View<T, 2, accessB> &B, Index j, const Steps &steps) {
  return config.transB ? productOfRows(a, i, B.tiled(config.n, config.k), j, config.accuracy, steps)
                       : product(a, i, B.tiled(config.k, config.n), j, config.accuracy, steps);
}
template <class T, Access accessA, Access accessB>
Tile productBy(const GemmConfig &config, const Tiled<T, 2, 2, accessA> &a, Index i,
               const View<T, 2, accessB> &B, Index j) {
  return productBy(config, a, i, B, j, Steps(a.cols()));
}

/// An order, of tiles that pairs of cores take side by side.
inline Order paired(const Order &order, Pairs pairs) {
  return order.together(pairs == Pairs::rows ? 2 : 1, pairs == Pairs::columns ? 2 : 1);
}

/// The order of the tiles of C.
inline Order tileOrder(const PairedTile &tile) {
  return paired(order::grouped(tile.group), tile.pairs);
}

} // namespace ditron::kernels
