// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/lower/ViewExtents.h"
#include "ditron/device/AccessSpace.h"
#include "ditron/device/DistOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace ditron::lower {

//===-- Extents -------------------------------------------------------------------------------===//

/// The size of a slice along a dimension of what it gives.
static OpFoldResult sizeOf(memref::SubViewOp slice, int64_t dim) {
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  for (auto [d, size] : llvm::enumerate(slice.getMixedSizes()))
    if (!dropped.test(static_cast<unsigned>(d)) && dim-- == 0)
      return size;
  return {};
}

/// The extent that a view was made with; null of views that say it themselves.
static OpFoldResult madeWith(Value view, int64_t dim) {
  if (auto slice = view.getDefiningOp<memref::SubViewOp>())
    return sizeOf(slice, dim);
  auto d = static_cast<size_t>(dim);
  if (auto buffer = view.getDefiningOp<device::SymmetricOp>())
    return buffer.getExtents()[d];
  auto split = view.getDefiningOp<memref::ExpandShapeOp>();
  if (!split || !ShapedType::isDynamic(split.getStaticOutputShape()[d]))
    return {};
  auto before = split.getStaticOutputShape().take_front(d);
  return split.getOutputShape()[static_cast<size_t>(llvm::count_if(before, ShapedType::isDynamic))];
}

/// The first argument that has an extent of the name that this one has.
static Extent ofArgument(BlockArgument argument, int64_t dim) {
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  StringAttr name = function ? device::extentName(argument, dim) : StringAttr();
  if (!name)
    return {{}, argument, dim};
  for (BlockArgument first : function.getArguments())
    if (auto view = dyn_cast<MemRefType>(first.getType()))
      for (int64_t d = 0; d < view.getRank(); ++d)
        if (device::extentName(first, d) == name)
          return {{}, first, d};
  return {{}, argument, dim};
}

Extent Extent::of(Value view, int64_t dim) {
  if (OpFoldResult made = madeWith(view, dim))
    return of(made);
  if (auto turned = view.getDefiningOp<memref::TransposeOp>())
    return of(turned.getIn(), turned.getPermutation().getDimPosition(static_cast<unsigned>(dim)));
  if (auto argument = dyn_cast<BlockArgument>(view))
    return ofArgument(argument, dim);
  return {{}, view, dim};
}

Extent Extent::of(OpFoldResult number) {
  auto value = dyn_cast<Value>(number);
  auto tiles = value ? value.getDefiningOp<arith::CeilDivSIOp>() : nullptr;
  if (tiles && isConstantIntValue(tiles.getRhs(), 1)) // tiles of one row
    return of(OpFoldResult(tiles.getLhs()));
  auto asked = value ? value.getDefiningOp<memref::DimOp>() : nullptr;
  std::optional<int64_t> dim = asked ? asked.getConstantIndex() : std::nullopt;
  return dim ? of(asked.getSource(), *dim) : Extent{number, {}};
}

static bool areSameNumbers(OpFoldResult x, OpFoldResult y) {
  if (auto number = getConstantIntValue(x))
    return number == getConstantIntValue(y);
  auto one = dyn_cast<Value>(x), other = dyn_cast<Value>(y);
  if (!one || !other || one == other)
    return one && one == other;
  auto ranks = one.getDefiningOp<device::NumRanksOp>(),
       alsoRanks = other.getDefiningOp<device::NumRanksOp>();
  if (ranks && alsoRanks)
    return ranks.getAxis() == alsoRanks.getAxis();
  auto tiles = one.getDefiningOp<arith::CeilDivSIOp>(),
       others = other.getDefiningOp<arith::CeilDivSIOp>();
  auto height = tiles && others ? getConstantIntValue(tiles.getRhs()) : std::nullopt;
  return height && height == getConstantIntValue(others.getRhs()) &&
         areSame(Extent::of(tiles.getLhs()), Extent::of(others.getLhs()));
}

bool areSame(const Extent &x, const Extent &y) {
  if (x.number && y.number)
    return areSameNumbers(x.number, y.number);
  return !x.number && !y.number && x.view == y.view && x.dim == y.dim;
}

static bool areSame(Value x, const Extent &y) { return areSame(Extent::of(x), y); }

