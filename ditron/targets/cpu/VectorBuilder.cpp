// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/VectorBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace ditron::cpu {

//===-- Constants and small arithmetic --------------------------------------------------------===//

Value VectorBuilder::index(int64_t value) { return create<arith::ConstantIndexOp>(value); }

Value VectorBuilder::truth(bool value) { return create<arith::ConstantIntOp>(value, 1); }

Value VectorBuilder::splat(Type element, int64_t lanes, double value) {
  auto type = VectorType::get({lanes}, element);
  if (isa<FloatType>(element))
    return create<arith::ConstantOp>(DenseElementsAttr::get(type, b.getFloatAttr(element, value)));
  return integers(element, lanes, static_cast<int64_t>(value));
}

Value VectorBuilder::integers(Type element, int64_t lanes, int64_t value) {
  auto type = VectorType::get({lanes}, element);
  return create<arith::ConstantOp>(
      DenseElementsAttr::get(type, Attribute(b.getIntegerAttr(element, value))));
}

Value VectorBuilder::repeat(Value scalar, int64_t lanes) {
  return create<vector::BroadcastOp>(VectorType::get({lanes}, scalar.getType()), scalar);
}

Value VectorBuilder::add(Value x, Value y) {
  if (matchPattern(y, m_Zero()))
    return x;
  if (matchPattern(x, m_Zero()))
    return y;
  return create<arith::AddIOp>(x, y);
}

Value VectorBuilder::mul(Value x, Value y) {
  if (matchPattern(x, m_Zero()) || matchPattern(y, m_Zero()))
    return index(0);
  if (matchPattern(y, m_One()))
    return x;
  return create<arith::MulIOp>(x, y);
}

Value VectorBuilder::both(Value x, Value y) {
  return x ? create<arith::AndIOp>(x, y).getResult() : y;
}

int64_t VectorBuilder::lanesOf(Type compute) const {
  int64_t bytes = std::max<int64_t>(4, core::elementBytes(compute));
  return std::max<int64_t>(1, target.vectorBytes / bytes);
}

//===-- Element types -------------------------------------------------------------------------===//

Value VectorBuilder::rounded(Value vector, Type element) {
  return isa<FloatType>(element) ? roundTo(vector, element, core::Rounding::nearest_even, false)
                                 : vector;
}

Value VectorBuilder::asStorage(Value scalar) {
  Type element = scalar.getType(), stored = storageType(element);
  if (element.isInteger(1))
    scalar = create<arith::ExtUIOp>(stored, scalar);
  else if (stored != element)
    scalar = create<arith::BitcastOp>(stored, scalar);
  return repeat(scalar, 1);
}

Value VectorBuilder::asScalar(Value vector, Type element) {
  if (!element.isInteger(1))
    vector = toStorage(vector, element);
  Value scalar = create<vector::ExtractOp>(vector, 0);
  return scalar.getType() == element ? scalar
                                     : create<arith::BitcastOp>(element, scalar).getResult();
}

//===-- Buffers -------------------------------------------------------------------------------===//

Value VectorBuilder::loadBuffer(Value buffer, const At &at, int64_t lanes) {
  Type stored = cast<MemRefType>(buffer.getType()).getElementType();
  return create<vector::LoadOp>(VectorType::get({lanes}, stored), buffer, at);
}

void VectorBuilder::storeBuffer(Value vector, Value buffer, const At &at) {
  Type element = cast<VectorType>(vector.getType()).getElementType();
  if (element.isInteger(1))
    vector = toStorage(vector, element);
  create<vector::StoreOp>(vector, buffer, at);
}

void VectorBuilder::copy(Value from, Value to) {
  if (from == to)
    return;
  forEachVector(cast<MemRefType>(from.getType()).getShape(), [&](const At &at, int64_t lanes) {
    create<vector::StoreOp>(loadBuffer(from, at, lanes), to, at);
  });
}

//===-- Control flow --------------------------------------------------------------------------===//

void VectorBuilder::forRange(Value first, Value end, int64_t step,
                             const std::function<void(Value)> &body) {
  APInt from, to;
  if (matchPattern(first, m_ConstantInt(&from)) && matchPattern(end, m_ConstantInt(&to))) {
    if (from.sge(to))
      return;
    if ((from + step).sge(to))
      return body(first);
  }
  auto loop = create<scf::ForOp>(first, end, index(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop.getBody()->getTerminator());
  body(loop.getInductionVar());
}

void VectorBuilder::forEachElement(ArrayRef<int64_t> shape,
                                   const std::function<void(const At &)> &body) {
  std::function<void(const At &)> nest = [&](const At &at) {
    if (at.size() == shape.size())
      return body(at);
    forRange(index(0), index(shape[at.size()]), 1, [&](Value i) {
      At next(at);
      next.push_back(i);
      nest(next);
    });
  };
  nest({});
}

void VectorBuilder::forEachVector(ArrayRef<int64_t> shape,
                                  const std::function<void(const At &, int64_t)> &body) {
  int64_t extent = shape.back(), lanes = wholeLanes();
  int64_t full = extent / lanes * lanes;
  forEachElement(shape.drop_back(), [&](const At &row) {
    auto visit = [&](Value j, int64_t count) {
      At at(row);
      at.push_back(j);
      body(at, count);
    };
    forRange(index(0), index(full), lanes, [&](Value j) { visit(j, lanes); });
    if (extent > full)
      visit(index(full), extent - full);
  });
}

SmallVector<Value>
VectorBuilder::carry(Value first, Value end, int64_t step, ValueRange initial,
                     const std::function<SmallVector<Value>(Value, ValueRange)> &body) {
  Value by = create<arith::ConstantIndexOp>(step);
  auto loop = create<scf::ForOp>(first, end, by, initial);
  OpBuilder::InsertionGuard guard(b);
  if (initial.empty())
    b.setInsertionPoint(loop.getBody()->getTerminator());
  else
    b.setInsertionPointToEnd(loop.getBody());
  SmallVector<Value> next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!initial.empty())
    create<scf::YieldOp>(next);
  return SmallVector<Value>(loop.getResults());
}

void VectorBuilder::ifElse(Value condition, const std::function<void()> &then,
                           const std::function<void()> &otherwise) {
  auto branch = create<scf::IfOp>(condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenBlock()->getTerminator());
  then();
  b.setInsertionPoint(branch.elseBlock()->getTerminator());
  otherwise();
}

} // namespace ditron::cpu
