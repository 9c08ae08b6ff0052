// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/core/KnownShape.h"
#include "ditron/core/Memories.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace ditron::gpu {

/// The dimensions of a subview's source that the subview has, in order.
static SmallVector<unsigned> keptDimensions(memref::SubViewOp op) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  SmallVector<unsigned> kept;
  for (unsigned dim = 0; dim < dropped.size(); ++dim)
    if (!dropped[dim])
      kept.push_back(dim);
  return kept;
}

/// The source's dimension that a transposed view's one is.
static unsigned permuted(memref::TransposeOp op, unsigned dimension) {
  return op.getPermutation().getDimPosition(dimension);
}

std::optional<int64_t> knownExtent(Value view, unsigned dimension) {
  DenseI64ArrayAttr known;
  if (auto chosen = view.getDefiningOp<ViewAtOp>())
    known = chosen->getAttrOfType<DenseI64ArrayAttr>(core::kKnownExtentsAttr);
  else if (auto argument = dyn_cast<BlockArgument>(view))
    if (auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()))
      known = function.getArgAttrOfType<DenseI64ArrayAttr>(argument.getArgNumber(),
                                                           core::kKnownExtentsAttr);
  if (!known || dimension >= known.size() || known[dimension] == core::kUnknownExtent)
    return std::nullopt;
  return known[dimension];
}

Extent extentOf(Value view, unsigned dimension) {
  if (auto type = cast<MemRefType>(view.getType()); !type.isDynamicDim(dimension))
    return {nullptr, type.getDimSize(dimension)};
  if (auto known = knownExtent(view, dimension))
    return {nullptr, *known};
  Operation *op = view.getDefiningOp();
  if (auto transpose = dyn_cast_or_null<memref::TransposeOp>(op))
    return extentOf(transpose.getIn(), permuted(transpose, dimension));
  if (isa_and_nonnull<ShiftOp, memref::MemorySpaceCastOp, memref::CastOp>(op))
    return extentOf(op->getOperand(0), dimension);
  auto subview = dyn_cast_or_null<memref::SubViewOp>(op);
  if (!subview)
    return {view, static_cast<int64_t>(dimension)};
  OpFoldResult size = subview.getMixedSizes()[keptDimensions(subview)[dimension]];
  if (auto constant = getConstantIntValue(size))
    return {nullptr, *constant};
  auto number = cast<Value>(size);
  if (auto dim = number.getDefiningOp<memref::DimOp>())
    if (auto index = dim.getConstantIndex())
      return extentOf(dim.getSource(), static_cast<unsigned>(*index));
  return {number, -1};
}

unsigned ArgumentView::dimensionOf(unsigned ofView) const {
  auto found =
      llvm::find_if(dimensions, [&](const Dimension &one) { return one.ofView == ofView; });
  return static_cast<unsigned>(found - dimensions.begin());
}

/// The part of an argument that a subview has of its source, which is a part itself.
static bool narrow(ArgumentView &part, memref::SubViewOp op) {
  if (!llvm::all_of(op.getStaticStrides(), [](int64_t stride) { return stride == 1; }))
    return false;
  SmallVector<unsigned> kept = keptDimensions(op);
  for (auto [n, dimension] : llvm::enumerate(part.dimensions)) {
    if (dimension.ofView < 0)
      continue;
    auto source = static_cast<unsigned>(dimension.ofView);
    OpFoldResult start = op.getMixedOffsets()[source];
    auto place = llvm::find(kept, source);
    dimension.ofView = place == kept.end() ? -1 : place - kept.begin();
    bool isFirst = getConstantIntValue(start) == 0;
    Extent all = extentOf(part.argument, static_cast<unsigned>(n));
    dimension.isWhole &= isFirst && dimension.ofView >= 0 &&
                         extentOf(op.getResult(), static_cast<unsigned>(dimension.ofView)) == all;
    if (!isFirst)
      dimension.starts.push_back(start);
  }
  return true;
}

