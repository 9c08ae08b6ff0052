// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nvidia-stream-constants: the tasks of a graph find their weights in shared memory. A producer, the lanes
// of a warp, walks through the same tasks, as far as they lead to constants, and copies these into a ring; it waits
// for no task. So memory is read on end, whatever the tasks wait for.
//
//   scf.for %task = ... {
//     scf.for %wait = ... { simt.wait ... }
//     scf.if %isProduct {
//       scf.for %k = ... iter_args(%sum = %zero) {
//         %x = tile.load %X[%k];  %w = tile.load %W[%j, %k]
//         ...
// becomes
//   %ring = nvidia.pipe leaving : <10 of tensor<16384xi8>>
//   nvidia.roles producer {
//     scf.for %task = ... {
//       scf.if %isProduct {
//         scf.for %k = ... {
//           nvidia.load_rows %W[%j, %k] to %ring ahead 4
//   } consumer {
//     scf.for %task = ... {
//       scf.for %wait = ... { simt.wait ... }
//       scf.if %isProduct {
//         scf.for %k = ... iter_args(%sum = %zero) {
//           %x = tile.load %X[%k];  %w = nvidia.receive_rows %W[%j, %k] from %ring
//
// Tiles of a cache come so too, where what tasks read of it was there before the launch (core::kPriorAttr).
//
// Scales of blocks of weights come behind these, in the same slot. All tiles share one ring, whose slots are as large as the
// largest. Few slots are on their way at a time:
// more would queue in front of what other SMs need sooner. A task that leaves the kernel, for what it
// requires does not hold, says so to the producer. test/targets/nvidia/stream-constants.mlir and
// stream-pages.mlir show it.
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/gpu/threads/ThreadLowering.h"
#include "ditron/targets/nvidia/analysis/Roles.h"
#include "ditron/targets/nvidia/analysis/Streams.h"
#include "ditron/targets/nvidia/warpspec/Producer.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace ditron::nvidia {

#define GEN_PASS_DEF_STREAMCONSTANTS
#include "ditron/targets/nvidia/transforms/Passes.h.inc"

namespace {

/// Writes the producer of constants and pages, which asks for what else is in caches.
class StreamProducer : public Producer {
public:
  StreamProducer(OpBuilder b, ArrayRef<core::LoadOp> loads, ArrayRef<core::LoadOp> asked,
                 PipeOp pipe)
      : Producer(b), loads_(loads), asked_(asked), pipe_(pipe),
        bytesAhead_(llvm::any_of(loads, isOfSeveralRows) ? 48 * 1024 : 64 * 1024) {}

private:
  bool leads(Operation &op) override {
    auto isIn = [&](core::LoadOp load) { return op.isProperAncestor(load); };
    return llvm::any_of(loads_, isIn) || llvm::any_of(asked_, isIn);
  }

  /// It may not leave as consumers do, while copies are on their way, nor read what a requirement is for.
  bool guards(Operation &op) override { return gpu::isExit(&op); }

  void follow(Operation &op) override {
    auto load = dyn_cast<core::LoadOp>(op);
    if (load && llvm::is_contained(asked_, load))
      b_.create<AskRowsOp>(load.getLoc(), mapped(load.getView()), mapped(load.getCoords()),
                           TypeAttr::get(tileOf(load.getTile())));
    if (!load || !llvm::is_contained(loads_, load))
      return;
    core::LoadOp scales = scalesOf(load);
    loadInto(load, load, 0, scales);
    if (scales)
      loadInto(scales, load, placeOfScales(load), /*isMore=*/false);
  }

  /// A tile from this byte of a slot on, which those of `weights` are in.
  void loadInto(core::LoadOp load, core::LoadOp weights, int64_t at, bool isMore) {
    auto slots = static_cast<uint64_t>(ahead(slotBytes(tileOf(weights.getTile()))));
    b_.create<LoadRowsOp>(load.getLoc(), mapped(load.getView()), mapped(load.getCoords()),
                          tileOf(load.getTile()), pipe_, slots, isHungry(weights),
                          static_cast<uint64_t>(at), isMore);
  }

