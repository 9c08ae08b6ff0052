// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The check on the IR, for what stands between it and the public surface.
#pragma once
#include "ditron/checker/Subject.h"
#include "ditron/checker/trace/EventTrace.h"
#include "mlir/IR/OwningOpRef.h"

namespace ditron::checker {

struct Checked {
  Verdict verdict;
  std::vector<std::byte> outputs; ///< of the first run
};
Checked checkSubject(const Subject &subject, const CheckOptions &options);

/// The waivers on an op, each with where the op stands.
std::vector<std::pair<WaiverText, std::string>> waiversOn(mlir::Operation *op);

/// A module that is parsed, in a context of its own. CompileError where the text is none.
class Parsed {
public:
  explicit Parsed(const TextualIR &ir);
  mlir::ModuleOp module() { return *module_; }
  Subject subject(const CheckOptions &options) { return Subject::of(*module_, kernel_, options); }

private:
  std::string kernel_;
  std::unique_ptr<mlir::MLIRContext> context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

} // namespace ditron::checker
