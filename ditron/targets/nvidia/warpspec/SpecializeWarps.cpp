// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nvidia-specialize-warps: a kernel that simt-assign-layouts has chosen roles for is split into
// them. The producer, one thread, walks the loops ahead and loads tiles by TMA; the consumer
// warpgroups multiply them and do all the rest.
//
//   scf.for %t = ... {
//     %acc = scf.for %k = %lb to %ub step %s iter_args(%sum = %zero) {
//       %a = tile.load %A[%i, %k];  %b = tile.load %B[%k, %j]
//       %d = tile.dot %a, %b, %sum
//       scf.yield %d
//     }
//     tile.store %acc, %C[%i, %j]
//   }
// becomes
//   %pipe = nvidia.pipe : <4 of tensor<..., panels of A>, tensor<..., panels of B>>
//   nvidia.roles producer {
//     scf.for %t = ... {
//       scf.for %k = %lb to %ub step %s {
//         %slot = nvidia.acquire %pipe
//         nvidia.tma_load %A[%i, %k] by %mapA to %pipe[%slot] tile 0
//         nvidia.tma_load %B[%k, %j] by %mapB to %pipe[%slot] tile 1
//       }
//     }
//   } consumer {
//     scf.for %t = ... {
//       %d = scf.for %k = %lb to %ub step %s iter_args(%sum = %zero) {
//         %a, %b = nvidia.receive %pipe
//         %d = nvidia.wgmma %a, %b, %sum
//         nvidia.wgmma_wait 1                       // the product of the iteration before is done
//         nvidia.release %pipe if (%k > %lb)        // and its slot free
//         scf.yield %d
//       }
//       %acc = nvidia.wgmma_wait 0 of %d
//       nvidia.release %pipe if (%lb < %ub)
//       tile.store %acc, %C[%i, %j]
//     }
//   }
//
// So one product is under way while the next one's tiles are waited for, and tiles of the next
// iteration of the outer loop arrive while this one's result is stored. A product whose result the
// iteration itself reads is waited for there. The last product of an iteration, if it needs the
// first one's result, is begun in the next iteration (OverlapProducts.cpp). What one product reads
// comes together, and loads of the same tiles of an argument share a pipe; a tile that is read
// outside of the loops whose products take it comes by itself and stays until they are done.
// Numbers that take a loop to find are found by the producer alone: Searches.h. Notifies are made by
// a thread of their own: DeferNotifies.h.
// test/targets/nvidia/specialize-warps.mlir shows it.
#include "ditron/abi/KernelInfo.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/nvidia/analysis/Clusters.h"
#include "ditron/targets/nvidia/analysis/Projection.h"
#include "ditron/targets/nvidia/analysis/Roles.h"
#include "ditron/targets/nvidia/emit/ThreadBuilder.h"
#include "ditron/targets/nvidia/ops/NvidiaOps.h"
#include "ditron/targets/nvidia/transforms/AskAhead.h"
#include "ditron/targets/nvidia/warpspec/Consumer.h"
#include "ditron/targets/nvidia/warpspec/DeferNotifies.h"
#include "ditron/targets/nvidia/warpspec/FillAhead.h"
#include "ditron/targets/nvidia/warpspec/PackedLoads.h"
#include "ditron/targets/nvidia/warpspec/Producer.h"
#include "ditron/targets/nvidia/warpspec/Searches.h"
#include "ditron/targets/nvidia/warpspec/TensorMaps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace ditron::nvidia {

#define GEN_PASS_DEF_SPECIALIZEWARPS
#include "ditron/targets/nvidia/transforms/Passes.h.inc"

