// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/lower/Conversions.h"
#include "ditron/support/Error.h"
#include "ditron/targets/gpu/threads/ThreadLowering.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace ditron::gpu {

VectorType vectorOf(RankedTensorType tile) {
  int64_t registers = core::layoutOf(tile).limit(Axis::reg);
  return VectorType::get({registers}, lower::computeType(tile.getElementType()));
}

int64_t storageBytes(Type element) { return core::elementBytes(lower::storageType(element)); }

//===-- Arithmetic ----------------------------------------------------------------------------===//

Value ThreadBuilder::i32(int64_t value) { return b.create<arith::ConstantIntOp>(loc, value, 32); }
Value ThreadBuilder::index(int64_t value) { return b.create<arith::ConstantIndexOp>(loc, value); }
Value ThreadBuilder::add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(loc, x, y); }
Value ThreadBuilder::mul(Value x, Value y) { return b.createOrFold<arith::MulIOp>(loc, x, y); }

Value ThreadBuilder::offset(Value pointer, int64_t bytes) {
  if (bytes == 0)
    return pointer;
  return b.create<LLVM::GEPOp>(loc, pointer.getType(), b.getI8Type(), pointer,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
}

Value ThreadBuilder::offset(Value pointer, Value bytes) {
  return b.create<LLVM::GEPOp>(loc, pointer.getType(), b.getI8Type(), pointer,
                               ArrayRef<LLVM::GEPArg>{bytes});
}

//===-- Places of this thread -----------------------------------------------------------------===//

Value ThreadBuilder::digit(const Digit &digit) {
  Value place = digit.axis == Axis::warp ? context.warp : context.lane;
  int64_t places = digit.axis == Axis::warp ? context.warps : context.lanes;
  if (digit.stride > 1)
    place = b.create<arith::DivUIOp>(loc, place, i32(digit.stride));
  if (digit.stride * digit.extent < places)
    place = b.create<arith::RemUIOp>(loc, place, i32(digit.extent));
  return place;
}

Value ThreadBuilder::coordinate(const Distribution &tile, size_t dim) {
  Value sum = i32(0);
  for (const Digit &part : tile.thread(dim))
    sum = add(mul(digit(part), i32(part.weight)), sum);
  return sum;
}

Value ThreadBuilder::linear(const Distribution &tile, const Shape &weights) {
  Value sum = i32(0);
  for (size_t dim = 0; dim < weights.size(); ++dim)
    if (!tile.thread(dim).empty())
      sum = add(mul(coordinate(tile, dim), i32(weights[dim])), sum);
  return sum;
}

bool isHeldSeveralTimes(const Layout &layout) {
  return llvm::any_of(layout.replication(),
                      [](const core::Iter &iter) { return iter.axis != Axis::reg; });
}

Value ThreadBuilder::isFirst(const Layout &layout) {
  Value result;
  for (const core::Iter &iter : layout.replication()) {
    if (iter.axis == Axis::reg)
      continue;
    Value replica = digit({iter.axis, iter.stride, iter.extent, 1});
    Value first = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, replica, i32(0));
    result = result ? Value(b.create<arith::AndIOp>(loc, result, first)) : first;
  }
  return result;
}

//===-- Registers -----------------------------------------------------------------------------===//

SmallVector<Value> ThreadBuilder::split(Value vector) {
  SmallVector<Value> elements;
  for (int64_t n = 0; n < cast<VectorType>(vector.getType()).getNumElements(); ++n)
    elements.push_back(b.create<vector::ExtractOp>(loc, vector, n));
  return elements;
}

Value ThreadBuilder::join(ArrayRef<Value> elements) {
  auto type = VectorType::get({static_cast<int64_t>(elements.size())}, elements[0].getType());
  return b.create<vector::FromElementsOp>(loc, type, elements);
}

// Of the two bf16 of a word one is its upper half as it stands, the other one is moved there.
Value ThreadBuilder::loaded(Value vector, Type element) {
  int64_t count = cast<VectorType>(vector.getType()).getNumElements();
  if (!element.isBF16() || count % 2)
    return lower::fromStorage(b, loc, vector, element);
  auto type = VectorType::get({count / 2}, b.getI32Type());
  SmallVector<Value> elements;
  for (Value word : split(b.create<vector::BitCastOp>(loc, type, vector))) {
    Value low = b.create<arith::ShLIOp>(loc, word, i32(16));
    Value high = b.create<arith::AndIOp>(loc, word, i32(int64_t(-65536)));
    for (Value half : {low, high})
      elements.push_back(b.create<arith::BitcastOp>(loc, b.getF32Type(), half));
  }
  return join(elements);
}

