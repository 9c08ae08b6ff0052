// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles on a CPU core.
//
// A tile is an expression: emit(tile, at, lanes) writes the code that computes `lanes` neighbouring
// elements of its last dimension, as one vector, from the vectors of its operands. Loads,
// elementwise work and changes of shape are emitted where they are consumed, so a chain of them
// runs in registers with no tile in memory. What cannot be computed element by element (dot,
// reduce, scan, what loops carry), or would be computed more than once, is materialised: computed
// by a nest of loops into a buffer of the core's scratch memory, from which emit() then loads.
//
// Vectors hold elements in their compute type: narrow floats are widened to f32, holding values
// that the narrow type has. Memory holds their storage type: bf16 as i16, fp8 and i1 as i8.
//
//   TilesToLoops.cpp   the pass: walks the program, materialises
//   Inline.cpp         decides what is materialised
//   Emit.cpp           one case an op: its vector from its operands' vectors
//   Access.cpp         reads and writes of tiles of views: masked, or of whole tiles
//   Dot.cpp            packing and the register-blocked micro-kernel
//   Reduce.cpp         reductions, scans
//   Trail.cpp          a store beside the reduction that it depends on
//   Pending.cpp        and beside that of the next tile
#pragma once
#include "ditron/device/DistOps.h"
#include "ditron/lower/Conversions.h"
#include "ditron/lower/Views.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include <functional>
#include <optional>
#include <unordered_map>

namespace ditron::cpu {

/// What the lowering asks of the machine.
struct VectorTarget {
  int64_t vectorBytes = 16; ///< of a vector register
  int64_t registers = 16;   ///< vector registers
};

/// Memory of one core for tiles, given out in a stack's order and known in size when the kernel is
/// compiled.
class Scratch {
public:
  /// Buffers of a page or more begin half-way into one. Rows of views often begin with a page, and
  /// a load that follows a store to the same place in another page waits for it.
  int64_t allocate(int64_t bytes) {
    int64_t offset = bytes < kPage ? used_ : (used_ + kPage - 1) / kPage * kPage + kPage / 2;
    used_ = offset + (bytes + 63) / 64 * 64;
    peak_ = std::max(peak_, used_);
    return offset;
  }
  int64_t mark() const { return used_; }
  void release(int64_t mark) { used_ = mark; }
  int64_t peak() const { return peak_; }

private:
  static constexpr int64_t kPage = 4096;
  int64_t used_ = 0, peak_ = 0;
};

/// A tile of a view, ready to be read or written element by element.
struct Access {
  mlir::Value memory;                   ///< one dimension of storage elements
  mlir::Value offset;                   ///< of element (0, 0, ...) of the view
  llvm::SmallVector<mlir::Value> sizes; ///< of the view
  llvm::SmallVector<mlir::Value> strides;
  llvm::SmallVector<mlir::Value> start; ///< element of the view where the tile starts
  mlir::Type element;
  bool unitStride = false;             ///< of the last dimension
  llvm::SmallVector<mlir::Value> next; ///< where the next iteration's tile starts, if known
  mutable bool isPrefetched = false;   ///< that tile, by some walk
  llvm::SmallVector<int64_t> shape;    ///< of the tile
  mlir::Value padding;                 ///< scalar of compute type; reads only
};

class TileLowering {
public:
  using At = llvm::SmallVector<mlir::Value, 4>;
  using Reads = llvm::SmallVector<const Access *>;
  /// What else is done where a vector of a row is computed, at a column, of so many elements.
  using Beside = std::function<void(mlir::Value, int64_t)>;

  TileLowering(mlir::func::FuncOp function, const VectorTarget &target);

  /// Lowers every tile op of the function; afterwards no value is a tile. Emits an error at an op
  /// that has no lowering.
  llvm::LogicalResult run();
  int64_t scratchBytes() const { return scratch_.peak(); }

