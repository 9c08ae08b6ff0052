// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nvidia-specialize-warps: a kernel that nvidia-assign-layouts has chosen roles for is split into
// them. One thread walks the loops ahead and has the copy engine fetch tiles; the warpgroups
// multiply them and do all the rest.
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
//         nvidia.fetch %A[%i, %k] by %mapA to %pipe[%slot] tile 0
//         nvidia.fetch %B[%k, %j] by %mapB to %pipe[%slot] tile 1
//       }
//     }
//   } consumer {
//     scf.for %t = ... {
//       %d = scf.for %k = %lb to %ub step %s iter_args(%sum = %zero) {
//         %a, %b = nvidia.receive %pipe
//         %d = nvidia.multiply %a, %b, %sum
//         nvidia.settle 1                           // the product of the iteration before is done
//         nvidia.release %pipe if (%k > %lb)        // and its slot free
//         scf.yield %d
//       }
//       %acc = nvidia.settle 0 of %d
//       nvidia.release %pipe if (%lb < %ub)
//       tile.store %acc, %C[%i, %j]
//     }
//   }
//
// So one product is under way while the next one's tiles are waited for, and tiles of the next
// turn of the outer loop arrive while this one's result is stored. A product whose result the
// iteration itself reads is settled at once. test/target/nvidia/specialize-warps.mlir shows it.
#include "ditron/support/Error.h"
#include "ditron/target/nvidia/NvidiaOps.h"
#include "ditron/target/nvidia/transforms/Roles.h"
#include "ditron/target/nvidia/transforms/ThreadLowering.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Iterators.h"

using namespace mlir;

namespace ditron::nvidia {

#define GEN_PASS_DEF_SPECIALIZEWARPS
#include "ditron/target/nvidia/transforms/Passes.h.inc"

namespace {

/// Pieces of shared memory begin at such multiples.
int64_t rounded(int64_t bytes) { return (bytes + 1023) / 1024 * 1024; }

int64_t bytesOf(RankedTensorType tile) {
  return rounded(tile.getNumElements() * storageBytes(tile.getElementType()));
}

/// The tensor maps of a kernel: arguments, one for each argument and box.
class TensorMaps {
public:
  explicit TensorMaps(func::FuncOp function) : function_(function) {}

  /// `members`: cores that fetch the tile together.
  Value of(core::LoadOp load, int64_t members) {
    RankedTensorType tile = tileOf(load.getTile());
    return of(cast<BlockArgument>(load.getView()), tile.getElementType(),
              tile.getDimSize(0) / members);
  }
  Value of(core::StoreOp store) {
    constexpr int64_t kRows = 64; // see DeliverPatterns.cpp
    return of(cast<BlockArgument>(store.getView()), tileOf(store.getTile()).getElementType(),
              kRows);
  }

private:
  /// For boxes of so many rows of 128 bytes.
  Value of(BlockArgument view, Type element, int64_t rows) {
    Builder b(function_);
    SmallVector<int64_t> box(static_cast<size_t>(cast<MemRefType>(view.getType()).getRank()), 1);
    box.back() = kPanelBytes / storageBytes(element);
    box[box.size() - 2] = rows;
    SmallVector<NamedAttribute> fields{
        b.getNamedAttr("argument", b.getI64IntegerAttr(view.getArgNumber())),
        b.getNamedAttr("box", b.getDenseI64ArrayAttr(box))};
    if (element.isF32()) // as products read them
      fields.push_back(b.getNamedAttr("tf32", b.getUnitAttr()));
    DictionaryAttr wanted = b.getDictionaryAttr(fields);
    for (unsigned n = 0; n < function_.getNumArguments(); ++n)
      if (function_.getArgAttr(n, kTensorMapAttr) == wanted)
        return function_.getArgument(n);
    unsigned n = function_.getNumArguments();
    function_.insertArgument(n, LLVM::LLVMPointerType::get(function_.getContext()),
                             b.getDictionaryAttr({b.getNamedAttr(kTensorMapAttr, wanted)}),
                             function_.getLoc());
    return function_.getArgument(n);
  }

  func::FuncOp function_;
};

/// A fed loop, its pipe and the tensor maps of its loads.
struct Feed {
  FedLoop fed;
  Value pipe;
  SmallVector<Value, 2> maps;
  SmallVector<Value, 2> pages; ///< of symmetric memory; null for others
  SmallVector<bool, 2> shared; ///< of each load: fetched by all cores of a cluster together
};

/// Writes what the producer does: the control flow around the loads, and what it is computed from.
class Producer {
public:
  Producer(OpBuilder b, ArrayRef<Feed> feeds) : b_(b), feeds_(feeds) {}

