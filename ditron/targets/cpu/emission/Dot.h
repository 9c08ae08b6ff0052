// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/targets/cpu/emission/DotProduct.h"

namespace ditron::cpu {

/// Adds a product to what `result` holds, in the way that suits its shape and operands.
void addProduct(const DotContext &context, core::DotOp op, mlir::Value result);

} // namespace ditron::cpu
