// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nvidia-form-clusters: CTAs that are to work side by side become clusters, and the tiles are dealt
// to clusters.
//
//   dist.tiles (%i, %j) of (%rows, %columns) order <"grouped", 16> {
//     body(%i, %j)
//   } {dist.together = array<i64: 2, 1, 1>}
// becomes
//   %m = nvidia.cluster_rank
//   dist.tiles (%I, %J) of (ceil(%rows / 2), %columns) order <"grouped", 8> {
//     %i = %I * 2 + %m
//     body(%i, %J), in which stores and notifies are made only if %i < %rows
//   } {dist.sharers = 2}
//
// CTAs that share tiles each take a part of the terms, and the first one of them stores the sum:
//
//   dist.tiles (%i, %j) of (%rows, %columns) order <"grouped", 16> {
//     %sum = scf.for %k = %c0 to %n step %c1 iter_args(%s = %zero) { ... }
//     tile.store %sum, %C[%i, %j]
//   } {dist.together = array<i64: 1, 1, 2>}
// becomes
//   %box = nvidia.cluster_box
//   %p = nvidia.cluster_rank
//   dist.tiles (%i, %j) of (%rows, %columns) order <"grouped", 16> {
//     %part = scf.for %k = %p to %n step %c2 iter_args(%s = %zero) { ... }
//     %sum = nvidia.cluster_sum %part of 2 in %box
//     tile.store %sum, %C[%i, %j], if %p is 0
//   } {dist.sharers = 2}
//
// So are waits for what depends on %i. Others are taken by all CTAs, since each loads a part of what
// they share.
//
// All CTAs of a cluster go the same ways, beyond the edge of the grid too, where tiles read as zeros
// and what is stored is dropped; so nvidia-specialize-warps may multicast tiles that do not depend
// on %m to all of them.
//
// The loop may stand in a role. A CTA belongs to a role by its number, so the borders of roles move
// to the next whole cluster:
//
//   dist.role "comm" cores 0 for %c { ... }       ->  cores 0 for 2 * %b
//   dist.role "compute" cores %c for %n { ... }   ->  cores 2 * %b for 2 * (%clusters - %b)
//     %b = clamp(ceil(%c / 2), 1, %clusters - 1)
//
// A launch then has two clusters or more. Other loops are dealt to CTAs as before. A kernel is left
// as it is if products stand outside of the loop, if tiles do more than to be read and written, or
// if the number of its cores, which the borders come from, has another use.
// test/targets/nvidia/form-clusters.mlir shows it.
#include "ditron/device/DistOps.h"
#include "ditron/targets/nvidia/Chip.h"
#include "ditron/targets/nvidia/analysis/TensorCores.h"
#include "ditron/targets/nvidia/transforms/Passes.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace ditron::nvidia {

#define GEN_PASS_DEF_FORMCLUSTERS
#include "ditron/targets/nvidia/transforms/Passes.h.inc"