namespace {

/// Pieces of shared memory begin at such multiples.
int64_t rounded(int64_t bytes) { return (bytes + 1023) / 1024 * 1024; }

int64_t bytesOf(RankedTensorType tile) {
  return rounded(tile.getNumElements() * storageBytes(tile.getElementType()));
}

/// The loads of a pipe, the pipe, and their tensor maps.
struct LoadedPipe {
  PipeLoads loads;
  Value pipe;
  /// Of each load, for each choice of its view.
  SmallVector<SmallVector<Value>, 0> maps;
  /// Likewise of boxes for the last rows of a slice; none where whole tiles come.
  SmallVector<SmallVector<Value>, 0> partMaps;
  SmallVector<bool, 2> shared; ///< of each load: multicast to all CTAs of a cluster
  int64_t ctas = 1;            ///< CTAs that the pipe has tiles for
};

/// Writes the producer of tiles that TMA brings.
class TileProducer : public Producer {
public:
  /// `gates`: ops behind which the producer waits for the consumer at a gate. `packed`: tiles that
  /// come through the first pipe, too.
  TileProducer(OpBuilder b, ArrayRef<LoadedPipe> pipes, const Guards &guards,
               const llvm::DenseMap<Operation *, Value> &gates, ArrayRef<core::LoadOp> packed)
      : Producer(b), pipes_(pipes), guards_(guards), gates_(gates), packed_(packed) {}

private:
  /// Tiles to load, or what comes before some, waits and the kernel's end.
  bool leads(Operation &op) override {
    if (llvm::any_of(
            pipes_, [&](const LoadedPipe &one) { return op.isProperAncestor(one.loads.last()); }) ||
        llvm::any_of(packed_, [&](core::LoadOp load) { return op.isProperAncestor(load); }))
      return true;
    WalkResult result = op.walk([&](Operation *inner) {
      bool counts = isa<LLVM::InlineAsmOp, WaitOp>(inner) && guards_.precedesLoad(inner);
      return counts ? WalkResult::interrupt() : WalkResult::advance();
    });
    return result.wasInterrupted();
  }

  bool repeats(Operation &op) override {
    if (!isa<WaitOp>(op) || !guards_.precedesLoad(&op))
      return false;
    b_.clone(op, mapping_)->setAttr(kProducerAttr, b_.getUnitAttr());
    return true;
  }

  void follow(Operation &op) override {
    for (const LoadedPipe &one : pipes_)
      if (one.loads.last() == &op)
        loadTiles(one);
    if (auto load = dyn_cast<core::LoadOp>(op); load && llvm::is_contained(packed_, load))
      loadPacked(load);
    if (auto gate = gates_.find(&op); gate != gates_.end())
      b_.create<GateWaitOp>(op.getLoc(), gate->second);
  }