  /// Rows and vectors of columns of a product that the micro-kernel keeps in registers.
  struct RegisterBlock {
    int64_t rows, vectors;
  };

private:
  //===-- TilesToLoops.cpp --------------------------------------------------------------------===//
  llvm::LogicalResult lowerBlock(mlir::Block &block);
  llvm::LogicalResult lowerOp(mlir::Operation *op);
  llvm::LogicalResult lowerFor(mlir::scf::ForOp loop);
  llvm::LogicalResult lowerIf(mlir::scf::IfOp branch);
  llvm::LogicalResult lowerExpression(mlir::Operation *op);
  void lowerScalar(mlir::Operation *op);
  void lowerYield(mlir::Operation *yield, llvm::ArrayRef<mlir::Value> buffers);
  void materialise(mlir::Value tile);
  void eraseTiles();
  void computeInto(mlir::Value tile, mlir::Value buffer);
  void fill(mlir::Value tile, mlir::Value buffer);
  auto keepPrefetches();

  /// A buffer of scratch memory for elements of `compute` type.
  mlir::Value allocate(llvm::ArrayRef<int64_t> shape, mlir::Type compute);
  mlir::Value bufferFor(mlir::RankedTensorType tile);
  void copy(mlir::Value from, mlir::Value to);
  /// Loops over all elements, a vector at a time; the last vector of a row may be shorter.
  void forEachVector(llvm::ArrayRef<int64_t> shape,
                     const std::function<void(const At &, int64_t)> &body);
  void forEachElement(llvm::ArrayRef<int64_t> shape, const std::function<void(const At &)> &body);
  void forRange(mlir::Value first, mlir::Value end, int64_t step,
                const std::function<void(mlir::Value)> &body);

  //===-- Inline.cpp --------------------------------------------------------------------------===//
  bool staysInline(mlir::Operation *op);
  bool canRepeat(mlir::Operation *op);
  bool isReadEarly(mlir::Operation *load);
  bool canReadAgain(core::LoadOp load);
  mlir::Operation *lastReader(mlir::Operation *op);
  bool updatesInPlace(mlir::Value tile, mlir::Value carried);
  core::ReduceOp reductionOnTheWay(mlir::Value tile);

  //===-- Emit.cpp ----------------------------------------------------------------------------===//
  mlir::Value emit(mlir::Value tile, const At &at, int64_t lanes);
  mlir::Value emitOp(mlir::Operation *op, const At &at, int64_t lanes);
  mlir::Value emitElementwise(mlir::Operation *op, const At &at, int64_t lanes);
  mlir::Value emitBroadcast(core::BroadcastOp op, const At &at, int64_t lanes);
  mlir::Value emitTranspose(core::TransposeOp op, const At &at, int64_t lanes);
  mlir::Value emitReshape(core::ReshapeOp op, const At &at, int64_t lanes);
  mlir::Value emitIota(core::IotaOp op, const At &at, int64_t lanes);
  mlir::Value scalarAt(mlir::Value tile, const At &at);
  /// The same in the tile's element type, as scalars of the program are.
  mlir::Value scalarOf(mlir::Value tile, const At &at);
  /// A scalar of the program as a vector of one storage element.
  mlir::Value asStorage(mlir::Value scalar);
  /// A vector of one element of compute type as a scalar of the program.
  mlir::Value asScalar(mlir::Value vector, mlir::Type element);
  mlir::Value loadBuffer(mlir::Value buffer, const At &at, int64_t lanes);
  void storeBuffer(mlir::Value vector, mlir::Value buffer, const At &at);

