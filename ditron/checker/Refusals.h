// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every compiler refuses in a kernel, whatever its cores do in a run.
#pragma once
#include "ditron/checker/trace/EventTrace.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ditron::checker {

struct Refusal {
  std::string message; ///< with the place: "gemm.cpp:12: ..."
  std::vector<WaiverText> waivers;
};

/// Roles that no engine executes, or not at their place.
std::vector<Refusal> findRefusedRoles(mlir::func::FuncOp kernel);
/// Effects that cannot be right, by one look at the whole kernel. A run says more of most of them.
std::vector<Refusal> findRefusedEffects(mlir::func::FuncOp kernel);

} // namespace ditron::checker