  void loadTiles(const LoadedPipe &one) {
    core::LoadOp last = one.loads.last();
    Value slot = b_.create<AcquireOp>(last.getLoc(), b_.getIndexType(), one.pipe);
    for (auto [n, tile] : llvm::enumerate(one.loads.tiles)) {
      core::LoadOp load = tile.load;
      SmallVector<Value> coords = mapped(load.getCoords());
      auto loadFrom = [&](Value view, size_t way) {
        ArrayRef<int64_t> shape = tileOf(load.getTile()).getShape();
        Value partMap = one.partMaps[n].empty() ? Value() : one.partMaps[n][way], rows;
        if (partMap)
          rows = rowsLeft(b_, load.getLoc(), mapped(view), coords, shape[0]);
        auto tma = b_.create<TmaLoadOp>(load.getLoc(), mapped(view), coords, one.maps[n][way],
                                        one.pipe, slot, static_cast<uint64_t>(n), shape,
                                        ArgumentView::of(view)->page, rows, partMap, one.shared[n]);
        if (Attribute mark = load->getAttr(kEvictFirstAttr))
          tma->setAttr(kEvictFirstAttr, mark);
      };
      auto choice = load.getView().getDefiningOp<arith::SelectOp>();
      if (!choice) {
        loadFrom(load.getView(), 0);
        continue;
      }
      auto branch = b_.create<scf::IfOp>(load.getLoc(), mapped(choice.getCondition()),
                                         /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(branch.thenBlock());
      loadFrom(choice.getTrueValue(), 0);
      b_.setInsertionPointToStart(branch.elseBlock());
      loadFrom(choice.getFalseValue(), 1);
    }
  }

  void loadPacked(core::LoadOp load) {
    SmallVector<Value> coords = mapped(load.getCoords());
    RankedTensorType tile = tileOf(load.getTile());
    Value pipe = pipes_.front().pipe;
    int64_t parts = partsOf(tile, cast<PipeType>(pipe.getType()), warpsOf(load));
    b_.create<LoadPackedOp>(load.getLoc(), mapped(load.getView()), coords, tile, pipe,
                            static_cast<uint64_t>(parts));
  }

  ArrayRef<LoadedPipe> pipes_;
  const Guards &guards_;
  const llvm::DenseMap<Operation *, Value> &gates_;
  ArrayRef<core::LoadOp> packed_;
};

class SpecializeWarps : public impl::SpecializeWarpsBase<SpecializeWarps> {
public:
  using SpecializeWarpsBase::SpecializeWarpsBase;

private:
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!function->hasAttr(kProducerWarpsAttr) || !function.getOps<RolesOp>().empty())
      return;
    const Chip *chip = chipNamed(chipName, function);
    if (!chip)
      return signalPassFailure();
    Chip share = chip->share(ctasPerSmOf(function));
    auto plan = planRoles(function, share, warpsOf(function.front().getTerminator()));
    if (!plan) {
      function.emitError() << "has " << kProducerWarpsAttr
                           << ", but cannot be split into roles for " << chipName.getValue();
      return signalPassFailure();
    }
    AheadOp asking = chip->hasDependentLaunch ? ask(*plan, *chip) : nullptr;
    ImplicitLocOpBuilder b(function.getLoc(), plan->first);
    TensorMaps maps(function);
    if (tensorStores)
      storeByTma(function, plan->warps, maps);
    Searches searches(function);
    constexpr int64_t kGate = 1024; // of shared memory
    Guards guards = plan->guards(function);
    llvm::SetVector<Operation *> gated = guards.gates(plan->writers);
    int64_t outbox = outboxBytes(function, plan->first);
    int64_t available = share.sharedBytes - searches.bytes() - outbox -
                        clusterBoxBytes(function, plan->warps) -
                        static_cast<int64_t>(gated.size()) * kGate;
    ImplicitLocOpBuilder front(function.getLoc(), frontOf(*plan));
    SmallVector<LoadedPipe> pipes = makePipes(function, *plan, available, maps, front);
    llvm::erase_if(plan->packed, [&](core::LoadOp load) {
      return !comesThrough(pipes.front(), load, plan->warps);
    });
    llvm::DenseMap<Operation *, Value> gates;
    for (Operation *op : gated)
      gates[op] = b.create<GateOp>(GateType::get(b.getContext()));
    auto roles = b.create<RolesOp>();
    Block *producer = b.createBlock(&roles.getProducer()),
          *consumer = b.createBlock(&roles.getConsumer());
    auto rest = [&] {
      return llvm::make_range(std::next(roles->getIterator()),
                              function.front().getTerminator()->getIterator());
    };
    TileProducer(OpBuilder::atBlockEnd(producer), pipes, guards, gates, plan->packed)
        .project(rest());
    eraseDead(*producer);
    for (auto [op, gate] : gates)
      arriveBehind(op, gate);
    for (WaitOp wait : guards.waits())
      leaveToProducer(wait, *plan);
    consumer->getOperations().splice(consumer->end(), function.front().getOperations(),
                                     rest().begin(), rest().end());
    receivePacked(plan->packed, pipes.front().pipe, plan->warps);
    rewriteConsumer(roles.getConsumer(), pipes, share, plan->warps);
    b.setInsertionPoint(roles);
    searches.connect(roles.getProducer(), roles.getConsumer(), b);
    if (outbox)
      deferNotifies(roles, b);
    if (chip->hasDependentLaunch && fillAhead(roles) && asking)
      asking.erase();
    prefetchMaps(roles, pipes.front().pipe.getDefiningOp());
  }

