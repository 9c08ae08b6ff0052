// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads and writes of tiles of views. An element is named by its indices in the view; lanes beyond
// the last dimension, and whole vectors beyond the others, are masked off. Walks over tiles that
// lie within their views are written a second time, without masks.
#include "ditron/targets/cpu/transforms/TileLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace ditron::cpu {

Value TileLowering::startOf(Value coord, int64_t extent, Value size) {
  if (!lower::isModerate(coord)) {
    // The product with the extent may not fit: any tile outside of the view is as good.
    coord = b_.create<arith::MaxSIOp>(loc_, coord, index(-1));
    coord = b_.create<arith::MinSIOp>(loc_, coord, size);
  }
  return mul(coord, index(extent));
}

Access TileLowering::accessOf(Value view, ValueRange coords, ArrayRef<int64_t> shape,
                              TypedAttr padding) {
  auto type = cast<MemRefType>(view.getType());
  Access access;
  access.element = type.getElementType();
  access.shape.assign(shape.begin(), shape.end());
  access.unitStride = hasUnitStride(view);
  auto metadata = b_.create<memref::ExtractStridedMetadataOp>(loc_, view);
  access.offset = metadata.getOffset();
  access.sizes.assign(metadata.getSizes().begin(), metadata.getSizes().end());
  access.strides.assign(metadata.getStrides().begin(), metadata.getStrides().end());
  auto base = cast<MemRefType>(metadata.getBaseBuffer().getType());
  auto stored =
      MemRefType::get({}, storageType(access.element), AffineMap(), base.getMemorySpace());
  Value memory = metadata.getBaseBuffer();
  if (stored != base)
    memory = b_.create<UnrealizedConversionCastOp>(loc_, stored, memory).getResult(0);
  auto flat =
      MemRefType::get({ShapedType::kDynamic}, stored.getElementType(),
                      StridedLayoutAttr::get(b_.getContext(), 0, {1}), stored.getMemorySpace());
  access.memory = b_.create<memref::ReinterpretCastOp>(
      loc_, flat, memory, b_.getIndexAttr(0),
      ArrayRef<OpFoldResult>{index(std::numeric_limits<int64_t>::max())},
      ArrayRef<OpFoldResult>{b_.getIndexAttr(1)});
  size_t lead = coords.size() - shape.size();
  for (auto [d, coord] : llvm::enumerate(coords))
    access.start.push_back(d < lead ? coord : startOf(coord, shape[d - lead], access.sizes[d]));
  Type compute = computeType(access.element);
  access.padding = splat(compute, 1, 0);
  if (padding)
    access.padding = isa<FloatType>(compute)
                         ? splat(compute, 1, cast<FloatAttr>(padding).getValueAsDouble())
                         : integers(compute, 1, cast<IntegerAttr>(padding).getInt());
  return access;
}

TileLowering::At TileLowering::elementAt(const Access &access, const At &at) {
  At element(access.start.begin(), access.start.end());
  size_t lead = element.size() - at.size();
  for (auto [d, offset] : llvm::enumerate(at))
    element[lead + d] = add(element[lead + d], offset);
  return element;
}

std::pair<Value, Value> TileLowering::bounds(const Access &access, const At &element,
                                             int64_t lanes) {
  Value inside = b_.create<arith::ConstantIntOp>(loc_, 1, 1);
  for (size_t d = 0; d + 1 < element.size(); ++d) { // unsigned: a negative index is outside too
    Value fits =
        b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::ult, element[d], access.sizes[d]);
    inside = b_.create<arith::AndIOp>(loc_, inside, fits);
  }
  Value starts = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::ult, element.back(),
                                          access.sizes.back());
  inside = b_.create<arith::AndIOp>(loc_, inside, starts);
  Value rest = b_.create<arith::SubIOp>(loc_, access.sizes.back(), element.back());
  rest = b_.create<arith::MinSIOp>(loc_, rest, index(lanes));
  return {inside, b_.create<arith::SelectOp>(loc_, inside, rest, index(0))};
}

