// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TMA stores: nvidia.tma_store.
//
// Each warpgroup stores its rows by itself, in blocks of 64 rows of 128 bytes, through two buffers
// of shared memory, alternately. All stores of a kernel use the same two:
//
//   its first thread waits until the buffer has been read, and all of the warpgroup for it
//   each warp writes 16 rows by stmatrix, chunks of 16 bytes swizzled as TMA reads them
//   a proxy fence shows TMA what was written; all meet; the first thread issues the TMA store
//
// A tile whose width is no multiple of 128 bytes ends with a block that overlaps the one before it:
// its elements are written twice. At the edges of the view TMA drops what is beyond.
// But where the view is a slice, there is something behind its last row: blocks that reach beyond
// it are read from shared memory by the threads, which store the rows that are left in 16-byte
// pieces.
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/threads/GlobalTile.h"
#include "ditron/targets/nvidia/emit/ThreadBuilder.h"
#include "ditron/targets/nvidia/ops/NvidiaOps.h"
#include "ditron/targets/nvidia/transforms/Passes.h"

using namespace mlir;

namespace ditron::nvidia {
namespace {

constexpr int64_t kBlockRows = 64, kBlockColumns = 64; ///< of elements of 16 bits
constexpr int64_t kBlockBytes = kBlockRows * kPanelBytes;
constexpr int64_t kBuffers = 2;      ///< of a warpgroup
constexpr int64_t kFirstBarrier = 2; ///< of those at which warpgroups meet

/// The columns at which blocks of a tile begin.
SmallVector<int64_t> blocksOf(int64_t columns) {
  SmallVector<int64_t> starts;
  for (int64_t start = 0; start < columns; start += kBlockColumns)
    starts.push_back(std::min(start, columns - kBlockColumns));
  return starts;
}

/// The store of one warpgroup's rows of a tile.
class TmaStore {
public:
  TmaStore(ThreadBuilder &t, TmaStoreOp op, Value tile, Value buffers)
      : t_(t), op_(op), tile_(*Distribution::of(core::layoutOf(tileOf(op.getTile())),
                                                shapeOf(tileOf(op.getTile())))),
        columns_(tileOf(op.getTile()).getDimSize(1)), groups_(t.context.warps / kWarpgroup),
        rows_(tileOf(op.getTile()).getDimSize(0) / groups_) {
    Value stored = t.stored(tile, tileOf(op.getTile()).getElementType());
    int64_t words = cast<VectorType>(stored.getType()).getNumElements() / 2;
    words_ = t.split(
        t.b.create<vector::BitCastOp>(t.loc, VectorType::get({words}, t.b.getI32Type()), stored));
    group_ = t.digit({Axis::warp, kWarpgroup, groups_, 1});
    Value warp = t.digit({Axis::warp, 1, kWarpgroup, 1});
    buffers_ = t.offset(buffers, t.mul(group_, t.i32(kBuffers * kBlockBytes)));
    isFirst_ = t.b.create<arith::AndIOp>(t.loc, equal(warp, 0), equal(t.context.lane, 0));
    lane_ = placeOfLane(warp);
    place_ = t.placeOf(op.getView(), op.getCoords(), tileOf(op.getTile()).getShape(), op.getPage());
    ArgumentView view = *ArgumentView::of(op.getView());
    auto row = view.dimensionOf(static_cast<unsigned>(op.getCoords().size()) - 2);
    Value &outer = place_[view.dimensions.size() - 1 - row];
    outer = t.add(outer, t.mul(group_, t.i32(rows_)));
    row_ = &outer - place_.begin();
    if (!view.dimensions[row].isWhole)
      slice_.emplace(t, op.getView(), op.getCoords(), tile_);
  }

  void run() {
    int64_t count = 0;
    for (int64_t row = 0; row < rows_; row += kBlockRows)
      for (int64_t column : blocksOf(columns_))
        store(row, column, count++);
  }

private:
  Value equal(Value x, int64_t y) {
    return t_.b.create<arith::CmpIOp>(t_.loc, arith::CmpIPredicate::eq, x, t_.i32(y));
  }

  /// Where the row begins that this lane points stmatrix at, in bytes: of the first two matrices of
  /// 8 columns or of the next two, its chunk swizzled.
  Value placeOfLane(Value warp) {
    OpBuilder &b = t_.b;
    Value line = b.create<arith::AndIOp>(t_.loc, t_.context.lane, t_.i32(7));
    Value below = t_.digit({Axis::lane, 8, 2, 1}), right = t_.digit({Axis::lane, 16, 2, 1});
    Value row = t_.add(t_.add(t_.mul(warp, t_.i32(16)), t_.mul(below, t_.i32(8))), line);
    Value chunk = b.create<arith::XOrIOp>(t_.loc, line, right);
    return t_.add(t_.mul(row, t_.i32(kPanelBytes)), t_.mul(chunk, t_.i32(16)));
  }

  void store(int64_t row, int64_t column, int64_t count) {
    Instructions &instructions = t_.instructions;
    Value meeting = t_.add(group_, t_.i32(kFirstBarrier));
    Value buffer = t_.offset(buffers_, count % kBuffers * kBlockBytes);
    // The stores before this tile may have used either buffer last.
    instructions.waitStoresRead(count == 0 ? 0 : kBuffers - 1, isFirst_);
    instructions.meet(meeting, kWarpgroup * kLanes);
    for (int64_t part = 0; part < kBlockColumns; part += 16) {
      Value place = t_.b.create<arith::XOrIOp>(t_.loc, lane_, t_.i32(part * 2));
      size_t first = static_cast<size_t>((row / kBlockRows * columns_ + column + part) / 4);
      instructions.storeMatrices(t_.offset(buffer, place), ArrayRef(words_).slice(first, 4));
    }
    instructions.fenceCopies();
    instructions.meet(meeting, kWarpgroup * kLanes);
    SmallVector<Value> place(place_);
    place[0] = t_.add(place[0], t_.i32(column));
    place[row_] = t_.add(place[row_], t_.i32(row));
    if (slice_)
      storeInView(buffer, place, row, column);
    else
      instructions.storeTensor(buffer, op_.getMap(), place, isFirst_);
    instructions.commitStores(isFirst_); // a group for each buffer, by which the next one waits
  }

