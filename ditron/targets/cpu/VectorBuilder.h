// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes code on vectors: constants, arithmetic, element types, buffers, loops over elements.
//
// Vectors hold elements in their compute type: narrow floats are widened to f32, holding values
// that the narrow type has. Memory holds their storage type: bf16 as i16, fp8 and i1 as i8.
#pragma once
#include "ditron/lower/Conversions.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallVector.h"
#include <functional>

namespace ditron::cpu {

using lower::computeType;

using lower::storageType;

/// What the lowering asks of the machine.
struct VectorTarget {
  int64_t vectorBytes = 16; ///< of a vector register
  int64_t registers = 16;   ///< vector registers
  /// Whether one instruction adds products of pairs of bf16 to a vector of f32.
  bool multipliesPairs = false;
};

/// The indices of an element of a tile.
using At = llvm::SmallVector<mlir::Value, 4>;

inline bool isTile(mlir::Value value) { return mlir::isa<mlir::RankedTensorType>(value.getType()); }
inline mlir::RankedTensorType tileOf(mlir::Value tile) {
  return mlir::cast<mlir::RankedTensorType>(tile.getType());
}

class VectorBuilder {
public:
  VectorBuilder(mlir::OpBuilder builder, mlir::Location location, const VectorTarget &target)
      : b(builder), loc(location), target(target) {}

  mlir::OpBuilder b;
  mlir::Location loc; ///< of the op that is being lowered
  const VectorTarget target;

  template <class Op, class... Arguments> auto create(Arguments &&...arguments) {
    return b.create<Op>(loc, std::forward<Arguments>(arguments)...);
  }

  //===-- Constants and small arithmetic ------------------------------------------------------===//
  mlir::Value index(int64_t value);
  mlir::Value truth(bool value);
  mlir::Value splat(mlir::Type element, int64_t lanes, double value);
  mlir::Value integers(mlir::Type element, int64_t lanes, int64_t value);
  mlir::Value repeat(mlir::Value scalar, int64_t lanes);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  /// x and y; y where there is no x.
  mlir::Value both(mlir::Value x, mlir::Value y);

  /// Lanes of a vector of the widest compute type that fills a register, and of this one.
  int64_t wholeLanes() const { return target.vectorBytes / 4; }
  int64_t lanesOf(mlir::Type compute) const;

  //===-- Element types -----------------------------------------------------------------------===//
  mlir::Value fromStorage(mlir::Value vector, mlir::Type element) {
    return lower::fromStorage(b, loc, vector, element);
  }
  mlir::Value toStorage(mlir::Value vector, mlir::Type element) {
    return lower::toStorage(b, loc, vector, element);
  }
  mlir::Value roundTo(mlir::Value vector, mlir::Type element, core::Rounding rounding,
                      bool saturate) {
    return lower::roundTo(b, loc, vector, element, rounding, saturate);
  }
  mlir::Value convert(mlir::Value vector, mlir::Type from, mlir::Type to, core::Rounding rounding,
                      bool saturate) {
    return lower::convert(b, loc, vector, from, to, rounding, saturate);
  }
  /// A computed value rounded to the tile's element type.
  mlir::Value rounded(mlir::Value vector, mlir::Type element);
  /// A scalar of the program as a vector of one storage element.
  mlir::Value asStorage(mlir::Value scalar);
  /// A vector of one element of compute type as a scalar of the program.
  mlir::Value asScalar(mlir::Value vector, mlir::Type element);

  //===-- Buffers -----------------------------------------------------------------------------===//
  mlir::Value loadBuffer(mlir::Value buffer, const At &at, int64_t lanes);
  void storeBuffer(mlir::Value vector, mlir::Value buffer, const At &at);
  void copy(mlir::Value from, mlir::Value to);

  //===-- Control flow ------------------------------------------------------------------------===//
  void forRange(mlir::Value first, mlir::Value end, int64_t step,
                const std::function<void(mlir::Value)> &body);
  void forEachElement(llvm::ArrayRef<int64_t> shape, const std::function<void(const At &)> &body);
  /// Loops over all elements, a vector at a time; the last vector of a row may be shorter.
  void forEachVector(llvm::ArrayRef<int64_t> shape,
                     const std::function<void(const At &, int64_t)> &body);
  /// A loop that carries values; `body` gives the next ones.
  llvm::SmallVector<mlir::Value>
  carry(mlir::Value first, mlir::Value end, int64_t step, mlir::ValueRange initial,
        const std::function<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> &body);
  void ifElse(mlir::Value condition, const std::function<void()> &then,
              const std::function<void()> &otherwise);
};

} // namespace ditron::cpu
