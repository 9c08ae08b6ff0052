// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/amd/Mfma.h"
#include "ditron/targets/gpu/analysis/Tiles.h"

using namespace mlir;

namespace ditron::amd {

using core::Iters;
using gpu::Axis;
using gpu::Layout;

std::optional<Mfma> mfmaOf(const Chip &chip, Type element, core::Precision precision) {
  Builder b(element.getContext());
  if (element.isBF16())
    return Mfma{"llvm.amdgcn.mfma.f32.16x16x16bf16.1k", VectorType::get(4, b.getI16Type()), 4};
  if (element.isF16())
    return Mfma{"llvm.amdgcn.mfma.f32.16x16x16f16", VectorType::get(4, b.getF16Type()), 4};
  if (element.isInteger(8) && chip.isThirdGeneration)
    return Mfma{"llvm.amdgcn.mfma.i32.16x16x32.i8", b.getI64Type(), 8};
  if (element.isInteger(8))
    return Mfma{"llvm.amdgcn.mfma.i32.16x16x16i8", b.getI32Type(), 4};
  if (element.isF32() && precision == core::Precision::tf32 && chip.isThirdGeneration)
    return Mfma{"llvm.amdgcn.mfma.f32.16x16x8.xf32", VectorType::get(2, b.getF32Type()), 2};
  if (element.isF32())
    return Mfma{"llvm.amdgcn.mfma.f32.16x16x4f32", b.getF32Type(), 1};
  return std::nullopt;
}

Layout MfmaShape::accumulator(int64_t warps) const {
  int64_t w = width(), h = height();
  Iters iters = {{rowWarps, columnWarps, Axis::warp}}, replication;
  if (rows == Sharing::quads)
    iters.insert(iters.end(), {{h / kQuad, kQuad * kMfmaRun * w, Axis::reg},
                               {kMfmaRows, 1, Axis::lane},
                               {kQuad, kMfmaRun * w, Axis::reg}});
  else
    iters.insert(iters.end(), {{h, kMfmaRun * w, Axis::reg}, {kMfmaRows, 1, Axis::lane}});
  iters.push_back({columnWarps, 1, Axis::warp});
  if (columns == Sharing::quads)
    iters.insert(iters.end(), {{w / kQuad, kQuad * kMfmaRun, Axis::reg},
                               {kMfmaParts, kMfmaRows, Axis::lane},
                               {kQuad * kMfmaRun, 1, Axis::reg}});
  else
    iters.insert(
        iters.end(),
        {{w, kMfmaRun, Axis::reg}, {kMfmaParts, kMfmaRows, Axis::lane}, {kMfmaRun, 1, Axis::reg}});
  if (int64_t used = rowWarps * columnWarps; used < warps)
    replication.push_back({warps / used, used, Axis::warp});
  return Layout(iters, replication);
}

int64_t MfmaShape::firstRegister(int64_t row, int64_t column) const {
  int64_t first = kMfmaRun * row * width();
  if (columns == Sharing::single)
    return first + kMfmaRun * column;
  return first + column / kQuad * (kQuad * kMfmaRun) + column % kQuad;
}

/// Whether the terms of a row of one side are neighbours in memory, where it is read from there as it lies.
static bool isKMajor(Value operand, unsigned depth) {
  unsigned last = 1;
  while (auto transpose = operand.getDefiningOp<core::TransposeOp>()) {
    last = 1 - last;
    operand = transpose.getSource();
  }
  return last == depth;
}

/// Rows that are dealt together.
static int64_t unitOf(Sharing sharing) {
  return sharing == Sharing::quads ? kQuad * kMfmaRows : kMfmaRows;
}

static Sharing sharingOf(Value operand, unsigned depth, int64_t outer) {
  bool isOfHalves = core::elementBytes(gpu::tileOf(operand).getElementType()) == 2;
  return isOfHalves && !isKMajor(operand, depth) && outer % unitOf(Sharing::quads) == 0
             ? Sharing::quads
             : Sharing::single;
}

std::optional<MfmaShape> mfmaShape(const Chip &chip, core::DotOp dot, int64_t warps) {
  RankedTensorType lhs = gpu::tileOf(dot.getLhs()), acc = gpu::tileOf(dot.getAcc());
  std::optional<Mfma> mfma = mfmaOf(chip, lhs.getElementType(), dot.getPrecision());
  int64_t m = acc.getDimSize(0), n = acc.getDimSize(1);
  if (!mfma || lhs.getDimSize(1) % mfma->depth() != 0 || m % kMfmaRows != 0 || n % kMfmaRows != 0)
    return std::nullopt;
  MfmaShape shape{m, n, 1, 1, sharingOf(dot.getLhs(), 1, m), sharingOf(dot.getRhs(), 0, n)};
  std::tie(shape.rowWarps, shape.columnWarps) =
      gpu::warpGrid({m, n}, {unitOf(shape.rows), unitOf(shape.columns)}, warps);
  return shape;
}

} // namespace ditron::amd
