// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vector of a tile at a place, from the vectors of its operands.
#include "ditron/targets/cpu/transforms/TileLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ditron::cpu {

static RankedTensorType tileOf(Value tile) { return cast<RankedTensorType>(tile.getType()); }

//===-- Constants and small arithmetic --------------------------------------------------------===//

Value TileLowering::index(int64_t value) { return b_.create<arith::ConstantIndexOp>(loc_, value); }

Value TileLowering::splat(Type element, int64_t lanes, double value) {
  auto type = VectorType::get({lanes}, element);
  if (isa<FloatType>(element))
    return b_.create<arith::ConstantOp>(
        loc_, DenseElementsAttr::get(type, b_.getFloatAttr(element, value)));
  return integers(element, lanes, static_cast<int64_t>(value));
}

Value TileLowering::integers(Type element, int64_t lanes, int64_t value) {
  auto type = VectorType::get({lanes}, element);
  return b_.create<arith::ConstantOp>(
      loc_, DenseElementsAttr::get(type, Attribute(b_.getIntegerAttr(element, value))));
}

Value TileLowering::repeat(Value scalar, int64_t lanes) {
  return b_.create<vector::BroadcastOp>(loc_, VectorType::get({lanes}, scalar.getType()), scalar);
}

Value TileLowering::add(Value x, Value y) {
  if (matchPattern(y, m_Zero()))
    return x;
  if (matchPattern(x, m_Zero()))
    return y;
  return b_.create<arith::AddIOp>(loc_, x, y);
}

Value TileLowering::mul(Value x, Value y) {
  if (matchPattern(x, m_Zero()) || matchPattern(y, m_Zero()))
    return index(0);
  if (matchPattern(y, m_One()))
    return x;
  return b_.create<arith::MulIOp>(loc_, x, y);
}

int64_t TileLowering::lanesOf(Type compute) const {
  int64_t bytes = std::max<int64_t>(4, core::elementBytes(compute));
  return std::max<int64_t>(1, target_.vectorBytes / bytes);
}

//===-- Buffers -------------------------------------------------------------------------------===//

Value TileLowering::loadBuffer(Value buffer, const At &at, int64_t lanes) {
  Type stored = cast<MemRefType>(buffer.getType()).getElementType();
  return b_.create<vector::LoadOp>(loc_, VectorType::get({lanes}, stored), buffer, at);
}

void TileLowering::storeBuffer(Value vector, Value buffer, const At &at) {
  Type element = cast<VectorType>(vector.getType()).getElementType();
  if (element.isInteger(1))
    vector = toStorage(vector, element);
  b_.create<vector::StoreOp>(loc_, vector, buffer, at);
}

//===-- Expressions ---------------------------------------------------------------------------===//

Value TileLowering::emit(Value tile, const At &at, int64_t lanes) {
  if (Value buffer = buffers_.lookup(tile)) {
    Value vector = loadBuffer(buffer, at, lanes);
    bool isTruth = tileOf(tile).getElementType().isInteger(1);
    return isTruth ? fromStorage(vector, tileOf(tile).getElementType()) : vector;
  }
  return emitOp(tile.getDefiningOp(), at, lanes);
}

Value TileLowering::scalarAt(Value tile, const At &at) {
  return b_.create<vector::ExtractOp>(loc_, emit(tile, at, 1), 0);
}

Value TileLowering::asStorage(Value scalar) {
  Type element = scalar.getType(), stored = storageType(element);
  if (element.isInteger(1))
    scalar = b_.create<arith::ExtUIOp>(loc_, stored, scalar);
  else if (stored != element)
    scalar = b_.create<arith::BitcastOp>(loc_, stored, scalar);
  return repeat(scalar, 1);
}

Value TileLowering::asScalar(Value vector, Type element) {
  if (!element.isInteger(1))
    vector = toStorage(vector, element);
  Value scalar = b_.create<vector::ExtractOp>(loc_, vector, 0);
  return scalar.getType() == element
             ? scalar
             : b_.create<arith::BitcastOp>(loc_, element, scalar).getResult();
}

Value TileLowering::scalarOf(Value tile, const At &at) {
  return asScalar(emit(tile, at, 1), tileOf(tile).getElementType());
}

Value TileLowering::emitOp(Operation *op, const At &at, int64_t lanes) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](arith::ConstantOp constant) {
        auto elements = cast<SplatElementsAttr>(constant.getValue());
        Type element = computeType(elements.getElementType());
        if (isa<FloatType>(element))
          return splat(element, lanes, elements.getSplatValue<APFloat>().convertToDouble());
        return integers(element, lanes, elements.getSplatValue<APInt>().getSExtValue());
      })
      .Case([&](tensor::SplatOp op) {
        Value one = fromStorage(asStorage(op.getInput()), op.getInput().getType());
        return repeat(b_.create<vector::ExtractOp>(loc_, one, 0), lanes);
      })
      .Case([&](core::LoadOp load) {
        const Access &access = accesses_.at(op);
        return read(access, elementAt(access, at), lanes, isWhole_);
      })
      .Case([&](core::GatherOp gather) {
        const Access &access = accesses_.at(op);
        At element = elementAt(access, at);
        element[0] = b_.create<arith::IndexCastOp>(loc_, b_.getIndexType(),
                                                   scalarAt(gather.getRows(), {at[0]}));
        return read(access, element, lanes, /*isWhole=*/false);
      })
      .Case([&](core::CastOp cast) {
        Type from = getElementTypeOrSelf(cast.getSource());
        return convert(emit(cast.getSource(), at, lanes), from,
                       getElementTypeOrSelf(cast.getResult()), cast.getRounding(),
                       cast.getSaturate());
      })
      .Case([&](core::BroadcastOp op) { return emitBroadcast(op, at, lanes); })
      .Case([&](core::TransposeOp op) { return emitTranspose(op, at, lanes); })
      .Case([&](core::ReshapeOp op) { return emitReshape(op, at, lanes); })
      .Case([&](core::IotaOp op) { return emitIota(op, at, lanes); })
      .Default([&](Operation *op) { return emitElementwise(op, at, lanes); });
}

