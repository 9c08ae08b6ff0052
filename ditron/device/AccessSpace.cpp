// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/AccessSpace.h"
#include "ditron/device/Provenance.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ditron::device {

//===-- Symbols -------------------------------------------------------------------------------===//

bool Symbols::isFixed(Value value) {
  auto [known, isNew] = fixed_.try_emplace(value, false);
  if (!isNew)
    return known->second;
  bool fixed = computeFixed(value);
  return fixed_[value] = fixed;
}

/// Whether `op` does nothing but to read what no launch writes: an input.
static bool readsInput(Operation *op) {
  SmallVector<core::Observation, 3> seen = core::observationsOf(op);
  if (seen.size() != 1 || seen.front().effect != core::Observation::Effect::read)
    return false;
  auto argument = dyn_cast<BlockArgument>(originOf(seen.front().object));
  auto kernel =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  return kernel && kernel.getArgAttr(argument.getArgNumber(), core::kReadOnlyAttr);
}

bool Symbols::computeFixed(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return isa<func::FuncOp>(cast<BlockArgument>(value).getOwner()->getParentOp());
  bool isComputed = op->getNumRegions() == 0 && isMemoryEffectFree(op);
  return (isComputed || isa<SymmetricOp>(op) || readsInput(op)) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isFixed(operand); });
}

AffineExpr Symbols::of(Value fixed) {
  auto [number, isNew] = numbers_.try_emplace(fixed, list_.size());
  if (isNew) {
    bool counts = isa_and_nonnull<RankOp, NumRanksOp>(fixed.getDefiningOp());
    list_.push_back({.value = fixed, .isNegative = !counts});
    // Ranks and their number may be asked for more than once.
    if (counts)
      for (auto [n, symbol] : llvm::enumerate(ArrayRef(list_).drop_back()))
        if (Operation *other = symbol.value ? symbol.value.getDefiningOp() : nullptr;
            other && OperationEquivalence::isEquivalentTo(fixed.getDefiningOp(), other,
                                                          OperationEquivalence::IgnoreLocations)) {
          list_.pop_back();
          number->second = n;
          break;
        }
  }
  return getAffineSymbolExpr(number->second, fixed.getContext());
}

StringAttr extentName(BlockArgument argument, int64_t dim) {
  auto all = argument.getOwner()->getParentOp()->getAttrOfType<ArrayAttr>(core::kExtentsAttr);
  if (!all || argument.getArgNumber() >= all.size())
    return {};
  auto names = cast<ArrayAttr>(all[argument.getArgNumber()]);
  return dim < static_cast<int64_t>(names.size()) ? cast<StringAttr>(names[dim]) : StringAttr();
}

AffineExpr Symbols::extentOf(BlockArgument argument, int64_t dim) {
  StringAttr name = extentName(argument, dim);
  Builder builder(argument.getContext());
  std::pair<Attribute, int64_t> key(builder.getI64IntegerAttr(argument.getArgNumber()), dim);
  if (name)
    key = {name, -1};
  auto [number, isNew] = extents_.try_emplace(key, list_.size());
  if (isNew)
    list_.push_back(
        {.value = {}, .buffer = argument, .dim = dim, .name = name, .isNegative = false});
  return getAffineSymbolExpr(number->second, argument.getContext());
}

//===-- Index values --------------------------------------------------------------------------===//

AccessSpace::AccessSpace(Symbols &symbols, Operation *place)
    : symbols_(symbols), context_(place->getContext()), tiles_(place->getParentOfType<TilesOp>()) {
  for (auto loop = place->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>())
    loops_.push_back(loop);
  std::reverse(loops_.begin(), loops_.end());
}

Affine AccessSpace::constant(int64_t value) const { return getAffineConstantExpr(value, context_); }

Affine AccessSpace::express(OpFoldResult index) {
  if (auto known = getConstantIntValue(index))
    return constant(*known);
  return express(cast<Value>(index));
}

Affine AccessSpace::express(Value index) {
  if (auto argument = dyn_cast<BlockArgument>(index))
    return expressArgument(argument);
  Affine expr = expressOp(index.getDefiningOp(), index);
  return !expr && symbols_.isFixed(index) ? Affine(symbols_.of(index)) : expr;
}

