// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nvidia-form-clusters: CTAs that are to work side by side become clusters, and the tiles are dealt
// to clusters.
//
//   dist.tiles (%i, %j) of (%rows, %columns) order <"grouped", 16> {
//     body(%i, %j)
//   } {dist.together = array<i64: 2, 1>}
// becomes
//   %m = nvidia.cluster_rank
//   dist.tiles (%I, %J) of (ceil(%rows / 2), %columns) order <"grouped", 8> {
//     %i = %I * 2 + %m
//     body(%i, %J), in which stores are made only if %i < %rows
//   }
//
// From here on the "cores" that tiles are dealt to are clusters (simt-dist-to-device). All CTAs of
// a cluster go the same ways, beyond the edge of the grid too, where tiles read as zeros and what
// is stored is dropped; so nvidia-specialize-warps may multicast tiles that do not depend on %m to
// all of them. Kernels that do more than read and write tiles are left as they are.
// test/targets/nvidia/form-clusters.mlir shows it.
#include "ditron/device/DistOps.h"
#include "ditron/targets/nvidia/Chip.h"
#include "ditron/targets/nvidia/analysis/TensorCores.h"
#include "ditron/targets/nvidia/transforms/Passes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace ditron::nvidia {

#define GEN_PASS_DEF_FORMCLUSTERS
#include "ditron/targets/nvidia/transforms/Passes.h.inc"

namespace {

/// The rows and columns of tiles of a cluster, one tile a CTA.
struct ClusterShape {
  int64_t rows, columns;
  int64_t ctas() const { return rows * columns; }
};

std::optional<ClusterShape> clusterShapeOf(device::TilesOp tiles) {
  constexpr int64_t kMost = 8; // that every chip with clusters has
  auto hint = tiles->getAttrOfType<DenseI64ArrayAttr>(device::kTogetherAttr);
  StringRef order = tiles.getOrder().getName();
  bool knowsRanks = order != "row-major" && order != "grouped";
  if (!hint || hint.size() != 2 || knowsRanks || tiles.getExtents().size() < 2)
    return std::nullopt;
  ClusterShape result{hint[0], hint[1]};
  bool isPower = llvm::isPowerOf2_64(static_cast<uint64_t>(result.ctas()));
  return isPower && result.ctas() <= kMost ? std::optional(result) : std::nullopt;
}

/// Whether an op of a loop over tiles does nothing else but compute, and read and write tiles.
bool isPlain(Operation *op) {
  return isa<core::LoadOp, core::StoreOp, core::GatherOp, scf::ForOp, scf::IfOp, scf::YieldOp>(
             op) ||
         isMemoryEffectFree(op);
}

/// The one loop over tiles of a kernel that does not ask for the number of its CTA.
device::TilesOp onlyLoop(func::FuncOp function) {
  device::TilesOp loop;
  WalkResult result = function.walk([&](Operation *op) {
    if (auto tiles = dyn_cast<device::TilesOp>(op)) {
      if (loop || tiles->getParentOp() != function)
        return WalkResult::interrupt();
      loop = tiles;
      return WalkResult::advance();
    }
    bool isInside = op->getParentOfType<device::TilesOp>() != nullptr;
    bool isVerb =
        op->getName().getDialectNamespace() == device::DistDialect::getDialectNamespace() &&
        !isa<device::RankOp, device::NumRanksOp>(op);
    return isVerb || (isInside && !isPlain(op)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted() ? nullptr : loop;
}

class Former {
public:
  Former(device::TilesOp tiles, ClusterShape shape)
      : tiles_(tiles), shape_(shape), b_(tiles.getLoc(), tiles) {}

  void run() {
    size_t rank = tiles_.getExtents().size();
    Value rows = tiles_.getExtents()[rank - 2], columns = tiles_.getExtents()[rank - 1];
    Value clusterRank = b_.create<ClusterRankOp>(b_.getIndexType());
    Value row = b_.create<arith::DivUIOp>(clusterRank, index(shape_.columns));
    Value column = b_.create<arith::RemUIOp>(clusterRank, index(shape_.columns));
    tiles_.getExtentsMutable()[static_cast<unsigned>(rank - 2)].set(parts(rows, shape_.rows));
    tiles_.getExtentsMutable()[static_cast<unsigned>(rank - 1)].set(parts(columns, shape_.columns));
    device::OrderAttr order = tiles_.getOrder();
    tiles_.setOrderAttr(device::OrderAttr::get(
        order.getContext(), order.getName(),
        std::max<int64_t>(1, order.getParameter() / shape_.rows), order.getSharded()));
    tiles_.setHeight(tiles_.getHeight() * static_cast<uint64_t>(shape_.rows));
    tiles_->removeAttr(device::kTogetherAttr);
    Block &body = tiles_.getBody().front();
    b_.setInsertionPointToStart(&body);
    Value i = spread(body.getArgument(static_cast<unsigned>(rank - 2)), shape_.rows, row);
    Value j = spread(body.getArgument(static_cast<unsigned>(rank - 1)), shape_.columns, column);
    guard(body, b_.create<arith::AndIOp>(isBelow(i, rows), isBelow(j, columns)));
  }

private:
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

  /// Stores are made if a condition holds.
  void guard(Block &body, Value condition) {
    SmallVector<core::StoreOp> stores;
    body.walk([&](core::StoreOp store) { stores.push_back(store); });
    for (core::StoreOp store : stores) {
      OpBuilder b(store);
      auto branch = b.create<scf::IfOp>(store.getLoc(), condition);
      store->moveBefore(branch.thenBlock()->getTerminator());
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
    device::TilesOp tiles = onlyLoop(function);
    auto shape = tiles ? clusterShapeOf(tiles) : std::nullopt;
    if (!chip->hasWarpgroups || !shape || shape->ctas() == 1)
      return;
    function->setAttr(kClusterAttr, Builder(function).getI64IntegerAttr(shape->ctas()));
    Former(tiles, *shape).run();
  }
};

} // namespace
} // namespace ditron::nvidia