  void project(llvm::iterator_range<Block::iterator> ops) {
    for (Operation &op : ops)
      project(op);
  }

private:
  bool feeds(Operation &op) {
    return llvm::any_of(feeds_, [&](Feed feed) { return op.isAncestor(feed.fed.loop); });
  }

  void project(Operation &op) {
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && feeds(op))
      return projectLoop(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op); branch && feeds(op))
      return projectBranch(branch);
    bool isOfTiles = llvm::any_of(op.getOperands(), [](Value v) { return isTile(v); }) ||
                     llvm::any_of(op.getResults(), [](Value v) { return isTile(v); });
    bool isKnown = llvm::all_of(
        op.getOperands(), [&](Value v) { return mapping_.contains(v) || !inside_.contains(v); });
    if (!isOfTiles && isKnown && op.getNumRegions() == 0 && isMemoryEffectFree(&op) &&
        !op.hasTrait<OpTrait::IsTerminator>())
      b_.clone(op, mapping_);
    else
      inside_.insert(op.getResults().begin(), op.getResults().end());
  }

  void projectLoop(scf::ForOp loop) {
    auto copy = b_.create<scf::ForOp>(loop.getLoc(), mapped(loop.getLowerBound()),
                                      mapped(loop.getUpperBound()), mapped(loop.getStep()));
    mapping_.map(loop.getInductionVar(), copy.getInductionVar());
    inside_.insert(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
    inside_.insert(loop.getResults().begin(), loop.getResults().end());
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPoint(copy.getBody()->getTerminator());
    project(llvm::make_range(loop.getBody()->begin(), loop.getBody()->end()));
    for (const Feed &feed : feeds_)
      if (feed.fed.loop == loop)
        fetch(feed);
  }

  void projectBranch(scf::IfOp branch) {
    inside_.insert(branch.getResults().begin(), branch.getResults().end());
    auto copy = b_.create<scf::IfOp>(branch.getLoc(), mapped(branch.getCondition()),
                                     /*withElseRegion=*/branch.elseBlock() != nullptr);
    for (auto [from, to] :
         {std::pair(branch.thenBlock(), copy.thenBlock()), {branch.elseBlock(), copy.elseBlock()}})
      if (from) {
        OpBuilder::InsertionGuard guard(b_);
        b_.setInsertionPoint(to->getTerminator());
        project(llvm::make_range(from->begin(), from->end()));
      }
  }

  void fetch(Feed feed) {
    Value slot = b_.create<AcquireOp>(feed.fed.loop.getLoc(), b_.getIndexType(), feed.pipe);
    for (auto [n, load] : llvm::enumerate(feed.fed.loads)) {
      SmallVector<Value> coords;
      for (Value coord : load.getCoords())
        coords.push_back(mapped(coord));
      b_.create<FetchOp>(load.getLoc(), load.getView(), coords, feed.maps[n], feed.pipe, slot,
                         static_cast<uint64_t>(n), tileOf(load.getTile()).getShape(), feed.pages[n],
                         feed.shared[n]);
    }
  }

  Value mapped(Value value) { return mapping_.lookupOrDefault(value); }

  OpBuilder b_;
  ArrayRef<Feed> feeds_;
  IRMapping mapping_;
  /// What is computed where only the other role goes.
  llvm::DenseSet<Value> inside_;
};

/// Rewrites a fed loop as the warpgroups execute it.
class Consumer {
public:
  explicit Consumer(const Feed &feed)
      : fed_(feed.fed), pipe_(feed.pipe), b_(fed_.loop.getLoc(), fed_.loop) {}

  void rewrite() {
    receive();
    bool isAsync = cast<PipeType>(pipe_.getType()).getSlots() > 1 &&
                   llvm::all_of(fed_.dots, [&](core::DotOp dot) {
                     return accumulates(dot) && !hasRuns(dot) && isWide(dot);
                   });
    for (core::DotOp dot : fed_.dots)
      multiply(dot, isAsync, dot == fed_.dots.back());
    if (!isAsync)
      return;
    b_.setInsertionPoint(fed_.loop.getBody()->getTerminator());
    b_.create<SettleOp>(TypeRange(), static_cast<int64_t>(fed_.dots.size()), ValueRange());
    b_.create<ReleaseOp>(pipe_, compare(fed_.loop.getInductionVar(), fed_.loop.getLowerBound()));
    settleResults();
  }

private:
  /// Whether a product goes into the same product of the next iteration and nowhere else.
  bool accumulates(core::DotOp dot) {
    auto sum = dyn_cast<BlockArgument>(dot.getAcc());
    if (!sum || sum.getOwner() != fed_.loop.getBody() || sum.getArgNumber() == 0 ||
        !sum.hasOneUse() || !dot.getResult().hasOneUse())
      return false;
    OpOperand &use = *dot.getResult().use_begin();
    return isa<scf::YieldOp>(use.getOwner()) && use.getOwner()->getBlock() == sum.getOwner() &&
           use.getOperandNumber() == sum.getArgNumber() - 1;
  }

