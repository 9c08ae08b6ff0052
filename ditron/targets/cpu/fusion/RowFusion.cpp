// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/fusion/RowFusion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace ditron::cpu {

/// Buffers of the tiles that rows are computed from.
BufferMap RowFusion::allocate(const TrailingStore &trailing, Value keep, Value reduced) {
  BufferMap rowBuffers;
  rowBuffers[trailing.source()] = keep;
  rowBuffers[trailing.reduced()] = reduced;
  for (Operation *op : trailing.between)
    rowBuffers[op->getResult(0)] = buffers_.allocate(tileOf(op->getResult(0)));
  return rowBuffers;
}

/// Whether the store may trail: whole tiles, past the caches, apart from what is read, there and
/// by the loop's other loads. Null: never.
Value RowFusion::canTrail(const TrailingStore &trailing, const BufferMap &rowBuffers,
                          const Access &access, const Accesses &loads) {
  Accesses tiles = reads_.of(trailing.source(), buffers_);
  buffers_.with(rowBuffers, [&] { tiles.append(reads_.of(trailing.stored(), buffers_)); });
  auto isSplit = [](const Access *read) { return !read->unitStride; };
  if (!access.unitStride || llvm::any_of(tiles, isSplit))
    return {};
  Value result = canStream(v_, access, tileOf(trailing.source()));
  if (!result)
    return {};
  auto require = [&](Value condition) { result = v_.create<arith::AndIOp>(result, condition); };
  require(isInside(v_, access));
  for (const Access *read : tiles) {
    require(isInside(v_, *read));
    require(areApart(v_, *read, access));
  }
  for (const Access *other : loads)
    if (!llvm::is_contained(tiles, other))
      require(areApart(v_, *other, access));
  return result;
}

/// A row's elements, their combination and what depends on it.
void RowFusion::computeRow(const TrailingStore &trailing, Value row, const Accesses &prefetches,
                           const Beside &beside) {
  Value tile = trailing.source();
  At at{row, v_.index(0)};
  RowReduction reduction{tile, core::ReduceOp(trailing.reduce).getKind(), buffers_.lookup(tile),
                         prefetches};
  Value scalar = materialiser_.reductions().reduceRow(reduction, at, Coverage::whole, beside);
  v_.storeBuffer(v_.rounded(v_.repeat(scalar, 1), tileOf(tile).getElementType()),
                 buffers_.lookup(trailing.reduced()), at);
  for (Operation *op : trailing.between)
    v_.storeBuffer(emitter_.emitOp(op, at, 1, Coverage::whole), buffers_.lookup(op->getResult(0)),
                   at);
}

/// Row by row: its elements and their combination, beside them the store of the row before.
void RowFusion::lowerTogether(const TrailingStore &trailing, const Access &access,
                              DeferredRow *deferred) {
  auto type = tileOf(trailing.source());
  Accesses prefetches = prefetches_.take(type.getShape());
  int64_t rows = type.getDimSize(0), lanes = v_.wholeLanes();
  auto store = [&](Value row, Value column, int64_t width) {
    At at{row, column};
    Value vector = emitter_.emit(trailing.stored(), at, width, Coverage::whole);
    stream(v_, vector, access, elementAt(v_, access, at));
  };
  auto first = [&] { computeRow(trailing, v_.index(0), prefetches, {}); };
  if (deferred)
    deferred->where(
        [&] {
          Value row = v_.index(0);
          computeRow(trailing, row, prefetches, deferred->store());
        },
        first);
  else
    first();
  v_.forRange(v_.index(1), v_.index(rows), 1, [&](Value row) {
    Value before = v_.create<arith::SubIOp>(row, v_.index(1));
    computeRow(trailing, row, prefetches,
               [&](Value column, int64_t width) { store(before, column, width); });
  });
  if (!deferred)
    return v_.forRange(v_.index(0), v_.index(type.getDimSize(1)), lanes,
                       [&](Value column) { store(v_.index(rows - 1), column, lanes); });
  deferred->leave(addressOf(v_, access, elementAt(v_, access, {v_.index(rows - 1), v_.index(0)})));
}

void RowFusion::lowerApart(const TrailingStore &trailing, const BufferMap &rowBuffers) {
  Value keep = rowBuffers.lookup(trailing.source());
  Value reduced = rowBuffers.lookup(trailing.reduced());
  materialiser_.reductions().lower(trailing.reduce, reduced, keep);
  buffers_.bind(trailing.source(), keep);
  buffers_.bind(trailing.reduced(), reduced);
  for (Operation *op : trailing.between) {
    Value result = op->getResult(0);
    materialiser_.compute(result, rowBuffers.lookup(result));
    buffers_.bind(result, rowBuffers.lookup(result));
  }
  stores_.lower(trailing.store);
}

bool RowFusion::lower(core::ReduceOp reduce, Value keep, Value reduced) {
  auto trailing = findTrailingStore(reduce, v_, buffers_, reads_, inlining_);
  if (!trailing)
    return false;
  auto type = tileOf(reduce.getSource());
  Access access =
      accessOf(v_, trailing->store.getView(), trailing->store.getCoords(), type.getShape());
  Accesses loads;
  scf::ForOp loop = loopToDefer(*trailing, buffers_, reads_, loads);
  if (!loop && type.getDimSize(0) < 2)
    return false;
  BufferMap rowBuffers = allocate(*trailing, keep, reduced);
  Value together = canTrail(*trailing, rowBuffers, access, loop ? loads : Accesses());
  if (!together)
    return false;

  std::optional<DeferredRow> deferred;
  if (loop)
    deferred.emplace(v_, function_, buffers_, emitter_, *trailing, rowBuffers, loop);
  Accesses left = prefetches_.left();
  auto oneWalk = [&] {
    buffers_.with(deferred ? deferred->currentBuffers() : rowBuffers,
                  [&] { lowerTogether(*trailing, access, deferred ? &*deferred : nullptr); });
    prefetches_.restore(left);
  };
  auto twoWalks = [&] {
    if (deferred)
      deferred->flush();
    lowerApart(*trailing, rowBuffers);
  };
  v_.ifElse(together, oneWalk, twoWalks);
  lowered_.insert(trailing->store);
  if (deferred)
    deferred->flushAround();
  return true;
}

} // namespace ditron::cpu
