// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The language server of ditron's IR: completion, definitions and errors in an editor.
#include "ditron/compiler/Dialects.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  ditron::registerAllDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
