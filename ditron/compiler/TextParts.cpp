// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/compiler/TextParts.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

namespace ditron {

text::Reader readerOfParts(const mlir::DialectRegistry &registry) {
  return [&registry](std::string_view text) -> std::string {
    llvm::SmallVector<llvm::StringRef> parts;
    llvm::StringRef(text).split(parts, "// -----");
    for (llvm::StringRef one : parts) {
      std::string part = one.str(); // the parser reads the byte of value 0 behind it
      mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
      context.allowUnregisteredDialects();
      mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) {});
      mlir::parseSourceString<mlir::ModuleOp>(part, &context);
    }
    return "";
  };
}

} // namespace ditron
