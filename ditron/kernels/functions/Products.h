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

/// Tile (i, j) of a * b, in the accumulator's type.
template <class T, Access accessA, Access accessB>
Tile product(const Tiled<T, 2, 2, accessA> &a, Index i, const Tiled<T, 2, 2, accessB> &b, Index j,
             Accuracy accuracy = Accuracy::full) {
  Var acc = zeros<Accumulator<T>>(a.height(), b.width());
  for (auto k : range(a.cols()))
    acc += dot(a(i, k), b(k, j), precisionOf<T>(accuracy));
  return acc;
}

/// Tile (i, j) of a * b transposed: rows of both are multiplied, as they lie in memory.
template <class T, Access accessA, Access accessB>
Tile productOfRows(const Tiled<T, 2, 2, accessA> &a, Index i, const Tiled<T, 2, 2, accessB> &b,
                   Index j, Accuracy accuracy = Accuracy::full) {
  Var acc = zeros<Accumulator<T>>(a.height(), b.height());
  for (auto k : range(a.cols()))
    acc += dot(a(i, k), transpose(b(j, k)), precisionOf<T>(accuracy));
  return acc;
}

/// Tile (i, j) of a * B, or of a times the transposed B.
template <class T, Access accessA>
Tile productBy(const GemmConfig &config, const Tiled<T, 2, 2, accessA> &a, Index i, const In<T> &B,
               Index j) {
  return config.transB ? productOfRows(a, i, B.tiled(config.n, config.k), j, config.accuracy)
                       : product(a, i, B.tiled(config.k, config.n), j, config.accuracy);
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