namespace {

/// A bf16 that was taken from a word of two.
struct Half {
  Value word;
  bool isUpper;
};

} // namespace

/// Element n of a vector that was made of elements, or picked from such a one; else nothing.
static Value elementOf(Value vector, int64_t n) {
  while (auto picked = vector.getDefiningOp<vector::ShuffleOp>()) {
    int64_t count = picked.getV1VectorType().getDimSize(0);
    n = cast<IntegerAttr>(picked.getMask()[unsigned(n)]).getInt();
    vector = n < count ? picked.getV1() : picked.getV2();
    n %= count;
  }
  auto made = vector.getDefiningOp<vector::FromElementsOp>();
  return made ? made.getElements()[size_t(n)] : nullptr;
}

/// As loaded() takes words apart.
static std::optional<Half> halfOf(Value element) {
  auto cast = element ? element.getDefiningOp<arith::BitcastOp>() : nullptr;
  Operation *taken = cast ? cast.getIn().getDefiningOp() : nullptr;
  APInt bits;
  if (auto lower = dyn_cast_or_null<arith::ShLIOp>(taken))
    if (matchPattern(lower.getRhs(), m_ConstantInt(&bits)) && bits == 16)
      return Half{lower.getLhs(), false};
  if (auto upper = dyn_cast_or_null<arith::AndIOp>(taken))
    if (matchPattern(upper.getRhs(), m_ConstantInt(&bits)) && bits == 0xffff0000u)
      return Half{upper.getLhs(), true};
  return {};
}

/// A word of two bf16 that were taken from words: of one, as a rule.
static Value wordOf(ThreadBuilder &t, Half first, Half second) {
  if (first.word == second.word && !first.isUpper && second.isUpper)
    return first.word;
  Value lower = first.isUpper ? Value(t.b.create<arith::ShRUIOp>(t.loc, first.word, t.i32(16)))
                              : Value(t.b.create<arith::AndIOp>(t.loc, first.word, t.i32(0xffff)));
  Value upper = second.isUpper
                    ? Value(t.b.create<arith::AndIOp>(t.loc, second.word, t.i32(int64_t(-65536))))
                    : Value(t.b.create<arith::ShLIOp>(t.loc, second.word, t.i32(16)));
  return t.b.create<arith::OrIOp>(t.loc, lower, upper);
}

/// The words of a vector of bf16 that were taken from words, or none.
static SmallVector<Value> wordsTakenApart(ThreadBuilder &t, Value vector) {
  int64_t count = cast<VectorType>(vector.getType()).getNumElements();
  SmallVector<Half> halves;
  for (int64_t n = 0; n < count; ++n) {
    std::optional<Half> half = halfOf(elementOf(vector, n));
    if (!half || count % 2)
      return {};
    halves.push_back(*half);
  }
  SmallVector<Value> words;
  for (size_t n = 0; n < halves.size(); n += 2)
    words.push_back(wordOf(t, halves[n], halves[n + 1]));
  return words;
}

Value ThreadBuilder::stored(Value vector, Type element) {
  if (element.isBF16())
    if (SmallVector<Value> words = wordsTakenApart(*this, vector); !words.empty())
      return b.create<vector::BitCastOp>(
          loc, VectorType::get({static_cast<int64_t>(2 * words.size())}, b.getI16Type()),
          join(words));
  auto fence = vector.getDefiningOp<LLVM::CallIntrinsicOp>();
  bool isFence = fence && fence.getIntrin() == "llvm.arithmetic.fence";
  auto extended = isFence ? fence.getArgs()[0].getDefiningOp<arith::ExtFOp>() : nullptr;
  if (extended && cast<VectorType>(extended.getIn().getType()).getElementType() == element)
    return extended.getIn();
  return lower::toStorage(b, loc, vector, element, true);
}

Value ThreadBuilder::pick(Value vector, ArrayRef<int64_t> registers) {
  int64_t count = cast<VectorType>(vector.getType()).getNumElements();
  if (llvm::equal(registers, llvm::seq<int64_t>(0, count)))
    return vector;
  return b.create<vector::ShuffleOp>(loc, vector, vector, registers);
}

//===-- Shared memory -------------------------------------------------------------------------===//

