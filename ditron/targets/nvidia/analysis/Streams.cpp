// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/analysis/Streams.h"
#include "ditron/device/DistOps.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "ditron/targets/gpu/threads/ThreadLowering.h"
#include "ditron/targets/nvidia/analysis/Projection.h"
#include "ditron/targets/nvidia/analysis/TensorCores.h"
#include "ditron/targets/nvidia/analysis/TensorViews.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace ditron::nvidia {

static constexpr int64_t kLongRow = 2048; ///< bytes: a copy takes about as long as these

/// Whether a tile comes fast row by row, or by its first dimension where it has blocks of a matrix.
static bool hasLongRows(core::LoadOp load) {
  constexpr int64_t kMost = 32 * 1024; // bytes
  RankedTensorType tile = tileOf(load.getTile());
  int64_t bytes = tile.getNumElements() * core::elementBytes(tile.getElementType());
  int64_t row = bytes / tile.getDimSize(0);
  bool hasShape = tile.getRank() == 2 || (tile.getRank() > 2 && tile.getDimSize(0) <= kLanes);
  return hasShape && row >= kLongRow && row % gpu::kAccessBytes == 0 && bytes <= kMost;
}

/// Whether rows of a tile are copies.
static bool hasWholeRows(core::LoadOp load) {
  RankedTensorType tile = tileOf(load.getTile());
  return tile.getRank() == 2 &&
         tile.getDimSize(1) * storageBytes(tile.getElementType()) % gpu::kAccessBytes == 0;
}

static bool isSliced(Value tile) {
  tile = inShape(tile);
  return !tile.use_empty() && llvm::all_of(tile.getUses(), [](OpOperand &use) {
    return isa<SlicedDotOp>(use.getOwner()) && use.getOperandNumber() == 0;
  });
}

Value inShape(Value tile) {
  if (tileOf(tile).getRank() == 2)
    return tile;
  while (tile.hasOneUse() &&
         isa<core::TransposeOp, core::ReshapeOp, core::CastOp>(*tile.user_begin()))
    tile = tile.user_begin()->getResult(0);
  return tile;
}

/// The elementwise op that takes the sums of a sliced product, in whatever shape; null where several ops do.
static Operation *takerOf(SlicedDotOp dot) {
  Operation *op = dot;
  do {
    if (!op->getResult(0).hasOneUse())
      return nullptr;
    op = *op->getResult(0).user_begin();
  } while (isa<core::TransposeOp, core::ReshapeOp, core::ConvertLayoutOp>(op));
  return gpu::isElementwise(op) ? op : nullptr;
}