Value TileLowering::linear(const Access &access, const At &element) {
  Value result = access.offset;
  for (size_t d = 0; d < element.size(); ++d) {
    bool isUnit = access.unitStride && d + 1 == element.size();
    result = add(result, isUnit ? element[d] : mul(element[d], access.strides[d]));
  }
  return result;
}

Value TileLowering::addressOf(const Access &access, const At &element) {
  Value base = b_.create<memref::ExtractAlignedPointerAsIndexOp>(loc_, access.memory);
  int64_t bytes = core::elementBytes(storageType(access.element));
  return add(base, mul(linear(access, element), index(bytes)));
}

Value TileLowering::pointerTo(const Access &access, const At &element) {
  Value word = b_.create<arith::IndexCastOp>(loc_, b_.getI64Type(), addressOf(access, element));
  return b_.create<LLVM::IntToPtrOp>(loc_, LLVM::LLVMPointerType::get(b_.getContext()), word);
}

/// What `value` is in the next iteration of a loop, computed here; null if that is not known.
static Value inNextIteration(Value value, scf::ForOp loop, OpBuilder &b, IRMapping &known) {
  if (Value found = known.lookupOrNull(value))
    return found;
  if (loop.isDefinedOutsideOfLoop(value))
    return value;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions() || !isMemoryEffectFree(op))
    return {};
  if (!isSpeculatable(op) && !loop.isDefinedOutsideOfLoop(op->getOperands().back()))
    return {}; // a divisor that might be 0 there
  for (Value operand : op->getOperands()) {
    Value next = inNextIteration(operand, loop, b, known);
    if (!next)
      return {};
    known.map(operand, next);
  }
  b.clone(*op, known);
  return known.lookup(value);
}

void TileLowering::findNext(core::LoadOp load, Access &access) {
  auto loop = load->getParentOfType<scf::ForOp>();
  if (!loop || !access.unitStride || access.shape.back() < target_.vectorBytes / 4)
    return;
  IRMapping known;
  known.map(loop.getInductionVar(), add(loop.getInductionVar(), loop.getStep()));
  SmallVector<Value> next;
  size_t lead = load.getCoords().size() - access.shape.size();
  for (auto [d, coord] : llvm::enumerate(load.getCoords())) {
    Value there = inNextIteration(coord, loop, b_, known);
    if (!there)
      return;
    next.push_back(d < lead ? there : mul(there, index(access.shape[d - lead])));
  }
  bool isElsewhere = llvm::any_of(load.getCoords(),
                                  [&](Value coord) { return !loop.isDefinedOutsideOfLoop(coord); });
  if (isElsewhere)
    access.next = next;
}

/// The element to prefetch while the one at `at` of a tile is computed: the four quarters of a
/// large tile in turn. A prefetcher of the CPU follows one page; so four of them are followed at a
/// time.
TileLowering::At TileLowering::prefetchPlace(const Access &access, const At &at) {
  constexpr int64_t kStreams = 4, kPageBytes = 4096;
  int64_t lanes = target_.vectorBytes / 4, row = access.shape.back() / lanes; // vectors
  int64_t rows = at.size() > 1 ? access.shape[at.size() - 2] : 1, quarter = rows * row / kStreams;
  int64_t bytes = rows * access.shape.back() * core::elementBytes(storageType(access.element));
  if (bytes < kStreams * kPageBytes || access.shape.back() % lanes || rows * row % kStreams)
    return at;
  auto divided = [&](Value x, int64_t by) {
    return b_.create<arith::DivUIOp>(loc_, x, index(by)).getResult();
  };
  auto rest = [&](Value x, int64_t by) {
    return b_.create<arith::RemUIOp>(loc_, x, index(by)).getResult();
  };
  At place(at);
  Value vector = divided(at.back(), lanes);
  if (rows > 1)
    vector = add(mul(at[at.size() - 2], index(row)), vector);
  vector = add(mul(rest(vector, kStreams), index(quarter)), divided(vector, kStreams));
  place.back() = mul(rows > 1 ? rest(vector, row) : vector, index(lanes));
  if (rows > 1)
    place[at.size() - 2] = divided(vector, row);
  return place;
}