Shape stridesOf(const Layout &memory, const Shape &shape) {
  auto dims = core::group(Layout(memory.iters()), shape);
  Shape strides;
  for (size_t dim = 0; dims && dim < shape.size(); ++dim) {
    const Iters &iters = (*dims)[dim];
    if (iters.size() > 1)
      break;
    strides.push_back(iters.empty() ? 0 : iters[0].stride);
  }
  if (strides.size() != shape.size())
    throw InternalError("a tile in shared memory with no stride a dimension: " + memory.print());
  return strides;
}

int64_t runIn(const Layout &memory, const Distribution &tile, int64_t elementBytes) {
  if (stridesOf(memory, tile.shape()).back() > 1)
    return 1;
  auto swizzle = memory.swizzle(Axis::m);
  int64_t widest = 16 / elementBytes;
  return tile.run(swizzle ? std::min(widest, int64_t(1) << swizzle->base) : widest);
}

Value swizzled(ThreadBuilder &t, const Layout &memory, Value place) {
  auto swizzle = memory.swizzle(Axis::m);
  if (!swizzle)
    return place;
  OpBuilder &b = t.b;
  int64_t mask = ((int64_t(1) << swizzle->bits) - 1) << swizzle->base;
  Value shifted = b.create<arith::ShRUIOp>(t.loc, place, t.i32(swizzle->shift));
  Value bits = b.create<arith::AndIOp>(t.loc, shifted, t.i32(mask));
  return b.create<arith::XOrIOp>(t.loc, place, bits);
}

SharedPlaces::SharedPlaces(ThreadBuilder &t, Value base, const Layout &memory,
                           const Distribution &tile, int64_t elementBytes)
    : t_(t), base_(base), memory_(memory), tile_(tile), strides_(stridesOf(memory, tile.shape())),
      elementBytes_(elementBytes) {
  thread_ = t.linear(tile, strides_);
}

int64_t SharedPlaces::linear(const Shape &element) const {
  int64_t sum = 0;
  for (size_t dim = 0; dim < element.size(); ++dim)
    sum += element[dim] * strides_[dim];
  return sum;
}

Value addressIn(ThreadBuilder &t, Value base, const Layout &memory, Value thread, int64_t more,
                int64_t elementBytes) {
  auto swizzle = memory.swizzle(Axis::m);
  int64_t period = swizzle ? swizzle->period() : 1, behind = more / period * period;
  Value low = t.add(thread, t.i32(more - behind));
  Value bytes = t.mul(swizzled(t, memory, low), t.i32(elementBytes));
  return t.offset(t.offset(base, bytes), behind * elementBytes);
}

Value SharedPlaces::at(int64_t reg) {
  return addressIn(t_, base_, memory_, thread_, linear(tile_.element(reg)), elementBytes_);
}

void SharedPlaces::write(Value vector, int64_t run) {
  int64_t registers = tile_.registers();
  for (int64_t reg = 0; reg < registers; reg += run) {
    Value part = t_.b.create<vector::ExtractStridedSliceOp>(t_.loc, vector, reg, run, int64_t(1));
    t_.b.create<LLVM::StoreOp>(t_.loc, part, at(reg), static_cast<unsigned>(run * elementBytes_));
  }
}

Value SharedPlaces::read(Type element, int64_t run) {
  auto whole = VectorType::get({tile_.registers()}, element);
  Value vector = t_.b.create<arith::ConstantOp>(t_.loc, t_.b.getZeroAttr(whole));
  return readInto(vector, run, 0, INT64_MAX);
}

Value SharedPlaces::readInto(Value vector, int64_t run, int64_t first, int64_t end) {
  Type element = cast<VectorType>(vector.getType()).getElementType();
  for (int64_t reg = 0; reg < tile_.registers(); reg += run) {
    if (tile_.element(reg)[0] < first || tile_.element(reg)[0] >= end)
      continue;
    // LLVM takes a load of several words of i8 apart.
    bool isOfWords = elementBytes_ == 1 && run % 4 == 0;
    VectorType type =
        isOfWords ? VectorType::get({run / 4}, t_.b.getI32Type()) : VectorType::get({run}, element);
    Value part = t_.b.create<LLVM::LoadOp>(t_.loc, type, at(reg),
                                           static_cast<unsigned>(run * elementBytes_));
    if (isOfWords)
      part = t_.b.create<vector::BitCastOp>(t_.loc, VectorType::get({run}, element), part);
    vector = t_.b.create<vector::InsertStridedSliceOp>(t_.loc, part, vector, reg, int64_t(1));
  }
  return vector;
}

} // namespace ditron::gpu
