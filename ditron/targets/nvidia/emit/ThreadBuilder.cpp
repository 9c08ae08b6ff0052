// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/emit/ThreadBuilder.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/nvidia/NvidiaTarget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace ditron::nvidia {

const Chip &chipOf(const ThreadContext &context) {
  return static_cast<const NvidiaTarget &>(context.target).chip();
}

/// A coordinate of a tile along one of the argument's dimensions; far outside of the argument where
/// the tile begins outside of the view.
static Value placeInView(ThreadBuilder &t, Value view, ValueRange coords, ArrayRef<int64_t> shape,
                         const ArgumentView::Dimension &dimension, Value extent) {
  OpBuilder &b = t.b;
  auto dim = static_cast<size_t>(dimension.ofView);
  size_t lead = coords.size() - shape.size();
  int64_t height = dim < lead ? 1 : shape[dim - lead];
  Value size = dimension.isWhole ? extent : b.create<memref::DimOp>(t.loc, view, dimension.ofView);
  Value start = b.create<arith::MaxSIOp>(t.loc, coords[dim], t.index(-1));
  start = b.create<arith::MinSIOp>(t.loc, start, size);
  if (height != 1)
    start = t.mul(start, t.index(height));
  if (dimension.isWhole)
    return start;
  auto compare = [&](arith::CmpIPredicate predicate, Value x, Value y) {
    return b.create<arith::CmpIOp>(t.loc, predicate, x, y);
  };
  Value isInside =
      b.create<arith::AndIOp>(t.loc, compare(arith::CmpIPredicate::sge, start, t.index(0)),
                              compare(arith::CmpIPredicate::slt, start, size));
  return b.create<arith::SelectOp>(t.loc, isInside, start, t.index(INT32_MAX));
}

void ThreadBuilder::byFirstThread(llvm::function_ref<void()> code) {
  auto isZero = [&](Value x) {
    return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, x, i32(0));
  };
  Value isFirst = b.create<arith::AndIOp>(loc, isZero(context.warp), isZero(context.lane));
  auto branch = b.create<scf::IfOp>(loc, isFirst);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  code();
}

void ThreadBuilder::makeBarriers(Value first, ArrayRef<int64_t> arrivals) {
  auto at = [&](size_t n) { return offset(first, static_cast<int64_t>(n) * kBarrierBytes); };
  byFirstThread([&] {
    for (auto [n, count] : llvm::enumerate(arrivals))
      instructions.initBarrier(at(n), count);
    instructions.fenceBarriers();
  });
  auto function = cast<func::FuncOp>(b.getInsertionBlock()->getParentOp());
  if (!isRegion(function))
    return;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(function.front().getTerminator()); // behind the roles, when all have met
  byFirstThread([&] {
    for (size_t n = 0; n < arrivals.size(); ++n)
      instructions.dropBarrier(at(n));
  });
}

Value ThreadBuilder::makeWords(int64_t count) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&cast<func::FuncOp>(b.getInsertionBlock()->getParentOp()).front());
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  return b.create<LLVM::AllocaOp>(loc, pointer, b.getI32Type(), i32(count));
}

SmallVector<Value> ThreadBuilder::placeOf(Value view, ValueRange coords, ArrayRef<int64_t> shape,
                                          Value page) {
  constexpr int64_t kMostExtent = 256; // of a TMA box
  ArgumentView part = *ArgumentView::of(view);
  SmallVector<Value> result;
  for (size_t dim = part.dimensions.size(); dim-- > 0;) {
    const ArgumentView::Dimension &dimension = part.dimensions[dim];
    Value extent = b.create<memref::DimOp>(loc, part.argument, static_cast<int64_t>(dim));
    Value place = dimension.ofView < 0 ? index(0)
                                       : placeInView(*this, view, coords, shape, dimension, extent);
    for (OpFoldResult start : dimension.starts)
      place = add(place, getValueOrCreateConstantIndexOp(b, loc, start));
    for (auto [x, y] : dimension.products)
      place = add(place, mul(getValueOrCreateConstantIndexOp(b, loc, x),
                             getValueOrCreateConstantIndexOp(b, loc, y)));
    // One that lies outside is brought near, that it fits 32 bits: any such tile is all zeros.
    place = b.create<arith::MaxSIOp>(loc, place, index(-kMostExtent));
    place = b.create<arith::MinSIOp>(loc, place, extent);
    result.push_back(b.create<arith::IndexCastOp>(loc, b.getI32Type(), place));
  }
  if (page)
    result.push_back(b.create<arith::IndexCastOp>(loc, b.getI32Type(), page));
  return result;
}

} // namespace ditron::nvidia
