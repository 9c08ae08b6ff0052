// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/emission/TileEmitter.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ditron::cpu {

Value TileEmitter::emit(Value tile, const At &at, int64_t lanes, Coverage coverage) {
  if (Value buffer = buffers_.lookup(tile)) {
    Value vector = v_.loadBuffer(buffer, at, lanes);
    bool isTruth = tileOf(tile).getElementType().isInteger(1);
    return isTruth ? v_.fromStorage(vector, tileOf(tile).getElementType()) : vector;
  }
  return emitOp(tile.getDefiningOp(), at, lanes, coverage);
}

Value TileEmitter::scalarAt(Value tile, const At &at, Coverage coverage) {
  return v_.create<vector::ExtractOp>(emit(tile, at, 1, coverage), 0);
}

Value TileEmitter::scalarOf(Value tile, const At &at) {
  return v_.asScalar(emit(tile, at, 1), tileOf(tile).getElementType());
}

Value TileEmitter::emitOp(Operation *op, const At &at, int64_t lanes, Coverage coverage) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](arith::ConstantOp constant) { return emitConstant(constant, lanes); })
      .Case([&](tensor::SplatOp op) {
        Value one = v_.fromStorage(v_.asStorage(op.getInput()), op.getInput().getType());
        return v_.repeat(v_.create<vector::ExtractOp>(one, 0), lanes);
      })
      .Case([&](core::LoadOp load) { return emitLoad(load, at, lanes, coverage); })
      .Case([&](core::GatherOp gather) { return emitGather(gather, at, lanes, coverage); })
      .Case([&](core::CastOp cast) {
        Type from = getElementTypeOrSelf(cast.getSource());
        return v_.convert(emit(cast.getSource(), at, lanes, coverage), from,
                          getElementTypeOrSelf(cast.getResult()), cast.getRounding(),
                          cast.getSaturate());
      })
      .Case([&](core::BroadcastOp op) { return emitBroadcast(op, at, lanes, coverage); })
      .Case([&](core::TransposeOp op) { return emitTranspose(op, at, lanes, coverage); })
      .Case([&](core::ReshapeOp op) { return emitReshape(op, at, lanes, coverage); })
      .Case([&](core::IotaOp op) { return emitIota(op, at, lanes); })
      .Default([&](Operation *op) { return emitElementwise(op, at, lanes, coverage); });
}

Value TileEmitter::emitLoad(core::LoadOp load, const At &at, int64_t lanes, Coverage coverage) {
  const Access &access = reads_.at(load);
  At element = elementAt(v_, access, at);
  if (ahead_ && lanes > 1 && access.unitStride && element.size() > 1)
    bringNearer(access, at);
  return read(v_, access, element, lanes, coverage);
}

Value TileEmitter::emitAhead(Value tile, const At &at, int64_t lanes, Coverage coverage,
                             int64_t rows, int64_t which) {
  ahead_ = Ahead{rows, which * lanes};
  Value vector = emit(tile, at, lanes, coverage);
  ahead_.reset();
  return vector;
}

void TileEmitter::bringNearer(const Access &access, At at) {
  constexpr int64_t kLine = 64;
  if (ahead_->firstElement * core::elementBytes(storageType(access.element)) % kLine)
    return;
  at.front() = v_.add(at.front(), v_.index(ahead_->rows));
  Access there = tileAhead(v_, access, 0, at.front());
  prefetch(v_, there, elementAt(v_, there, at));
}

Value TileEmitter::emitConstant(arith::ConstantOp constant, int64_t lanes) {
  auto elements = cast<SplatElementsAttr>(constant.getValue());
  Type element = computeType(elements.getElementType());
  if (isa<FloatType>(element))
    return v_.splat(element, lanes, elements.getSplatValue<APFloat>().convertToDouble());
  return v_.integers(element, lanes, elements.getSplatValue<APInt>().getSExtValue());
}

Value TileEmitter::emitGather(core::GatherOp gather, const At &at, int64_t lanes,
                              Coverage coverage) {
  const Access &access = reads_.at(gather);
  At element = elementAt(v_, access, at);
  element[0] = v_.create<arith::IndexCastOp>(v_.b.getIndexType(),
                                             scalarAt(gather.getRows(), {at[0]}, coverage));
  return read(v_, access, element, lanes, Coverage::masked); // rows are anywhere
}

Value TileEmitter::emitElementwise(Operation *op, const At &at, int64_t lanes, Coverage coverage) {
  SmallVector<Value> operands;
  llvm::SmallDenseMap<Value, Value> emitted;
  for (Value operand : op->getOperands()) { // one condition may choose between whole tiles
    Value &vector = emitted[operand];
    if (!vector)
      vector = isTile(operand) ? emit(operand, at, lanes, coverage) : operand;
    operands.push_back(vector);
  }
  Type element = tileOf(op->getResult(0)).getElementType();
  auto type = VectorType::get({lanes}, computeType(element));
  OperationState state(v_.loc, op->getName(), operands, type, op->getAttrs());
  Value result = v_.b.create(state)->getResult(0);
  bool isNarrow = isa<FloatType>(element) && !element.isF32() && !isa<arith::SelectOp>(op);
  return isNarrow ? v_.roundTo(result, element, core::Rounding::nearest_even, false) : result;
}

