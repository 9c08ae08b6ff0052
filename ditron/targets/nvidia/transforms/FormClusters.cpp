// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nvidia-form-clusters: cores that are to work side by side become clusters, which are dealt tiles
// together.
//
//   dist.tiles (%i, %j) of (%rows, %columns) order <"grouped", 16> {
//     body(%i, %j)
//   } {dist.together = array<i64: 2, 1>}
// becomes
//   %m = nvidia.member
//   dist.tiles (%I, %J) of (ceil(%rows / 2), %columns) order <"grouped", 8> {
//     %i = %I * 2 + %m
//     body(%i, %J), in which stores are made only if %i < %rows
//   }
//
// From here on "cores" that tiles are dealt to are the clusters (simt-dist-to-device). All of a
// cluster go the same ways, beyond the edge of the grid too, where tiles read as zeros and what is
// stored is dropped; so nvidia-specialize-warps may have tiles that do not depend on %m fetched
// once for all of them. Kernels that do more than read and write tiles are left as they are.
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

/// How many rows and columns of tiles go to a cluster.
struct Together {
  int64_t rows, columns;
  int64_t members() const { return rows * columns; }
};

std::optional<Together> togetherOf(device::TilesOp tiles) {
  constexpr int64_t kMost = 8; // that every chip with clusters has
  auto hint = tiles->getAttrOfType<DenseI64ArrayAttr>(device::kTogetherAttr);
  StringRef order = tiles.getOrder().getName();
  bool knowsRanks = order != "row-major" && order != "grouped";
  if (!hint || hint.size() != 2 || knowsRanks || tiles.getExtents().size() < 2)
    return std::nullopt;
  Together result{hint[0], hint[1]};
  bool isPower = llvm::isPowerOf2_64(static_cast<uint64_t>(result.members()));
  return isPower && result.members() <= kMost ? std::optional(result) : std::nullopt;
}

/// Whether an op of a loop over tiles does nothing else but compute, and read and write tiles.
bool isPlain(Operation *op) {
  return isa<core::LoadOp, core::StoreOp, core::GatherOp, scf::ForOp, scf::IfOp, scf::YieldOp>(
             op) ||
         isMemoryEffectFree(op);
}

/// The one loop over tiles of a kernel of which cores are not asked for their numbers.
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
  Former(device::TilesOp tiles, Together together)
      : tiles_(tiles), together_(together), b_(tiles.getLoc(), tiles) {}

  void run() {
    size_t rank = tiles_.getExtents().size();
    Value rows = tiles_.getExtents()[rank - 2], columns = tiles_.getExtents()[rank - 1];
    Value member = b_.create<MemberOp>(b_.getIndexType());
    Value row = b_.create<arith::DivUIOp>(member, index(together_.columns));
    Value column = b_.create<arith::RemUIOp>(member, index(together_.columns));
    tiles_.getExtentsMutable()[static_cast<unsigned>(rank - 2)].set(parts(rows, together_.rows));
    tiles_.getExtentsMutable()[static_cast<unsigned>(rank - 1)].set(
        parts(columns, together_.columns));
    device::OrderAttr order = tiles_.getOrder();
    tiles_.setOrderAttr(device::OrderAttr::get(
        order.getContext(), order.getName(),
        std::max<int64_t>(1, order.getParameter() / together_.rows), order.getSharded()));
    tiles_.setHeight(tiles_.getHeight() * static_cast<uint64_t>(together_.rows));
    tiles_->removeAttr(device::kTogetherAttr);
    Block &body = tiles_.getBody().front();
    b_.setInsertionPointToStart(&body);
    Value i = spread(body.getArgument(static_cast<unsigned>(rank - 2)), together_.rows, row);
    Value j = spread(body.getArgument(static_cast<unsigned>(rank - 1)), together_.columns, column);
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

  /// The coordinate of this member's tile instead of its cluster's.
  Value spread(BlockArgument coordinate, int64_t size, Value member) {
    if (size == 1)
      return coordinate;
    Value first = b_.create<arith::MulIOp>(coordinate, index(size));
    Value own = b_.create<arith::AddIOp>(first, member);
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
  Together together_;
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
    auto together = tiles ? togetherOf(tiles) : std::nullopt;
    if (!chip->hasWarpgroups || !together || together->members() == 1)
      return;
    function->setAttr(kClusterAttr, Builder(function).getI64IntegerAttr(together->members()));
    Former(tiles, *together).run();
  }
};

} // namespace
} // namespace ditron::nvidia
