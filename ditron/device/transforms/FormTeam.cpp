// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FormTeam: a kernel of all ranks becomes one of the ranks along an axis of the mesh, its team. Ranks
// are places along the axis, and a verb goes to the rank at its peer's place.
//
//     %me = dist.rank                                   axis = "col"
//     %ranks = dist.num_ranks
//     dist.put %mine, %all on %peer
//     dist.tiles (%i, %j) of (%m, %n) order <"own-shard-first"> { ... }
//  ->
//     %me = dist.rank along "col"
//     %ranks = dist.num_ranks along "col"
//     %there = dist.rank_at %peer along "col"
//     dist.put %mine, %all on %there
//     dist.tiles (%i, %j) of (%m, %n) order <"own-shard-first" along "col"> { ... }
//
// Arguments are placed along the axis too, and where the signature has R it has R_col. What speaks of
// the mesh already is refused, and so is a barrier of all ranks: teams do not wait for one another.
// test/device/form-team.mlir shows it, form-team-invalid.mlir what is refused.
//
#include "ditron/core/Observation.h"
#include "ditron/device/DistOps.h"
#include "ditron/device/FormTeams.h"
#include "ditron/device/transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/TypeSwitch.h"

namespace ditron::device {
#define GEN_PASS_DEF_FORMTEAM
#include "ditron/device/transforms/Passes.h.inc"
} // namespace ditron::device

using namespace mlir;
using namespace ditron::device;
namespace core = ditron::core;

namespace {

/// An extent of the signature in which `R` is `ranks`.
std::string withRanks(StringRef extent, StringRef ranks) {
  std::string result, word;
  auto flush = [&] {
    result += word == "R" ? ranks.str() : word;
    word.clear();
  };
  for (char c : extent) {
    if (llvm::isAlnum(c) || c == '_') {
      word += c;
      continue;
    }
    flush();
    result += c;
  }
  flush();
  return result;
}

struct FormTeam : ditron::device::impl::FormTeamBase<FormTeam> {
  using FormTeamBase::FormTeamBase;

  void runOnOperation() override {
    there_.clear();
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      if (failed(form(op)))
        return signalPassFailure();
    if (failed(placeArguments()))
      return signalPassFailure();
    nameExtents();
    getOperation()->setAttr(kTeamAxisAttr, along());
  }

private:
  StringAttr along() { return StringAttr::get(&getContext(), axis.getValue()); }

  LogicalResult form(Operation *op) {
    SmallVector<core::Observation, 3> observations = core::observationsOf(op);
    LogicalResult result = llvm::TypeSwitch<Operation *, LogicalResult>(op)
                               .Case<RankOp, NumRanksOp>([&](auto place) { return follow(place); })
                               .Case([&](RankAtOp place) { return drop(place); })
                               .Case([&](TilesOp tiles) { return follow(tiles); })
                               .Case([&](BarrierOp barrier) { return check(barrier); })
                               .Default([](Operation *) { return success(); });
    if (failed(result))
      return failure();
    for (const core::Observation &seen : observations)
      if (seen.peer && !isFormed(seen.peer->get()))
        seen.peer->set(rankAt(seen.peer->get()));
    return success();
  }

  InFlightDiagnostic refuse(Operation *op, StringRef other) {
    return op->emitError() << "speaks of axis '" << other
                           << "' of the mesh, but the kernel is to run along axis '" << axis
                           << "': expected one of all ranks";
  }

  template <class Op> LogicalResult follow(Op op) {
    if (op.getAxis() != MeshAxis::world)
      return refuse(op, op.getAxis());
    op.setAxisAttr(along());
    return success();
  }

  /// Of all ranks, a rank is at the place that is its number.
  LogicalResult drop(RankAtOp place) {
    if (place.getAxis() != MeshAxis::world)
      return refuse(place, place.getAxis());
    place.getResult().replaceAllUsesWith(place.getPlace());
    place.erase();
    return success();
  }

  LogicalResult follow(TilesOp tiles) {
    OrderAttr order = tiles.getOrder();
    if (order.getAxis() != MeshAxis::world)
      return refuse(tiles, order.getAxis());
    bool knowsRanks = order.getName() != "row-major" && order.getName() != "grouped";
    if (knowsRanks)
      tiles.setOrderAttr(OrderAttr::get(&getContext(), order.getName(), order.getParameter(),
                                        order.getSharded(), order.getRounds(), axis.getValue()));
    return success();
  }

  LogicalResult check(BarrierOp barrier) {
    if (barrier.getScope() != BarrierScope::ranks)
      return success();
    return barrier.emitError() << "waits for all ranks, but the kernel is to run along axis '"
                               << axis << "', whose ranks do not wait for others: expected signals";
  }

  bool isFormed(Value peer) { return llvm::is_contained(llvm::make_second_range(there_), peer); }

  /// The number of the rank at a place, computed once where the place is.
  Value rankAt(Value place) {
    Value &there = there_[place];
    if (there)
      return there;
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfterValue(place);
    there =
        builder.create<RankAtOp>(place.getLoc(), builder.getIndexType(), place, axis.getValue());
    return there;
  }

  LogicalResult placeArguments() {
    func::FuncOp kernel = getOperation();
    for (unsigned n = 0; n < kernel.getNumArguments(); ++n) {
      PlacementAttr given = placementOf(kernel, n);
      if (!given)
        continue;
      if (given.getAxis() != MeshAxis::world)
        return refuse(kernel, given.getAxis());
      kernel.setArgAttr(n, kPlacementAttr,
                        PlacementAttr::get(&getContext(), given.getKind(), given.getDim(),
                                           given.getCores(), given.getEngine(), given.getChunks(),
                                           given.getWave(), given.getRounds(), given.getRounded(),
                                           given.getRing(), axis.getValue(), given.getCounts()));
    }
    return success();
  }

  void nameExtents() {
    auto extents = getOperation()->getAttrOfType<ArrayAttr>(core::kExtentsAttr);
    if (!extents)
      return;
    Builder builder(&getContext());
    SmallVector<Attribute> all;
    for (auto dims : extents.getAsRange<ArrayAttr>()) {
      SmallVector<Attribute> own;
      for (auto dim : dims.getAsValueRange<StringAttr>())
        own.push_back(builder.getStringAttr(withRanks(dim, "R_" + axis.getValue())));
      all.push_back(builder.getArrayAttr(own));
    }
    getOperation()->setAttr(core::kExtentsAttr, builder.getArrayAttr(all));
  }

  llvm::DenseMap<Value, Value> there_; ///< ranks by place
};

} // namespace

LogicalResult ditron::device::formTeams(ModuleOp module, StringRef axis) {
  PassManager passes(module.getContext());
  passes.addNestedPass<func::FuncOp>(createFormTeam({axis.str()}));
  return passes.run(module);
}
