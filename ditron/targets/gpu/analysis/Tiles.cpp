// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/gpu/GpuTarget.h"
#include "ditron/targets/gpu/transforms/Passes.h"

using namespace mlir;

namespace ditron::gpu {

bool reduces(Operation *part) {
  return part->walk([](core::ReduceOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

bool isElementwise(Operation *op) {
  if (op->getNumResults() != 1 || !isTile(op->getResult(0)) || op->getNumOperands() == 0)
    return false;
  return isa<core::CastOp>(op) || op->hasTrait<OpTrait::Elementwise>();
}

Value untransposed(Value tile) {
  while (auto transpose = tile.getDefiningOp<core::TransposeOp>())
    tile = transpose.getSource();
  return tile;
}

int64_t warpsOf(Operation *op) {
  auto function = op->getParentOfType<func::FuncOp>();
  return function->getAttrOfType<IntegerAttr>(kWarpsAttr).getInt();
}

const GpuTarget *targetNamed(llvm::StringRef name, Operation *op) {
  ArrayRef<const GpuTarget *> known = op->getContext()->getLoadedDialect<SimtDialect>()->targets();
  auto found = llvm::find_if(known, [&](const GpuTarget *target) {
    return name.empty() || name == StringRef(target->name());
  });
  if (found != known.end())
    return *found;
  InFlightDiagnostic error = op->emitError();
  error << "unknown GPU '" << name << "', expected one of";
  for (const GpuTarget *target : known)
    error << " " << llvm::StringRef(target->name());
  return nullptr;
}

/// Whether it is a tile that no thread knows its part of.
static bool isUndealt(Type type) {
  return isTile(type) && !cast<RankedTensorType>(type).getEncoding();
}

LogicalResult requireLayouts(func::FuncOp kernel) {
  constexpr const char *kPass = "--simt-assign-layouts";
  if (kernel.isExternal())
    return kernel.emitError() << "'" << kernel.getName() << "' has no body";
  if (!kernel->getAttrOfType<IntegerAttr>(kWarpsAttr))
    return kernel.emitError() << "'" << kernel.getName() << "' has no number of warps: " << kPass
                              << " gives it one";
  WalkResult result = kernel.walk([&](Operation *op) {
    SmallVector<Type> types(op->getOperandTypes());
    llvm::append_range(types, op->getResultTypes());
    auto found = llvm::find_if(types, isUndealt);
    if (found == types.end())
      return WalkResult::advance();
    op->emitError() << "the tile " << *found << " has no layout: " << kPass << " gives it one";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

bool isSummedBehindLoop(Value tile) {
  auto load = tile.getDefiningOp<core::LoadOp>();
  auto loop = load ? dyn_cast<scf::ForOp>(load->getParentOp()) : nullptr;
  return loop && tileOf(tile).getRank() == 2 && tileOf(tile).getDimSize(0) > 1 &&
         llvm::any_of(loop.getRegionIterArgs(), [&](Value sum) {
           return isTile(sum) && tileOf(sum).getShape() == tileOf(tile).getShape();
         });
}

bool onlyReadByDots(Value tile) {
  return !tile.use_empty() && llvm::all_of(tile.getUses(), [](OpOperand &use) {
    if (auto transpose = dyn_cast<core::TransposeOp>(use.getOwner()))
      return onlyReadByDots(transpose.getResult());
    return isa<core::DotOp>(use.getOwner()) && use.getOperandNumber() < 2;
  });
}

} // namespace ditron::gpu