  //===-- Access.cpp --------------------------------------------------------------------------===//
  Access accessOf(mlir::Value view, mlir::ValueRange coords, llvm::ArrayRef<int64_t> shape,
                  mlir::TypedAttr padding);
  /// The element where tile `coord` along a dimension of `size` elements starts; where no tile is,
  /// any element from which on there is none of the tile.
  mlir::Value startOf(mlir::Value coord, int64_t extent, mlir::Value size);
  /// Element indices of the view at `at` of the tile.
  At elementAt(const Access &access, const At &at);
  /// Whether the leading elements lie in the view, and how many of `lanes` do.
  std::pair<mlir::Value, mlir::Value> bounds(const Access &access, const At &element,
                                             int64_t lanes);
  mlir::Value linear(const Access &access, const At &element);
  mlir::Value addressOf(const Access &access, const At &element); ///< in bytes
  mlir::Value pointerTo(const Access &access, const At &element);
  /// Finds where the tile of a load starts in the next iteration of the loop that steps over tiles.
  void findNext(core::LoadOp load, Access &access);
  /// Brings an element of each tile's successor nearer.
  void prefetch(llvm::ArrayRef<const Access *> tiles, const At &at);
  At prefetchPlace(const Access &access, const At &at);
  /// Leaves it to a later walk to bring the successors of these tiles nearer, each of them once.
  void prefetchLater(llvm::ArrayRef<const Access *> reads);
  /// The tiles of this shape whose successors the walk that begins here brings nearer.
  Reads takePrefetches(llvm::ArrayRef<int64_t> shape);
  mlir::Value read(const Access &access, const At &element, int64_t lanes, bool isWhole);
  void write(mlir::Value vector, const Access &access, const At &element);
  /// The tiles of views that are read, element by element, where `tile` is computed.
  Reads readsOf(mlir::Value tile);
  mlir::Value isInside(const Access &access);
  /// Writes a walk twice: without masks for where all these tiles lie within their views, with
  /// masks for where they do not.
  void whereWhole(llvm::ArrayRef<const Access *> tiles, llvm::ArrayRef<int64_t> shape,
                  const std::function<void()> &walk);
  /// Whether a whole tile may be stored past the caches: aligned, and of a large view. Null: never.
  mlir::Value canStream(const Access &access, mlir::RankedTensorType tile);
  void stream(mlir::Value vector, const Access &access, const At &element);
  void streamTo(mlir::Value address, mlir::Value vector, mlir::Type element); ///< in bytes
  llvm::LogicalResult lowerStore(core::StoreOp op);
  llvm::LogicalResult lowerScatter(core::ScatterOp op);
  llvm::LogicalResult lowerAtomicAdd(core::AtomicAddOp op);

  //===-- Element types: see lower/Conversions.h
  //--------------------------------------------------===//
  mlir::Value fromStorage(mlir::Value vector, mlir::Type element) {
    return lower::fromStorage(b_, loc_, vector, element);
  }
  mlir::Value toStorage(mlir::Value vector, mlir::Type element) {
    return lower::toStorage(b_, loc_, vector, element);
  }
  mlir::Value roundTo(mlir::Value vector, mlir::Type element, core::Rounding rounding,
                      bool saturate) {
    return lower::roundTo(b_, loc_, vector, element, rounding, saturate);
  }
  mlir::Value convert(mlir::Value vector, mlir::Type from, mlir::Type to, core::Rounding rounding,
                      bool saturate) {
    return lower::convert(b_, loc_, vector, from, to, rounding, saturate);
  }

  //===-- Trail.cpp ---------------------------------------------------------------------------===//
  /// A reduction along rows of a tile that is kept, a store that depends on it row by row, and the
  /// ops that are materialised in between.
  struct Trail {
    core::ReduceOp reduce;
    core::StoreOp store;
    llvm::SmallVector<mlir::Operation *> between;
  };
  using Buffers = llvm::DenseMap<mlir::Value, mlir::Value>; ///< of tiles
  std::optional<Trail> trailOf(core::ReduceOp reduce);
  bool isOfItsRow(mlir::Value value, const Trail &trail);
  mlir::Value areApart(const Access &a, const Access &b);
  mlir::Value canTrail(const Reads &reads, const Reads &others, const Access &store,
                       mlir::RankedTensorType tile);
  struct Pending;
  void withBuffers(const Buffers &buffers, const std::function<void()> &body);
  void lowerRows(const Trail &trail, const Access &access, const Reads &prefetches,
                 const Pending *pending);
  bool lowerTrail(const Trail &trail, mlir::Value keep, mlir::Value reduced);

