// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "mlir/IR/DialectRegistry.h"

namespace ditron {

/// Makes known every dialect that a kernel may hold on its way from the language to LLVM: `tile`,
/// `dist` and those of MLIR that they live among. Nothing is loaded until it is used.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Makes ditron's passes, and MLIR's general ones, known by name.
void registerAllPasses();

} // namespace ditron
