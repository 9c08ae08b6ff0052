// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memref and tensor: views of memory, and single elements.
#include "ditron/reference/Semantics.h"
#include "ditron/reference/TileMath.h"
#include "ditron/support/Error.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace mlir;

namespace ditron::reference {
namespace {

/// Numbers of which some are known in the IR and the others are operands.
Extents resolve(CoreMachine &core, ArrayRef<OpFoldResult> mixed) {
  Extents result;
  for (OpFoldResult one : mixed) {
    if (auto value = dyn_cast<mlir::Value>(one))
      result.push_back(core.integer(value));
    else
      result.push_back(cast<IntegerAttr>(cast<Attribute>(one)).getInt());
  }
  return result;
}

Value runSubview(CoreMachine &core, memref::SubViewOp op) {
  llvm::SmallBitVector droppedBits = op.getDroppedDims();
  llvm::SmallVector<bool> dropped;
  for (unsigned d = 0; d < droppedBits.size(); ++d)
    dropped.push_back(droppedBits[d]);
  return subview(core.get<View>(op.getSource()), resolve(core, op.getMixedOffsets()),
                 resolve(core, op.getMixedSizes()), resolve(core, op.getMixedStrides()), dropped);
}

Value runExpandShape(CoreMachine &core, memref::ExpandShapeOp op) {
  Builder builder(op.getContext());
  Extents sizes =
      resolve(core, getMixedValues(op.getStaticOutputShape(), op.getOutputShape(), builder));
  return expandShape(core.get<View>(op.getSrc()), op.getReassociationIndices(), sizes);
}

Value runTranspose(CoreMachine &core, memref::TransposeOp op) {
  Extents permutation;
  for (AffineExpr dimension : op.getPermutation().getResults())
    permutation.push_back(cast<AffineDimExpr>(dimension).getPosition());
  return transposed(core.get<View>(op.getIn()), permutation);
}

/// The view stays as it is, but must have the extents that its new type states.
Value runCast(CoreMachine &core, memref::CastOp op) {
  const View &view = core.get<View>(op.getSource());
  auto type = dyn_cast<MemRefType>(op.getType());
  if (!type)
    throw CompileError("casts to a memref without rank");
  for (auto [known, extent] : llvm::zip_equal(type.getShape(), view.sizes))
    if (!ShapedType::isDynamic(known) && known != extent)
      throw CompileError(fmt::format("states extents [{}] for a view of [{}]",
                                     fmt::join(type.getShape(), ", "),
                                     fmt::join(view.sizes, ", ")));
  return view;
}

Value runDim(CoreMachine &core, memref::DimOp op) {
  const View &view = core.get<View>(op.getSource());
  int64_t dimension = core.integer(op.getIndex());
  if (dimension < 0 || dimension >= static_cast<int64_t>(view.sizes.size()))
    throw CompileError(fmt::format("asks for dimension {} of a view of {} dimensions", dimension,
                                   view.sizes.size()));
  return view.sizes[dimension];
}

/// The window of one element, for the observer.
View elementView(const View &view, ArrayRef<int64_t> indices) {
  View element{view.memory, view.offset, {}, {}};
  for (auto [index, stride] : llvm::zip_equal(indices, view.strides))
    element.offset += index * stride;
  return element;
}

void runLoad(CoreMachine &core, memref::LoadOp op) {
  const View &view = core.get<View>(op.getMemRef());
  Extents indices = core.integers(op.getIndices());
  Value value = loadElementOf(view, indices);
  View element = elementView(view, indices);
  core.observe(Action::Kind::read, &element);
  core.set(op.getResult(), value);
}

void runStore(CoreMachine &core, memref::StoreOp op) {
  const View &view = core.get<View>(op.getMemRef());
  Extents indices = core.integers(op.getIndices());
  storeElementTo(view, indices, core.get(op.getValueToStore()));
  View element = elementView(view, indices);
  core.observe(Action::Kind::write, &element);
}

Value extract(CoreMachine &core, tensor::ExtractOp op) {
  const Tile &tile = core.tile(op.getTensor());
  Extents indices = core.integers(op.getIndices());
  int64_t at = 0;
  for (auto [index, extent] : llvm::zip_equal(indices, tile.shape)) {
    if (index < 0 || index >= extent)
      throw CompileError(fmt::format("takes element [{}] of a tile of [{}]",
                                     fmt::join(indices, ", "), fmt::join(tile.shape, ", ")));
    at = at * extent + index;
  }
  return std::visit([&](const auto &elements) -> Value { return elements[at]; }, tile.elements);
}

} // namespace

void addMemory(Semantics &semantics) {
  semantics.addPure<memref::SubViewOp>(runSubview);
  semantics.addPure<memref::ExpandShapeOp>(runExpandShape);
  semantics.addPure<memref::TransposeOp>(runTranspose);
  semantics.addPure<memref::CastOp>(runCast);
  semantics.addPure<memref::MemorySpaceCastOp>([](CoreMachine &core, memref::MemorySpaceCastOp op) {
    return core.get<View>(op.getSource());
  });
  semantics.addPure<memref::DimOp>(runDim);
  semantics.add<memref::LoadOp>(runLoad);
  semantics.add<memref::StoreOp>(runStore);
  semantics.addPure<tensor::ExtractOp>(extract);
  semantics.addPure<tensor::SplatOp>([](CoreMachine &core, tensor::SplatOp op) {
    return splat(op.getType(), core.get(op.getInput()));
  });
}

} // namespace ditron::reference
