// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/core/ElementType.h"
#include "ditron/support/Error.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace ditron::core {

Type elementType(MLIRContext *context, DType type) {
  Builder builder(context);
  switch (type) {
  case DType::f32:
    return builder.getF32Type();
  case DType::f16:
    return builder.getF16Type();
  case DType::bf16:
    return builder.getBF16Type();
  case DType::f8e4m3:
    return builder.getFloat8E4M3FNType();
  case DType::f8e5m2:
    return builder.getFloat8E5M2Type();
  case DType::i8:
    return builder.getI8Type();
  case DType::i16:
    return builder.getI16Type();
  case DType::i32:
    return builder.getI32Type();
  case DType::i64:
    return builder.getI64Type();
  case DType::i1:
    return builder.getI1Type();
  }
  throw InternalError("unknown element type");
}

std::optional<DType> dtypeOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (element.isIndex())
    return DType::i64;
  for (DType known : {DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2, DType::i8,
                      DType::i16, DType::i32, DType::i64, DType::i1})
    if (elementType(element.getContext(), known) == element)
      return known;
  return std::nullopt;
}

} // namespace ditron::core