  Value compare(Value greater, Value than) {
    return b_.create<arith::CmpIOp>(arith::CmpIPredicate::sgt, greater, than);
  }

  void receive() {
    b_.setInsertionPointToStart(fed_.loop.getBody());
    SmallVector<Type> types(cast<PipeType>(pipe_.getType()).getTiles());
    auto tiles = b_.create<ReceiveOp>(types, pipe_).getTiles();
    for (auto [load, tile] : llvm::zip(fed_.loads, tiles)) {
      load.getTile().replaceAllUsesWith(tile);
      load.erase();
      retypeTransposed(tile);
    }
  }

  /// A tile in whole panels is as wide transposed.
  void retypeTransposed(Value tile) {
    for (Operation *user : tile.getUsers()) {
      auto transpose = dyn_cast<core::TransposeOp>(user);
      if (!transpose)
        continue;
      RankedTensorType type = tileOf(tile);
      SmallVector<int> dims(transpose.getPermutation());
      SmallVector<int64_t> shape{type.getDimSize(dims[0]), type.getDimSize(dims[1])};
      Layout layout = *core::transpose(core::layoutOf(type), shapeOf(type), dims);
      transpose.getResult().setType(
          core::withLayout(RankedTensorType::get(shape, type.getElementType()), layout));
      retypeTransposed(transpose.getResult());
    }
  }

  /// Whether a product takes long enough that the next one is to be begun before it is done. Narrow
  /// ones wait for memory; and the assembler would have them one after the other with a warning.
  static bool isWide(core::DotOp dot) {
    constexpr int64_t kNarrow = 32;
    return tileOf(dot.getAcc()).getDimSize(1) > kNarrow;
  }

  static bool hasRuns(core::DotOp dot) {
    return warpgroupProduct(tileOf(dot.getLhs()).getElementType(), dot.getPrecision()).run != 0;
  }

  /// A product that f32 is to take over is one of its own, and added when it is done.
  void multiply(core::DotOp dot, bool isAsync, bool isLast) {
    b_.setInsertionPoint(dot);
    RankedTensorType type = tileOf(dot.getResult());
    bool isAdded = hasRuns(dot);
    Value acc = dot.getAcc();
    if (isAdded)
      acc = b_.create<arith::ConstantOp>(cast<TypedAttr>(b_.getZeroAttr(type)));
    Value product = b_.create<MultiplyOp>(type, dot.getLhs(), dot.getRhs(), acc);
    if (!isAsync)
      product = b_.create<SettleOp>(TypeRange(type), 0, product).getSettled()[0];
    if (!isAsync && isLast)
      b_.create<ReleaseOp>(pipe_, b_.create<arith::ConstantIntOp>(1, 1));
    if (isAdded)
      product = b_.create<arith::AddFOp>(dot.getAcc(), product);
    dot.getResult().replaceAllUsesWith(product);
    dot.erase();
  }

  void settleResults() {
    b_.setInsertionPointAfter(fed_.loop);
    SmallVector<Value> results;
    for (Value result : fed_.loop.getResults())
      if (isTile(result) && isProduct(result))
        results.push_back(result);
    auto settled = b_.create<SettleOp>(ValueRange(results).getTypes(), 0, results);
    for (auto [before, after] : llvm::zip(results, settled.getSettled()))
      before.replaceAllUsesExcept(after, settled);
    b_.create<ReleaseOp>(pipe_, compare(fed_.loop.getUpperBound(), fed_.loop.getLowerBound()));
  }

  bool isProduct(Value result) {
    unsigned n = cast<OpResult>(result).getResultNumber();
    return fed_.loop.getYieldedValues()[n].getDefiningOp<MultiplyOp>() != nullptr;
  }

