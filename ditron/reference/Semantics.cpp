// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/reference/Semantics.h"
#include "ditron/reference/TileMath.h"
#include "ditron/support/Error.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace ditron::reference {

const Meaning &meaningOf(mlir::Operation &op) {
  static const Semantics all = [] {
    Semantics semantics;
    addControl(semantics);
    addElementwise(semantics);
    addMemory(semantics);
    addTile(semantics);
    addDist(semantics);
    return semantics;
  }();
  if (const Meaning *meaning = all.find(op))
    return *meaning;
  throw CompileError("is not an operation that the reference interpreter knows");
}

namespace {

double toDouble(llvm::APFloat value) {
  bool loses;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return value.convertToDouble();
}

Tile tileOf(mlir::DenseElementsAttr dense) {
  Tile tile(elementType(dense.getType()), dense.getType().getShape());
  if (isFloat(tile.type)) {
    for (auto [element, value] : llvm::zip(tile.as<double>(), dense.getValues<llvm::APFloat>()))
      element = toDouble(value);
  } else {
    for (auto [element, value] : llvm::zip(tile.as<int64_t>(), dense.getValues<llvm::APInt>()))
      element = value.getSExtValue();
  }
  return tile;
}

} // namespace

Value constantOf(mlir::Attribute attribute) {
  if (auto integer = dyn_cast<mlir::IntegerAttr>(attribute)) {
    elementType(integer.getType());
    return integer.getValue().getSExtValue();
  }
  if (auto number = dyn_cast<mlir::FloatAttr>(attribute)) {
    elementType(number.getType());
    return toDouble(number.getValue());
  }
  if (auto dense = dyn_cast<mlir::DenseElementsAttr>(attribute))
    return std::make_shared<Tile>(tileOf(dense));
  throw CompileError("has a constant that is neither a number nor dense elements");
}

} // namespace ditron::reference
