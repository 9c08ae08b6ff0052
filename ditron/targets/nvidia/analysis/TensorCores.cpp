// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/analysis/TensorCores.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace ditron::nvidia {

int64_t matrixDepth(Type element, core::Precision precision) {
  if (element.isBF16() || element.isF16())
    return 16;
  if (element.isInteger(8))
    return 32;
  return element.isF32() && precision == core::Precision::tf32 ? 8 : 0;
}

MatrixShape matrixShape(Type element) {
  if (element.isBF16())
    return {"m16n8k16", "f32.bf16.bf16.f32"};
  if (element.isF16())
    return {"m16n8k16", "f32.f16.f16.f32"};
  if (element.isInteger(8))
    return {"m16n8k32", "s32.s8.s8.s32"};
  return {"m16n8k8", "f32.tf32.tf32.f32"};
}

std::optional<unsigned> carriedBy(core::DotOp dot) {
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  auto sum = dyn_cast<BlockArgument>(dot.getAcc());
  if (!loop || !sum || sum.getOwner() != loop.getBody() || sum.getArgNumber() == 0 ||
      !sum.hasOneUse() || !dot.getResult().hasOneUse())
    return std::nullopt;
  unsigned number = sum.getArgNumber() - 1;
  OpOperand &use = *dot.getResult().use_begin();
  if (use.getOwner() != loop.getBody()->getTerminator() || use.getOperandNumber() != number)
    return std::nullopt;
  Value initial = loop.getInitArgs()[number];
  bool isZero = matchPattern(initial, m_AnyZeroFloat()) || matchPattern(initial, m_Zero());
  return isZero ? std::optional(number) : std::nullopt;
}

SlicedShape shapeOfSliced(SlicedDotOp dot) {
  RankedTensorType sums = tileOf(dot.getAcc());
  int64_t slices = sums.getDimSize(0);
  int64_t terms = tileOf(dot.getWeights()).getDimSize(1);
  return {sums.getDimSize(1),
          sums.getDimSize(2),
          terms,
          slices,
          std::max<int64_t>(1, kSlicingWarps / slices),
          dot.getTransposed()};
}

bool hasSlicedDots(func::FuncOp function) {
  return function.walk([](SlicedDotOp) { return WalkResult::interrupt(); }).wasInterrupted();
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