namespace {

/// The rows and columns of tiles of a cluster, and the CTAs that take each tile.
struct ClusterShape {
  int64_t rows, columns, sharers;
  int64_t ctas() const { return rows * columns * sharers; }
};

/// Whether a loop does nothing but add to tiles of f32, from zero on.
bool addsUp(scf::ForOp loop) {
  for (unsigned n = 0; n < loop.getNumResults(); ++n) {
    BlockArgument sum = loop.getRegionIterArg(n);
    auto type = dyn_cast<RankedTensorType>(sum.getType());
    if (!type || !type.getElementType().isF32() ||
        !matchPattern(loop.getInitArgs()[n], m_AnyZeroFloat()) || !sum.hasOneUse())
      return false;
    OpOperand &use = *sum.use_begin();
    Operation *user = use.getOwner();
    bool isAdded =
        isa<arith::AddFOp>(user) || (isa<core::DotOp>(user) && use.getOperandNumber() == 2);
    if (!isAdded || user->getBlock() != loop.getBody() || !user->hasOneUse() ||
        loop.getYieldedValues()[n] != user->getResult(0))
      return false;
  }
  return true;
}

/// The loops over terms of the products of a loop over tiles.
SmallVector<scf::ForOp> loopsOfTerms(device::TilesOp tiles) {
  SetVector<scf::ForOp> loops;
  tiles.getBody().walk(
      [&](core::DotOp dot) { loops.insert(dyn_cast<scf::ForOp>(dot->getParentOp())); });
  return loops.takeVector();
}

/// Whether CTAs may take parts of the terms of each tile: all that depends on the terms is sums. What has an effect
/// comes behind these, so that the tile's owner alone does it.
bool canShareTerms(device::TilesOp tiles) {
  SmallVector<scf::ForOp> loops = loopsOfTerms(tiles);
  bool areSums = !loops.empty() && llvm::all_of(loops, [&](scf::ForOp loop) {
    return loop && loop->getParentOp() == tiles && addsUp(loop);
  });
  if (!areSums)
    return false;
  auto upToSums =
      llvm::make_range(tiles.getBody().front().begin(), std::next(loops.back()->getIterator()));
  auto onlyReads = [](Operation *op) {
    return isMemoryEffectFree(op) ||
           isa<core::LoadOp, core::GatherOp, core::RequireOp, scf::ForOp, scf::IfOp>(op);
  };
  return llvm::all_of(upToSums, [&](Operation &op) {
    WalkResult result = op.walk([&](Operation *inner) {
      return onlyReads(inner) ? WalkResult::advance() : WalkResult::interrupt();
    });
    return !result.wasInterrupted();
  });
}

std::optional<ClusterShape> clusterShapeOf(device::TilesOp tiles) {
  constexpr int64_t kMost = 8; // that every chip with clusters has
  auto hint = tiles->getAttrOfType<DenseI64ArrayAttr>(device::kTogetherAttr);
  if (!hint || hint.size() != 3 || tiles.getExtents().size() < 2)
    return std::nullopt;
  ClusterShape result{hint[0], hint[1], 1};
  if (result.ctas() == 1 && canShareTerms(tiles))
    result.sharers = hint[2];
  bool isPower = llvm::isPowerOf2_64(static_cast<uint64_t>(result.ctas()));
  return isPower && result.ctas() > 1 && result.ctas() <= kMost ? std::optional(result)
                                                                : std::nullopt;
}

/// What is made only for tiles of the grid.
bool isGuarded(Operation *op) {
  return isa<core::StoreOp, device::PutTileOp, device::WaitOp, device::NotifyOp>(op);
}

/// Whether a value is the same for all tiles and steps: it comes from the kernel's arguments alone.
bool isOfLaunch(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isa<func::FuncOp>(argument.getOwner()->getParentOp());
  Operation *op = value.getDefiningOp();
  return isMemoryEffectFree(op) && op->getNumRegions() == 0 &&
         llvm::all_of(op->getOperands(), isOfLaunch);
}

/// Whether all CTAs leave the kernel where one does.
bool isRequiredOfLaunch(Operation *op) {
  return isa<core::RequireOp>(op) && llvm::all_of(op->getOperands(), isOfLaunch);
}

/// Whether an op of a loop over tiles does nothing else but compute, read and write tiles, and wait
/// and notify for them.
bool isPlain(Operation *op) {
  return isa<core::LoadOp, core::GatherOp, scf::ForOp, scf::IfOp, scf::YieldOp>(op) ||
         isGuarded(op) || isRequiredOfLaunch(op) || isMemoryEffectFree(op);
}

bool isOnlyPlain(device::TilesOp loop) {
  bool hasOwners = clusterShapeOf(loop)->sharers > 1; // who may talk to other ranks
  WalkResult result = loop.getBody().walk([&](Operation *op) {
    bool isFit = isPlain(op) || (hasOwners && isa<device::SendOp, device::ReceiveOp>(op));
    return isFit ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

/// Whether numbers of cores, and what is computed from them, are the borders of roles and nothing
/// else.
bool onlyBounds(Value number) {
  return llvm::all_of(number.getUsers(), [](Operation *user) {
    if (isa<device::RoleOp, core::RequireOp>(user))
      return true;
    bool isTop = isa<func::FuncOp>(user->getParentOp());
    return isTop && isMemoryEffectFree(user) && user->getNumRegions() == 0 &&
           llvm::all_of(user->getResults(), onlyBounds);
  });
}

bool isOfCores(Operation *op) {
  auto role = dyn_cast<device::RoleOp>(op);
  return role && role.getEngine() == device::Engine::core;
}

/// Whether the roles of a kernel, if it has some, can have whole clusters each.
bool canRound(func::FuncOp function) {
  int64_t roles = 0;
  WalkResult result = function.walk([&](Operation *op) {
    if (isOfCores(op) && (++roles > 2 || !isa<func::FuncOp>(op->getParentOp())))
      return WalkResult::interrupt();
    bool isTop = isa<func::FuncOp>(op->getParentOp());
    return isTop && isa<device::NumCoresOp>(op) && !onlyBounds(op->getResult(0))
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return !result.wasInterrupted();
}

/// The loop over tiles that a kernel has clusters for: all products are in it.
device::TilesOp loopOf(func::FuncOp function) {
  device::TilesOp loop;
  int64_t outside = 0;
  function.walk([&](device::TilesOp tiles) {
    bool hasPlace = isa<func::FuncOp, device::RoleOp>(tiles->getParentOp());
    if (!loop && hasPlace && clusterShapeOf(tiles))
      loop = tiles;
  });
  function.walk([&](core::DotOp dot) { outside += !loop || !loop->isAncestor(dot); });
  return outside == 0 && loop && isOnlyPlain(loop) && canRound(function) ? loop : nullptr;
}

/// Moves the borders of roles to whole clusters.
class RoleRounder {
public:
  RoleRounder(func::FuncOp function, int64_t ctas)
      : function_(function), b_(function.getLoc(), function), ctas_(ctas) {}

  /// Whether some role has not all cores.
  bool run() {
    bool areSplit = false;
    for (device::RoleOp role : function_.getOps<device::RoleOp>())
      if (isOfCores(role) && !hasAll(role)) {
        round(role);
        areSplit = true;
      }
    return areSplit;
  }

private:
  static bool hasAll(device::RoleOp role) {
    auto count = role.getCount().getDefiningOp<device::NumCoresOp>();
    return getConstantIntValue(role.getFirst()) == 0 && count &&
           isa<func::FuncOp>(count->getParentOp());
  }

  void round(device::RoleOp role) {
    b_.setInsertionPoint(role);
    b_.setLoc(role.getLoc());
    cores_ = b_.create<device::NumCoresOp>(b_.getIndexType());
    Value first = border(role.getFirst());
    Value end = border(b_.createOrFold<arith::AddIOp>(role.getFirst(), role.getCount()));
    role.getFirstMutable().set(b_.createOrFold<arith::MulIOp>(first, index(ctas_)));
    Value count = b_.createOrFold<arith::SubIOp>(end, first);
    role.getCountMutable().set(b_.createOrFold<arith::MulIOp>(count, index(ctas_)));
  }

  Value index(int64_t value) { return b_.create<arith::ConstantIndexOp>(value); }
  Value atMostOne(Value x) { return b_.createOrFold<arith::MinSIOp>(x, index(1)); }

  /// The cluster at which a role begins or ends: 0 and the last end stay, others lie between.
  Value border(Value core) {
    if (getConstantIntValue(core) == 0)
      return core;
    Value clusters = b_.createOrFold<arith::DivUIOp>(cores_, index(ctas_));
    Value behind = atMostOne(b_.createOrFold<arith::SubIOp>(cores_, core));
    Value most = b_.createOrFold<arith::SubIOp>(clusters, behind);
    Value whole = b_.createOrFold<arith::CeilDivSIOp>(core, index(ctas_));
    return b_.createOrFold<arith::MinSIOp>(whole, most);
  }

  func::FuncOp function_;
  ImplicitLocOpBuilder b_;
  int64_t ctas_;
  Value cores_;
};

class Former {
public:
  Former(device::TilesOp tiles, ClusterShape shape)
      : tiles_(tiles), shape_(shape), b_(tiles.getLoc(), tiles) {}

  void run() {
    size_t rank = tiles_.getExtents().size();
    Value rows = tiles_.getExtents()[rank - 2], columns = tiles_.getExtents()[rank - 1];
    Value clusterRank = b_.create<ClusterRankOp>(b_.getIndexType()), part;
    if (shape_.sharers > 1) {
      part = b_.create<arith::RemUIOp>(clusterRank, index(shape_.sharers));
      clusterRank = b_.create<arith::DivUIOp>(clusterRank, index(shape_.sharers));
    }
    Value row = b_.create<arith::DivUIOp>(clusterRank, index(shape_.columns));
    Value column = b_.create<arith::RemUIOp>(clusterRank, index(shape_.columns));
    tiles_.getExtentsMutable()[static_cast<unsigned>(rank - 2)].set(parts(rows, shape_.rows));
    tiles_.getExtentsMutable()[static_cast<unsigned>(rank - 1)].set(parts(columns, shape_.columns));
    device::OrderAttr order = tiles_.getOrder();
    bool knowsRanks = order.getName() != "row-major" && order.getName() != "grouped";
    if (knowsRanks && !tiles_.getElements())
      tiles_.getElementsMutable().assign(
          b_.create<arith::MulIOp>(rows, index(static_cast<int64_t>(tiles_.getHeight()))));
    tiles_.setOrderAttr(
        device::OrderAttr::get(order.getContext(), order.getName(),
                               std::max<int64_t>(1, order.getParameter() / shape_.rows),
                               order.getSharded(), order.getRounds(), order.getAxis()));
    tiles_.setHeight(tiles_.getHeight() * static_cast<uint64_t>(shape_.rows));
    tiles_->setAttr(device::kSharersAttr, b_.getI64IntegerAttr(shape_.ctas()));
    tiles_->removeAttr(device::kTogetherAttr);
    Block &body = tiles_.getBody().front();
    b_.setInsertionPointToStart(&body);
    Value i = spread(body.getArgument(static_cast<unsigned>(rank - 2)), shape_.rows, row);
    Value j = spread(body.getArgument(static_cast<unsigned>(rank - 1)), shape_.columns, column);
    if (part)
      return shareTiles(body, part);
    guard(body, {i, isBelow(i, rows), shape_.rows}, {j, isBelow(j, columns), shape_.columns});
  }

private:
  /// The first of the CTAs that share a tile does what comes behind its sums.
  void shareTiles(Block &body, Value part) {
    SmallVector<scf::ForOp> loops = loopsOfTerms(tiles_);
    Operation *last = loops.back();
    for (scf::ForOp loop : loops)
      shareTerms(loop, part);
    while (isa<ClusterSumOp>(last->getNextNode()))
      last = last->getNextNode();
    b_.setInsertionPointAfter(last);
    Value isOwner = b_.create<arith::CmpIOp>(arith::CmpIPredicate::eq, part, index(0));
    auto owner = b_.create<scf::IfOp>(isOwner);
    auto rest = llvm::make_range(std::next(owner->getIterator()), body.end());
    SmallVector<Operation *> ops;
    for (Operation &op : rest)
      if (!op.hasTrait<OpTrait::IsTerminator>())
        ops.push_back(&op);
    for (Operation *op : ops)
      op->moveBefore(owner.thenBlock()->getTerminator());
  }

  /// This CTA takes every so-manieth step of a loop; the first one of those that share a tile adds up.
  void shareTerms(scf::ForOp loop, Value part) {
    ImplicitLocOpBuilder b(loop.getLoc(), loop);
    Value sharers = b.create<arith::ConstantIndexOp>(shape_.sharers);
    Value before = b.create<arith::MulIOp>(part, loop.getStep());
    loop.setLowerBound(b.create<arith::AddIOp>(loop.getLowerBound(), before));
    loop.setStep(b.create<arith::MulIOp>(loop.getStep(), sharers));
    for (Value result : loop.getResults()) {
      b.setInsertionPointToStart(&loop->getParentOfType<func::FuncOp>().front());
      Value box = b.create<ClusterBoxOp>(ClusterBoxType::get(b.getContext()));
      b.setInsertionPointAfter(loop);
      auto sum = b.create<ClusterSumOp>(result.getType(), result, box,
                                        static_cast<uint64_t>(shape_.sharers));
      result.replaceAllUsesExcept(sum, sum);
    }
  }

  Value index(int64_t value) { return b_.create<arith::ConstantIndexOp>(value); }
  Value isBelow(Value x, Value y) {
    return b_.create<arith::CmpIOp>(arith::CmpIPredicate::slt, x, y);
  }
  Value parts(Value extent, int64_t size) {
    if (size == 1)
      return extent;
    return b_.create<arith::CeilDivSIOp>(extent, index(size));
  }

  /// The coordinate of this CTA's tile instead of its cluster's.
  Value spread(BlockArgument coordinate, int64_t size, Value offset) {
    if (size == 1)
      return coordinate;
    Value first = b_.create<arith::MulIOp>(coordinate, index(size));
    Value own = b_.create<arith::AddIOp>(first, offset);
    coordinate.replaceAllUsesExcept(own, first.getDefiningOp());
    return own;
  }

  /// A coordinate of this CTA's tile, whether it is in the grid, and how many a cluster has of them.
  struct Coordinate {
    Value value, isInside;
    int64_t ofCluster;
  };

  /// Whether an op's operands are computed from a value.
  static bool dependsOn(Operation *op, Value value) {
    SetVector<Operation *> slice;
    BackwardSliceOptions options;
    options.omitBlockArguments = true;
    for (Value operand : op->getOperands()) {
      if (operand == value)
        return true;
      if (Operation *source = operand.getDefiningOp())
        getBackwardSlice(source, &slice, options), slice.insert(source);
    }
    return llvm::any_of(
        slice, [&](Operation *one) { return llvm::is_contained(one->getOperands(), value); });
  }

  /// The loop around a store or a notify that does nothing else, as one over peers; else the op itself.
  static Operation *loopAround(Operation *op) {
    auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
    bool isWhole = loop && !isa<device::WaitOp>(op) && loop.getNumResults() == 0 &&
                   llvm::all_of(*loop.getBody(), [](Operation &inner) {
                     bool isMade = isGuarded(&inner) && !isa<device::WaitOp>(inner);
                     return isMade || isMemoryEffectFree(&inner);
                   });
    return isWhole ? loop.getOperation() : op;
  }

  /// Stores and notifies are made if the tile is in the grid, waits if what they name is.
  void guard(Block &body, const Coordinate &row, const Coordinate &column) {
    SetVector<Operation *> guarded;
    body.walk([&](Operation *op) {
      if (isGuarded(op))
        guarded.insert(loopAround(op));
    });
    Value isInside = b_.create<arith::AndIOp>(row.isInside, column.isInside);
    for (Operation *op : guarded) {
      OpBuilder b(op);
      Value condition = isInside;
      if (isa<device::WaitOp>(op)) {
        bool byRow = row.ofCluster > 1 && dependsOn(op, row.value);
        bool byColumn = column.ofCluster > 1 && dependsOn(op, column.value);
        if (!byRow && !byColumn)
          continue;
        condition = byRow && byColumn ? isInside : byRow ? row.isInside : column.isInside;
      }
      auto branch = b.create<scf::IfOp>(op->getLoc(), condition);
      op->moveBefore(branch.thenBlock()->getTerminator());
    }
  }

  device::TilesOp tiles_;
  ClusterShape shape_;
  ImplicitLocOpBuilder b_;
};

class FormClusters : public impl::FormClustersBase<FormClusters> {
public:
  using FormClustersBase::FormClustersBase;

private:
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    const Chip *chip = chipNamed(chipName, function);
    if (!chip)
      return signalPassFailure();
    device::TilesOp tiles = chip->hasWarpgroups ? loopOf(function) : nullptr;
    if (!tiles)
      return;
    ClusterShape shape = *clusterShapeOf(tiles);
    bool areSplit = RoleRounder(function, shape.ctas()).run();
    Builder b(function);
    function->setAttr(kClusterAttr, b.getI64IntegerAttr(shape.ctas()));
    function->setAttr(kLeastCoresAttr, b.getI64IntegerAttr((areSplit ? 2 : 1) * shape.ctas()));
    Former(tiles, shape).run();
  }
};

} // namespace
} // namespace ditron::nvidia
