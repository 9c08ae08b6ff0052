// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/target/nvidia/transforms/Roles.h"
#include "ditron/device/DistOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ditron::nvidia {

Value untransposed(Value tile) {
  while (auto transpose = tile.getDefiningOp<core::TransposeOp>())
    tile = transpose.getSource();
  return tile;
}

RankedTensorType inPanels(RankedTensorType tile) {
  int64_t bytes = core::elementBytes(tile.getElementType()), width = kPanelBytes / bytes;
  Shape shape = shapeOf(tile);
  shape.back() = (shape.back() + width - 1) / width * width;
  return core::withLayout(RankedTensorType::get(shape, tile.getElementType()),
                          sharedPanels(shape, bytes));
}

namespace {

constexpr int64_t kBlock = 64; ///< rows of one wgmma
constexpr int64_t kMostWidth =
    256; ///< columns of one wgmma, and extents of a box of the copy engine
constexpr int64_t kMostAccumulators = 192; ///< of a thread

/// Whether an operand's tile is what panels and boxes can hold. Where the dense dimension is not
/// the one that is summed over, which 16-bit floats alone may have, the last panel may be wider
/// than what is left for it.
bool fitsPanels(RankedTensorType tile, bool isDeep) {
  int64_t bytes = core::elementBytes(tile.getElementType());
  int64_t width = isDeep ? kPanelBytes / bytes : 8;
  return tile.getRank() == 2 && (isDeep || bytes == 2) && tile.getDimSize(1) % width == 0 &&
         tile.getDimSize(0) % 8 == 0 && tile.getDimSize(0) <= kMostWidth;
}

/// Whether a tile is an odd number of transpositions away from where it comes from.
bool isTransposed(Value tile) {
  bool result = false;
  while (auto transpose = tile.getDefiningOp<core::TransposeOp>()) {
    result ^= transpose.getPermutation().front() != 0;
    tile = transpose.getSource();
  }
  return result;
}

bool fitsWarpgroups(core::DotOp dot, int64_t warps) {
  RankedTensorType lhs = tileOf(dot.getLhs()), rhs = tileOf(dot.getRhs()),
                   acc = tileOf(dot.getAcc());
  if (lhs.getElementType() != rhs.getElementType() || acc.getRank() != 2)
    return false;
  WarpgroupProduct product = warpgroupProduct(lhs.getElementType(), dot.getPrecision());
  int64_t groups = warps / kWarpgroup, rows = acc.getDimSize(0), columns = acc.getDimSize(1);
  int64_t accumulators = rows * columns / (warps * kLanes) * (product.run ? 2 : 1);
  bool isStep = columns % product.columns == 0 || columns <= 32;
  return product.type && rows % (kBlock * groups) == 0 && columns % 8 == 0 && isStep &&
         columns <= kMostWidth && lhs.getDimSize(1) % product.depth == 0 &&
         (!product.run || lhs.getDimSize(1) <= product.run) && accumulators <= kMostAccumulators;
}

/// Whether the producer can compute a value by itself, with no tile and no memory.
bool isProjectable(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    auto loop = dyn_cast<scf::ForOp>(parent);
    return isa<func::FuncOp>(parent) || (loop && loop.getInductionVar() == argument);
  }
  Operation *op = value.getDefiningOp();
  return isMemoryEffectFree(op) && op->getNumRegions() == 0 && !isTile(value) &&
         llvm::all_of(op->getOperands(), isProjectable);
}

/// Whether the producer finds its way to an op by itself.
bool isReachable(Operation *op) {
  for (Operation *parent = op->getParentOp(); !isa<func::FuncOp>(parent);
       parent = parent->getParentOp()) {
    auto loop = dyn_cast<scf::ForOp>(parent);
    auto branch = dyn_cast<scf::IfOp>(parent);
    if (loop && !(isProjectable(loop.getLowerBound()) && isProjectable(loop.getUpperBound()) &&
                  isProjectable(loop.getStep())))
      return false;
    if (branch && !isProjectable(branch.getCondition()))
      return false;
    if (!loop && !branch)
      return false;
  }
  return true;
}

