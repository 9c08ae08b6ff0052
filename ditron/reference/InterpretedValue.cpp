// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/reference/InterpretedValue.h"
#include "ditron/core/ElementType.h"
#include "ditron/support/Error.h"
#include "ditron/support/Sizes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace mlir;

namespace ditron::reference {

DType elementType(Type type) {
  if (std::optional<DType> known = core::dtypeOf(type))
    return *known;
  Type element = getElementTypeOrSelf(type);
  std::string text;
  llvm::raw_string_ostream(text) << element;
  throw CompileError(fmt::format(
      "elements are of {}, expected f32, f16, bf16, f8E4M3FN, f8E5M2, i1, i8, i16, i32, i64 or "
      "index",
      text));
}

int64_t numElements(ArrayRef<int64_t> extents) {
  if (std::optional<int64_t> elements = checkedProduct(extents))
    return *elements;
  throw CompileError(fmt::format("extents are [{}], expected 0 or more, and a product below 2^63",
                                 fmt::join(extents, ", ")));
}

ArrayRef<int64_t> shapeOf(Type tensor) { return cast<RankedTensorType>(tensor).getShape(); }

double roundTo(DType type, double value) {
  if (type == DType::f32)
    return static_cast<float>(value);
  uint64_t element;
  storeElement(type, &element, value);
  return loadElement(type, &element);
}

int bitWidth(DType type) { return type == DType::i1 ? 1 : static_cast<int>(byteSize(type)) * 8; }

int64_t wrapTo(DType type, int64_t value) {
  int unused = 64 - bitWidth(type);
  return static_cast<int64_t>(static_cast<uint64_t>(value) << unused) >> unused;
}

uint64_t unsignedOf(DType type, int64_t value) {
  return static_cast<uint64_t>(value) & (~uint64_t(0) >> (64 - bitWidth(type)));
}

void normalize(Tile &tile) {
  if (isFloat(tile.type)) {
    for (double &element : tile.as<double>())
      element = roundTo(tile.type, element);
  } else {
    for (int64_t &element : tile.as<int64_t>())
      element = wrapTo(tile.type, element);
  }
}

} // namespace ditron::reference