  static constexpr int64_t kFewRows = 2;
  static int64_t rowsOf(Operation *product) {
    auto dot = dyn_cast<SlicedDotOp>(product);
    return dot ? tileOf(dot.getFactor()).getDimSize(0) : 0;
  }
  /// Whether what it is multiplied with is little, so that consumers are waiting for it most of the time. For more
  /// rows, what they share with other cores comes later for what is on its way.
  static bool isHungry(core::LoadOp load) {
    return llvm::all_of(inShape(load.getTile()).getUsers(), [](Operation *user) {
      return rowsOf(user) > 0 && rowsOf(user) <= kFewRows;
    });
  }
  /// Whether what it is multiplied with is more.
  static bool isOfSeveralRows(core::LoadOp load) {
    return llvm::any_of(inShape(load.getTile()).getUsers(),
                        [](Operation *user) { return rowsOf(user) > kFewRows; });
  }

  /// Slots that may be on their way at a time.
  int64_t ahead(int64_t bytes) {
    bytes = std::min(bytes, pipe_.getType().getTiles()[0].getNumElements());
    return std::clamp<int64_t>(bytesAhead_ / bytes, 2, pipe_.getType().getSlots());
  }

  ArrayRef<core::LoadOp> loads_, asked_;
  PipeOp pipe_;
  int64_t bytesAhead_; ///< that an SM has on their way: these keep memory busy
};

class StreamConstants : public impl::StreamConstantsBase<StreamConstants> {
public:
  using StreamConstantsBase::StreamConstantsBase;

private:
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    const Chip *chip = chipNamed(chipName, function);
    if (!chip)
      return signalPassFailure();
    if (!function->hasAttr(kProducerWarpsAttr))
      return;
    SmallVector<core::LoadOp> loads = streamedLoads(function, *chip);
    if (loads.empty())
      return; // of tiles that TMA brings
    PipeType ring = ringOf(function, loads, chip->sharedBytes);
    if (!ring) {
      function->removeAttr(kProducerWarpsAttr);
      return;
    }
    SmallVector<core::LoadOp> pages = pageLoads(function, ring.getTiles()[0].getNumElements());
    sinkInOrder(pages);
    loads.append(pages);
    int64_t taken = ring.getSlots() * ring.getTiles()[0].getNumElements() + kBarriers;
    function->setAttr(kTakenSharedAttr, Builder(function).getI64IntegerAttr(taken));
    // Of what does not come through the ring, caches alone are asked for; what led to the rest goes, too.
    erasePrefetches(function, gpu::isLasting);
    eraseDead(function.front());
    SmallVector<core::LoadOp> asked;
    if (pages.empty())
      asked = cacheLoads(function);
    if (!asked.empty() || !pages.empty())
      erasePrefetches(function, [](Value) { return false; });
    split(function, loads, asked, ring);
  }

  static void erasePrefetches(func::FuncOp function, llvm::function_ref<bool(Value)> stays) {
    function.walk([&](PrefetchOp prefetch) {
      if (!stays(prefetch.getView()))
        prefetch.erase();
    });
  }

  /// As many slots as are useful, and fit into what is left of shared memory; null: too few do.
  PipeType ringOf(func::FuncOp function, ArrayRef<core::LoadOp> loads, int64_t available) const {
    constexpr int64_t kAlignment = 1024, kOfProducts = 96 * 1024, kFewest = 3;
    int64_t bytes = llvm::alignTo(bytesOfSlot(loads), kAlignment), momentary = 0, shared = 0;
    function.walk([&](Operation *op) {
      momentary = std::max(momentary, gpu::momentaryBytes(op));
      for (Value tile : op->getResults())
        if (isTile(tile) && isShared(tileOf(tile)))
          shared = kOfProducts; // and their rings
    });
    int64_t slots = (available - momentary - shared - kBarriers) / bytes;
    slots = std::min(slots, stages ? stages : kBytes / bytes);
    if (slots < kFewest)
      return nullptr;
    Builder b(function.getContext());
    return PipeType::get(b.getContext(), slots, RankedTensorType::get({bytes}, b.getI8Type()), 1);
  }

