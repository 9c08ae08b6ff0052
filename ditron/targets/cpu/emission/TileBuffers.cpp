// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/emission/TileBuffers.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace ditron::cpu {

void TileBuffers::with(const BufferMap &buffers, const std::function<void()> &body) {
  BufferMap outer;
  for (auto [tile, buffer] : buffers)
    outer[tile] = std::exchange(buffers_[tile], buffer);
  body();
  for (auto [tile, buffer] : outer)
    if (buffer)
      buffers_[tile] = buffer;
    else
      buffers_.erase(tile);
}

Value TileBuffers::allocate(ArrayRef<int64_t> shape, Type compute) {
  Type stored = storageType(compute);
  int64_t elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  int64_t offset = scratch_.allocate(elements * core::elementBytes(stored));
  return v_.create<memref::ViewOp>(MemRefType::get(shape, stored), arena_, v_.index(offset),
                                   ValueRange());
}

Value TileBuffers::allocate(RankedTensorType tile) {
  return allocate(tile.getShape(), computeType(tile.getElementType()));
}

Value TileBuffers::again(Value buffer) {
  auto view = buffer.getDefiningOp<memref::ViewOp>();
  APInt shift;
  matchPattern(view.getByteShift(), m_ConstantInt(&shift));
  return v_.create<memref::ViewOp>(view.getType(), arena_, v_.index(shift.getSExtValue()),
                                   ValueRange());
}

} // namespace ditron::cpu
