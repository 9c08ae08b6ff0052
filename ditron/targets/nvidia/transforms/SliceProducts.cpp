// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nvidia-slice-products: sliced-K, as CUTLASS calls it. Products of few rows by long rows of weights are
// those of tensor cores, and each warp has a part of the terms.
//
//   %r = scf.for ... iter_args(%acc = %zero) -> (tensor<1x16xf32>) {
//     %b = tile.transpose %w [1, 0] : tensor<16x1024xbf16> -> tensor<1024x16xbf16>
//     %d = tile.dot %x, %b, %acc : tensor<1x1024xbf16>, tensor<1024x16xbf16> -> tensor<1x16xf32>
//     scf.yield %d
//   }
// becomes
//   %s = scf.for ... iter_args(%acc = %zero) -> (tensor<8x16x1xf32>) {
//     %d = nvidia.sliced_dot %w, %x, %acc : tensor<16x1024xbf16>, tensor<1x1024xbf16> -> tensor<8x16x1xf32>
//     scf.yield %d
//   }
//   %sum = tile.reduce sum %s axis 0;  %r = the same, transposed
//
// The time of such a product is that of reading the weights. They go from memory, or from the ring that
// they were streamed into, to registers as they lie, one instruction multiplies 16 rows of them, and the
// warps meet once, behind the loop. Tiles of a product by warpgroups have 64 rows at least, which few SMs
// would share, and ldmatrix wants operands swizzled, which no bulk copy of a row does.
// test/targets/nvidia/slice-products.mlir shows it.
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/nvidia/analysis/Roles.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace ditron::nvidia {

#define GEN_PASS_DEF_SLICEPRODUCTS
#include "ditron/targets/nvidia/transforms/Passes.h.inc"

namespace {

constexpr int64_t kSlices = 8; ///< one a warp

bool isToSlice(core::DotOp dot) {
  constexpr int64_t kRows = 16, kMostRows = 8, kMostElements = 64 * kSlices * kLanes;
  auto transposed = dot.getRhs().getDefiningOp<core::TransposeOp>();
  RankedTensorType lhs = tileOf(dot.getLhs()), acc = tileOf(dot.getAcc());
  Type element = lhs.getElementType();
  if (!transposed || acc.getRank() != 2 || !(element.isBF16() || element.isF16()) ||
      !acc.getElementType().isF32() || tileOf(dot.getRhs()).getElementType() != element)
    return false;
  int64_t m = acc.getDimSize(0), n = acc.getDimSize(1), k = lhs.getDimSize(1);
  return m <= kMostRows && llvm::isPowerOf2_64(static_cast<uint64_t>(m)) && n % kRows == 0 &&
         k % (kSlices * kSlicedTerms) == 0 && n * k <= kMostElements && carriedBy(dot);
}

void slice(core::DotOp dot) {
  unsigned number = *carriedBy(dot);
  auto loop = cast<scf::ForOp>(dot->getParentOp());
  RankedTensorType acc = tileOf(dot.getAcc());
  int64_t m = acc.getDimSize(0), n = acc.getDimSize(1);
  auto sums = RankedTensorType::get({kSlices, n, m}, acc.getElementType());
  ImplicitLocOpBuilder b(dot.getLoc(), loop);
  loop.getInitArgsMutable()[number].set(
      b.create<arith::ConstantOp>(cast<TypedAttr>(b.getZeroAttr(sums))));
  loop.getRegionIterArg(number).setType(sums);
  b.setInsertionPoint(dot);
  Value weights = dot.getRhs().getDefiningOp<core::TransposeOp>().getSource();
  Value product = b.create<SlicedDotOp>(sums, weights, dot.getLhs(), dot.getAcc());
  dot.getResult().replaceAllUsesWith(product);
  dot.erase();
  Value result = loop.getResult(number);
  result.setType(sums);
  b.setInsertionPointAfter(loop);
  auto together = b.create<core::ReduceOp>(RankedTensorType::get({1, n, m}, acc.getElementType()),
                                           core::ReduceKind::sum, result, uint64_t(0));
  Value flat = b.create<core::ReshapeOp>(RankedTensorType::get({n, m}, acc.getElementType()),
                                         together.getResult());
  Value back = b.create<core::TransposeOp>(acc, flat, ArrayRef<int64_t>{1, 0});
  result.replaceAllUsesExcept(back, together);
}

void sliceAll(func::FuncOp function) {
  SmallVector<core::DotOp> dots;
  function.walk([&](core::DotOp dot) {
    if (isToSlice(dot))
      dots.push_back(dot);
  });
  for (core::DotOp dot : dots)
    slice(dot);
  // The transposition of weights that a product no longer reads.
  function.walk([](core::TransposeOp transpose) {
    if (transpose->use_empty())
      transpose.erase();
  });
}

class SliceProducts : public impl::SliceProductsBase<SliceProducts> {
public:
  using SliceProductsBase::SliceProductsBase;

private:
  /// Whether warpgroups compute the kernel's products.
  bool hasRoles(func::FuncOp function, const Chip &chip) const {
    return tensorMaps && planRoles(function, chip.share(ctasPerSm), warps);
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    const Chip *chip = chipNamed(chipName, function);
    if (!chip)
      return signalPassFailure();
    auto most = function->getAttrOfType<IntegerAttr>(gpu::kMostWarpsAttr);
    if ((warps && warps != kSlices) || (most && most.getInt() < kSlices))
      return;
    bool hasSome = false;
    function.walk([&](core::DotOp dot) { hasSome |= isToSlice(dot); });
    if (!hasSome || hasRoles(function, *chip))
      return;
    OwningOpRef<func::FuncOp> trial(function.clone());
    sliceAll(*trial);
    if (!hasRoles(*trial, *chip)) // which have warps of their own
      sliceAll(function);
  }
};

} // namespace
} // namespace ditron::nvidia