  /// TMA reads maps before it is to copy by them: in a launch of a graph while pipes are made, in front of the wait for
  /// other launches. Else the consumers of large tiles would have a few registers less.
  static void prefetchMaps(RolesOp roles, Operation *pipe) {
    llvm::SetVector<Value> ofLoads, ofStores;
    roles.getProducer().walk([&](TmaLoadOp load) {
      ofLoads.insert(load.getMap());
      if (Value ofParts = load.getPartMap())
        ofLoads.insert(ofParts);
    });
    roles.getConsumer().walk([&](TmaStoreOp store) { ofStores.insert(store.getMap()); });
    auto prefetch = [&](OpBuilder b, ArrayRef<Value> maps) {
      if (!maps.empty())
        b.create<PrefetchMapsOp>(roles.getLoc(), maps);
    };
    OpBuilder inRole = OpBuilder::atBlockBegin(&roles.getProducer().front());
    prefetch(isOfGraph(roles) ? OpBuilder(pipe) : inRole, ofLoads.getArrayRef());
    prefetch(inRole, ofStores.getArrayRef());
  }

  /// Whether some arguments are constants of a graph.
  static bool isOfGraph(RolesOp roles) {
    auto function = roles->getParentOfType<func::FuncOp>();
    return llvm::any_of(function.getArguments(),
                        [](BlockArgument argument) { return gpu::isConstant(argument); });
  }

  /// Where launches in front of the kernel's are waited for: what comes before that has its time.
  static Operation *frontOf(const RolePlan &plan) {
    Operation *access = firstAccess(*plan.first->getBlock());
    bool isInFront = !isRegion(plan.first->getParentOfType<func::FuncOp>()) &&
                     access->isBeforeInBlock(plan.first);
    return isInFront ? access : plan.first;
  }

  /// What a kernel of one rank asks for in front of that, where no slots are filled ahead; null for nothing.
  static AheadOp ask(const RolePlan &plan, const Chip &chip) {
    auto function = plan.first->getParentOfType<func::FuncOp>();
    if (isRegion(function) || function->hasAttr(gpu::kDistributedAttr))
      return nullptr;
    OpBuilder b(frontOf(plan));
    auto ahead = b.create<AheadOp>(plan.first->getLoc(), /*consumers=*/true);
    b.createBlock(&ahead.getBody());
    if (askAhead(b, ahead, chip))
      return ahead;
    ahead.erase();
    return nullptr;
  }

  /// CTAs that a load may be made for at once: those of the cluster, where all its CTAs take the
  /// same way to every load, and each has whole groups of 8 rows to load.
  static int64_t sharersOf(core::LoadOp load) {
    auto cluster = load->getParentOfType<func::FuncOp>()->getAttrOfType<IntegerAttr>(kClusterAttr);
    if (!cluster || tileOf(load.getTile()).getDimSize(0) % (8 * cluster.getInt()) != 0)
      return 1;
    return ClusterValues(cluster.getInt()).canShare(load) ? cluster.getInt() : 1;
  }

  /// Whether a slice is a tile, as a page of keys is: it ends within that as often as not.
  static bool isOneTile(core::LoadOp load) {
    int64_t height = tileOf(load.getTile()).getDimSize(0);
    return isConstantIntValue(load.getCoords()[load.getCoords().size() - 2], 0) &&
           height > kPartRows && height % kPartRows == 0;
  }

  /// Whether copies bring no more rows of a tile than its argument has: what lies beyond takes TMA longer than
  /// what is there. Of left factors with the fewest rows that products of warpgroups have, as higher ones are for
  /// more rows. Not of what comes ahead, nor of tiles that CTAs share.
  static bool isFitted(core::LoadOp load, int64_t sharers) {
    constexpr int64_t kLowest = 64;
    Value view = load.getView();
    std::optional<ArgumentView> part =
        gpu::choicesOf(view).size() == 1 ? ArgumentView::of(view) : std::nullopt;
    bool isLeft = llvm::any_of(load.getTile().getUsers(), [&](Operation *user) {
      auto dot = dyn_cast<core::DotOp>(user);
      return dot && dot.getLhs() == load.getTile();
    });
    return isLeft && sharers == 1 && tileOf(load.getTile()).getDimSize(0) == kLowest && part &&
           !part->page && !mayComeAhead(load->getParentOfType<func::FuncOp>(), view);
  }