Affine AccessSpace::expressArgument(BlockArgument argument) {
  Operation *owner = argument.getOwner()->getParentOp();
  if (owner == tiles_)
    return getAffineDimExpr(argument.getArgNumber(), context_);
  for (auto [number, loop] : llvm::enumerate(loops_))
    if (argument == loop.getInductionVar())
      return getAffineDimExpr(firstLoop() + number, context_);
  if (symbols_.isFixed(argument))
    return symbols_.of(argument);
  return {"depends on what a loop carries", owner->getLoc()};
}

Affine AccessSpace::expressOp(Operation *op, Value index) {
  APInt known;
  if (matchPattern(index, m_ConstantInt(&known)))
    return constant(known.getSExtValue());
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    std::optional<int64_t> number = dim.getConstantIndex();
    auto type = dyn_cast<MemRefType>(dim.getSource().getType());
    if (number && type && *number >= 0 && *number < type.getRank())
      return windowOf(dim.getSource()).slotOf(*number).extent;
  }
  if (isa<arith::ArithDialect>(op->getDialect()) && op->getNumOperands() == 2)
    return combine(op);
  return refuse(op);
}

/// Why the value of `op` is not affine: what it is computed from, as far back as computation goes.
Affine AccessSpace::refuse(Operation *op) {
  Operation *cause = op;
  while (cause->getNumRegions() == 0 && isMemoryEffectFree(cause)) {
    auto varies = [&](Value operand) { return !symbols_.isFixed(operand); };
    auto operand = llvm::find_if(cause->getOperands(), varies);
    if (operand == cause->getOperands().end())
      break;
    if (auto argument = dyn_cast<BlockArgument>(*operand)) {
      Affine known = expressArgument(argument);
      return known ? Affine(("depends on " + op->getName().getStringRef()).str(), op->getLoc())
                   : known;
    }
    cause = (*operand).getDefiningOp();
  }
  return {("depends on " + cause->getName().getStringRef()).str(), cause->getLoc()};
}

/// Divisions of the language truncate: those of numbers that may be below 0 are not affine.
Affine AccessSpace::combine(Operation *op) {
  Affine x = express(op->getOperand(0)), y = express(op->getOperand(1));
  if (!x || !y)
    return x ? y : x;
  AffineExpr a = x.expr, b = y.expr;
  bool divides = b.isSymbolicOrConstant() && isNeverNegative(a) && isNeverNegative(b) &&
                 b != getAffineConstantExpr(0, context_);
  if (isa<arith::AddIOp>(op))
    return a + b;
  if (isa<arith::SubIOp>(op))
    return a - b;
  if (isa<arith::MulIOp>(op) && (a.isSymbolicOrConstant() || b.isSymbolicOrConstant()))
    return b.isSymbolicOrConstant() ? a * b : b * a;
  if (isa<arith::DivSIOp, arith::DivUIOp>(op) && divides)
    return a.floorDiv(b);
  if (isa<arith::CeilDivSIOp, arith::CeilDivUIOp>(op) && divides)
    return a.ceilDiv(b);
  if (isa<arith::RemSIOp, arith::RemUIOp>(op) && divides)
    return a % b;
  return refuse(op);
}

bool AccessSpace::isNeverNegative(AffineExpr expr) const {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue() >= 0;
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return !symbols_.isNegative(symbol.getPosition());
  if (auto variable = dyn_cast<AffineDimExpr>(expr)) {
    if (variable.getPosition() < firstLoop())
      return true;
    scf::ForOp loop = loops_[variable.getPosition() - firstLoop()];
    return getConstantIntValue(loop.getLowerBound()).value_or(-1) >= 0;
  }
  auto both = cast<AffineBinaryOpExpr>(expr);
  return isNeverNegative(both.getLHS()) && isNeverNegative(both.getRHS());
}

//===-- Views ---------------------------------------------------------------------------------===//

ViewWindow AccessSpace::windowOf(Value view) {
  Operation *op = view.getDefiningOp();
  if (!op)
    return bufferWindow(view);
  return llvm::TypeSwitch<Operation *, ViewWindow>(op)
      .Case([&](memref::SubViewOp op) { return slice(windowOf(op.getSource()), op); })
      .Case([&](memref::ExpandShapeOp op) { return split(windowOf(op.getSrc()), op); })
      .Case([&](core::ChunkOp op) { return cut(windowOf(op.getView()), op); })
      .Case([&](memref::CastOp op) { return windowOf(op.getSource()); })
      .Case([&](memref::TransposeOp op) {
        ViewWindow window = windowOf(op.getIn());
        window.dims = applyPermutationMap(op.getPermutation(), ArrayRef(window.dims));
        return window;
      })
      .Default([&](Operation *) { return bufferWindow(view); });
}

