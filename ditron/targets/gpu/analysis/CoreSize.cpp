// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/gpu/analysis/CoreSize.h"
#include "ditron/core/TileOps.h"
#include "ditron/device/DistOps.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace ditron::gpu {
namespace {

using core::elementBytes;

/// Threads of a CTA, from which warps are counted.
constexpr int64_t kFewThreads = 128, kManyThreads = 256, kMostThreads = 512;

/// Whether a kernel copies chunks: many threads keep many accesses under way.
bool moves(Operation *part) {
  return part->walk([](MoveOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// Whether a kernel hands over tiles in inboxes: it is over so soon that each CTA counts.
bool sends(func::FuncOp function) {
  return function.walk([](SendOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// Elements of the largest tile that is not a product's.
int64_t mostElements(Operation *part) {
  int64_t elements = 0;
  part->walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (isTile(result) && !isa<core::DotOp>(op))
        elements = std::max(elements, tileOf(result).getNumElements());
  });
  return elements;
}

/// The largest tile that is read, in bytes; null: none is.
core::LoadOp largestLoad(Operation *part) {
  core::LoadOp largest;
  int64_t most = 0;
  part->walk([&](core::LoadOp load) {
    RankedTensorType tile = tileOf(load.getTile());
    int64_t bytes = tile.getNumElements() * elementBytes(tile.getElementType());
    if (bytes > most)
      largest = load, most = bytes;
  });
  return largest;
}

/// Warps for a kernel whose threads wait for one another: few, each with much to read, so that many
/// CTAs share an SM; no more than the tile can be dealt to.
int64_t warpsOfReduction(Operation *part, core::LoadOp load, int64_t lanes) {
  constexpr int64_t kBytes = 64, kElements = 64; // of a thread: at least, and at most
  int64_t fewest = kFewThreads / lanes, usual = kManyThreads / lanes;
  if (!load)
    return fewest;
  RankedTensorType tile = tileOf(load.getTile());
  int64_t elements = tile.getNumElements(), size = elementBytes(tile.getElementType());
  int64_t vector = std::max<int64_t>(1, accessBytes(load.getView()) / size);
  int64_t dealt = (elements & -elements) / (lanes * vector);
  auto wanted = static_cast<uint64_t>(std::max<int64_t>(1, elements * size / (lanes * kBytes)));
  int64_t most = mostElements(part) > kManyThreads * kElements ? kMostThreads / lanes : usual;
  return std::clamp(static_cast<int64_t>(llvm::bit_floor(wanted)), fewest,
                    std::max(fewest, std::min(most, dealt)));
}

/// Registers of a thread for what a block of the program reads beside its largest tile: the most of
/// any block that reduces, as others hold nothing meanwhile.
int64_t registersOfOthers(func::FuncOp function, int64_t threads) {
  constexpr int64_t kRegister = 4; // bytes
  constexpr int64_t kAhead = 8;    // of two tiles that are read part by part: see LatePasses.cpp
  int64_t most = 0;
  function.walk([&](Block *block) {
    if (block->getOps<core::ReduceOp>().empty())
      return;
    int64_t together = 0, largest = 0, inParts = 0;
    for (core::LoadOp load : block->getOps<core::LoadOp>()) {
      RankedTensorType tile = tileOf(load.getTile());
      int64_t width = accessBytes(load.getView()) / kRegister; // 0: elements have one each
      int64_t size = width ? elementBytes(tile.getElementType()) : kRegister;
      int64_t registers = tile.getNumElements() * size / kRegister / threads;
      if (load->hasAttr(kDeferredAttr)) {
        inParts += std::min(registers, width > 1 ? width : kAhead);
        continue;
      }
      together += registers;
      largest = std::max(largest, registers);
    }
    most = std::max(most, (together - largest) * 3 / 4 + inParts); // not all of them at once
  });
  return most;
}

/// Whether a tile that has been computed is needed behind an op of its block.
bool isNeededBehind(Value tile, Operation *op) {
  return llvm::any_of(tile.getUsers(), [&](Operation *user) {
    Operation *there = op->getBlock()->findAncestorOpInBlock(*user);
    return there && op->isBeforeInBlock(there);
  });
}

/// Registers of a thread for the tiles of a block that live across one of its reductions, `run`
/// elements of a row at least: the most across any. What is computed between two of them takes fewer,
/// for its elements come one by one.
int64_t registersAcross(func::FuncOp function, int64_t threads, int64_t run) {
  auto ofTile = [&](Value value) {
    RankedTensorType tile = tileOf(value);
    int64_t elements = std::max((tile.getNumElements() + threads - 1) / threads,
                                std::min(run, tile.getShape().back()));
    return std::max<int64_t>(1, elements * elementBytes(tile.getElementType()) / 4);
  };
  int64_t most = 0;
  function.walk([&](core::ReduceOp reduce) {
    llvm::SetVector<Value> living;
    for (Operation *op = reduce->getPrevNode(); op; op = op->getPrevNode())
      for (Value result : op->getResults())
        if (isTile(result) && op->getNumOperands() > 0 && !isa<tensor::SplatOp>(op) &&
            !tileOf(result).getElementType().isInteger(1) && isNeededBehind(result, reduce))
          living.insert(isa<core::BroadcastOp>(op) ? op->getOperand(0) : result);
    int64_t together = 0;
    for (Value tile : living)
      together += ofTile(tile);
    most = std::max(most, together);
  });
  return most;
}

/// Registers of a thread that tiles take at least, on the way through a region that takes most: for
/// what it reads and what loops carry.
int64_t registersOf(Region &region, int64_t threads) {
  auto ofTile = [&](Value value) -> int64_t {
    if (!isTile(value))
      return 0;
    RankedTensorType tile = tileOf(value);
    return (tile.getNumElements() + threads - 1) / threads *
           (elementBytes(tile.getElementType()) > 4 ? 2 : 1);
  };
  int64_t most = 0;
  for (Block &block : region) {
    int64_t own = 0, inner = 0;
    for (Value argument : block.getArguments())
      own += ofTile(argument);
    for (Operation &op : block) {
      if (isa<core::LoadOp, core::GatherOp>(op))
        own += ofTile(op.getResult(0));
      for (Region &nested : op.getRegions())
        inner = std::max(inner, registersOf(nested, threads));
    }
    most = std::max(most, own + inner);
  }
  return most;
}

/// Registers of a thread for tiles that loops add up as they read them, and reduce when they are done.
int64_t registersOfSums(func::FuncOp function, int64_t threads) {
  int64_t most = 0;
  function.walk([&](core::LoadOp load) {
    if (isSummedBehindLoop(load.getTile()))
      most = std::max(most, registersOf(*load->getParentRegion(), threads));
  });
  return most;
}

/// Registers of a thread whose tiles wait for a reduction of the largest one: for that, for what is
/// read besides, and a few more, which are fewer where two results make a word; fitted to what
/// ptxas needs in order not to spill.
int64_t registersOfReduction(func::FuncOp function, int64_t threads) {
  constexpr int64_t kOther = 30, kOtherOfHalves = 21, kOfAsking = 96, kOfAskingAcross = 96;
  int64_t own = mostElements(function) / threads;
  core::LoadOp load = largestLoad(function);
  int64_t size = load ? elementBytes(tileOf(load.getTile()).getElementType()) : kAccessBytes;
  int64_t across = registersAcross(function, threads, kAccessBytes / size);
  if (!isForAligned(function))
    return std::max(own + kOfAsking, across + kOfAskingAcross);
  int64_t read = own + registersOfOthers(function, threads);
  if (across > read)
    return across + kOther;
  return read + (size < 4 ? kOtherOfHalves : kOther);
}

} // namespace

bool isForAligned(func::FuncOp function) {
  bool areChosen =
      !function
           .walk([](ViewAtOp view) {
             return knownAlignment(view) ? WalkResult::advance() : WalkResult::interrupt();
           })
           .wasInterrupted();
  return areChosen && llvm::all_of(function.getArguments(), [&](BlockArgument argument) {
           return !isa<MemRefType>(argument.getType()) ||
                  function.getArgAttr(argument.getArgNumber(), core::kAlignmentAttr);
         });
}

/// Elements of the accumulators of a block that has most of them.
static int64_t mostAccumulators(Operation *part) {
  int64_t most = 0;
  part->walk([&](Block *block) {
    int64_t together = 0;
    for (core::DotOp dot : block->getOps<core::DotOp>())
      together += tileOf(dot.getResult()).getNumElements();
    most = std::max(most, together);
  });
  return most;
}

/// The warps for a kernel, or for an alternative of one.
static int64_t warpsFor(Operation *part, const Traits &chip) {
  constexpr int64_t kAccumulators = 64, kElements = 16; // of a thread
  constexpr int64_t kMostAccumulators = 128;            // likewise, before they spill
  auto warpsOf = [&](int64_t elements, int64_t ofThread, int64_t mostThreads) {
    int64_t warps = kFewThreads / chip.lanes, least = elements / (chip.lanes * ofThread);
    while (warps < least && warps < mostThreads / chip.lanes)
      warps *= 2;
    return warps;
  };
  int64_t accumulators = mostAccumulators(part);
  if (accumulators > kManyThreads * kMostAccumulators || (!accumulators && moves(part)))
    return kMostThreads / chip.lanes;
  if (accumulators)
    return warpsOf(accumulators, kAccumulators, kManyThreads);
  if (reduces(part))
    return warpsOfReduction(part, largestLoad(part), chip.lanes);
  return warpsOf(mostElements(part), kElements, kMostThreads);
}

int64_t chooseWarps(func::FuncOp function, const Traits &chip) {
  int64_t most = 0;
  function.walk([&](scf::IfOp branch) {
    if (branch->hasAttr(device::kAlternativeAttr))
      most = std::max(most, warpsFor(branch, chip));
  });
  return most ? most : warpsFor(function, chip);
}

int64_t chooseCtasPerSm(func::FuncOp function, int64_t warps, const Traits &chip) {
  constexpr int64_t kFewest = 64, kOfMoves = 128, kLeast = 32; // registers of a thread
  if (function->hasAttr(device::kExactCoresAttr))              // one for each SM
    return 1;
  bool hasDots = false;
  function.walk([&](core::DotOp) { hasDots = true; });
  if (hasDots || sends(function))
    return 1;
  int64_t threads = warps * chip.lanes, other = isForAligned(function) ? 24 : 48;
  bool waits = reduces(function);
  int64_t ofSums = registersOfSums(function, threads);
  int64_t registers = waits ? std::max(registersOfReduction(function, threads), other + ofSums)
                            : other + registersOf(function.getBody(), threads);
  registers = std::max(registers, moves(function) && !waits ? kOfMoves : kFewest);
  int64_t ctas = chip.registers / (threads * registers);
  // One CTA alone would not compute while it waits: two may spill a little.
  int64_t needed = std::max(mostElements(function) / threads, ofSums);
  if (waits && chip.registers / (2 * threads) >= needed + kLeast)
    ctas = std::max<int64_t>(ctas, 2);
  return std::clamp<int64_t>(ctas, 1, chip.threads / threads);
}

} // namespace ditron::gpu