/// The page of symmetric memory that a launch has; nothing of a peer's, which no map describes.
static std::optional<ArgumentView> pageOf(ShiftOp shift) {
  auto view = shift.getPage() && isa<BlockArgument>(shift.getSource())
                  ? ArgumentView::of(shift.getSource())
                  : std::nullopt;
  if (view)
    view->page = shift.getPage();
  return view;
}

/// One of the parts of an argument whose first dimension is split in two.
static std::optional<ArgumentView> partOfSplit(memref::SubViewOp op, memref::ExpandShapeOp split) {
  auto view = isa<BlockArgument>(split.getSrc()) ? ArgumentView::of(split.getSrc()) : std::nullopt;
  auto groups = split.getReassociationIndices();
  if (!view || groups[0].size() != 2 || op.getDroppedDims().count() != 1 ||
      !op.getDroppedDims().test(0) ||
      !llvm::all_of(llvm::drop_begin(groups), [](auto &group) { return group.size() == 1; }) ||
      !llvm::all_of(op.getStaticStrides(), [](int64_t stride) { return stride == 1; }))
    return std::nullopt;
  Builder b(op.getContext());
  OpFoldResult height = getMixedValues(split.getStaticOutputShape(), split.getOutputShape(), b)[1];
  for (auto [n, dimension] : llvm::enumerate(view->dimensions)) {
    OpFoldResult start = op.getMixedOffsets()[n + 1];
    bool isFirst = getConstantIntValue(start) == 0;
    // Beyond the first dimension, the split's extents are the argument's.
    OpFoldResult size = op.getMixedSizes()[n + 1];
    auto dim = isa<Value>(size) ? cast<Value>(size).getDefiningOp<memref::DimOp>() : nullptr;
    bool isAsked = dim && dim.getSource() == split.getResult() &&
                   dim.getConstantIndex() == static_cast<int64_t>(n) + 1;
    auto number = getConstantIntValue(size);
    bool isKnown = number && number == knownExtent(view->argument, static_cast<unsigned>(n));
    dimension.isWhole = n > 0 && isFirst && (isAsked || isKnown);
    if (n == 0)
      dimension.products.push_back({op.getMixedOffsets()[0], height});
    if (!isFirst)
      dimension.starts.push_back(start);
  }
  return view;
}

/// Of the arguments that may be the very elements of one, the first that the kernel writes.
static BlockArgument writtenInPlaceOf(BlockArgument argument) {
  int64_t number = core::inPlaceNumber(argument);
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (number >= 0)
    for (BlockArgument other : function.getArguments())
      if (core::inPlaceNumber(other) == number &&
          !function.getArgAttr(other.getArgNumber(), core::kReadOnlyAttr))
        return other;
  return argument;
}

/// Whether a kernel writes an argument that rootOf() takes another one for.
static bool isWrittenAsAnother(BlockArgument argument) {
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return !function.getArgAttr(argument.getArgNumber(), core::kReadOnlyAttr) &&
         writtenInPlaceOf(argument) != argument;
}

std::optional<ArgumentView> ArgumentView::of(Value view) {
  if (auto argument = dyn_cast<BlockArgument>(view)) {
    auto type = dyn_cast<MemRefType>(view.getType());
    if (!type || !isa<func::FuncOp>(argument.getOwner()->getParentOp()) ||
        isWrittenAsAnother(argument))
      return std::nullopt;
    ArgumentView whole{argument, {}, nullptr};
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      whole.dimensions.push_back({dim, {}, {}, true});
    return whole;
  }
  Operation *op = view.getDefiningOp();
  if (auto shift = dyn_cast<ShiftOp>(op))
    return pageOf(shift);
  if (isa<memref::MemorySpaceCastOp, memref::CastOp>(op))
    return of(op->getOperand(0));
  if (auto subview = dyn_cast<memref::SubViewOp>(op))
    if (auto split = subview.getSource().getDefiningOp<memref::ExpandShapeOp>())
      return partOfSplit(subview, split);
  if (!isa<memref::SubViewOp, memref::TransposeOp>(op))
    return std::nullopt;
  auto part = of(op->getOperand(0));
  if (!part)
    return std::nullopt;
  if (auto subview = dyn_cast<memref::SubViewOp>(op))
    return narrow(*part, subview) ? part : std::nullopt;
  auto transpose = cast<memref::TransposeOp>(op);
  SmallVector<int64_t> places(transpose.getPermutation().getNumResults());
  for (unsigned dim = 0; dim < places.size(); ++dim)
    places[permuted(transpose, dim)] = dim;
  for (Dimension &dimension : part->dimensions)
    if (dimension.ofView >= 0)
      dimension.ofView = places[static_cast<size_t>(dimension.ofView)];
  return part;
}

