// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/transforms/PlacedKernel.h"
#include "ditron/device/AccessSpace.h"
#include "ditron/device/Provenance.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace ditron::device {

//===-- Arguments -----------------------------------------------------------------------------===//

static bool isWordCharacter(char c) { return llvm::isAlnum(c) || c == '_' || c == '-'; }

static bool isName(StringRef text) {
  return llvm::all_of(text, isWordCharacter) && !llvm::isDigit(text.front());
}

/// Whether `name` is a word of an extent such as "2*M".
static bool mentions(StringRef extent, StringRef name) {
  while (!extent.empty()) {
    StringRef word = extent.take_while(isWordCharacter);
    if (word == name)
      return true;
    extent = extent.drop_front(std::max<size_t>(word.size(), 1));
  }
  return false;
}

/// Other extents are the placed one, or have nothing to do with it.
static LogicalResult checkExtents(func::FuncOp kernel, const PlacedArgument &placed) {
  StringRef name = placed.extent.getValue();
  auto fail = [&](Twine problem) {
    return kernel.emitError() << "dimension " << placed.placement.getDim() << " of '" << placed.name
                              << "' cannot be placed: " << problem;
  };
  if (!isName(name) || name == "R" || name.starts_with("R_"))
    return fail("it is " + name + ", expected a name");
  for (BlockArgument argument : kernel.getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    int64_t count = 0;
    for (int64_t dim = 0, rank = type ? type.getRank() : 0; dim < rank; ++dim) {
      StringAttr extent = extentName(argument, dim);
      if (!extent)
        return fail("the signature names no extents of " + describe(argument));
      count += extent.getValue() == name;
      if (extent.getValue() != name && mentions(extent.getValue(), name))
        return fail(describe(argument) + " has extent " + extent.getValue() + ", expected " + name +
                    " by itself");
    }
    if (count > 1)
      return fail(describe(argument) + " has two dimensions " + name);
  }
  return success();
}

FailureOr<SmallVector<PlacedArgument>> placedArguments(func::FuncOp kernel,
                                                       ArrayRef<PlacementKind> kinds) {
  SmallVector<PlacedArgument> result;
  for (BlockArgument argument : kernel.getArguments()) {
    PlacementAttr placement = placementOf(kernel, argument.getArgNumber());
    if (!placement || !llvm::is_contained(kinds, placement.getKind()))
      continue;
    auto name = kernel.getArgAttrOfType<StringAttr>(argument.getArgNumber(), core::kNameAttr);
    PlacedArgument placed{argument, placement,
                          name ? name.str() : std::to_string(argument.getArgNumber())};
    if (placement.getDim() >= 0) {
      placed.extent = extentName(argument, placement.getDim());
      if (!placed.extent)
        return kernel.emitError() << "'" << placed.name
                                  << "' is placed, but the signature names no extents of it";
      if (failed(checkExtents(kernel, placed)))
        return failure();
    }
    result.push_back(placed);
  }
  return result;
}

LogicalResult placeArguments(func::FuncOp kernel, ArrayRef<PlacementKind> kinds,
                             llvm::function_ref<LogicalResult(ArrayRef<PlacedArgument>)> place) {
  auto placed = placedArguments(kernel, kinds);
  if (failed(placed) || placed->empty())
    return LogicalResult(placed);
  return place(*placed);
}

void setWhole(func::FuncOp kernel, BlockArgument argument, int64_t dim, StringRef axis) {
  auto all = llvm::to_vector(kernel->getAttrOfType<ArrayAttr>(core::kExtentsAttr));
  Attribute &own = all[argument.getArgNumber()];
  auto extents = llvm::to_vector(cast<ArrayAttr>(own));
  Builder builder(kernel.getContext());
  std::string ranks = axis == MeshAxis::world ? "R" : "R_" + axis.str();
  extents[dim] = builder.getStringAttr(ranks + "*" + cast<StringAttr>(extents[dim]).getValue());
  own = builder.getArrayAttr(extents);
  kernel->setAttr(core::kExtentsAttr, builder.getArrayAttr(all));
}