ViewWindow AccessSpace::bufferWindow(Value buffer) {
  ViewWindow window{buffer, {}, {}};
  auto symmetric = buffer.getDefiningOp<SymmetricOp>();
  auto extent = [&](int64_t d) -> Affine {
    if (symmetric)
      return express(symmetric.getExtents()[d]);
    if (auto argument = dyn_cast<BlockArgument>(buffer); argument && symbols_.isFixed(buffer))
      return symbols_.extentOf(argument, d);
    return {"is the extent of an unknown view", buffer.getLoc()};
  };
  for (int64_t d = 0, rank = cast<MemRefType>(buffer.getType()).getRank(); d < rank; ++d) {
    window.slots.push_back({.dim = d, .begin = constant(0), .extent = extent(d), .all = extent(d)});
    window.dims.push_back(d);
  }
  return window;
}

static Affine sum(const Affine &x, const Affine &y) {
  if (!x || !y)
    return x ? y : x;
  return x.expr + y.expr;
}

ViewWindow AccessSpace::slice(ViewWindow window, memref::SubViewOp op) {
  SmallVector<unsigned> dims = std::exchange(window.dims, {});
  llvm::SmallBitVector dropped = op.getDroppedDims();
  for (auto [d, number] : llvm::enumerate(dims)) {
    ViewSlot &slot = window.slots[number];
    Affine first = express(op.getMixedOffsets()[d]), count = express(op.getMixedSizes()[d]);
    if (!isConstantIntValue(op.getMixedStrides()[d], 1))
      first = {"leaves out elements", op.getLoc()};
    if (dropped[d]) {
      slot.at = first;
      continue;
    }
    window.dims.push_back(number);
    if (first && first.expr == constant(0).expr && count && count.expr == slot.extent.expr)
      continue;
    slot.begin = sum(slot.begin, first);
    slot.extent = count;
    slot.isWhole = false;
  }
  return window;
}

ViewWindow AccessSpace::split(const ViewWindow &window, memref::ExpandShapeOp op) {
  ViewWindow result{window.buffer, {}, {}};
  Builder builder(context_);
  SmallVector<OpFoldResult> shape =
      getMixedValues(op.getStaticOutputShape(), op.getOutputShape(), builder);
  result.dims.resize(shape.size());
  for (auto [number, slot] : llvm::enumerate(window.slots)) {
    auto d = llvm::find(window.dims, number) - window.dims.begin();
    bool isDropped = d == static_cast<int64_t>(window.dims.size());
    ReassociationIndices group =
        isDropped ? ReassociationIndices() : op.getReassociationIndices()[d];
    if (group.size() < 2) {
      if (!isDropped)
        result.dims[group.front()] = result.slots.size();
      result.slots.push_back(slot);
      continue;
    }
    Affine begin = slot.isWhole ? constant(0) : Affine("is split behind a slice", op.getLoc());
    for (int64_t part : group) {
      result.dims[part] = result.slots.size();
      Affine extent = express(shape[part]);
      result.slots.push_back({.dim = slot.dim, .begin = begin, .extent = extent, .all = extent});
    }
  }
  return result;
}

ViewWindow AccessSpace::cut(ViewWindow window, core::ChunkOp op) {
  SmallVector<unsigned> dims = std::exchange(window.dims, {});
  size_t lead = op.getCoords().size() - op.getShape().size();
  for (auto [d, number] : llvm::enumerate(dims)) {
    ViewSlot &slot = window.slots[number];
    Affine at = express(op.getCoords()[d]);
    if (d < lead) {
      slot.at = at;
      continue;
    }
    int64_t size = op.getShape()[d - lead];
    slot.begin = at ? sum(slot.begin, at.expr * size) : at;
    slot.extent = constant(size);
    slot.isWhole = false;
    window.dims.push_back(number);
  }
  return window;
}

} // namespace ditron::device