  //===-- Pending.cpp -------------------------------------------------------------------------===//
  /// A row that is yet to be stored, in variables of the function.
  struct Pending {
    mlir::Value isThere, address; ///< and where the row goes, in bytes
    mlir::Value slot; ///< which buffers the next tile takes: of a tile of one row there are two
    Buffers buffers[2];

    bool hasSlots() const { return bool(slot); }
  };
  bool outlivesTile(mlir::Value value, const Trail &trail, mlir::scf::ForOp loop);
  bool isQuiet(mlir::Operation *inner, Reads &loads);
  mlir::scf::ForOp loopOf(const Trail &trail, Reads &loads);
  Pending declarePending(const Buffers &buffers, int64_t rows, mlir::scf::ForOp loop);
  Buffers buffersOf(const Pending &pending, bool isCurrent);
  void wherePending(const Pending &pending, const std::function<void()> &then,
                    const std::function<void()> &otherwise);
  Beside storePending(const Trail &trail, const Pending &pending);
  void leavePending(const Pending &pending, mlir::Value address);
  void flush(const Trail &trail, const Pending &pending);
  void flushAround(const Trail &trail, const Pending &pending, mlir::scf::ForOp loop);

  //===-- Dot.cpp, Reduce.cpp -----------------------------------------------------------------===//
  struct DotPlan;
  void lowerDot(core::DotOp op, mlir::Value result);
  void multiplyMatrix(DotPlan &plan);
  void multiplyPanel(const DotPlan &plan, mlir::Value column, llvm::ArrayRef<int64_t> widths);
  void packRows(const DotPlan &plan);
  mlir::Value emitFactor(const DotPlan &plan, mlir::Value operand, mlir::Value i, mlir::Value j,
                         int64_t lanes);
  const Access *edgeOf(mlir::Value operand);
  void lowerReduce(core::ReduceOp op, mlir::Value result, mlir::Value keep = {});
  void lowerReduceIndex(core::ReduceIndexOp op, mlir::Value result);
  void lowerScan(core::ScanOp op, mlir::Value result);
  mlir::Value combine(core::ReduceKind kind, mlir::Value x, mlir::Value y);
  mlir::Value reduceRow(mlir::Value tile, At at, core::ReduceKind kind, mlir::Value keep,
                        llvm::ArrayRef<const Access *> prefetches, const Beside &beside = {});
  mlir::Value rounded(mlir::Value vector, mlir::Type element);

  //===-- Constants ---------------------------------------------------------------------------===//
  mlir::Value index(int64_t value);
  mlir::Value splat(mlir::Type element, int64_t lanes, double value);
  mlir::Value integers(mlir::Type element, int64_t lanes, int64_t value);
  mlir::Value repeat(mlir::Value scalar, int64_t lanes);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);

  int64_t lanesOf(mlir::Type compute) const;

  mlir::func::FuncOp function_;
  VectorTarget target_;
  mlir::OpBuilder b_;
  mlir::Location loc_;
  Scratch scratch_;
  mlir::Value arena_;                                ///< the core's scratch memory: memref<?xi8>
  llvm::DenseMap<mlir::Value, mlir::Value> buffers_; ///< of the tiles that have one
  llvm::DenseMap<mlir::Value, mlir::Value> targets_; ///< where tiles are to be computed
  llvm::SmallVector<mlir::Operation *> dead_;
  llvm::DenseSet<mlir::Operation *> trailing_; ///< stores that are lowered already
  /// Tiles that have been read, and whose successors are to be brought nearer by the next walk that
  /// computes: while a core computes, its memory channel idles.
  Reads prefetches_;
  std::unordered_map<mlir::Operation *, Access> accesses_; ///< of loads and gathers
  bool isWhole_ = false; ///< the code that is being written runs where all tiles are whole
};

inline bool isTile(mlir::Value value) { return mlir::isa<mlir::RankedTensorType>(value.getType()); }

/// Ops whose result is computed as a whole, not element by element.
bool isWhole(mlir::Operation *op);
/// A reshape that does more than add and remove dimensions of extent 1.
bool movesElements(mlir::Operation *op);

using lower::computeType;
using lower::storageType;

using lower::hasUnitStride;

} // namespace ditron::cpu