  /// Of each tile of a pipe, the rows that copies bring; none where all of them come.
  static SmallVector<Value> rowsOf(const PipeLoads &loads, ImplicitLocOpBuilder &b) {
    constexpr int64_t kRows = abi::TensorMap::kFittedRows;
    SmallVector<Value> rows;
    bool areSome = false;
    for (const PipedTile &tile : loads.tiles) {
      core::LoadOp load = tile.load;
      rows.push_back(b.create<arith::ConstantIndexOp>(tileOf(load.getTile()).getDimSize(0)));
      if (!isFitted(load, sharersOf(load)))
        continue;
      areSome = true;
      ArgumentView view = *ArgumentView::of(load.getView());
      unsigned dim = view.dimensionOf(static_cast<unsigned>(load.getCoords().size()) - 2);
      Value extent = b.create<memref::DimOp>(view.argument, dim);
      Value groups = b.create<arith::CeilDivUIOp>(extent, b.create<arith::ConstantIndexOp>(kRows));
      Value there = b.create<arith::MulIOp>(groups, b.create<arith::ConstantIndexOp>(kRows));
      rows.back() = b.create<arith::MinUIOp>(rows.back(), there);
    }
    return areSome ? rows : SmallVector<Value>();
  }

  /// Whether a packed tile fits into the slots of a pipe, which CTAs that share it fill alike.
  static bool comesThrough(const LoadedPipe &one, core::LoadOp load, int64_t warps) {
    auto pipe = cast<PipeType>(one.pipe.getType());
    return partsOf(tileOf(load.getTile()), pipe, warps) > 0 &&
           (pipe.getCtas() == 1 || ClusterValues(pipe.getCtas()).isSameWay(load));
  }

  static void arriveBehind(Operation *op, Value gate) {
    OpBuilder b(op->getContext());
    b.setInsertionPointAfter(op);
    b.create<GateArriveOp>(op->getLoc(), gate);
  }

  /// What the consumer receives next was loaded behind the same wait of the producer,
  /// and receiving it is as good as the wait; so it waits only where the loop receives nothing.
  static void leaveToProducer(WaitOp wait, const RolePlan &plan) {
    Operation *place = branchOf(wait), *next = place->getNextNode();
    while (next && (isMemoryEffectFree(next) || gpu::isExit(next)) && !isa<scf::ForOp>(next))
      next = next->getNextNode();
    if (auto load = dyn_cast_or_null<core::LoadOp>(next);
        load && llvm::is_contained(plan.packed, load))
      return place->erase();
    auto loop = dyn_cast_or_null<scf::ForOp>(next);
    bool receives = loop && llvm::any_of(plan.pipes, [&](const PipeLoads &loads) {
                      return loads.block == loop.getBody() && loads.isInner();
                    });
    if (!receives)
      return;
    OpBuilder b(loop);
    Value isEmpty = b.create<arith::CmpIOp>(wait.getLoc(), arith::CmpIPredicate::sge,
                                            loop.getLowerBound(), loop.getUpperBound());
    auto branch = b.create<scf::IfOp>(wait.getLoc(), isEmpty, /*withElseRegion=*/false);
    place->moveBefore(branch.thenBlock()->getTerminator());
  }

  /// The branch that has a wait and nothing else; the wait itself where it is in none.
  static Operation *branchOf(WaitOp wait) {
    auto branch = dyn_cast<scf::IfOp>(wait->getParentOp());
    bool isAlone =
        branch && !branch.elseBlock() && llvm::all_of(*wait->getBlock(), [&](Operation &op) {
          return &op == wait || isMemoryEffectFree(&op) || isa<scf::YieldOp>(op);
        });
    return isAlone ? branch.getOperation() : wait.getOperation();
  }

  static void rewriteConsumer(Region &consumer, ArrayRef<LoadedPipe> pipes, const Chip &share,
                              int64_t warps) {
    for (const LoadedPipe &one : pipes)
      receiveAndMultiply(one.loads, one.pipe, warps);
    SmallVector<scf::ForOp> loops;
    consumer.walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      overlapProducts(loop, warps);
    waitForProducts(consumer);
    promoteInParts(consumer, share, warps);
  }

