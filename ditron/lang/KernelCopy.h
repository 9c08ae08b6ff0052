// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels made of other kernels, by changing the IR. Not part of the public surface.
#pragma once
#include "ditron/lang/Trace.h"

namespace ditron::detail {

/// A copy of a kernel's IR in a context of its own, which becomes another kernel. Errors are
/// CompileErrors at `where` that begin with `verb` and the signature of the kernel.
class KernelCopy {
public:
  KernelCopy(const Kernel &kernel, std::string name, const char *verb, Location where);

  mlir::ModuleOp module() { return result_->module.get(); }
  mlir::func::FuncOp function();
  [[noreturn]] void fail(const std::string &problem) const;
  /// Runs a pass; fails with what it says, or with `otherwise` where it says nothing.
  void run(const std::function<mlir::LogicalResult()> &pass, const char *otherwise);
  /// The kernel, with the signature that its verbs give it.
  std::shared_ptr<const TracedKernel> finish();

private:
  std::string signatureText(mlir::ArrayAttr extents) const;

  std::string name_;
  const char *verb_;
  const Signature &signature_; ///< of the kernel that is copied
  Location where_;
  std::shared_ptr<TracedKernel> result_ = std::make_shared<TracedKernel>();
};

} // namespace ditron::detail
