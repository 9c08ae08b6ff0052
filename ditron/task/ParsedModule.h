// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A text of kernels and graphs, parsed in a context of its own: see ditron/text/Text.h.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace ditron::task {

class ParsedModule {
public:
  /// What is done with the module that may crash on some texts: it is tried in the child process
  /// first. May throw a CompileError.
  using Use = std::function<void(mlir::ModuleOp)>;

  /// CompileError with the first error and its place, or that of `use`.
  ParsedModule(std::string_view text, const std::string &file, const Use &use = {});
  ~ParsedModule();

  mlir::ModuleOp get() { return *module_; }

private:
  ParsedModule() = default;
  /// The first error with its place, or nothing.
  std::string parse(std::string_view text, const std::string &file);

  std::unique_ptr<mlir::MLIRContext> context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

} // namespace ditron::task