  /// Stores a block whose view may end within it.
  void storeInView(Value buffer, ArrayRef<Value> place, int64_t row, int64_t column) {
    OpBuilder::InsertionGuard guard(t_.b);
    Value first = t_.add(t_.mul(group_, t_.i32(rows_)), t_.i32(row));
    Value isWhole = t_.b.create<arith::CmpIOp>(
        t_.loc, arith::CmpIPredicate::sge, slice_->rowsLeft(), t_.add(first, t_.i32(kBlockRows)));
    auto branch = t_.b.create<scf::IfOp>(t_.loc, isWhole, /*withElseRegion=*/true);
    t_.b.setInsertionPointToStart(branch.thenBlock());
    t_.instructions.storeTensor(buffer, op_.getMap(), place, isFirst_);
    t_.b.setInsertionPointToStart(branch.elseBlock());
    storeRows(buffer, first, column);
  }

  /// Stores the rows of a buffer that lie in the view, from a row and a column of the tile on.
  void storeRows(Value buffer, Value row, int64_t column) {
    constexpr int64_t kRun = 8, kChunks = kBlockColumns / kRun;
    OpBuilder &b = t_.b;
    Value thread =
        t_.add(t_.mul(t_.digit({Axis::warp, 1, kWarpgroup, 1}), t_.i32(kLanes)), t_.context.lane);
    auto loop = b.create<scf::ForOp>(t_.loc, thread, t_.i32(kBlockRows * kChunks),
                                     t_.i32(kWarpgroup * kLanes));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value line = b.create<arith::DivUIOp>(t_.loc, loop.getInductionVar(), t_.i32(kChunks));
    Value chunk = b.create<arith::RemUIOp>(t_.loc, loop.getInductionVar(), t_.i32(kChunks));
    Value swizzled = b.create<arith::XOrIOp>(
        t_.loc, chunk, b.create<arith::RemUIOp>(t_.loc, line, t_.i32(kChunks)));
    Value place = t_.add(t_.mul(line, t_.i32(kPanelBytes)), t_.mul(swizzled, t_.i32(16)));
    auto words = b.create<LLVM::LoadOp>(t_.loc, VectorType::get({4}, b.getI32Type()),
                                        t_.offset(buffer, place), /*alignment=*/16);
    Value at = t_.add(t_.mul(chunk, t_.i32(kRun)), t_.i32(column));
    auto [address, count] = slice_->from(t_, t_.add(row, line), at, kRun);
    auto atLeast = [&, count = count](arith::CmpIPredicate predicate, int64_t n) -> Value {
      return b.create<arith::CmpIOp>(t_.loc, predicate, count, t_.i32(n));
    };
    t_.instructions.storeGlobal(address, t_.split(words), atLeast(arith::CmpIPredicate::eq, kRun));
    Value isPartial = b.create<arith::AndIOp>(t_.loc, atLeast(arith::CmpIPredicate::sgt, 0),
                                              atLeast(arith::CmpIPredicate::slt, kRun));
    auto branch = b.create<scf::IfOp>(t_.loc, isPartial);
    b.setInsertionPointToStart(branch.thenBlock());
    auto halves = VectorType::get({kRun}, b.getI16Type());
    for (auto [n, half] :
         llvm::enumerate(t_.split(b.create<vector::BitCastOp>(t_.loc, halves, words)))) {
      Value by = b.create<arith::ConstantIntOp>(t_.loc, 2 * static_cast<int64_t>(n), 64);
      t_.instructions.storeGlobal(t_.add(address, by), half,
                                  atLeast(arith::CmpIPredicate::sgt, static_cast<int64_t>(n)));
    }
  }

  ThreadBuilder &t_;
  TmaStoreOp op_;
  Distribution tile_;
  std::optional<GlobalTile> slice_; ///< the tile in a slice, behind whose last row lie others
  int64_t columns_, groups_, rows_; ///< rows: of a warpgroup
  SmallVector<Value> words_, place_;
  std::ptrdiff_t row_ = 1; ///< of place_: the coordinate of rows
  Value group_, buffers_, isFirst_, lane_;
};

struct TmaStorePattern : EffectPattern<TmaStoreOp> {
  using EffectPattern::EffectPattern;
  void write(TmaStoreOp op, OpAdaptor adaptor, ThreadBuilder &t) const override {
    Value buffers = t.shared(context_.shared.staging(tmaStoreBytes(context_.warps)));
    TmaStore(t, op, adaptor.getTile(), buffers).run();
  }
};

struct CompleteStoresPattern : EffectPattern<CompleteStoresOp> {
  using EffectPattern::EffectPattern;
  void write(CompleteStoresOp, OpAdaptor, ThreadBuilder &t) const override {
    t.instructions.waitStores();
  }
};

} // namespace

int64_t tmaStoreBytes(int64_t warps) { return warps / kWarpgroup * kBuffers * kBlockBytes; }

void addTmaStorePatterns(RewritePatternSet &patterns, const TypeConverter &types,
                         const ThreadContext &context) {
  patterns.add<TmaStorePattern, CompleteStoresPattern>(types, patterns.getContext(), context);
}

} // namespace ditron::nvidia