  /// Those of a slice where all tiles without scales have slices of as many bytes, else those of the largest tile; and of any
  /// tile with its scales.
  static int64_t bytesOfSlot(ArrayRef<core::LoadOp> loads) {
    constexpr int64_t kShortest = 16 * 1024;
    int64_t ofTile = 0, ofSlice = -1, withScales = 0;
    for (core::LoadOp load : loads) {
      RankedTensorType tile = tileOf(load.getTile());
      if (core::LoadOp scales = scalesOf(load)) {
        withScales =
            std::max(withScales, placeOfScales(load) + slotBytes(tileOf(scales.getTile())));
        continue;
      }
      int64_t bytes = slotBytesOfSlice(tile);
      ofTile = std::max(ofTile, slotBytes(tile));
      ofSlice = ofSlice < 0 || bytes == ofSlice ? bytes : 0;
    }
    return std::max(withScales, ofSlice >= kShortest ? ofSlice : ofTile);
  }

  static void split(func::FuncOp function, ArrayRef<core::LoadOp> loads,
                    ArrayRef<core::LoadOp> asked, PipeType ring) {
    Block &body = function.front();
    ImplicitLocOpBuilder b(function.getLoc(), firstOfRoles(function));
    auto pipe = b.create<PipeOp>(ring, ValueRange(), /*leaving=*/true);
    auto roles = b.create<RolesOp>();
    Block *producer = b.createBlock(&roles.getProducer()),
          *consumer = b.createBlock(&roles.getConsumer());
    auto rest =
        llvm::make_range(std::next(roles->getIterator()), body.getTerminator()->getIterator());
    StreamProducer(OpBuilder::atBlockEnd(producer), loads, asked, pipe).project(rest);
    eraseDead(*producer);
    consumer->getOperations().splice(consumer->end(), body.getOperations(), rest.begin(),
                                     rest.end());
    for (core::LoadOp load : loads)
      receive(load, pipe);
    leave(roles.getConsumer(), pipe);
  }

  /// To where their tiles are used first, as far as they stay in order: registers are for few tiles at a time.
  static void sinkInOrder(ArrayRef<core::LoadOp> loads) {
    llvm::DenseMap<Block *, Operation *> next;
    for (core::LoadOp load : llvm::reverse(loads)) {
      Block *block = load->getBlock();
      Operation *before = next.lookup(block);
      for (Operation *user : load->getUsers())
        if (Operation *inBlock = block->findAncestorOpInBlock(*user);
            inBlock && (!before || inBlock->isBeforeInBlock(before)))
          before = inBlock;
      if (before)
        load->moveBefore(before);
      next[block] = load;
    }
  }

  static void receive(core::LoadOp load, Value pipe) {
    core::LoadOp scales = scalesOf(load);
    int64_t place = scales ? placeOfScales(load) : 0;
    OpBuilder b(load);
    ReceiveRowsOp first = receiveFrom(b, load, pipe, 0, scales);
    if (scales) { // before anything else is received
      scales.getTile().replaceAllUsesWith(
          receiveFrom(b, scales, pipe, place, /*isMore=*/false).getTile());
      scales.erase();
    }
    load.getTile().replaceAllUsesWith(first.getTile());
    load.erase();
  }
  static ReceiveRowsOp receiveFrom(OpBuilder &b, core::LoadOp load, Value pipe, int64_t at,
                                   bool isMore) {
    return b.create<ReceiveRowsOp>(load.getLoc(), load.getTile().getType(), load.getView(),
                                   load.getCoords(), pipe, static_cast<uint64_t>(at), isMore);
  }

  /// The producer is told where consumers leave the kernel.
  static void leave(Region &consumer, Value pipe) {
    consumer.walk([&](scf::IfOp branch) {
      if (gpu::isExit(branch))
        OpBuilder::atBlockBegin(branch.thenBlock()).create<LeaveOp>(branch.getLoc(), pipe);
    });
  }

  static constexpr int64_t kBarriers = 2048;    ///< bytes of them, and of what is aligned
  static constexpr int64_t kBytes = 208 * 1024; ///< of a ring
};

} // namespace
} // namespace ditron::nvidia