Value TileLowering::emitElementwise(Operation *op, const At &at, int64_t lanes) {
  SmallVector<Value> operands;
  llvm::SmallDenseMap<Value, Value> emitted;
  for (Value operand : op->getOperands()) { // one condition may choose between whole tiles
    Value &vector = emitted[operand];
    if (!vector)
      vector = isTile(operand) ? emit(operand, at, lanes) : operand;
    operands.push_back(vector);
  }
  Type element = tileOf(op->getResult(0)).getElementType();
  auto type = VectorType::get({lanes}, computeType(element));
  OperationState state(loc_, op->getName(), operands, type, op->getAttrs());
  Value result = b_.create(state)->getResult(0);
  bool isNarrow = isa<FloatType>(element) && !element.isF32() && !isa<arith::SelectOp>(op);
  return isNarrow ? roundTo(result, element, core::Rounding::nearest_even, false) : result;
}

Value TileLowering::emitBroadcast(core::BroadcastOp op, const At &at, int64_t lanes) {
  auto source = tileOf(op.getSource());
  At inner(at);
  for (int64_t d = 0; d < source.getRank(); ++d)
    if (source.getDimSize(d) == 1)
      inner[d] = index(0);
  bool repeatsLast = source.getShape().back() == 1;
  return repeatsLast && lanes > 1 ? repeat(scalarAt(op.getSource(), inner), lanes)
                                  : emit(op.getSource(), inner, lanes);
}

Value TileLowering::emitTranspose(core::TransposeOp op, const At &at, int64_t lanes) {
  ArrayRef<int64_t> permutation = op.getPermutation();
  int64_t rank = permutation.size();
  At inner(rank);
  for (int64_t d = 0; d < rank; ++d)
    inner[permutation[d]] = at[d];
  if (permutation.back() == rank - 1 || lanes == 1)
    return emit(op.getSource(), inner, lanes);
  int64_t across = permutation.back(); // the source's dimension that the lanes run along
  Type element = computeType(tileOf(op.getSource()).getElementType());
  Value result =
      b_.create<arith::ConstantOp>(loc_, b_.getZeroAttr(VectorType::get({lanes}, element)));
  for (int64_t lane = 0; lane < lanes; ++lane) {
    At one(inner);
    one[across] = add(at.back(), index(lane));
    result = b_.create<vector::InsertOp>(loc_, scalarAt(op.getSource(), one), result, lane);
  }
  return result;
}

/// Dimensions of extent above 1, with their positions.
static SmallVector<std::pair<int64_t, int64_t>> properDims(RankedTensorType type) {
  SmallVector<std::pair<int64_t, int64_t>> dims;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.getDimSize(d) != 1)
      dims.push_back({type.getDimSize(d), d});
  return dims;
}

Value TileLowering::emitReshape(core::ReshapeOp op, const At &at, int64_t lanes) {
  auto source = tileOf(op.getSource()), result = tileOf(op.getResult());
  auto from = properDims(source), to = properDims(result);
  // Only dimensions of extent 1 come and go: the indices of the others carry over.
  At inner(source.getRank(), index(0));
  for (auto [x, y] : llvm::zip_equal(from, to))
    inner[x.second] = at[y.second];
  bool lanesStay = source.getShape().back() != 1 || lanes == 1;
  if (lanesStay)
    return emit(op.getSource(), inner, lanes);
  // [n, 1] read as [n]: the lanes run along another dimension of the source.
  int64_t across = from.back().second;
  Type element = computeType(source.getElementType());
  Value vector =
      b_.create<arith::ConstantOp>(loc_, b_.getZeroAttr(VectorType::get({lanes}, element)));
  for (int64_t lane = 0; lane < lanes; ++lane) {
    At one(inner);
    one[across] = add(inner[across], index(lane));
    vector = b_.create<vector::InsertOp>(loc_, scalarAt(op.getSource(), one), vector, lane);
  }
  return vector;
}

Value TileLowering::emitIota(core::IotaOp op, const At &at, int64_t lanes) {
  Type i32 = b_.getI32Type();
  int64_t axis = op.getAxis();
  Value start = repeat(b_.create<arith::IndexCastOp>(loc_, i32, at[axis]), lanes);
  if (axis != static_cast<int64_t>(at.size()) - 1)
    return start;
  SmallVector<int32_t> steps = llvm::to_vector(llvm::seq<int32_t>(0, static_cast<int32_t>(lanes)));
  Value count = b_.create<arith::ConstantOp>(
      loc_, DenseElementsAttr::get(VectorType::get({lanes}, i32), ArrayRef<int32_t>(steps)));
  return b_.create<arith::AddIOp>(loc_, start, count);
}

} // namespace ditron::cpu