/// The load of a tile that this one has nothing but numbers of.
static core::LoadOp loadOf(Value tile) {
  Operation *op = tile.getDefiningOp();
  while (isa_and_nonnull<core::TransposeOp, core::ReshapeOp, core::ConvertLayoutOp,
                         core::BroadcastOp, core::CastOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return dyn_cast_or_null<core::LoadOp>(op);
}

core::LoadOp scalesOf(core::LoadOp load) {
  Value rows = inShape(load.getTile());
  auto dot = rows.hasOneUse() ? dyn_cast<SlicedDotOp>(*rows.user_begin()) : SlicedDotOp();
  Operation *taker = dot ? takerOf(dot) : nullptr;
  if (!taker)
    return nullptr;
  for (Value factor : taker->getOperands())
    if (core::LoadOp scales = loadOf(factor); scales && scales->getBlock() == load->getBlock())
      return scales;
  return nullptr;
}

int64_t placeOfScales(core::LoadOp load) {
  return static_cast<int64_t>(llvm::alignTo(slotBytes(tileOf(load.getTile())), gpu::kAccessBytes));
}

/// Whether scales can come right behind the tile of a load: nothing has them before, and what says where they are is there in
/// front of it.
static bool comesBehind(core::LoadOp scales, core::LoadOp load) {
  return load->isBeforeInBlock(scales) && llvm::all_of(scales->getOperands(), [&](Value operand) {
           Operation *op = operand.getDefiningOp();
           return !op || op->getBlock() != load->getBlock() || op->isBeforeInBlock(load);
         });
}

static bool isZero(core::LoadOp load) {
  return !load.getPadding() ||
         *load.getPadding() ==
             Builder(load.getContext()).getZeroAttr(tileOf(load.getTile()).getElementType());
}

/// Whether the producer finds the place of a tile, and runs of its rows can be copied.
static bool isFound(core::LoadOp load, Projection &projection) {
  return gpu::knownAlignment(load.getView()) >= gpu::kAccessBytes && projection.reaches(load) &&
         projection.computes(load.getView()) &&
         llvm::all_of(load.getCoords(), [&](Value at) { return projection.computes(at); });
}

SmallVector<core::LoadOp> streamedLoads(func::FuncOp function, const Chip &chip) {
  SmallVector<core::LoadOp> loads;
  if (!chip.hasWarpgroups || !function->hasAttr(device::kExactCoresAttr))
    return loads;
  Projection projection;
  llvm::SmallDenseSet<Operation *> taken; // scales, which come once
  function.walk([&](core::LoadOp load) {
    bool isTaken = isSliced(load.getTile()) || (gpu::isSummedBehindLoop(load.getTile()) &&
                                                !gpu::onlyReadByDots(load.getTile()));
    auto isConstant = [&](core::LoadOp of) {
      return isZero(of) && gpu::isReadOnly(of.getView()) && isFound(of, projection);
    };
    core::LoadOp scales = scalesOf(load);
    if (isTaken && hasLongRows(load) && isConstant(load) &&
        (!scales || (isConstant(scales) && hasWholeRows(scales) && comesBehind(scales, load) &&
                     taken.insert(scales).second)))
      loads.push_back(load);
  });
  return loads;
}

/// Whether no loop around it passes on what the producer computes: then a requirement in it guards the rest.
static bool isGuarded(core::LoadOp load, Projection &projection) {
  for (auto loop = load->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>())
    if (llvm::any_of(loop.getRegionIterArgs(), [&](Value v) { return projection.computes(v); }))
      return false;
  return true;
}

SmallVector<core::LoadOp> cacheLoads(func::FuncOp function) {
  constexpr int64_t kMost = 32 * 1024; // bytes
  SmallVector<core::LoadOp> loads;
  Projection projection;
  int64_t all = 0;
  function.walk([&](core::LoadOp load) {
    RankedTensorType tile = tileOf(load.getTile());
    bool hasRuns =
        tile.getRank() == 2 &&
        storageBytes(tile.getElementType()) * tile.getDimSize(1) % gpu::kAccessBytes == 0;
    if (!hasRuns || !gpu::isLasting(load.getView()) || !isFound(load, projection) ||
        !isGuarded(load, projection))
      return;
    loads.push_back(load);
    all += tile.getNumElements() * storageBytes(tile.getElementType());
  });
  if (all > kMost)
    loads.clear();
  return loads;
}

bool hasShortRows(RankedTensorType tile) {
  return tile.getRank() == 2 && tile.getDimSize(1) * storageBytes(tile.getElementType()) < kLongRow;
}

/// Whether an op, or one in it, writes what tiles read as it was before the launch.
static bool writesPrior(Operation &op) {
  WalkResult result = op.walk([](Operation *inner) {
    Value view = isa<core::LoadOp, core::GatherOp>(inner) ? nullptr : viewOf(inner);
    if (auto move = dyn_cast<gpu::MoveOp>(inner))
      view = move.getDestination();
    return view && gpu::isPrior(view) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Whether a load comes in front of all that its tile writes of such memory. It may come at any time then, as no tile of the
/// loop depends on another.
static bool isInFrontOfStores(core::LoadOp load) {
  int64_t loops = 0;
  for (Operation *at = load; !isa<func::FuncOp>(at); at = at->getParentOp()) {
    if (at->hasAttr(device::kAlternativeAttr))
      return loops == 1;
    loops += isa<scf::ForOp>(at);
    for (Operation *before = at->getPrevNode(); before; before = before->getPrevNode())
      if (writesPrior(*before))
        return false;
  }
  return false;
}

SmallVector<core::LoadOp> pageLoads(func::FuncOp function, int64_t slotBytes) {
  constexpr int64_t kLeast = 4096; // bytes, of which a copy is worth its slot
  SmallVector<core::LoadOp> loads;
  Projection projection;
  function.walk([&](core::LoadOp load) {
    RankedTensorType tile = tileOf(load.getTile());
    int64_t bytes = tile.getNumElements() * storageBytes(tile.getElementType());
    bool fits = hasShortRows(tile) && bytes >= kLeast && bytes <= slotBytes &&
                bytes / tile.getDimSize(0) % gpu::kAccessBytes == 0;
    if (fits && isZero(load) && gpu::isPrior(load.getView()) && isFound(load, projection) &&
        isGuarded(load, projection) && isInFrontOfStores(load))
      loads.push_back(load);
  });
  return loads;
}

core::Layout slotLayout(RankedTensorType tile) {
  if (tile.getRank() != 2 || hasShortRows(tile))
    return core::Layout::rowMajor(shapeOf(tile));
  auto places = Distribution::of(core::layoutOf(tile), shapeOf(tile));
  int64_t bytes = storageBytes(tile.getElementType());
  return gpu::sharedRowsApart(*places, places->run(gpu::kAccessBytes / bytes), bytes, kLanes);
}

int64_t slotBytes(RankedTensorType tile) {
  return slotLayout(tile).limit(Axis::m) * storageBytes(tile.getElementType());
}

int64_t slotBytesOfSlice(RankedTensorType tile) {
  auto places = Distribution::of(core::layoutOf(tile), shapeOf(tile));
  llvm::SmallDenseSet<int64_t> ofRegisters;
  for (int64_t reg = 0; reg < places->registers(); ++reg)
    ofRegisters.insert(places->element(reg)[0]);
  bool areApart = std::ssize(ofRegisters) == tile.getDimSize(0);
  return tile.getRank() > 2 && areApart ? slotBytes(tile) / tile.getDimSize(0) : 0;
}

} // namespace ditron::nvidia