void multiplyExtent(BlockArgument argument, int64_t dim, Value ranks) {
  SmallVector<memref::DimOp> asks;
  for (Operation *user : argument.getUsers())
    if (auto ask = dyn_cast<memref::DimOp>(user); ask && ask.getConstantIndex() == dim)
      asks.push_back(ask);
  for (memref::DimOp ask : asks) {
    OpBuilder builder(ask->getContext());
    builder.setInsertionPointAfter(ask);
    auto whole = builder.create<arith::MulIOp>(ask.getLoc(), ranks, ask);
    ask.getResult().replaceAllUsesExcept(whole, whole);
  }
}

//===-- Arithmetic ----------------------------------------------------------------------------===//

Value IndexMath::constant(int64_t value) { return b_.create<arith::ConstantIndexOp>(value); }
Value IndexMath::dim(Value view, int64_t dim) { return b_.createOrFold<memref::DimOp>(view, dim); }
Value IndexMath::add(Value x, Value y) { return b_.createOrFold<arith::AddIOp>(x, y); }
Value IndexMath::subtract(Value x, Value y) { return b_.createOrFold<arith::SubIOp>(x, y); }
Value IndexMath::multiply(Value x, Value y) { return b_.createOrFold<arith::MulIOp>(x, y); }
Value IndexMath::ceilDiv(Value x, Value y) { return b_.createOrFold<arith::CeilDivSIOp>(x, y); }
Value IndexMath::divide(Value x, Value y) { return b_.createOrFold<arith::DivSIOp>(x, y); }
Value IndexMath::remainder(Value x, Value y) { return b_.createOrFold<arith::RemSIOp>(x, y); }
Value IndexMath::least(Value x, Value y) { return b_.createOrFold<arith::MinSIOp>(x, y); }
Value IndexMath::most(Value x, Value y) { return b_.createOrFold<arith::MaxSIOp>(x, y); }
Value IndexMath::rank(StringRef axis) { return b_.create<RankOp>(b_.getIndexType(), axis); }
Value IndexMath::numRanks(StringRef axis) { return b_.create<NumRanksOp>(b_.getIndexType(), axis); }

Value IndexMath::rankAt(StringRef axis, Value place) {
  return axis == MeshAxis::world ? place
                                 : b_.create<RankAtOp>(b_.getIndexType(), place, axis).getResult();
}

//===-- Roles and peers -----------------------------------------------------------------------===//

RolePair makeRoles(ImplicitLocOpBuilder &builder, StringRef move, StringRef compute,
                   int64_t cores) {
  IndexMath math(builder);
  Value zero = math.constant(0), all = builder.create<NumCoresOp>(builder.getIndexType());
  Value moving = all, first = zero, computing = all;
  if (cores > 0) { // Each role has a core: on a single one they run one after the other.
    Value room = math.subtract(all, math.constant(1));
    moving = math.most(math.least(math.constant(cores), room), math.constant(1));
    first = math.least(moving, room);
    computing = math.subtract(all, first);
  }
  auto role = [&](StringRef name, Value first, Value count) {
    auto op = builder.create<RoleOp>(builder.getStringAttr(name), first, count, Engine::core);
    op.getBody().emplaceBlock();
    return op;
  };
  RoleOp mover = role(move, zero, moving);
  return {mover, role(compute, first, computing)};
}

Value forEachPeer(ImplicitLocOpBuilder &builder, StringRef axis, bool withSelf, Ring way) {
  IndexMath math(builder);
  Value ranks = math.numRanks(axis), self = math.rank(axis);
  auto loop = builder.create<scf::ForOp>(math.constant(withSelf ? 0 : 1), ranks, math.constant(1));
  builder.setInsertionPointToStart(loop.getBody());
  Value step = loop.getInductionVar();
  if (way == Ring::next)
    return math.remainder(math.add(self, step), ranks);
  return math.remainder(math.subtract(math.add(self, ranks), step), ranks);
}

} // namespace ditron::device
