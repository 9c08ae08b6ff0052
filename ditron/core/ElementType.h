// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/support/DType.h"
#include "mlir/IR/Types.h"
#include <optional>

namespace ditron::core {

/// MLIR's element type of a DType.
mlir::Type elementType(mlir::MLIRContext *context, DType type);

/// The DType of a type, or of its elements; of an index i64. None where it has none.
std::optional<DType> dtypeOf(mlir::Type type);

} // namespace ditron::core