//===-- Indices -------------------------------------------------------------------------------===//

/// Whether an index is the number of the chunk that one of `n` things belongs to, if they are cut
/// into `extent` chunks; or what is left of a division by the extent.
static bool isPartOf(Value index, const Extent &extent) {
  if (auto rest = index.getDefiningOp<arith::RemSIOp>())
    return areSame(rest.getRhs(), extent) && isNatural(rest.getLhs());
  auto chunk = index.getDefiningOp<arith::DivSIOp>();
  auto size = chunk ? chunk.getRhs().getDefiningOp<arith::CeilDivSIOp>() : nullptr;
  return size && getConstantIntValue(size.getRhs()).value_or(0) > 0 &&
         areSame(size.getRhs(), extent) && goesUpTo(chunk.getLhs(), Extent::of(size.getLhs()));
}

bool goesUpTo(Value index, const Extent &extent) {
  Operation *op = index.getDefiningOp();
  if (isPartOf(index, extent) || (op && op->hasAttr(core::kWithinAttr)))
    return true;
  auto argument = dyn_cast<BlockArgument>(index);
  Operation *parent = argument ? argument.getOwner()->getParentOp() : nullptr;
  if (auto tiles = dyn_cast_or_null<device::TilesOp>(parent))
    return areSame(tiles.getExtents()[argument.getArgNumber()], extent);
  auto loop = dyn_cast_or_null<scf::ForOp>(parent);
  return loop && loop.getInductionVar() == index && areSame(loop.getUpperBound(), extent) &&
         getConstantIntValue(loop.getLowerBound()).value_or(-1) >= 0;
}

bool isNatural(Value value) {
  if (auto number = getConstantIntValue(value))
    return *number >= 0;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    auto loop = dyn_cast<scf::ForOp>(parent);
    return isa<device::TilesOp>(parent) ||
           (loop && argument == loop.getInductionVar() && isNatural(loop.getLowerBound()));
  }
  Operation *op = value.getDefiningOp();
  if (isa_and_present<memref::DimOp, device::RankOp, device::NumRanksOp, device::RankAtOp,
                      device::CoreOp, device::NumCoresOp>(op))
    return true;
  if (auto difference = dyn_cast_or_null<arith::SubIOp>(op))
    return goesUpTo(difference.getRhs(), Extent::of(difference.getLhs()));
  return isa_and_present<arith::AddIOp, arith::MulIOp, arith::DivSIOp, arith::CeilDivSIOp,
                         arith::RemSIOp>(op) &&
         llvm::all_of(op->getOperands(), isNatural);
}

/// Whether `first` is where share number n of an extent begins, which is cut into more than n of `count` elements each:
/// n * (extent / shares), rounded down.
static bool isShareOf(Value first, Value count, const Extent &extent) {
  auto shares = count.getDefiningOp<arith::DivSIOp>();
  auto product = first.getDefiningOp<arith::MulIOp>();
  if (!shares || !product || !areSame(shares.getLhs(), extent))
    return false;
  auto isFirstOf = [&](Value number, Value size) {
    return areSame(size, Extent::of(count)) && goesUpTo(number, Extent::of(shares.getRhs()));
  };
  return isFirstOf(product.getLhs(), product.getRhs()) ||
         isFirstOf(product.getRhs(), product.getLhs());
}

bool isWithin(OpFoldResult first, OpFoldResult count, const Extent &extent) {
  if (isConstantIntValue(first, 0) && areSame(Extent::of(count), extent))
    return true;
  auto from = dyn_cast<Value>(first), number = dyn_cast<Value>(count);
  return from && (isConstantIntValue(count, 1) ? goesUpTo(from, extent)
                                               : number && isShareOf(from, number, extent));
}

bool isPlaceAlong(Value place, StringRef axis) {
  if (auto own = place.getDefiningOp<device::RankOp>())
    return own.getAxis() == axis;
  auto remainder = place.getDefiningOp<arith::RemSIOp>();
  auto ranks = remainder ? remainder.getRhs().getDefiningOp<device::NumRanksOp>() : nullptr;
  return ranks && ranks.getAxis() == axis && isNatural(remainder.getLhs());
}

} // namespace ditron::lower
