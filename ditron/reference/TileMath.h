// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is computed with tiles, element by element and across elements. Floats are double that hold
// a value of the tile's type: each result is rounded to it once, to nearest even.
#pragma once
#include "ditron/core/TileOps.h"
#include "ditron/reference/InterpretedValue.h"

namespace ditron::reference {

//===-- Elementwise ---------------------------------------------------------------------------===//

/// A value of type `result` (a tensor or a scalar) whose elements are `compute` of the operands'
/// elements, all read as `Element`; rounded or wrapped to the type.
template <class Element, class Compute, class... Operands>
Value mapElements(mlir::Type result, Compute &&compute, const Operands &...operands);

/// `source` converted to the type of `result`, as tile.cast says.
Value castTo(mlir::Type source, mlir::Type result, const Value &value,
             core::Rounding rounding = core::Rounding::nearest_even, bool saturate = false);

/// An integer rounded to nearest even in `to`; beyond its range it overflows.
double integerToFloat(DType to, int64_t value);
double integerToFloat(DType to, uint64_t value);

/// A tensor or scalar of type `result` with `element` everywhere.
Value splat(mlir::Type result, const Value &element);

//===-- Across elements -----------------------------------------------------------------------===//

/// acc + lhs x rhs over the last two dimensions, in float (int32_t for i8, wrapping) with k
/// ascending: acc = round(acc + round(lhs[i,k] * rhs[k,j])).
Tile dot(const Tile &lhs, const Tile &rhs, const Tile &acc);

/// Combines along `axis`, from index 0 on, in f32 for floats. The axis stays with extent 1.
Tile reduce(core::ReduceKind kind, const Tile &source, int64_t axis);

/// Position of the first extremum along `axis`, or of the first NaN where there is one.
Tile reduceIndex(core::Extremum kind, const Tile &source, int64_t axis);

/// What reduce gives for the elements along `axis` up to each one, the element itself included.
Tile scan(core::ReduceKind kind, const Tile &source, int64_t axis);

//===-- Shape ---------------------------------------------------------------------------------===//

/// Repeats along the dimensions where the source has extent 1 and `shape` more.
Tile broadcast(const Tile &source, llvm::ArrayRef<int64_t> shape);
/// Dimension d of the result is dimension `permutation[d]` of the source.
Tile transpose(const Tile &source, llvm::ArrayRef<int64_t> permutation);
/// i32 counting along `axis`.
Tile iota(llvm::ArrayRef<int64_t> shape, int64_t axis);

//===-- Implementation of the template --------------------------------------------------------===//

template <class Element, class Compute, class... Operands>
Value mapElements(mlir::Type result, Compute &&compute, const Operands &...operands) {
  DType type = elementType(result);
  using Result =
      std::conditional_t<std::is_floating_point_v<decltype(compute((operands, Element())...))>,
                         double, int64_t>;
  if (!isa<mlir::RankedTensorType>(result)) {
    auto value = static_cast<Result>(compute(std::get<Element>(operands)...));
    if constexpr (std::is_same_v<Result, double>)
      return roundTo(type, value);
    else
      return wrapTo(type, value);
  }
  Tile tile(type, shapeOf(result));
  auto &elements = tile.as<Result>();
  auto evaluate = [&](const auto &...inputs) {
    for (size_t i = 0; i < elements.size(); ++i)
      elements[i] = static_cast<Result>(compute(inputs[i]...));
  };
  evaluate(std::get<TileRef>(operands)->template as<Element>()...);
  normalize(tile);
  return std::make_shared<Tile>(std::move(tile));
}

} // namespace ditron::reference