Value TileEmitter::emitBroadcast(core::BroadcastOp op, const At &at, int64_t lanes,
                                 Coverage coverage) {
  auto source = tileOf(op.getSource());
  At inner(at);
  for (int64_t d = 0; d < source.getRank(); ++d)
    if (source.getDimSize(d) == 1)
      inner[d] = v_.index(0);
  bool repeatsLast = source.getShape().back() == 1;
  return repeatsLast && lanes > 1 ? v_.repeat(scalarAt(op.getSource(), inner, coverage), lanes)
                                  : emit(op.getSource(), inner, lanes, coverage);
}

/// A vector of elements that follow one another along a dimension of the source, from `at`.
Value TileEmitter::collect(Value source, const At &at, int64_t dimension, int64_t lanes,
                           Coverage coverage) {
  Type element = computeType(tileOf(source).getElementType());
  Value result = v_.create<arith::ConstantOp>(v_.b.getZeroAttr(VectorType::get({lanes}, element)));
  for (int64_t lane = 0; lane < lanes; ++lane) {
    At one(at);
    one[dimension] = v_.add(at[dimension], v_.index(lane));
    result = v_.create<vector::InsertOp>(scalarAt(source, one, coverage), result, lane);
  }
  return result;
}

Value TileEmitter::emitTranspose(core::TransposeOp op, const At &at, int64_t lanes,
                                 Coverage coverage) {
  ArrayRef<int64_t> permutation = op.getPermutation();
  int64_t rank = permutation.size();
  At inner(rank);
  for (int64_t d = 0; d < rank; ++d)
    inner[permutation[d]] = at[d];
  if (permutation.back() == rank - 1 || lanes == 1)
    return emit(op.getSource(), inner, lanes, coverage);
  return collect(op.getSource(), inner, permutation.back(), lanes, coverage);
}

/// Dimensions of extent above 1, with their positions.
static SmallVector<std::pair<int64_t, int64_t>> properDims(RankedTensorType type) {
  SmallVector<std::pair<int64_t, int64_t>> dims;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.getDimSize(d) != 1)
      dims.push_back({type.getDimSize(d), d});
  return dims;
}

bool joinsRows(core::ReshapeOp op) {
  constexpr int64_t kWhole = 16; // lanes, of the widest vectors
  ArrayRef<int64_t> from = tileOf(op.getSource()).getShape(),
                    to = tileOf(op.getResult()).getShape();
  return from.size() > to.size() && from.back() % kWhole == 0 && from.back() < to.back() &&
         from.take_front(to.size() - 1) == to.drop_back();
}

/// The indices, in dimensions of these extents, of element `number` of all of them together.
At TileEmitter::placesIn(ArrayRef<int64_t> extents, Value number) {
  At places(extents.size());
  for (size_t d = extents.size(); d-- > 1;) {
    Value extent = v_.index(extents[d]);
    places[d] = v_.create<arith::RemUIOp>(number, extent);
    number = v_.create<arith::DivUIOp>(number, extent);
  }
  places.front() = number;
  return places;
}

Value TileEmitter::emitReshape(core::ReshapeOp op, const At &at, int64_t lanes, Coverage coverage) {
  auto source = tileOf(op.getSource()), result = tileOf(op.getResult());
  if (joinsRows(op)) {
    At inner(at.begin(), at.end() - 1);
    inner.append(placesIn(source.getShape().drop_front(inner.size()), at.back()));
    return emit(op.getSource(), inner, lanes, coverage);
  }
  auto from = properDims(source), to = properDims(result);
  // Only dimensions of extent 1 come and go: the indices of the others carry over.
  At inner(source.getRank(), v_.index(0));
  for (auto [x, y] : llvm::zip_equal(from, to))
    inner[x.second] = at[y.second];
  bool lanesStay = source.getShape().back() != 1 || lanes == 1;
  if (lanesStay)
    return emit(op.getSource(), inner, lanes, coverage);
  // [n, 1] read as [n]: the lanes run along another dimension of the source.
  return collect(op.getSource(), inner, from.back().second, lanes, coverage);
}

Value TileEmitter::emitIota(core::IotaOp op, const At &at, int64_t lanes) {
  Type i32 = v_.b.getI32Type();
  int64_t axis = op.getAxis();
  Value start = v_.repeat(v_.create<arith::IndexCastOp>(i32, at[axis]), lanes);
  if (axis != static_cast<int64_t>(at.size()) - 1)
    return start;
  SmallVector<int32_t> steps = llvm::to_vector(llvm::seq<int32_t>(0, static_cast<int32_t>(lanes)));
  Value count = v_.create<arith::ConstantOp>(
      DenseElementsAttr::get(VectorType::get({lanes}, i32), ArrayRef<int32_t>(steps)));
  return v_.create<arith::AddIOp>(start, count);
}

} // namespace ditron::cpu
