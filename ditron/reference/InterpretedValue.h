// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a value of the IR is while it is interpreted.
//
//   index, integers    int64_t, sign-extended from the width of the type (so a true i1 is -1)
//   floats             double, holding a value of the type
//   tensor             Tile: elements of one of these two kinds
//   memref             View: a strided window of a Memory
//   !dist.signals      Signals: one rank's instance of an array of counters
//   !tile.var          Variable: a cell that holds one of the above
//
// Tiles are immutable and shared: copying a Value copies no elements.
#pragma once
#include "ditron/support/DType.h"
#include "mlir/IR/Types.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

namespace ditron::reference {

struct Memory;
struct SignalArray;
struct Variable;

/// Extents, strides, coordinates: one number a dimension, outermost first.
using Extents = llvm::SmallVector<int64_t, 4>;

/// How many elements a tile or view of these extents has; CompileError where that is no number.
int64_t numElements(llvm::ArrayRef<int64_t> extents);

/// A static tile: its elements in row-major order.
struct Tile {
  using Floats = std::vector<double>;
  using Integers = std::vector<int64_t>;

  DType type = DType::f32;
  Extents shape;
  std::variant<Floats, Integers> elements;

  Tile() = default;
  /// A tile of zeros.
  Tile(DType type, llvm::ArrayRef<int64_t> shape) : type(type), shape(shape) {
    if (isFloat(type))
      elements = Floats(numElements(shape));
    else
      elements = Integers(numElements(shape));
  }

  /// Elements as double (floats) or int64_t (integers); the kind must be that of `type`.
  template <class Element> std::vector<Element> &as() {
    return std::get<std::vector<Element>>(elements);
  }
  template <class Element> const std::vector<Element> &as() const {
    return std::get<std::vector<Element>>(elements);
  }
  int64_t size() const { return numElements(shape); }
};
using TileRef = std::shared_ptr<const Tile>;

/// A strided window of memory.
struct View {
  std::shared_ptr<Memory> memory;
  int64_t offset = 0; ///< of element (0, ..., 0) from the start of the memory, in elements
  Extents sizes;
  Extents strides; ///< in elements
};

/// One rank's instance of an array of counters.
struct Signals {
  std::shared_ptr<SignalArray> array;
  int64_t rank = 0;
};

using Value = std::variant<int64_t, double, TileRef, View, Signals, std::shared_ptr<Variable>>;
using Values = llvm::SmallVector<Value, 2>;

/// The place that tile.var declares.
struct Variable {
  Value value;
};

/// The element type of a tile, view or scalar; index counts as i64. Throws CompileError for a type
/// that is none of ditron's.
DType elementType(mlir::Type type);
/// The extents of a tensor type.
llvm::ArrayRef<int64_t> shapeOf(mlir::Type tensor);

/// `value` rounded to nearest even in `type`.
double roundTo(DType type, double value);
/// The low bits of `value`, as many as `type` has, sign-extended.
int64_t wrapTo(DType type, int64_t value);
/// The same for every element of a tile, which may hold any values before.
void normalize(Tile &tile);

/// Bits of an integer type.
int bitWidth(DType type);
/// An integer of `type` read as unsigned. An i1 becomes 0 or 1.
uint64_t unsignedOf(DType type, int64_t value);

} // namespace ditron::reference
