// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs passes on textual IR: `ditron-opt --tile-promote-vars kernel.mlir`.
#include "ditron/compiler/Dialects.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  ditron::registerAllDialects(registry);
  ditron::registerAllPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "ditron's passes on textual IR\n", registry));
}
