// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/task/PreparedKernel.h"
#include "ditron/core/transforms/Passes.h"
#include "ditron/support/Error.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace ditron::task {

ModuleOp moduleOf(const TracedKernel &kernel) {
  constexpr int64_t kMostDimensions = 3; // of a kernel's own, beside that of the nodes
  func::FuncOp function = functionOf(*kernel.module);
  auto fits = [](device::InboxOp box) {
    return cast<device::InboxType>(box.getInbox().getType()).getRank() <= kMostDimensions;
  };
  bool areKept =
      !device::isPlaced(function) && llvm::all_of(function.front().getOps<device::InboxOp>(), fits);
  return areKept ? *kernel.module : kernel.meaning();
}

OwningOpRef<ModuleOp> prepare(const Kernel &kernel, MLIRContext &context) {
  const TracedKernel &traced = kernel.traced();
  std::string text;
  {
    std::lock_guard own(traced.compiling);
    llvm::raw_string_ostream stream(text);
    moduleOf(traced)->print(stream, OpPrintingFlags().enableDebugInfo());
  }
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    throw InternalError("the text of a traced kernel cannot be parsed");
  PassManager passes(&context, ModuleOp::getOperationName());
  OpPassManager &function = passes.nest<func::FuncOp>();
  function.addPass(core::createPromoteVars());
  function.addPass(createCanonicalizerPass());
  function.addPass(createCSEPass());
  if (failed(passes.run(*module)))
    throw InternalError("the variables of a traced kernel cannot be made values");
  return module;
}

func::FuncOp functionOf(ModuleOp module) { return *module.getOps<func::FuncOp>().begin(); }

} // namespace ditron::task