/// The argument that a view is part of; null where that is not plain.
BlockArgument rootOf(Value view) {
  while (Operation *op = view.getDefiningOp()) {
    if (!isa<memref::SubViewOp, memref::CastOp, memref::ReinterpretCastOp>(op))
      return nullptr;
    view = op->getOperand(0);
  }
  auto argument = cast<BlockArgument>(view);
  return isa<func::FuncOp>(argument.getOwner()->getParentOp()) ? argument : nullptr;
}

bool isMapped(func::FuncOp function, Value view) {
  auto argument = dyn_cast<BlockArgument>(view);
  return argument && argument.getOwner() == &function.front() &&
         cast<MemRefType>(view.getType()).getRank() >= 2 &&
         cast<MemRefType>(view.getType()).getRank() <= 5 &&
         function.getArgAttr(argument.getArgNumber(), core::kUnitStrideAttr);
}

/// The memory that an op reads or writes as tiles; null where it does not.
Value viewOf(Operation *op) {
  return TypeSwitch<Operation *, Value>(op)
      .Case<core::LoadOp, core::StoreOp, core::GatherOp, core::ScatterOp, core::AtomicAddOp>(
          [](auto access) { return access.getView(); })
      .Default([](Operation *) { return nullptr; });
}

bool isZero(std::optional<TypedAttr> padding, Type element) {
  return !padding || *padding == Builder(element.getContext()).getZeroAttr(element);
}

class Planner {
public:
  Planner(func::FuncOp function, int64_t warps) : function_(function), warps_(warps) {}

  std::optional<RolePlan> plan() {
    WalkResult found = function_.walk([&](core::DotOp dot) {
      return add(dot) ? WalkResult::advance() : WalkResult::interrupt();
    });
    if (found.wasInterrupted() || loops_.empty() || !findFirst() || overwrites() || mayLeave())
      return std::nullopt;
    return RolePlan{first_, loops_, warps_};
  }

private:
  bool add(core::DotOp dot) {
    auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
    if (!loop || !fitsWarpgroups(dot, warps_) || !isReachable(dot))
      return false;
    auto fed = llvm::find_if(loops_, [&](FedLoop &one) { return one.loop == loop; });
    if (fed == loops_.end())
      fed = &loops_.emplace_back(FedLoop{loop, {}, {}});
    fed->dots.push_back(dot);
    return add(*fed, dot.getLhs(), !isTransposed(dot.getLhs())) &&
           add(*fed, dot.getRhs(), isTransposed(dot.getRhs()));
  }

  /// `isDeep`: the operand's dense dimension is summed over.
  bool add(FedLoop &fed, Value operand, bool isDeep) {
    auto load = untransposed(operand).getDefiningOp<core::LoadOp>();
    if (!load || load->getBlock() != fed.loop.getBody() || !isMapped(function_, load.getView()) ||
        !fitsPanels(tileOf(load.getTile()), isDeep) ||
        !isZero(load.getPadding(), tileOf(load.getTile()).getElementType()) ||
        !llvm::all_of(load.getCoords(), isProjectable) ||
        !onlyFeedsDotsOf(fed.loop.getBody(), load.getTile()))
      return false;
    if (!llvm::is_contained(fed.loads, load))
      fed.loads.push_back(load);
    return true;
  }

  static bool onlyFeedsDotsOf(Block *block, Value tile) {
    return llvm::all_of(tile.getUses(), [&](OpOperand &use) {
      Operation *user = use.getOwner();
      if (auto transpose = dyn_cast<core::TransposeOp>(user))
        return onlyFeedsDotsOf(block, transpose.getResult());
      return isa<core::DotOp>(user) && use.getOperandNumber() < 2 && user->getBlock() == block;
    });
  }

  /// The first op that computes tiles, constants aside.
  bool findFirst() {
    for (Operation &op : function_.front()) {
      WalkResult result = op.walk([](Operation *inner) {
        bool isOfTiles = llvm::any_of(inner->getOperands(), [](Value v) { return isTile(v); }) ||
                         llvm::any_of(inner->getResults(), [](Value v) { return isTile(v); });
        return isOfTiles && !isa<arith::ConstantOp>(inner) ? WalkResult::interrupt()
                                                           : WalkResult::advance();
      });
      if (!result.wasInterrupted())
        continue;
      first_ = &op;
      return true;
    }
    return false;
  }

