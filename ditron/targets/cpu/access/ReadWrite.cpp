// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vectors of views: contiguous ones are loaded and stored, strided ones gathered and scattered;
// with masks where the tile may reach beyond its view.
#include "ditron/targets/cpu/access/Access.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace ditron::cpu {

/// 0, 1, 2, ... as a vector of integers.
static Value count(VectorBuilder &v, Type element, int64_t lanes) {
  SmallVector<Attribute> values;
  for (int64_t lane = 0; lane < lanes; ++lane)
    values.push_back(v.b.getIntegerAttr(element, lane));
  return v.create<arith::ConstantOp>(
      DenseElementsAttr::get(VectorType::get({lanes}, element), values));
}

/// Lanes below `valid`.
static Value maskOf(VectorBuilder &v, Value valid, int64_t lanes) {
  Type i32 = v.b.getI32Type();
  Value limit = v.create<arith::IndexCastOp>(i32, valid);
  Value limits = v.create<vector::BroadcastOp>(VectorType::get({lanes}, i32), limit);
  return v.create<arith::CmpIOp>(arith::CmpIPredicate::slt, count(v, i32, lanes), limits);
}

/// Element offsets of the lanes of a strided vector.
static Value offsetsOf(VectorBuilder &v, Value stride, int64_t lanes) {
  Type i64 = v.b.getI64Type();
  Value step = v.create<arith::IndexCastOp>(i64, stride);
  auto type = VectorType::get({lanes}, i64);
  return v.create<arith::MulIOp>(count(v, i64, lanes), v.create<vector::BroadcastOp>(type, step));
}

/// Lanes of a vector that lie in the view.
static Value lanesInside(VectorBuilder &v, const Access &access, const At &element, int64_t lanes) {
  auto [inside, valid] = boundsOf(v, access, element, lanes);
  return maskOf(v, valid, lanes);
}

/// What is stored in some lanes of a vector; zeros in the others.
static Value readLanes(VectorBuilder &v, const Access &access, const At &element, Value mask) {
  int64_t lanes = cast<VectorType>(mask.getType()).getNumElements();
  Value at = linear(v, access, element);
  auto stored = VectorType::get({lanes}, storageType(access.element));
  Value nothing = v.create<arith::ConstantOp>(v.b.getZeroAttr(stored));
  if (access.unitStride)
    return v.create<vector::MaskedLoadOp>(stored, access.memory, at, mask, nothing);
  return v.create<vector::GatherOp>(stored, access.memory, at,
                                    offsetsOf(v, access.strides.back(), lanes), mask, nothing);
}

static Value readMasked(VectorBuilder &v, const Access &access, const At &element, int64_t lanes) {
  Value mask = lanesInside(v, access, element, lanes);
  Value vector = v.fromStorage(readLanes(v, access, element, mask), access.element);
  if (matchPattern(access.padding, m_Zero()) || matchPattern(access.padding, m_AnyZeroFloat()))
    return vector;
  Value pad =
      lanes == 1 ? access.padding : v.repeat(v.create<vector::ExtractOp>(access.padding, 0), lanes);
  return v.create<arith::SelectOp>(mask, vector, pad);
}

Value readStored(VectorBuilder &v, const Access &access, const At &element, int64_t lanes,
                 Coverage coverage) {
  if (coverage == Coverage::masked)
    return readLanes(v, access, element, lanesInside(v, access, element, lanes));
  auto stored = VectorType::get({lanes}, storageType(access.element));
  return v.create<vector::LoadOp>(stored, access.memory, linear(v, access, element));
}

Value read(VectorBuilder &v, const Access &access, const At &element, int64_t lanes,
           Coverage coverage) {
  if (coverage == Coverage::masked)
    return readMasked(v, access, element, lanes);
  return v.fromStorage(readStored(v, access, element, lanes, coverage), access.element);
}

void write(VectorBuilder &v, Value vector, const Access &access, const At &element,
           Coverage coverage) {
  int64_t lanes = cast<VectorType>(vector.getType()).getNumElements();
  Value at = linear(v, access, element);
  Value stored = v.toStorage(vector, access.element);
  if (coverage == Coverage::whole) {
    v.create<vector::StoreOp>(stored, access.memory, at);
    return;
  }
  auto [inside, valid] = boundsOf(v, access, element, lanes);
  Value mask = maskOf(v, valid, lanes);
  if (access.unitStride)
    v.create<vector::MaskedStoreOp>(access.memory, at, mask, stored);
  else
    v.create<vector::ScatterOp>(access.memory, at, offsetsOf(v, access.strides.back(), lanes), mask,
                                stored);
}

} // namespace ditron::cpu
