// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/analysis/Roles.h"
#include "ditron/device/DistOps.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/nvidia/analysis/Projection.h"
#include "ditron/targets/nvidia/analysis/Sends.h"
#include "ditron/targets/nvidia/analysis/TensorViews.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ditron::nvidia {

RankedTensorType inPanels(RankedTensorType tile) {
  int64_t bytes = core::elementBytes(tile.getElementType()), width = kPanelBytes / bytes;
  Shape shape = shapeOf(tile);
  shape.back() = (shape.back() + width - 1) / width * width;
  return core::withLayout(RankedTensorType::get(shape, tile.getElementType()),
                          sharedPanels(shape, bytes));
}

namespace {

constexpr int64_t kMostWidth = 256; ///< columns of one wgmma, and extents of a TMA box

/// Whether an operand's tile is what panels and boxes can hold. One that is not K-major, which
/// 16-bit floats alone may be, may have a last panel wider than what is left for it.
bool fitsPanels(RankedTensorType tile, bool isKMajor) {
  int64_t bytes = core::elementBytes(tile.getElementType());
  int64_t width = isKMajor ? kPanelBytes / bytes : 8;
  return tile.getRank() == 2 && (isKMajor || bytes == 2) && tile.getDimSize(1) % width == 0 &&
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

/// What the registers of a thread allow.
struct Accumulators {
  int64_t most;    ///< of a thread
  int64_t columns; ///< of one wgmma
};

Accumulators accumulatorsOf(const Chip &share, int64_t warps) {
  constexpr int64_t kMost = 192, kBeside = 40; // the latter registers hold other things
  constexpr int64_t kOfProduct = 26;           // and these the assembler wants beside one wgmma's
  RoleRegisters registers = roleRegisters(share, warps, kRegistersOfLoads);
  return {std::min(kMost, registers.computing - kBeside),
          std::min(kMostWidth, 2 * (registers.launched - kOfProduct))};
}

bool fitsWarpgroups(core::DotOp dot, int64_t warps, const Chip &share) {
  RankedTensorType lhs = tileOf(dot.getLhs()), rhs = tileOf(dot.getRhs()),
                   acc = tileOf(dot.getAcc());
  if (lhs.getElementType() != rhs.getElementType() || acc.getRank() != 2)
    return false;
  WarpgroupProduct product = warpgroupProduct(lhs.getElementType(), dot.getPrecision());
  int64_t groups = warps / kWarpgroup, rows = acc.getDimSize(0), columns = acc.getDimSize(1);
  Accumulators allowed = accumulatorsOf(share, warps);
  int64_t accumulators = rows * columns / (warps * kLanes);
  bool isStep = columns % product.columns == 0 || columns <= 32;
  return product.type && rows % (kProductRows * groups) == 0 && columns % 8 == 0 && isStep &&
         columns <= allowed.columns && lhs.getDimSize(1) % product.depth == 0 &&
         accumulators <= allowed.most &&
         (!product.run ||
          (lhs.getDimSize(1) <= product.run && promotedColumns(share, warps, rows, columns) > 0));
}

/// Whether all that is computed of the rows of a load, which need not lie in its view, is dropped
/// where a view ends that has as many of them.
class RowsBeyond {
public:
  explicit RowsBeyond(core::LoadOp load) : load_(load) {}
  bool areDropped() { return areDropped(load_.getTile(), 0); }

private:
  bool areDropped(Value tile, unsigned dim) {
    if (!seen_.insert({tile, dim}).second)
      return true;
    return llvm::all_of(tile.getUses(), [&](OpOperand &use) { return isHarmless(use, dim); });
  }

  bool isHarmless(OpOperand &use, unsigned dim) {
    Operation *user = use.getOwner();
    unsigned n = use.getOperandNumber();
    if (isElementwise(user) || isa<core::ConvertLayoutOp>(user))
      return areDropped(user->getResult(0), dim);
    if (auto transpose = dyn_cast<core::TransposeOp>(user))
      return areDropped(transpose.getResult(), transpose.getPermutation()[0] == dim ? 0 : 1);
    if (auto broadcast = dyn_cast<core::BroadcastOp>(user))
      return areDropped(broadcast.getResult(), dim);
    if (auto reduce = dyn_cast<core::ReduceOp>(user))
      return reduce.getAxis() != dim && areDropped(reduce.getResult(), dim);
    if (auto dot = dyn_cast<core::DotOp>(user))
      return (n == 2 || n == dim) && areDropped(dot.getResult(), dim);
    if (auto store = dyn_cast<core::StoreOp>(user))
      return endsAlike(store, dim);
    if (auto loop = dyn_cast<scf::ForOp>(user))
      return areDropped(loop.getTiedLoopRegionIterArg(&use), dim) &&
             areDropped(loop.getTiedLoopResult(&use), dim);
    return isa<scf::YieldOp>(user) && areDroppedBehind(user->getParentOp(), n, dim);
  }

  bool areDroppedBehind(Operation *parent, unsigned n, unsigned dim) {
    auto loop = dyn_cast<scf::ForOp>(parent);
    return areDropped(parent->getResult(n), dim) &&
           (!loop || areDropped(loop.getRegionIterArg(n), dim));
  }

  bool endsAlike(core::StoreOp store, unsigned dim) {
    auto placeOf = [&](auto op, RankedTensorType tile, unsigned of) {
      unsigned lead = static_cast<unsigned>(op.getCoords().size() - tile.getRank()) + of;
      return std::tuple(op.getCoords()[lead], extentOf(op.getView(), lead).of,
                        extentOf(op.getView(), lead).dimension, tile.getDimSize(of));
    };
    RankedTensorType stored = tileOf(store.getTile()), loaded = tileOf(load_.getTile());
    return stored.getRank() == 2 && placeOf(store, stored, dim) == placeOf(load_, loaded, 0);
  }

  core::LoadOp load_;
  llvm::DenseSet<std::pair<Value, unsigned>> seen_;
};

bool isZero(std::optional<TypedAttr> padding, Type element) {
  return !padding || *padding == Builder(element.getContext()).getZeroAttr(element);
}

bool isComputed(Value operand) { return !untransposed(operand).getDefiningOp<core::LoadOp>(); }

class Planner {
public:
  Planner(func::FuncOp function, const Chip &share, int64_t warps)
      : function_(function), share_(share), warps_(warps) {}

  std::optional<RolePlan> plan() {
    WalkResult found = function_.walk([&](core::DotOp dot) {
      return add(dot) ? WalkResult::advance() : WalkResult::interrupt();
    });
    if (found.wasInterrupted() || pipes_.empty() || !(first_ = firstOfRoles(function_)) ||
        overwrites() || !hasRegisters())
      return std::nullopt;
    RolePlan plan{first_, pipes_, warps_, writers_};
    Guards guards = plan.guards(function_);
    if (!waitsAreKnown(guards) || mayLeave(guards))
      return std::nullopt;
    addPacked(plan);
    return plan;
  }

private:
  bool add(core::DotOp dot) {
    return fitsWarpgroups(dot, warps_, share_) &&
           (isComputed(dot.getLhs())
                ? core::elementBytes(tileOf(dot.getLhs()).getElementType()) == 2
                : add(dot, dot.getLhs(), !isTransposed(dot.getLhs()))) &&
           add(dot, dot.getRhs(), isTransposed(dot.getRhs()));
  }

  /// `isKMajor`: the operand's contiguous dimension is summed over.
  bool add(core::DotOp dot, Value operand, bool isKMajor) {
    auto load = untransposed(operand).getDefiningOp<core::LoadOp>();
    if (!load || !projection_.reaches(load) || !projection_.computes(load.getView()) ||
        !fitsPanels(tileOf(load.getTile()), isKMajor) ||
        !isZero(load.getPadding(), tileOf(load.getTile()).getElementType()) ||
        !llvm::all_of(load.getCoords(), [&](Value at) { return projection_.computes(at); }) ||
        !gpu::onlyReadByDots(load.getTile()))
      return false;
    bool isClipped = false;
    for (Value one : choicesOf(load.getView())) {
      auto view = mappedArgument(function_, one);
      if (!view)
        return false;
      auto row = static_cast<unsigned>(cast<MemRefType>(one.getType()).getRank() - 2);
      isClipped |=
          !view->dimensions[view->dimensionOf(row)].isWhole && !RowsBeyond(load).areDropped();
    }
    PipeLoads &pipe = pipeOf(load, dot);
    if (!llvm::any_of(pipe.tiles, [&](PipedTile &tile) { return tile.load == load; }))
      pipe.tiles.push_back({load, isClipped});
    if (!llvm::is_contained(pipe.dots, dot))
      pipe.dots.push_back(dot);
    return true;
  }

  /// The pipe of a load: what one product of a block reads shares one; a tile that stays for
  /// several products has its own.
  PipeLoads &pipeOf(core::LoadOp load, core::DotOp dot) {
    for (PipeLoads &pipe : pipes_)
      if (llvm::any_of(pipe.tiles, [&](PipedTile &tile) { return tile.load == load; }))
        return pipe;
    if (load->getBlock() == dot->getBlock())
      for (PipeLoads &pipe : pipes_)
        if (pipe.block == load->getBlock() && llvm::is_contained(pipe.dots, dot))
          return pipe;
    return pipes_.emplace_back(PipeLoads{load->getBlock(), {}, {}});
  }

  /// Packed tiles of symmetric memory that the kernel does not write itself, if the producer can
  /// find them and wait for them.
  void addPacked(RolePlan &plan) {
    if (pipes_.size() != 1 || !pipes_[0].isInner())
      return;
    function_.walk([&](core::LoadOp load) {
      bool isFound =
          load->hasAttr(device::kPackedAttr) && !isInPipe(load) && projection_.reaches(load) &&
          projection_.computes(load.getView()) &&
          llvm::all_of(load.getCoords(), [&](Value at) { return projection_.computes(at); });
      if (isFound && !isStored(rootOf(load.getView())))
        plan.packed.push_back(load);
    });
    Guards guards = plan.guards(function_);
    if (!waitsAreKnown(guards) || mayLeave(guards))
      plan.packed.clear();
  }

  bool isInPipe(core::LoadOp load) const {
    return pipes_[0].block->getParentOp()->isAncestor(load);
  }

  /// What a tile is stored to on a peer is read there behind a wait.
  static bool isStoredToPeer(Operation *op, Value view) {
    return isa<core::StoreOp>(op) && gpu::isOnPeer(view);
  }

  bool isStored(BlockArgument root) {
    WalkResult result = function_.walk([&](Operation *op) {
      Value view = isa<core::LoadOp, core::GatherOp>(op) ? nullptr : viewOf(op);
      if (auto move = dyn_cast<MoveOp>(op))
        view = move.getDestination();
      bool isWritten = view && rootOf(view) == root && !isStoredToPeer(op, view);
      return isWritten ? WalkResult::interrupt() : WalkResult::advance();
    });
    return !root || result.wasInterrupted();
  }

  /// Whether a store makes operands that only then are loaded, in a kernel without barriers: waits
  /// come between them where other CTAs store, too.
  bool isBeforeAllLoads(Operation *op) {
    bool meets = function_.walk([](MeetOp) { return WalkResult::interrupt(); }).wasInterrupted();
    Operation *top = function_.front().findAncestorOpInBlock(*op);
    return isa<core::StoreOp>(op) && !meets && llvm::all_of(pipes_, [&](PipeLoads &pipe) {
             return llvm::all_of(pipe.tiles, [&](PipedTile &tile) {
               return top->isBeforeInBlock(function_.front().findAncestorOpInBlock(*tile.load));
             });
           });
  }

  /// Whether the kernel writes what the producer loads, which is then not to be prefetched.
  bool overwrites() {
    llvm::SmallPtrSet<Value, 4> loaded;
    bool isHandedOn = false;
    for (PipeLoads &pipe : pipes_)
      for (PipedTile &tile : pipe.tiles)
        for (Value view : choicesOf(tile.load.getView())) {
          loaded.insert(rootOf(view));
          isHandedOn |= !gpu::isReadOnly(view);
        }
    Operation *sends = sendsAhead(function_, first_);
    WalkResult result = function_.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op == sends) // what it writes on a peer is read there behind a wait
        return WalkResult::skip();
      if (isHandedOn && isa<MeetOp>(op)) // behind which there may be what others wrote
        writers_.push_back(op);
      Value view = isa<core::LoadOp, core::GatherOp>(op) ? nullptr : viewOf(op);
      if (auto move = dyn_cast<MoveOp>(op))
        view = move.getDestination();
      if (!view)
        return WalkResult::advance();
      BlockArgument root = rootOf(view);
      if (root && loaded.contains(root) && (isa<MoveOp>(op) || isBeforeAllLoads(op))) {
        writers_.push_back(op);
        return WalkResult::advance();
      }
      return root && !loaded.contains(root) ? WalkResult::advance() : WalkResult::interrupt();
    });
    return result.wasInterrupted();
  }

  /// Whether the producer can wait for what the program waits for before it loads tiles.
  bool waitsAreKnown(const Guards &guards) {
    return llvm::all_of(guards.waits(), [&](WaitOp wait) {
      return projection_.reaches(wait) && projection_.computesOperands(wait);
    });
  }

  /// Whether threads may end the kernel where others would wait for them: the producer does not
  /// find out by itself that they do.
  bool mayLeave(const Guards &guards) {
    WalkResult result = function_.walk([&](LLVM::InlineAsmOp op) {
      Operation *top = function_.front().findAncestorOpInBlock(*op);
      bool isKnown =
          top->isBeforeInBlock(first_) || !guards.precedesLoad(op) || projection_.foresees(op);
      return isKnown ? WalkResult::advance() : WalkResult::interrupt();
    });
    return result.wasInterrupted();
  }

  /// Whether the products of each block and their computed operands leave registers for the rest.
  bool hasRegisters() {
    llvm::DenseMap<Block *, int64_t> elements; // in units of a register of every thread
    function_.walk([&](core::DotOp dot) {
      elements[dot->getBlock()] += tileOf(dot.getAcc()).getNumElements();
      if (isComputed(dot.getLhs()))
        elements[dot->getBlock()] += tileOf(dot.getLhs()).getNumElements() / 2;
    });
    int64_t most = accumulatorsOf(share_, warps_).most * warps_ * kLanes;
    return llvm::all_of(elements, [&](auto one) { return one.second <= most; });
  }

  func::FuncOp function_;
  const Chip &share_;
  int64_t warps_;
  Projection projection_;
  SmallVector<PipeLoads> pipes_;
  SmallVector<Operation *> writers_;
  Operation *first_ = nullptr;
};

} // namespace