void TileLowering::prefetch(ArrayRef<const Access *> tiles, const At &at) {
  for (const Access *tile : tiles) {
    At element(tile->next.begin(), tile->next.end());
    size_t lead = element.size() - at.size();
    for (auto [d, offset] : llvm::enumerate(prefetchPlace(*tile, at)))
      element[lead + d] = add(element[lead + d], offset);
    b_.create<LLVM::Prefetch>(loc_, pointerTo(*tile, element), /*rw=*/0, /*hint=*/3, /*cache=*/1);
  }
}

void TileLowering::prefetchLater(ArrayRef<const Access *> reads) {
  for (const Access *read : reads)
    if (!read->next.empty() && !std::exchange(read->isPrefetched, true))
      prefetches_.push_back(read);
}

TileLowering::Reads TileLowering::takePrefetches(ArrayRef<int64_t> shape) {
  Reads taken;
  llvm::erase_if(prefetches_, [&](const Access *read) {
    bool matches = ArrayRef(read->shape) == shape;
    if (matches)
      taken.push_back(read);
    return matches;
  });
  return taken;
}

/// 0, 1, 2, ... as a vector of integers.
static Value count(OpBuilder &b, mlir::Location loc, Type element, int64_t lanes) {
  SmallVector<Attribute> values;
  for (int64_t lane = 0; lane < lanes; ++lane)
    values.push_back(b.getIntegerAttr(element, lane));
  return b.create<arith::ConstantOp>(
      loc, DenseElementsAttr::get(VectorType::get({lanes}, element), values));
}

/// Lanes below `valid`.
static Value maskOf(OpBuilder &b, mlir::Location loc, Value valid, int64_t lanes) {
  Type i32 = b.getI32Type();
  Value limit = b.create<arith::IndexCastOp>(loc, i32, valid);
  Value limits = b.create<vector::BroadcastOp>(loc, VectorType::get({lanes}, i32), limit);
  return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, count(b, loc, i32, lanes), limits);
}

/// Element offsets of the lanes of a strided vector.
static Value offsetsOf(OpBuilder &b, mlir::Location loc, Value stride, int64_t lanes) {
  Type i64 = b.getI64Type();
  Value step = b.create<arith::IndexCastOp>(loc, i64, stride);
  auto type = VectorType::get({lanes}, i64);
  return b.create<arith::MulIOp>(loc, count(b, loc, i64, lanes),
                                 b.create<vector::BroadcastOp>(loc, type, step));
}

Value TileLowering::read(const Access &access, const At &element, int64_t lanes, bool isWhole) {
  if (isWhole) {
    auto stored = VectorType::get({lanes}, storageType(access.element));
    Value found = b_.create<vector::LoadOp>(loc_, stored, access.memory, linear(access, element));
    return fromStorage(found, access.element);
  }
  auto [inside, valid] = bounds(access, element, lanes);
  Value mask = maskOf(b_, loc_, valid, lanes);
  Value at = linear(access, element);
  auto stored = VectorType::get({lanes}, storageType(access.element));
  Value nothing = b_.create<arith::ConstantOp>(loc_, b_.getZeroAttr(stored));
  Value found;
  if (access.unitStride)
    found = b_.create<vector::MaskedLoadOp>(loc_, stored, access.memory, at, mask, nothing);
  else
    found = b_.create<vector::GatherOp>(loc_, stored, access.memory, at,
                                        offsetsOf(b_, loc_, access.strides.back(), lanes), mask,
                                        nothing);
  Value vector = fromStorage(found, access.element);
  if (matchPattern(access.padding, m_Zero()) || matchPattern(access.padding, m_AnyZeroFloat()))
    return vector;
  Value pad = lanes == 1 ? access.padding
                         : repeat(b_.create<vector::ExtractOp>(loc_, access.padding, 0), lanes);
  return b_.create<arith::SelectOp>(loc_, mask, vector, pad);
}

void TileLowering::write(Value vector, const Access &access, const At &element) {
  int64_t lanes = cast<VectorType>(vector.getType()).getNumElements();
  Value at = linear(access, element);
  Value stored = toStorage(vector, access.element);
  if (isWhole_) {
    b_.create<vector::StoreOp>(loc_, stored, access.memory, at);
    return;
  }
  auto [inside, valid] = bounds(access, element, lanes);
  Value mask = maskOf(b_, loc_, valid, lanes);
  if (access.unitStride)
    b_.create<vector::MaskedStoreOp>(loc_, access.memory, at, mask, stored);
  else
    b_.create<vector::ScatterOp>(loc_, access.memory, at,
                                 offsetsOf(b_, loc_, access.strides.back(), lanes), mask, stored);
}

