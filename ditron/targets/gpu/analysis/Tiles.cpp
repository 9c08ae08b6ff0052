// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/nvidia/transforms/Passes.h"

using namespace mlir;

namespace ditron::nvidia {

bool reduces(func::FuncOp function) {
  return function.walk([](core::ReduceOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

bool isElementwise(Operation *op) {
  if (op->getNumResults() != 1 || !isTile(op->getResult(0)) || op->getNumOperands() == 0)
    return false;
  return isa<core::CastOp>(op) || op->hasTrait<OpTrait::Elementwise>();
}

int64_t matrixDepth(Type element, core::Precision precision) {
  if (element.isBF16() || element.isF16())
    return 16;
  if (element.isInteger(8))
    return 32;
  return element.isF32() && precision == core::Precision::tf32 ? 8 : 0;
}

WarpgroupProduct warpgroupProduct(Type element, core::Precision precision) {
  constexpr int64_t kRun = 128; // of 8-bit floats: see tile.dot
  bool isShort = precision == core::Precision::shortSums;
  if (element.isBF16())
    return {"bf16"};
  if (element.isF16())
    return {"f16"};
  if (element.isInteger(8))
    return {"s8", 32, 16};
  if (element.isFloat8E4M3FN() && isShort)
    return {"e4m3", 32, 8, kRun};
  if (element.isFloat8E5M2() && isShort)
    return {"e5m2", 32, 8, kRun};
  if (element.isF32() && precision == core::Precision::tf32)
    return {"tf32", 8};
  return {};
}

DotKind kindOf(core::DotOp op) {
  RankedTensorType lhs = tileOf(op.getLhs()), acc = tileOf(op.getAcc());
  int64_t depth = matrixDepth(lhs.getElementType(), op.getPrecision());
  bool fits = depth && lhs.getDimSize(1) % depth == 0 && acc.getDimSize(0) % 16 == 0 &&
              acc.getDimSize(1) % 16 == 0;
  return fits ? DotKind::matrix : DotKind::scalar;
}

int64_t warpsOf(Operation *op) {
  auto function = op->getParentOfType<func::FuncOp>();
  return function->getAttrOfType<IntegerAttr>(kWarpsAttr).getInt();
}

const Chip *chipNamed(llvm::StringRef name, Operation *op) {
  const Chip *chip = findChip(name);
  if (chip)
    return chip;
  InFlightDiagnostic error = op->emitError();
  error << "unknown chip '" << name << "', expected one of";
  for (const Chip &known : chips())
    error << " " << llvm::StringRef(known.name);
  return nullptr;
}

/// Whether it is a tile that no thread knows its part of.
static bool isUndealt(Type type) {
  return isTile(type) && !cast<RankedTensorType>(type).getEncoding();
}

LogicalResult requireLayouts(func::FuncOp kernel) {
  constexpr const char *kPass = "--nvidia-assign-layouts";
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

} // namespace ditron::nvidia