  /// Whether the kernel writes what is fed, which is then not to be read ahead.
  bool overwrites() {
    llvm::SmallPtrSet<Value, 4> fed;
    for (FedLoop &one : loops_)
      for (core::LoadOp load : one.loads)
        fed.insert(load.getView());
    WalkResult result = function_.walk([&](Operation *op) {
      Value view = isa<core::LoadOp, core::GatherOp>(op) ? nullptr : viewOf(op);
      if (!view)
        return WalkResult::advance();
      BlockArgument root = rootOf(view);
      return root && !fed.contains(root) ? WalkResult::advance() : WalkResult::interrupt();
    });
    return result.wasInterrupted();
  }

  /// Whether threads may end the kernel where others would wait for them.
  bool mayLeave() {
    WalkResult result = function_.walk([&](LLVM::InlineAsmOp op) {
      Operation *top = function_.front().findAncestorOpInBlock(*op);
      return top->isBeforeInBlock(first_) ? WalkResult::advance() : WalkResult::interrupt();
    });
    return result.wasInterrupted();
  }

  func::FuncOp function_;
  int64_t warps_;
  SmallVector<FedLoop> loops_;
  Operation *first_ = nullptr;
};

} // namespace

/// Whether a value that the producer computes is the same for all cores of a cluster.
static bool isSame(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return !loop || (loop.getInductionVar() == argument && isSame(loop.getLowerBound()) &&
                     isSame(loop.getUpperBound()) && isSame(loop.getStep()));
  }
  Operation *op = value.getDefiningOp();
  // Only a cluster's number is known to be the same: that of a block over the cores of one.
  if (isa<NVVM::BlockIdXOp>(op))
    return llvm::all_of(op->getUsers(), [](Operation *user) { return isa<arith::DivUIOp>(user); });
  return !isa<MemberOp>(op) && isProjectable(value) && llvm::all_of(op->getOperands(), isSame);
}

bool isSameInCluster(core::LoadOp load) {
  for (Operation *parent = load->getParentOp(); !isa<func::FuncOp>(parent);
       parent = parent->getParentOp()) {
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      if (!isSame(loop.getInductionVar()))
        return false;
    if (auto branch = dyn_cast<scf::IfOp>(parent))
      if (!isSame(branch.getCondition()))
        return false;
  }
  return llvm::all_of(load.getCoords(), isSame);
}

bool isDeliverable(core::StoreOp store, int64_t warps) {
  constexpr int64_t kNarrowest = 64;
  auto function = store->getParentOfType<func::FuncOp>();
  RankedTensorType tile = tileOf(store.getTile());
  if (tile.getRank() != 2 || tile.getDimSize(1) < kNarrowest ||
      core::elementBytes(tile.getElementType()) != 2 || !isMapped(function, store.getView()))
    return false;
  bool isWhole = tile.getDimSize(0) % (16 * warps) == 0;
  if (!isWhole || core::layoutOf(tile) != warpgroupAccumulator(shapeOf(tile), warps).canonical())
    return false;
  // Nobody may wait for the stores before the kernel ends: no reader, and no one to notify.
  WalkResult result = function.walk([&](Operation *op) {
    if (isa<LLVM::AtomicRMWOp, LLVM::FenceOp>(op) ||
        op->getName().getDialectNamespace() == device::DistDialect::getDialectNamespace())
      return WalkResult::interrupt();
    Value view = viewOf(op);
    if (!view || isa<core::StoreOp>(op))
      return WalkResult::advance();
    BlockArgument root = rootOf(view);
    return root && root != store.getView() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

std::optional<RolePlan> planRoles(func::FuncOp function, const Chip &chip, int64_t warps) {
  if (!chip.hasWarpgroups)
    return std::nullopt;
  for (int64_t groups : {2, 1})
    if (!warps || warps == groups * kWarpgroup)
      if (auto plan = Planner(function, groups * kWarpgroup).plan())
        return plan;
  return std::nullopt;
}

} // namespace ditron::nvidia