  /// As many slots as fit into `available` bytes beside what ops need for the moment, for each
  /// inner pipe alike; tiles that stay have two if that takes none from the others.
  SmallVector<LoadedPipe> makePipes(func::FuncOp function, const RolePlan &plan, int64_t available,
                                    TensorMaps &maps, ImplicitLocOpBuilder &b) {
    int64_t momentary = 0, staged = 0;
    function.walk([&](Operation *op) { momentary = std::max(momentary, momentaryBytes(op)); });
    function.walk([&](TmaStoreOp) { staged = tmaStoreBytes(plan.warps); });
    SmallVector<LoadedPipe> pipes;
    SmallVector<int64_t> shared; // the number of the first pipe of the same tiles
    int64_t inner = 0, outer = 0;
    for (const PipeLoads &loads : plan.pipes) {
      LoadedPipe one{loads, nullptr, {}, {}};
      int64_t bytes = 0;
      for (const PipedTile &tile : loads.tiles) {
        int64_t sharers = sharersOf(tile.load);
        auto &own = one.maps.emplace_back(), &ofParts = one.partMaps.emplace_back();
        core::LoadOp load = tile.load;
        int64_t height = tileOf(load.getTile()).getDimSize(0);
        bool isOfFewRows = isFitted(load, sharers);
        bool mayEnd = tile.isClipped && sharers == 1 && !isOfFewRows && isOneTile(load);
        for (Value view : choicesOf(load.getView())) {
          own.push_back(maps.of(load, view, height / sharers, isOfFewRows));
          if (mayEnd)
            ofParts.push_back(maps.of(load, view, kPartRows, /*isFitted=*/false));
        }
        one.shared.push_back(sharers > 1);
        one.ctas = std::max(one.ctas, sharers);
      }
      for (RankedTensorType tile : tilesOf(loads))
        bytes += bytesOf(tile);
      auto same = llvm::find_if(pipes, [&](LoadedPipe &other) {
        return other.maps == one.maps && other.shared == one.shared &&
               other.loads.isInner() == loads.isInner() && tilesOf(other.loads) == tilesOf(loads);
      });
      shared.push_back(same - pipes.begin());
      if (same == pipes.end())
        (loads.isInner() ? inner : outer) += bytes;
      pipes.push_back(std::move(one));
    }
    constexpr int64_t kBarriers = 1024; // of a pipe
    auto pipeCount = static_cast<int64_t>(llvm::count_if(
        llvm::enumerate(shared), [](auto one) { return one.value() == int64_t(one.index()); }));
    auto [slots, slotsOfOuter] =
        chooseSlots(available - rounded(momentary) - staged - pipeCount * kBarriers, inner, outer);
    for (auto [n, one] : llvm::enumerate(pipes)) {
      int64_t count = one.loads.isInner() ? slots : slotsOfOuter;
      bool isFirst = shared[n] == static_cast<int64_t>(n);
      auto type = PipeType::get(b.getContext(), count, tilesOf(one.loads), one.ctas);
      one.pipe = isFirst ? Value(b.create<PipeOp>(type, rowsOf(one.loads, b), /*leaving=*/false))
                         : pipes[static_cast<size_t>(shared[n])].pipe;
    }
    return pipes;
  }

  static SmallVector<RankedTensorType> tilesOf(const PipeLoads &loads) {
    SmallVector<RankedTensorType> tiles;
    for (PipedTile tile : loads.tiles)
      tiles.push_back(inPanels(tileOf(tile.load.getTile())));
    return tiles;
  }

  /// Slots of inner pipes and of outer ones, whose tiles have `inner` and `outer` bytes.
  std::pair<int64_t, int64_t> chooseSlots(int64_t available, int64_t inner, int64_t outer) const {
    constexpr int64_t kMost = 16;
    auto fit = [&](int64_t ofOuter) {
      int64_t most = stages ? static_cast<int64_t>(stages) : kMost;
      int64_t fitting = inner ? (available - ofOuter * outer) / inner : most;
      return std::clamp<int64_t>(fitting, 0, most);
    };
    int64_t slots = std::max<int64_t>(1, stages ? static_cast<int64_t>(stages) : fit(1));
    bool hasRoom = fit(2) >= slots;
    return {slots, hasRoom ? 2 : 1};
  }
};

} // namespace
} // namespace ditron::nvidia
