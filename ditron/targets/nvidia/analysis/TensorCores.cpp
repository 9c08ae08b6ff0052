// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/analysis/TensorCores.h"

using namespace mlir;

namespace ditron::nvidia {

int64_t matrixDepth(Type element, core::Precision precision) {
  if (element.isBF16() || element.isF16())
    return 16;
  if (element.isInteger(8))
    return 32;
  return element.isF32() && precision == core::Precision::tf32 ? 8 : 0;
}

WarpgroupProduct warpgroupProduct(Type element, core::Precision precision) {
  constexpr int64_t kRun = 128; // of 8-bit floats: see tile.dot
  bool isFast = precision == core::Precision::fastAccum;
  if (element.isBF16())
    return {"bf16"};
  if (element.isF16())
    return {"f16"};
  if (element.isInteger(8))
    return {"s8", 32, 16};
  if (element.isFloat8E4M3FN() && isFast)
    return {"e4m3", 32, 8, kRun};
  if (element.isFloat8E5M2() && isFast)
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

} // namespace ditron::nvidia
