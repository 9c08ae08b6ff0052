// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/checker/Refusals.h"
#include "ditron/checker/CheckSubject.h"
#include "ditron/device/DistOps.h"
#include "ditron/device/transforms/Passes.h"
#include "ditron/reference/World.h"
#include "mlir/Pass/PassManager.h"
#include <algorithm>
#include <fmt/format.h>

using namespace mlir;

namespace ditron::checker {
namespace {

/// The waivers that every op of a place has: an error names the place, not the op.
std::vector<WaiverText> waiversAt(func::FuncOp kernel, mlir::Location place) {
  std::optional<std::vector<WaiverText>> common;
  kernel->walk([&](Operation *op) {
    if (op->getLoc() != place)
      return;
    std::vector<WaiverText> own;
    for (const auto &[text, source] : waiversOn(op))
      own.push_back(text);
    if (common)
      std::erase_if(*common, [&](const WaiverText &one) {
        return std::find(own.begin(), own.end(), one) == own.end();
      });
    else
      common = std::move(own);
  });
  return common.value_or(std::vector<WaiverText>());
}

Refusal refusalOf(func::FuncOp kernel, mlir::Location place, const std::string &problem) {
  return {fmt::format("{}: {}", reference::describe(place), problem), waiversAt(kernel, place)};
}

/// The errors of a pass that refuses and rewrites nothing.
std::vector<Refusal> errorsOf(std::unique_ptr<Pass> pass, func::FuncOp kernel) {
  std::vector<Refusal> refusals;
  ScopedDiagnosticHandler handler(kernel.getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      refusals.push_back(refusalOf(kernel, diagnostic.getLocation(), diagnostic.str()));
    return success();
  });
  PassManager passes(kernel.getContext(), func::FuncOp::getOperationName());
  passes.enableVerifier(false);
  passes.addPass(std::move(pass));
  (void)passes.run(kernel); // it fails where there are refusals
  return refusals;
}

} // namespace

std::vector<Refusal> findRefusedRoles(func::FuncOp kernel) {
  std::vector<Refusal> refusals = errorsOf(device::createCheckCopyRoles(), kernel);
  kernel->walk([&](device::RoleOp role) {
    if (role.getEngine() == device::Engine::nic)
      refusals.push_back(
          refusalOf(kernel, role.getLoc(),
                    fmt::format("role '{}' runs on engine nic, expected core or copy",
                                std::string_view(role.getName()))));
  });
  return refusals;
}

std::vector<Refusal> findRefusedEffects(func::FuncOp kernel) {
  return errorsOf(device::createCheckEffects(), kernel);
}

} // namespace ditron::checker
