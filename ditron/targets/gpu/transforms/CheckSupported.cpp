// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simt-check-supported: an op that a GPU has no lowering for is refused at the line of the
// program that asks for it, before anything is lowered.
#include "ditron/device/DistOps.h"
#include "ditron/device/Scope.h"
#include "ditron/targets/gpu/GpuTarget.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_CHECKSUPPORTED
#include "ditron/targets/gpu/transforms/Passes.h.inc"

namespace {

/// Whether all elements of a tile are one number: of the launch, or of the program.
bool isOneNumber(Value tile) {
  return tile.getDefiningOp<tensor::SplatOp>() ||
         matchPattern(tile, m_Constant<SplatElementsAttr>(nullptr));
}

/// Whether a tile of rows counts on from some number, so that none is named twice.
bool isCounted(Value rows) {
  if (rows.getDefiningOp<core::IotaOp>())
    return true;
  if (auto difference = rows.getDefiningOp<arith::SubIOp>())
    return isOneNumber(difference.getRhs()) && isCounted(difference.getLhs());
  auto sum = rows.getDefiningOp<arith::AddIOp>();
  return sum && ((isOneNumber(sum.getRhs()) && isCounted(sum.getLhs())) ||
                 (isOneNumber(sum.getLhs()) && isCounted(sum.getRhs())));
}

/// Why an op cannot be lowered; empty if it can.
std::string reasonAgainst(Operation *op) {
  if (std::optional<std::string> form = device::formOutsideLanguage(op))
    return *form + " is a form for programs to be checked; expected counters that only grow, with "
                   "the order that the compiler picks";
  if (auto role = dyn_cast<device::RoleOp>(op); role && role.getEngine() == device::Engine::nic)
    return "it runs on engine nic, expected core or copy";
  if (auto scatter = dyn_cast<core::ScatterOp>(op); scatter && !isCounted(scatter.getRows()))
    return "rows in any order, of which several may be one, are scattered on backend 'cpu' only; "
           "expected iota(n), or iota(n) and a number more or less";
  if (isa<tensor::ExtractOp>(op))
    return "an element of a tile is a scalar on backend 'cpu' only; expected the tile to be "
           "stored, and the element to "
           "be read";
  if (op->getName().getDialectNamespace() == "tensor" && !isa<tensor::SplatOp>(op))
    return "elements of tiles are reached by tile ops only";
  return "";
}

class CheckSupported : public impl::CheckSupportedBase<CheckSupported> {
public:
  using CheckSupportedBase::CheckSupportedBase;

private:
  void runOnOperation() override {
    const GpuTarget *target = targetNamed(targetName, getOperation());
    if (!target)
      return signalPassFailure();
    bool isRefused = false;
    getOperation().walk([&](Operation *op) {
      std::string reason = reasonAgainst(op);
      if (reason.empty() || isRefused)
        return;
      op->emitError() << op->getName() << " has no lowering to " << target->machines() << ": "
                      << reason;
      isRefused = true;
    });
    if (isRefused)
      signalPassFailure();
  }
};

} // namespace
} // namespace ditron::gpu
