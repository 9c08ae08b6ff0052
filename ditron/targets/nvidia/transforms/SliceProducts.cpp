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
// The time of such a product is that of reading the weights. They go from memory, or from the ring that they were
// streamed into, to registers as they lie, one instruction multiplies 16 rows of them, or 8 by up to 4 rows of x,
// and the warps meet once, behind the loop. Where there are more rows, groups of warps share them, as of the keys
// of a part of attention, and of its values, whose rows of a product are columns in memory. Products that are
// added to one another, as those of several tiles of values, are added in slices, too. The products of a batch, as of
// blocks of weights with a scale each, are slices that nobody adds up. Tiles of a product by warpgroups have 64 rows at
// least, which few SMs would share, and ldmatrix wants operands swizzled, which no bulk copy of a row does.
// test/targets/nvidia/slice-products.mlir shows it.
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/nvidia/analysis/Roles.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace ditron::nvidia {

#define GEN_PASS_DEF_SLICEPRODUCTS
#include "ditron/targets/nvidia/transforms/Passes.h.inc"

namespace {

/// The rows that a product of few rows is multiplied by, n x k: what the right side is a transposition
/// of, or a transposition of that.
struct Weights {
  Value rows;
  bool isTransposed;
};

Weights weightsOf(core::DotOp dot) {
  auto transposed = dot.getRhs().getDefiningOp<core::TransposeOp>();
  if (transposed && transposed.getPermutation().back() + 2 == tileOf(dot.getRhs()).getRank())
    return {transposed.getSource(), false};
  return {dot.getRhs(), true};
}

/// Products of a batch: their terms are slices that are not added up.
bool isBatch(core::DotOp dot) { return tileOf(dot.getAcc()).getRank() == 3; }

/// Of the numbers of groups whose warps all have 16 rows, it has the largest: slices are added up. Fewer rows
/// are one group's.
std::optional<SlicedShape> slicedShape(core::DotOp dot) {
  constexpr int64_t kMostRows = 8, kRowsOfGroup = 16, kMostElements = 64 * kSlicingWarps * kLanes;
  RankedTensorType lhs = tileOf(dot.getLhs()), acc = tileOf(dot.getAcc());
  Type element = lhs.getElementType();
  if (acc.getRank() > 3 || !(element.isBF16() || element.isF16()) ||
      tileOf(dot.getRhs()).getElementType() != element || !acc.getElementType().isF32())
    return std::nullopt;
  ArrayRef<int64_t> rows = acc.getShape().take_back(2);
  SlicedShape shape{rows[1], rows[0],       lhs.getShape().back(),
                    1,       kSlicingWarps, weightsOf(dot).isTransposed};
  if (isBatch(dot)) {
    shape.slices = acc.getDimSize(0), shape.groups = 1, shape.k *= shape.slices;
    shape.isTransposed = false;
  }
  if (shape.m > kMostRows || !llvm::isPowerOf2_64(static_cast<uint64_t>(shape.m)) ||
      shape.n * shape.k > kMostElements)
    return std::nullopt;
  if (isBatch(dot))
    return shape.isEven() && shape.slices % kSlicingWarps == 0 ? std::optional(shape)
                                                               : std::nullopt;
  for (; shape.groups > 0; shape.groups /= 2, shape.slices *= 2)
    if (shape.isEven() && (shape.groups == 1 || shape.n >= shape.groups * kRowsOfGroup))
      return shape;
  return std::nullopt;
}

bool startsAtZero(core::DotOp dot) { return matchPattern(dot.getAcc(), m_AnyZeroFloat()); }

/// The product that this one is added to, if that has as many sums.
core::DotOp addedTo(core::DotOp dot) {
  auto other = dot.getAcc().getDefiningOp<core::DotOp>();
  if (!other || isBatch(other) || !dot.getAcc().hasOneUse() || carriedBy(other))
    return nullptr;
  std::optional<SlicedShape> shape = slicedShape(dot), before = slicedShape(other);
  return shape && before && shape->slices == before->slices ? other : nullptr;
}

bool isToSlice(core::DotOp dot) {
  if (!slicedShape(dot))
    return false;
  if (isBatch(dot))
    return true;
  core::DotOp other = addedTo(dot);
  return startsAtZero(dot) || carriedBy(dot) || (other && isToSlice(other));
}

RankedTensorType sumsOf(const SlicedShape &shape, Type element) {
  return RankedTensorType::get({shape.slices, shape.n, shape.m}, element);
}

/// The product in slices, in front of `dot`.
Value sliced(core::DotOp dot, const SlicedShape &shape, Value acc) {
  ImplicitLocOpBuilder b(dot.getLoc(), dot);
  auto [rows, isTransposed] = weightsOf(dot);
  if (isTransposed)
    rows = b.create<core::TransposeOp>(
        RankedTensorType::get({shape.n, shape.k}, tileOf(rows).getElementType()), rows,
        ArrayRef<int64_t>{1, 0});
  return b.create<SlicedDotOp>(acc.getType(), rows, dot.getLhs(), acc, isTransposed);
}

/// What all slices come to, as the result of `dot`.
Value together(ImplicitLocOpBuilder &b, core::DotOp dot, const SlicedShape &shape, Value sums) {
  Type element = tileOf(sums).getElementType();
  Value sum = b.create<core::ReduceOp>(RankedTensorType::get({1, shape.n, shape.m}, element),
                                       core::ReduceKind::sum, sums, uint64_t(0));
  Value flat = b.create<core::ReshapeOp>(RankedTensorType::get({shape.n, shape.m}, element), sum);
  return b.create<core::TransposeOp>(tileOf(dot.getResult()), flat, ArrayRef<int64_t>{1, 0});
}

/// A product that a loop adds up: slices are added up behind it.
void sliceCarried(core::DotOp dot, const SlicedShape &shape) {
  unsigned number = *carriedBy(dot);
  auto loop = cast<scf::ForOp>(dot->getParentOp());
  RankedTensorType sums = sumsOf(shape, tileOf(dot.getAcc()).getElementType());
  ImplicitLocOpBuilder b(dot.getLoc(), loop);
  Value result = loop.getResult(number);
  loop.getInitArgsMutable()[number].set(
      b.create<arith::ConstantOp>(cast<TypedAttr>(b.getZeroAttr(sums))));
  loop.getRegionIterArg(number).setType(sums);
  dot.getResult().replaceAllUsesWith(sliced(dot, shape, dot.getAcc()));
  SmallVector<OpOperand *> uses(llvm::make_pointer_range(result.getUses()));
  result.setType(sums);
  b.setInsertionPointAfter(loop);
  Value all = together(b, dot, shape, result);
  for (OpOperand *use : uses)
    use->set(all);
  dot.erase();
}

/// Rows of each product of a batch, b x r x k, as rows of all terms, r x (b * k).
Value besideOneAnother(ImplicitLocOpBuilder &b, Value rows) {
  RankedTensorType tile = tileOf(rows);
  int64_t batch = tile.getDimSize(0), count = tile.getDimSize(1), terms = tile.getDimSize(2);
  Type element = tile.getElementType();
  Value byRow = b.create<core::TransposeOp>(RankedTensorType::get({count, batch, terms}, element),
                                            rows, ArrayRef<int64_t>{1, 0, 2});
  return b.create<core::ReshapeOp>(RankedTensorType::get({count, batch * terms}, element), byRow);
}

/// Each b x r x c as b x c x r.
Value transposedEach(ImplicitLocOpBuilder &b, Value tiles) {
  RankedTensorType tile = tileOf(tiles);
  ArrayRef<int64_t> shape = tile.getShape();
  return b.create<core::TransposeOp>(
      RankedTensorType::get({shape[0], shape[2], shape[1]}, tile.getElementType()), tiles,
      ArrayRef<int64_t>{0, 2, 1});
}

void sliceBatch(core::DotOp dot) {
  ImplicitLocOpBuilder b(dot.getLoc(), dot);
  auto [rows, isTransposed] = weightsOf(dot);
  if (isTransposed)
    rows = transposedEach(b, rows);
  Value acc = transposedEach(b, dot.getAcc());
  Value sums = b.create<SlicedDotOp>(acc.getType(), besideOneAnother(b, rows),
                                     besideOneAnother(b, dot.getLhs()), acc, false);
  dot.getResult().replaceAllUsesWith(transposedEach(b, sums));
  dot.erase();
}

/// `sums`: the slices of what products came to, to which others are added.
void slice(core::DotOp dot, llvm::DenseMap<Value, Value> &sums) {
  SlicedShape shape = *slicedShape(dot);
  if (isBatch(dot))
    return sliceBatch(dot);
  if (carriedBy(dot))
    return sliceCarried(dot, shape);
  ImplicitLocOpBuilder b(dot.getLoc(), dot);
  RankedTensorType type = sumsOf(shape, tileOf(dot.getAcc()).getElementType());
  Value acc = sums.lookup(dot.getAcc());
  if (!acc)
    acc = b.create<arith::ConstantOp>(cast<TypedAttr>(b.getZeroAttr(type)));
  Value parts = sliced(dot, shape, acc), all = together(b, dot, shape, parts);
  sums[all] = parts;
  dot.getResult().replaceAllUsesWith(all);
  dot.erase();
}

void sliceAll(func::FuncOp function) {
  SmallVector<core::DotOp> dots;
  function.walk([&](core::DotOp dot) {
    if (isToSlice(dot))
      dots.push_back(dot);
  });
  llvm::DenseMap<Value, Value> sums;
  for (core::DotOp dot : dots)
    slice(dot, sums);
  // Transpositions of weights that no product reads any more, and sums of slices that others were added to.
  IRRewriter rewriter(function.getContext());
  (void)runRegionDCE(rewriter, function->getRegions());
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
    if ((warps && warps != kSlicingWarps) || (most && most.getInt() < kSlicingWarps))
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
