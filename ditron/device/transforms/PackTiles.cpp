// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PackTiles: finds symmetric buffers whose tiles may be packed: each in one run of memory, in any
// order of its elements.
//
//     %staged = dist.symmetric "staged"(%ranks, %m * 128, %n * 256)
//     %parts = dist.symmetric "parts"(%ranks, %m * 128, %n * 256)
//     tile.store %t, %staged[%s, %i, %j]                                      tiles of 128 x 256
//     %u = tile.load %parts[%peer, %i, %j]
//     dist.put %staged[%s] rows %q * 128 for %p * 128, %parts[%rank] the same rows on %s
//  ->
//     tile.store %t, %staged[%s, %i, %j] {dist.packed = array<i64: 0, 2>}
//     %u = tile.load %parts[%peer, %i, %j] {dist.packed = array<i64: 0, 2>}
//
// A row of tiles takes the same run of memory whether its elements or its tiles follow one another.
// So where rows of tiles move as a whole, and all else that touches the buffer are loads and stores
// of whole tiles of one type, here or on a peer, nobody sees the order in which the elements of a
// tile lie. A target
// may then choose it: the tiles of a row of tiles one behind the other, elements as its threads hold
// them. Buffers that a put connects have one order; their tiles have the same number here.
//
// The extents of such a buffer are whole numbers of tiles by construction, its accesses stand in one
// statement of the kernel, and no get reads it. Any other buffer is left as it is.
// test/device/pack-tiles.mlir shows it.
//
#include "ditron/device/DistOps.h"
#include "ditron/device/Provenance.h"
#include "ditron/device/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace ditron::device {
#define GEN_PASS_DEF_PACKTILES
#include "ditron/device/transforms/Passes.h.inc"
} // namespace ditron::device

using namespace mlir;
using namespace ditron::device;
namespace core = ditron::core;

namespace {

/// The extent that memref.dim asks for, as the buffer or the slice was made with it.
Value resolved(Value extent) {
  auto dim = extent.getDefiningOp<memref::DimOp>();
  std::optional<int64_t> d = dim ? dim.getConstantIndex() : std::nullopt;
  if (!d)
    return extent;
  if (auto buffer = dim.getSource().getDefiningOp<SymmetricOp>())
    return resolved(buffer.getExtents()[static_cast<size_t>(*d)]);
  auto slice = dim.getSource().getDefiningOp<memref::SubViewOp>();
  if (!slice)
    return extent;
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  SmallVector<OpFoldResult> sizes = slice.getMixedSizes();
  int64_t left = *d;
  for (auto [n, size] : llvm::enumerate(sizes))
    if (!dropped.test(n) && left-- == 0)
      return isa<Value>(size) ? resolved(cast<Value>(size)) : extent;
  return extent;
}

/// Whether a number is a multiple of another one by construction.
bool isMultiple(OpFoldResult number, int64_t of) {
  if (auto constant = getConstantIntValue(number))
    return *constant % of == 0;
  Value value = resolved(cast<Value>(number));
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  auto isOne = [&](Value operand) { return isMultiple(operand, of); };
  if (isa<arith::MulIOp>(op))
    return llvm::any_of(op->getOperands(), isOne);
  if (isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp>(op))
    return llvm::all_of(op->getOperands(), isOne);
  return false;
}

/// What touches a symmetric buffer, if all of it may go with packed tiles.
struct Accesses {
  SmallVector<Operation *> tiles;      ///< loads and stores
  SmallVector<OpFoldResult> rowBounds; ///< of slices: whole numbers of tiles
};

/// Collects the accesses of a buffer.
class Collector {
public:
  explicit Collector(SymmetricOp buffer) : buffer_(buffer) {}

  std::optional<Accesses> run() {
    bool isKnown = buffer_.getExtents().size() >= 2 && follow(buffer_.getBuffer());
    return isKnown && !found_.tiles.empty() ? std::optional(std::move(found_)) : std::nullopt;
  }

private:
  bool follow(Value view) {
    return llvm::all_of(view.getUsers(), [&](Operation *user) {
      return llvm::TypeSwitch<Operation *, bool>(user)
          .Case([](memref::DimOp) { return true; })
          .Case([&](memref::SubViewOp slice) { return takesRows(slice) && follow(slice); })
          .Case([&](core::LoadOp load) {
            return !load.getPadding() && !isOperand(load) && add(load, load.getTile());
          })
          .Case([&](core::StoreOp store) { return add(store, store.getTile()); })
          .Case([&](PutTileOp put) { return add(put, put.getTile()); })
          .Case<PutOp, PutNotifyOp>([](Operation *) { return true; })
          .Default([](Operation *) { return false; });
    });
  }

  /// Products choose the order of their operands in fast memory, and load them so.
  static bool isOperand(core::LoadOp load) {
    return llvm::any_of(load->getUsers(),
                        [](Operation *user) { return isa<core::DotOp, core::TransposeOp>(user); });
  }

  bool add(Operation *access, Value tile) {
    found_.tiles.push_back(access);
    return cast<RankedTensorType>(tile.getType()).getRank() == 2;
  }