Operation *firstOfRoles(func::FuncOp function) {
  for (Operation &op : function.front()) {
    WalkResult result = op.walk([](Operation *inner) {
      bool isOfTiles = llvm::any_of(inner->getOperands(), [](Value v) { return isTile(v); }) ||
                       llvm::any_of(inner->getResults(), [](Value v) { return isTile(v); });
      bool speaks = isOfThreads(inner) && !isMemoryEffectFree(inner) &&
                    !isa<BeginOp, OpenOp, AbortOp, ReleaseCopiesOp, ClusterBoxOp, LogOp>(inner);
      return speaks || (isOfTiles && !isa<arith::ConstantOp>(inner)) ? WalkResult::interrupt()
                                                                     : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return &op;
  }
  return nullptr;
}

Guards RolePlan::guards(func::FuncOp function) const {
  SmallVector<Operation *> loads;
  for (const PipeLoads &pipe : pipes)
    for (const PipedTile &tile : pipe.tiles)
      loads.push_back(tile.load);
  for (core::LoadOp load : packed)
    loads.push_back(load);
  return {function, loads};
}

bool RolePlan::chainsProducts() const {
  return llvm::any_of(pipes, [](const PipeLoads &pipe) {
    return llvm::any_of(pipe.dots, [](core::DotOp dot) { return isComputed(dot.getLhs()); });
  });
}

bool PipeLoads::isInner() const {
  return llvm::all_of(dots, [&](core::DotOp dot) { return dot->getBlock() == block; });
}

core::LoadOp PipeLoads::last() const {
  core::LoadOp last = tiles.front().load;
  for (const PipedTile &tile : tiles)
    if (last->isBeforeInBlock(tile.load))
      last = tile.load;
  return last;
}

RoleRegisters roleRegisters(const Chip &share, int64_t warps, int64_t few, int64_t idle) {
  constexpr int64_t kStep = 8, kEnough = 240;
  int64_t computing = warps * kLanes, others = kWarpgroup * kLanes;
  int64_t each = share.coreRegisters / (computing + others + idle * kLanes) / kStep * kStep;
  if (each >= kEnough)
    return {share.registers, share.registers, share.registers};
  int64_t most = (each * (computing + others) - few * others) / computing / kStep * kStep;
  return {each, std::min(most, kEnough), few};
}

int64_t promotedColumns(const Chip &share, int64_t warps, int64_t rows, int64_t columns) {
  constexpr int64_t kStep = 8, kNarrowest = 64; // narrower, the left side is read too often
  int64_t left = accumulatorsOf(share, warps).most - rows * columns / (warps * kLanes);
  for (int64_t parts = 1; columns >= parts * kNarrowest || parts == 1; ++parts) {
    int64_t width = llvm::alignTo(llvm::divideCeil(columns, parts), kStep);
    if (width / 2 <= left)
      return width;
  }
  return 0;
}

std::optional<RolePlan> planRoles(func::FuncOp function, const Chip &share, int64_t warps) {
  if (!share.hasWarpgroups)
    return std::nullopt;
  for (int64_t groups : {2, 1})
    if (!warps || warps == groups * kWarpgroup)
      if (auto plan = Planner(function, share, groups * kWarpgroup).plan())
        return plan;
  return std::nullopt;
}

} // namespace ditron::nvidia