SmallVector<Value, 2> choicesOf(Value view) {
  if (auto choice = view.getDefiningOp<arith::SelectOp>())
    return {choice.getTrueValue(), choice.getFalseValue()};
  return {view};
}

/// The view that a view is part of, if it is a plain part.
static Value wholeNextTo(Value view) {
  Operation *op = view.getDefiningOp();
  bool isPart = isa_and_present<memref::SubViewOp, memref::CastOp, memref::ReinterpretCastOp,
                                memref::TransposeOp, memref::ExpandShapeOp,
                                memref::MemorySpaceCastOp, ShiftOp>(op);
  return isPart ? op->getOperand(0) : Value();
}

Value wholeOf(Value view) {
  while (Value whole = wholeNextTo(view))
    view = whole;
  return view;
}

bool isOnPeer(Value view) {
  for (; view; view = wholeNextTo(view))
    if (auto shift = view.getDefiningOp<ShiftOp>(); shift && !shift.getPage())
      return true;
  return false;
}

/// The function's argument that a view is part of, itself.
static BlockArgument argumentOf(Value view) {
  auto argument = dyn_cast<BlockArgument>(wholeOf(view));
  bool isOfFunction = argument && isa<func::FuncOp>(argument.getOwner()->getParentOp());
  return isOfFunction ? argument : nullptr;
}

BlockArgument rootOf(Value view) {
  BlockArgument argument = argumentOf(view);
  return argument ? writtenInPlaceOf(argument) : nullptr;
}

/// Whether what a view is part of has a unit attribute.
static bool isMarked(Value view, StringRef name) {
  Value whole = wholeOf(view);
  if (auto chosen = whole.getDefiningOp<ViewAtOp>())
    return chosen->hasAttr(name);
  BlockArgument argument = argumentOf(whole);
  return argument && cast<func::FuncOp>(argument.getOwner()->getParentOp())
                         .getArgAttr(argument.getArgNumber(), name);
}

bool isReadOnly(Value view) {
  return isMarked(view, core::kReadOnlyAttr) && rootOf(view) == argumentOf(view);
}

bool isLasting(Value view) { return isMarked(view, core::kLastingAttr); }

bool isPrior(Value view) { return isMarked(view, core::kPriorAttr); }

bool isSelfSignaling(Value view) { return isMarked(view, core::kSelfSignalingAttr); }

bool isConstant(Value view) {
  BlockArgument argument = argumentOf(view);
  return argument && rootOf(view) == argument && isMarked(view, core::kConstantAttr);
}

int64_t knownAlignment(Value view) {
  Value whole = wholeOf(view);
  IntegerAttr bytes;
  if (auto chosen = whole.getDefiningOp<ViewAtOp>())
    bytes = chosen->getAttrOfType<IntegerAttr>(core::kAlignmentAttr);
  else if (BlockArgument argument = argumentOf(whole))
    bytes = cast<func::FuncOp>(argument.getOwner()->getParentOp())
                .getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), core::kAlignmentAttr);
  return bytes ? bytes.getInt() : 0;
}

int64_t accessBytes(Value view) {
  if (SmallVector<Value, 2> choices = choicesOf(view); choices.size() > 1)
    return std::min(accessBytes(choices[0]), accessBytes(choices[1]));
  int64_t bytes = knownAlignment(view);
  return bytes ? bytes : kAccessBytes;
}

} // namespace ditron::gpu