  FedLoop fed_;
  Value pipe_;
  ImplicitLocOpBuilder b_;
};

class SpecializeWarps : public impl::SpecializeWarpsBase<SpecializeWarps> {
public:
  using SpecializeWarpsBase::SpecializeWarpsBase;

private:
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!function->hasAttr(kProducerWarpsAttr))
      return;
    const Chip *chip = findChip(chipName);
    auto plan =
        chip ? planRoles(function, *chip, warpsOf(function.front().getTerminator())) : std::nullopt;
    if (!plan)
      throw InternalError("a kernel with roles that cannot be split into them for " + chipName);
    ImplicitLocOpBuilder b(function.getLoc(), plan->first);
    TensorMaps maps(function);
    if (tensorStores)
      deliver(function, plan->warps, maps);
    SmallVector<Feed, 2> feeds = makePipes(function, *plan, *chip, maps, b);
    auto roles = b.create<RolesOp>();
    Block *producer = b.createBlock(&roles.getProducer()),
          *consumer = b.createBlock(&roles.getConsumer());
    auto rest = [&] {
      return llvm::make_range(std::next(roles->getIterator()),
                              function.front().getTerminator()->getIterator());
    };
    Producer(OpBuilder::atBlockEnd(producer), feeds).project(rest());
    eraseDead(*producer);
    consumer->getOperations().splice(consumer->end(), function.front().getOperations(),
                                     rest().begin(), rest().end());
    for (const Feed &feed : feeds)
      Consumer(feed).rewrite();
  }

  /// Stores of tiles as products leave them become those of the copy engine.
  static void deliver(func::FuncOp function, int64_t warps, TensorMaps &maps) {
    SmallVector<core::StoreOp> stores;
    function.walk([&](core::StoreOp store) {
      if (isDeliverable(store, warps))
        stores.push_back(store);
    });
    for (core::StoreOp store : stores) {
      OpBuilder b(store);
      b.create<DeliverOp>(store.getLoc(), store.getTile(), store.getView(), store.getCoords(),
                          maps.of(store));
      store.erase();
    }
  }

  /// Cores that a load may be made for at once: those of the cluster, where the ways of all its
  /// members to every load are one, and each has whole groups of 8 rows to fetch.
  static int64_t sharersOf(core::LoadOp load, int64_t cluster) {
    bool isDivided = tileOf(load.getTile()).getDimSize(0) % (8 * cluster) == 0;
    return isDivided && isSameInCluster(load) ? cluster : 1;
  }

  /// As many slots as fit beside what ops need for the moment, for each loop alike.
  SmallVector<Feed, 2> makePipes(func::FuncOp function, const RolePlan &plan, const Chip &chip,
                                 TensorMaps &maps, ImplicitLocOpBuilder &b) {
    constexpr int64_t kMost = 16, kSlack = 1024; // for barriers
    int64_t momentary = 0, delivered = 0, bytes = 0;
    function.walk([&](Operation *op) { momentary = std::max(momentary, momentaryBytes(op)); });
    function.walk([&](DeliverOp) { delivered += deliveryBytes(plan.warps); });
    for (const FedLoop &one : plan.loops)
      for (core::LoadOp load : one.loads)
        bytes += bytesOf(inPanels(tileOf(load.getTile())));
    auto attribute = function->getAttrOfType<IntegerAttr>(kClusterAttr);
    int64_t cluster = attribute ? attribute.getInt() : 1;
    auto loops = static_cast<int64_t>(plan.loops.size());
    int64_t fit = (chip.sharedBytes - rounded(momentary) - delivered - loops * kSlack) / bytes;
    int64_t slots = stages ? stages : std::clamp<int64_t>(fit, 1, kMost);
    SmallVector<Feed, 2> feeds;
    for (const FedLoop &one : plan.loops) {
      Feed feed{one, {}, {}, {}};
      SmallVector<RankedTensorType> tiles;
      int64_t members = 1;
      for (core::LoadOp load : one.loads) {
        int64_t sharers = sharersOf(load, cluster);
        tiles.push_back(inPanels(tileOf(load.getTile())));
        feed.maps.push_back(maps.of(load, sharers));
        feed.pages.push_back(Value());
        feed.shared.push_back(sharers > 1);
        members = std::max(members, sharers);
      }
      feed.pipe = b.create<PipeOp>(PipeType::get(b.getContext(), slots, tiles, members));
      feeds.push_back(std::move(feed));
    }
    return feeds;
  }

  /// Erases what the producer computed and does not need, users first.
  static void eraseDead(Block &block) {
    block.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
      if (isOpTriviallyDead(op))
        op->erase();
    });
  }
};

} // namespace
} // namespace ditron::nvidia
