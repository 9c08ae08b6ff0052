// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/text/Text.h"
#include "mlir/IR/DialectRegistry.h"

namespace ditron {

/// Parses and verifies each part of a text, "// -----" being what stands between two, in a context
/// of its own. It answers nothing: the errors are told by who parses the text next. The registry
/// must outlive it.
text::Reader readerOfParts(const mlir::DialectRegistry &registry);

} // namespace ditron
