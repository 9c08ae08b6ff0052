// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Textual IR, as `ditron check FILE.mlir` takes it: parsed, then checked by the interpreter.
#include "FuzzTargets.h"
#include "ditron/checker/Check.h"
#include "ditron/core/TileOps.h"
#include "ditron/device/DistOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"

namespace ditron::fuzz {

namespace {

/// Sizes at which a program is looked at quickly.
CheckOptions smallOptions() {
  CheckOptions options;
  options.schedules = 1;
  options.budget = 20'000;
  options.states = 500;
  options.elements = 1 << 20;
  options.time = std::chrono::seconds(5);
  for (const char *name : {"A", "B", "C", "X", "Y", "argument 0", "argument 1"})
    options.extents[name] = {5, 6};
  return options;
}

/// The arguments that a text has are not known before: the extents of those that it lacks go.
void checkKernel(const TextualIR &ir) {
  CheckOptions options = smallOptions();
  for (int attempt = 0; attempt < 8; ++attempt) {
    try {
      (void)check(ir, options).text();
      return;
    } catch (const CompileError &error) {
      std::string message = error.what();
      size_t start = message.find("has no argument '"), end = message.rfind('\'');
      if (start == std::string::npos)
        return;
      start += std::string_view("has no argument '").size();
      options.extents.erase(message.substr(start, end - start));
    }
  }
}

void checkAll(std::string_view bytes) {
  allowErrors([&] {
    TextualIR ir{std::string(bytes)};
    for (const std::string &kernel : kernelsOf(ir)) {
      ir.kernel = kernel;
      checkKernel(ir);
    }
  });
}

/// Parses as the checker does, but in this process.
bool isModule(std::string_view bytes) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<core::TileDialect, device::DistDialect, mlir::arith::ArithDialect,
                      mlir::func::FuncDialect, mlir::math::MathDialect, mlir::memref::MemRefDialect,
                      mlir::scf::SCFDialect, mlir::tensor::TensorDialect>();
  mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) {});
  return bool(mlir::parseSourceString<mlir::ModuleOp>(bytes, &context));
}

void read(std::string_view bytes) {
  if (isModule(bytes))
    checkAll(bytes);
}

} // namespace

const Target irTarget = {"ir", read, checkAll};

} // namespace ditron::fuzz
