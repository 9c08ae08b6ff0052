// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/emission/Materialiser.h"
#include "ditron/targets/cpu/emission/Dot.h"

using namespace mlir;

namespace ditron::cpu {

void Materialiser::fill(Value tile, Value buffer) {
  ArrayRef<int64_t> shape = tileOf(tile).getShape();
  Accesses reads = reads_.of(tile, buffers_), prefetches = prefetches_.take(shape);
  prefetches_.leave(reads);
  whereWhole(v_, reads, shape, [&](Coverage coverage) {
    v_.forEachVector(shape, [&](const At &at, int64_t lanes) {
      prefetches_.emit(prefetches, at);
      v_.storeBuffer(emitter_.emit(tile, at, lanes, coverage), buffer, at);
    });
  });
}

void Materialiser::multiply(core::DotOp op, Value buffer) {
  if (buffers_.lookup(op.getAcc()) != buffer)
    fill(op.getAcc(), buffer);
  addProduct({v_, buffers_, reads_, emitter_}, op, buffer);
}

void Materialiser::compute(Value tile, Value buffer) {
  Operation *op = tile.getDefiningOp();
  if (auto dot = dyn_cast_or_null<core::DotOp>(op))
    return multiply(dot, buffer);
  if (auto reduce = dyn_cast_or_null<core::ReduceOp>(op))
    return reductions_.lower(reduce, buffer);
  if (auto reduce = dyn_cast_or_null<core::ReduceIndexOp>(op))
    return reductions_.lower(reduce, buffer);
  if (auto scan = dyn_cast_or_null<core::ScanOp>(op))
    return reductions_.lower(scan, buffer);
  fill(tile, buffer);
}

} // namespace ditron::cpu