  /// Whether a slice has rows of the whole width.
  bool takesRows(memref::SubViewOp slice) {
    size_t last = slice.getMixedSizes().size() - 1;
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    OpFoldResult width = slice.getMixedSizes()[last];
    bool isWide =
        isa<Value>(width) && resolved(cast<Value>(width)) == resolved(buffer_.getExtents().back());
    if (last < 1 || dropped.test(last) || dropped.test(last - 1) || !isWide ||
        getConstantIntValue(slice.getMixedOffsets()[last]) != 0 ||
        !llvm::all_of(
            slice.getMixedStrides(),
            [](OpFoldResult stride) { return isConstantIntValue(stride, 1); }))
      return false;
    found_.rowBounds.push_back(slice.getMixedOffsets()[last - 1]);
    found_.rowBounds.push_back(slice.getMixedSizes()[last - 1]);
    return true;
  }

  SymmetricOp buffer_;
  Accesses found_;
};

/// The buffers that puts connect, and what touches them.
class Packer {
public:
  explicit Packer(func::FuncOp kernel) : kernel_(kernel) {}

  void run() {
    kernel_.walk([&](SymmetricOp buffer) { collect(buffer); });
    connect();
    llvm::MapVector<Operation *, SmallVector<Operation *>> groups; // in the order of the program
    for (Operation *buffer : buffers_)
      groups[groups_.getLeaderValue(buffer)].push_back(buffer);
    int64_t number = 0;
    for (const auto &group : groups)
      if (canPack(group.second))
        mark(group.second, number++);
  }

private:
  void collect(SymmetricOp buffer) {
    groups_.insert(buffer);
    buffers_.push_back(buffer);
    if (auto found = Collector(buffer).run())
      accesses_[buffer] = std::move(*found);
  }

  /// Both sides of a put have one order; with what is no buffer of this kernel there is none.
  void connect() {
    kernel_.walk([&](PutTileOp put) { connect(put); });
    kernel_.walk([&](Operation *op) {
      if (!isa<PutOp, PutNotifyOp>(op))
        return;
      Operation *from = originOf(op->getOperand(0)).getDefiningOp();
      Operation *to = originOf(op->getOperand(1)).getDefiningOp();
      if (isa_and_present<SymmetricOp>(from) && isa_and_present<SymmetricOp>(to))
        groups_.unionSets(from, to);
      else
        for (Operation *side : {from, to})
          if (side)
            accesses_.erase(side);
    });
  }

  /// A tile that is stored here, too, lies there as it does here.
  void connect(PutTileOp put) {
    Operation *to = originOf(put.getDestination()).getDefiningOp();
    for (Operation *user : put.getTile().getUsers())
      if (auto store = dyn_cast<core::StoreOp>(user)) {
        Operation *from = originOf(store.getView()).getDefiningOp();
        if (isa_and_present<SymmetricOp>(from) && isa_and_present<SymmetricOp>(to))
          groups_.unionSets(from, to);
      }
  }

  static RankedTensorType tileOf(Operation *access) {
    if (auto load = dyn_cast<core::LoadOp>(access))
      return cast<RankedTensorType>(load.getTile().getType());
    if (auto put = dyn_cast<PutTileOp>(access))
      return cast<RankedTensorType>(put.getTile().getType());
    return cast<RankedTensorType>(cast<core::StoreOp>(access).getTile().getType());
  }

  bool canPack(ArrayRef<Operation *> buffers) {
    SmallVector<Operation *> tiles;
    for (Operation *buffer : buffers) {
      auto found = accesses_.find(buffer);
      if (found == accesses_.end())
        return false;
      tiles.append(found->second.tiles);
    }
    RankedTensorType type = tileOf(tiles.front());
    bool areAlike = llvm::all_of(tiles, [&](Operation *access) { return tileOf(access) == type; });
    return areAlike && llvm::all_of(buffers, [&](Operation *buffer) {
             return areWhole(cast<SymmetricOp>(buffer), accesses_[buffer], type);
           });
  }

  static bool areWhole(SymmetricOp buffer, const Accesses &accesses, RankedTensorType tile) {
    size_t last = buffer.getExtents().size() - 1;
    return isMultiple(buffer.getExtents()[last - 1], tile.getDimSize(0)) &&
           isMultiple(buffer.getExtents()[last], tile.getDimSize(1)) &&
           llvm::all_of(accesses.rowBounds,
                        [&](OpFoldResult bound) { return isMultiple(bound, tile.getDimSize(0)); });
  }

  void mark(ArrayRef<Operation *> buffers, int64_t number) {
    SmallVector<Operation *> tiles;
    for (Operation *buffer : buffers)
      tiles.append(accesses_[buffer].tiles);
    auto count = static_cast<int64_t>(tiles.size());
    for (Operation *access : tiles)
      access->setAttr(kPackedAttr, Builder(kernel_).getDenseI64ArrayAttr({number, count}));
  }

  func::FuncOp kernel_;
  SmallVector<Operation *> buffers_;
  llvm::EquivalenceClasses<Operation *> groups_;
  llvm::DenseMap<Operation *, Accesses> accesses_;
};

struct PackTiles : ditron::device::impl::PackTilesBase<PackTiles> {
  void runOnOperation() override { Packer(getOperation()).run(); }
};

} // namespace