//===-- Whole tiles ---------------------------------------------------------------------------===//

TileLowering::Reads TileLowering::readsOf(Value tile) {
  Reads reads;
  std::function<void(Value)> visit = [&](Value tile) {
    Operation *op = tile.getDefiningOp();
    if (!op || buffers_.count(tile))
      return;
    if (isa<core::LoadOp>(op) && !llvm::is_contained(reads, &accesses_.at(op)))
      reads.push_back(&accesses_.at(op));
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        visit(operand);
  };
  visit(tile);
  return reads;
}

/// Whether a tile lies within its view.
Value TileLowering::isInside(const Access &access) {
  auto both = [&](Value x, Value y) -> Value {
    return x ? b_.create<arith::AndIOp>(loc_, x, y) : y;
  };
  int64_t rank = access.sizes.size(), lead = rank - static_cast<int64_t>(access.shape.size());
  Value result;
  for (int64_t d = 0; d < rank; ++d) {
    Value extent = index(d < lead ? 1 : access.shape[d - lead]);
    Value end = add(access.start[d], extent);
    result = both(result,
                  b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::sle, end, access.sizes[d]));
    result = both(result, b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::sge, access.start[d],
                                                   index(0)));
  }
  return result;
}

void TileLowering::whereWhole(ArrayRef<const Access *> tiles, ArrayRef<int64_t> shape,
                              const std::function<void()> &walk) {
  auto isSplit = [&](const Access *tile) { return !tile->unitStride; };
  if (isWhole_ || tiles.empty() || llvm::any_of(tiles, isSplit) ||
      shape.back() < target_.vectorBytes / 4)
    return walk();
  Value whole;
  for (const Access *tile : tiles) {
    Value inside = isInside(*tile);
    whole = whole ? b_.create<arith::AndIOp>(loc_, whole, inside) : inside;
  }
  auto branch = b_.create<scf::IfOp>(loc_, whole, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(branch.thenBlock()->getTerminator());
  isWhole_ = true;
  walk();
  isWhole_ = false;
  b_.setInsertionPoint(branch.elseBlock()->getTerminator());
  walk();
}

//===-- Stores --------------------------------------------------------------------------------===//

/// Views from this size on leave a cache anyway: stores go past it, and the lines are not read
/// before they are overwritten.
static constexpr int64_t kStreamBytes = int64_t(1) << 25;

Value TileLowering::canStream(const Access &access, RankedTensorType tile) {
  int64_t bytes = core::elementBytes(storageType(access.element));
  int64_t vector = bytes * (target_.vectorBytes / 4), rank = access.sizes.size();
  if (!isWhole_ || tile.getShape().back() * bytes % vector || vector < 16)
    return {};
  auto compare = [&](arith::CmpIPredicate predicate, Value x, Value y) -> Value {
    return b_.create<arith::CmpIOp>(loc_, predicate, x, y);
  };
  Value volume = index(bytes), lead = index(0);
  for (int64_t d = 0; d < rank; ++d) {
    volume = mul(volume, access.sizes[d]);
    if (d + 1 < rank)
      lead = b_.create<arith::OrIOp>(loc_, lead, mul(access.strides[d], index(bytes)));
  }
  Value start = addressOf(access, elementAt(access, {}));
  Value misaligned =
      b_.create<arith::AndIOp>(loc_, b_.create<arith::OrIOp>(loc_, lead, start), index(vector - 1));
  return b_.create<arith::AndIOp>(loc_, compare(arith::CmpIPredicate::eq, misaligned, index(0)),
                                  compare(arith::CmpIPredicate::uge, volume, index(kStreamBytes)));
}

/// A store of a whole, aligned vector past the caches. Later stores may overtake it: the verbs of
/// the runtime that release, and the end of the launch, wait for such stores first.
void TileLowering::streamTo(Value address, Value vector, Type element) {
  Value stored = toStorage(vector, element);
  int64_t bytes = core::elementBytes(storageType(element));
  int64_t lanes = cast<VectorType>(vector.getType()).getNumElements();
  Value bits = b_.create<arith::IndexCastOp>(loc_, b_.getI64Type(), address);
  Value pointer =
      b_.create<LLVM::IntToPtrOp>(loc_, LLVM::LLVMPointerType::get(b_.getContext()), bits);
  b_.create<LLVM::StoreOp>(loc_, stored, pointer, static_cast<unsigned>(lanes * bytes),
                           /*isVolatile=*/false, /*isNonTemporal=*/true);
}

void TileLowering::stream(Value vector, const Access &access, const At &element) {
  streamTo(addressOf(access, element), vector, access.element);
}

LogicalResult TileLowering::lowerStore(core::StoreOp op) {
  auto tile = cast<RankedTensorType>(op.getTile().getType());
  Access access = accessOf(op.getView(), op.getCoords(), tile.getShape(), {});
  Reads tiles = readsOf(op.getTile());
  prefetchLater(tiles); // this is the only walk over what has not been read yet
  Reads prefetches = takePrefetches(tile.getShape());
  auto walk = [&](auto put) {
    forEachVector(tile.getShape(), [&](const At &at, int64_t lanes) {
      prefetch(prefetches, at);
      put(emit(op.getTile(), at, lanes), elementAt(access, at));
    });
  };
  auto throughCaches = [&] {
    walk([&](Value vector, const At &element) { write(vector, access, element); });
  };
  auto pastCaches = [&] {
    walk([&](Value vector, const At &element) { stream(vector, access, element); });
  };
  tiles.push_back(&access);
  whereWhole(tiles, tile.getShape(), [&] {
    Value streams = canStream(access, tile);
    if (!streams)
      return throughCaches();
    auto branch = b_.create<scf::IfOp>(loc_, streams, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPoint(branch.thenBlock()->getTerminator());
    pastCaches();
    b_.setInsertionPoint(branch.elseBlock()->getTerminator());
    throughCaches();
  });
  return success();
}

LogicalResult TileLowering::lowerScatter(core::ScatterOp op) {
  auto tile = cast<RankedTensorType>(op.getTile().getType());
  SmallVector<Value> coords{index(0), op.getCoord()};
  Access access = accessOf(op.getView(), coords, tile.getShape(), {});
  forEachVector(tile.getShape(), [&](const At &at, int64_t lanes) {
    Value row =
        b_.create<arith::IndexCastOp>(loc_, b_.getIndexType(), scalarAt(op.getRows(), {at[0]}));
    At element = elementAt(access, at);
    element[0] = row;
    write(emit(op.getTile(), at, lanes), access, element);
  });
  return success();
}

LogicalResult TileLowering::lowerAtomicAdd(core::AtomicAddOp op) {
  auto tile = cast<RankedTensorType>(op.getTile().getType());
  Access access = accessOf(op.getView(), op.getCoords(), tile.getShape(), {});
  Value old = bufferFor(tile);
  buffers_[op.getOld()] = old;
  auto kind = isa<FloatType>(tile.getElementType()) ? arith::AtomicRMWKind::addf
                                                    : arith::AtomicRMWKind::addi;
  forEachElement(tile.getShape(), [&](const At &at) {
    At element = elementAt(access, at);
    Value inside = bounds(access, element, 1).first;
    auto branch = b_.create<scf::IfOp>(loc_, tile.getElementType(), inside, true);
    {
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(branch.thenBlock());
      Value before = b_.create<memref::AtomicRMWOp>(loc_, kind, scalarAt(op.getTile(), at),
                                                    access.memory, linear(access, element));
      b_.create<scf::YieldOp>(loc_, before);
      b_.setInsertionPointToStart(branch.elseBlock());
      Value zero = b_.create<arith::ConstantOp>(loc_, b_.getZeroAttr(tile.getElementType()));
      b_.create<scf::YieldOp>(loc_, zero);
    }
    storeBuffer(repeat(branch.getResult(0), 1), old, at);
  });
  return success();
}

} // namespace ditron::cpu
