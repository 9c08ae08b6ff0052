// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/lang/Trace.h"
#include "ditron/support/Sizes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

using namespace mlir;

namespace ditron {
using namespace detail;
using Shape = std::vector<int64_t>;

//===-- Tiles and operands --------------------------------------------------------------------===//

static Shape shapeOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? Shape(type.getShape()) : Shape();
}

static std::string text(const Shape &shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

DType Tile::dtype() const { return dtypeOf(getElementTypeOrSelf(unwrap(value_))); }
Shape Tile::shape() const { return shapeOf(unwrap(value_)); }

TypedAttr detail::constantOf(Type element, const Number &number, Location where) {
  if (std::string reason = reasonAgainst(dtypeOf(element), number); !reason.empty())
    throw CompileError(reason, where);
  if (isa<FloatType>(element))
    return FloatAttr::get(element, number.real());
  return IntegerAttr::get(element, number.integer());
}

TypedAttr detail::paddingOf(Type element, const Number &padding, Location where) {
  TypedAttr constant = constantOf(element, padding, where);
  return padding.real() == 0 ? TypedAttr() : constant;
}

static Tile readRef(const TileRefData &ref) {
  Trace &trace = Trace::current(ref.where);
  Value view = unwrap(ref.view);
  Type element = cast<MemRefType>(view.getType()).getElementType();
  SmallVector<Value> coords;
  for (int d = 0; d < ref.numCoords; ++d)
    coords.push_back(unwrap(ref.coords[d]));
  auto type = RankedTensorType::get(ArrayRef(ref.shape).take_front(ref.rank), element);
  return Tile(wrap(trace.create<core::LoadOp>(ref.where, type, view, coords,
                                              paddingOf(element, ref.padding, ref.where))));
}

Tile Operand::read() const {
  switch (kind_) {
  case Kind::tile:
    Trace::current(where_);
    return Tile(value_);
  case Kind::var:
    return readTile(value_, where_);
  case Kind::ref:
    return readRef(ref_);
  case Kind::number:
    break;
  }
  throw CompileError("a native number stands where a tile is expected", where_);
}

IndexBesideTile::IndexBesideTile(Index value, Location where)
    : operand([&] {
        if (value.isConstant())
          return Operand(value.constant(), where);
        return Operand(toTile({value, where}), where);
      }()) {}

static void checkExtents(const Shape &shape, Location where) {
  for (int64_t extent : shape)
    if (extent < 1)
      throw CompileError(fmt::format("a tile of shape {} has an extent below 1", text(shape)),
                         where);
}

Tile detail::splat(DType type, Shape shape, Number value, Location where) {
  Trace &trace = Trace::current(where);
  Type element = elementType(trace.context(), type);
  checkExtents(shape, where);
  TypedAttr constant = constantOf(element, value, where);
  if (shape.empty())
    return Tile(wrap(trace.create<arith::ConstantOp>(where, constant)));
  auto tile = RankedTensorType::get(shape, element);
  return Tile(wrap(trace.create<arith::ConstantOp>(where, DenseElementsAttr::get(tile, constant))));
}

//===-- Broadcasting --------------------------------------------------------------------------===//

static Shape broadcastShape(const Shape &x, const Shape &y, const char *op, Location where) {
  Shape result(std::max(x.size(), y.size()));
  for (size_t d = 0; d < result.size(); ++d) { // counted from the last dimension
    int64_t a = d < x.size() ? x[x.size() - 1 - d] : 1, b = d < y.size() ? y[y.size() - 1 - d] : 1;
    if (a != b && a != 1 && b != 1)
      throw CompileError(fmt::format("{}: shapes {} and {} do not broadcast: extents {} and {}", op,
                                     text(x), text(y), a, b),
                         where);
    result[result.size() - 1 - d] = std::max(a, b);
  }
  return result;
}

/// `value` repeated to `shape`, which it is known to broadcast to.
static Value broadcastTo(Trace &trace, Value value, const Shape &shape, Location where) {
  Shape from = shapeOf(value);
  if (from == shape)
    return value;
  Type element = getElementTypeOrSelf(value);
  auto type = RankedTensorType::get(shape, element);
  if (from.empty())
    return trace.create<tensor::SplatOp>(where, type, value);
  if (from.size() < shape.size()) {
    from.insert(from.begin(), shape.size() - from.size(), 1);
    value = trace.create<core::ReshapeOp>(where, RankedTensorType::get(from, element), value);
  }
  return from == shape ? value : trace.create<core::BroadcastOp>(where, type, value);
}

/// The values of an elementwise op's operands: one element type, one shape.
static SmallVector<Value> unify(Trace &trace, ArrayRef<Operand> operands, const char *op,
                                Location where) {
  SmallVector<Value> values(operands.size());
  Type element;
  for (auto [operand, value] : llvm::zip(operands, values))
    if (!operand.isNumber()) {
      value = unwrap(operand.read().handle());
      Type found = getElementTypeOrSelf(value);
      if (element && element != found)
        throw CompileError(fmt::format("{}: operands are of {} and {}: cast one of them", op,
                                       name(dtypeOf(element)), name(dtypeOf(found))),
                           where);
      element = found;
    }
  if (!element)
    throw CompileError(fmt::format("{}: needs a tile among its operands", op), where);
  Shape shape;
  for (Value value : values)
    if (value)
      shape = broadcastShape(shape, shapeOf(value), op, where);
  for (auto [operand, value] : llvm::zip(operands, values))
    value = operand.isNumber()
                ? unwrap(splat(dtypeOf(element), shape, operand.number(), operand.where()).handle())
                : broadcastTo(trace, value, shape, where);
  return values;
}

//===-- Elementwise ---------------------------------------------------------------------------===//

template <class Op> static Tile made(Trace &trace, Location where, ArrayRef<Value> values) {
  return Tile(wrap(trace.create<Op>(where, values[0].getType(), ValueRange(values))->getResult(0)));
}

/// What an integer operation is of truth values: integers of one bit, true being 1.
template <class IntOp> struct OfTruth {
  using Op = IntOp;
};
template <> struct OfTruth<arith::MinSIOp> {
  using Op = arith::AndIOp;
};
template <> struct OfTruth<arith::MaxSIOp> {
  using Op = arith::OrIOp;
};

/// Builds FloatOp or IntOp (either may be void: not defined for such elements) on unified operands.
template <class FloatOp, class IntOp>
static Tile elementwise(const char *op, std::initializer_list<Operand> operands) {
  Location where = operands.begin()->where();
  Trace &trace = Trace::current(where);
  SmallVector<Value> values = unify(trace, ArrayRef(operands.begin(), operands.end()), op, where);
  DType type = dtypeOf(getElementTypeOrSelf(values[0]));
  if constexpr (!std::is_void_v<FloatOp>)
    if (isFloat(type))
      return made<FloatOp>(trace, where, values);
  if constexpr (!std::is_void_v<IntOp>)
    if (!isFloat(type))
      return type == DType::i1 ? made<typename OfTruth<IntOp>::Op>(trace, where, values)
                               : made<IntOp>(trace, where, values);
  throw CompileError(fmt::format("{}: is not defined for {}", op, name(type)), where);
}

/// The same comparison of numbers without a sign, as truth values are.
static arith::CmpIPredicate withoutSign(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::slt:
    return arith::CmpIPredicate::ult;
  case arith::CmpIPredicate::sle:
    return arith::CmpIPredicate::ule;
  case arith::CmpIPredicate::sgt:
    return arith::CmpIPredicate::ugt;
  case arith::CmpIPredicate::sge:
    return arith::CmpIPredicate::uge;
  default:
    return predicate;
  }
}

static Tile comparison(const char *op, arith::CmpFPredicate floats, arith::CmpIPredicate integers,
                       Operand x, Operand y) {
  Trace &trace = Trace::current(x.where());
  SmallVector<Value> values = unify(trace, {x, y}, op, x.where());
  DType type = dtypeOf(getElementTypeOrSelf(values[0]));
  if (isFloat(type))
    return Tile(wrap(trace.create<arith::CmpFOp>(x.where(), floats, values[0], values[1])));
  auto predicate = type == DType::i1 ? withoutSign(integers) : integers;
  return Tile(wrap(trace.create<arith::CmpIOp>(x.where(), predicate, values[0], values[1])));
}

#define UNARY(name, op, ...)                                                                       \
  Tile name(Operand x) { return elementwise<op, void>(#name, {x}); }
#define UNARY_ANY(name, floatOp, intOp, ...)                                                       \
  Tile name(Operand x) { return elementwise<floatOp, intOp>(#name, {x}); }
#define BINARY(name, floatOp, intOp, ...)                                                          \
  Tile name(Operand x, Operand y) { return elementwise<floatOp, intOp>(#name, {x, y}); }
#define BINARY_INT(name, intOp, ...)                                                               \
  Tile name(Operand x, Operand y) { return elementwise<void, intOp>(#name, {x, y}); }
#define TERNARY(name, op, ...)                                                                     \
  Tile name(Operand x, Operand y, Operand z) { return elementwise<op, void>(#name, {x, y, z}); }
#define COMPARE(name, floats, integers, ...)                                                       \
  Tile name(Operand x, Operand y) {                                                                \
    return comparison(#name, arith::CmpFPredicate::floats, arith::CmpIPredicate::integers, x, y);  \
  }
#include "ditron/core/Elementwise.def"

Tile operator-(Operand x) {
  Tile value = x.read();
  return isFloat(value.dtype()) ? neg({value, x.where()}) : sub({0, x.where()}, {value, x.where()});
}

Tile operator!(TileOperand truth) {
  Tile value = truth.read();
  if (value.dtype() != DType::i1)
    throw CompileError(
        fmt::format("!: the tile is of {}, expected truth values, as comparisons give",
                    name(value.dtype())),
        truth.where());
  return equal({value, truth.where()}, {false, truth.where()});
}

/// The result of an Op, for which a chip's own approximation will do.
template <class Op> static Tile approximated(Tile result) {
  unwrap(result.handle()).getDefiningOp<Op>().setFastmath(arith::FastMathFlags::afn);
  return result;
}

Tile exp2Flushed(Operand x) { return approximated<math::Exp2Op>(exp2(x)); }

Tile log2Approximate(Operand x) { return approximated<math::Log2Op>(log2(x)); }

/// In f32: exp(-x) goes beyond the range of narrow floats where the result does not.
Tile sigmoid(Operand x) {
  Location where = x.where();
  Tile minus = neg(x);
  bool isNarrow = byteSize(minus.dtype()) < byteSize(DType::f32);
  Tile decay = exp({isNarrow ? cast<f32>({minus, where}) : minus, where});
  Tile result = div({1, where}, {add({1, where}, {decay, where}), where});
  return cast(minus.dtype(), {result, where});
}

Tile select(Operand condition, Operand x, Operand y) {
  Location where = condition.where();
  Trace &trace = Trace::current(where);
  Value mask = unwrap(condition.read().handle());
  if (!getElementTypeOrSelf(mask).isInteger(1))
    throw CompileError(fmt::format("select: condition is of {}, expected i1",
                                   name(dtypeOf(getElementTypeOrSelf(mask)))),
                       where);
  SmallVector<Value> values = unify(trace, {x, y}, "select", where);
  Shape shape = broadcastShape(shapeOf(mask), shapeOf(values[0]), "select", where);
  for (Value *value : {&mask, &values[0], &values[1]})
    *value = broadcastTo(trace, *value, shape, where);
  return Tile(wrap(trace.create<arith::SelectOp>(where, mask, values[0], values[1])));
}

//===-- Making and shaping --------------------------------------------------------------------===//

Tile detail::castTo(DType type, Operand x, int rounding, bool saturate) {
  Location where = x.where();
  if (x.isNumber())
    return splat(type, {}, x.number(), where);
  Trace &trace = Trace::current(where);
  Value value = unwrap(x.read().handle());
  Type element = elementType(trace.context(), type);
  if (element == getElementTypeOrSelf(value))
    return Tile(wrap(value));
  auto tile = dyn_cast<RankedTensorType>(value.getType());
  Type result = tile ? Type(tile.clone(element)) : element;
  return Tile(wrap(trace.create<core::CastOp>(where, result, value,
                                              static_cast<core::Rounding>(rounding), saturate)));
}

Tile iota(int n, Location where) { return iota(Shape{n}, 0, where); }

Tile iota(Shape shape, int axis, Location where) {
  Trace &trace = Trace::current(where);
  if (axis < 0 || axis >= static_cast<int>(shape.size()))
    throw CompileError(fmt::format("iota: axis is {} but the shape {} has {} dimensions", axis,
                                   text(shape), shape.size()),
                       where);
  checkExtents(shape, where);
  auto type = RankedTensorType::get(shape, trace.builder().getI32Type());
  return Tile(wrap(trace.create<core::IotaOp>(where, type, axis)));
}

Tile broadcast(Operand x, Shape shape) {
  Trace &trace = Trace::current(x.where());
  Value value = unwrap(x.read().handle());
  if (broadcastShape(shapeOf(value), shape, "broadcast", x.where()) != shape)
    throw CompileError(
        fmt::format("broadcast: {} does not repeat to {}", text(shapeOf(value)), text(shape)),
        x.where());
  return Tile(wrap(broadcastTo(trace, value, shape, x.where())));
}

Tile reshape(Operand x, Shape shape) {
  Trace &trace = Trace::current(x.where());
  Value value = unwrap(x.read().handle());
  auto count = [](const Shape &s) { return checkedProduct(s).value_or(-1); };
  Shape from = shapeOf(value);
  if (count(from) != count(shape) || shape.empty())
    throw CompileError(fmt::format("reshape: {} has {} elements but {} has {}", text(from),
                                   count(from), text(shape), count(shape)),
                       x.where());
  if (from.empty())
    return Tile(wrap(broadcastTo(trace, value, shape, x.where())));
  auto type = RankedTensorType::get(shape, getElementTypeOrSelf(value));
  return Tile(wrap(trace.create<core::ReshapeOp>(x.where(), type, value)));
}

static int checkedAxis(const char *op, int axis, size_t rank, Location where) {
  if (axis < 0 || axis >= static_cast<int>(rank))
    throw CompileError(fmt::format("{}: axis is {} but the tile has {} dimensions", op, axis, rank),
                       where);
  return axis;
}

Tile expand(Operand x, int axis) {
  Tile tile = x.read();
  Shape shape = tile.shape();
  checkedAxis("expand", axis, shape.size() + 1, x.where());
  shape.insert(shape.begin() + axis, 1);
  return reshape({tile, x.where()}, shape);
}

Tile transpose(Operand x) {
  Tile tile = x.read();
  Shape permutation(tile.shape().size());
  std::iota(permutation.begin(), permutation.end(), 0);
  if (permutation.size() < 2)
    throw CompileError("transpose: needs 2 or more dimensions", x.where());
  std::swap(permutation.end()[-1], permutation.end()[-2]);
  return transpose({tile, x.where()}, permutation);
}

Tile transpose(Operand x, Shape permutation) {
  Trace &trace = Trace::current(x.where());
  Value value = unwrap(x.read().handle());
  Shape from = shapeOf(value), sorted = permutation, shape;
  std::sort(sorted.begin(), sorted.end());
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, from.size())))
    throw CompileError(fmt::format("transpose: {} is no permutation of the {} dimensions of {}",
                                   text(permutation), from.size(), text(from)),
                       x.where());
  for (int64_t d : permutation)
    shape.push_back(from[d]);
  auto type = RankedTensorType::get(shape, getElementTypeOrSelf(value));
  return Tile(wrap(trace.create<core::TransposeOp>(x.where(), type, value, permutation)));
}

Index toIndex(Operand x) {
  Location where = x.where();
  Trace &trace = Trace::current(where);
  Value value = unwrap(x.read().handle());
  if (getElementTypeOrSelf(value).isInteger(1)) // true is 1, not the -1 of an integer of one bit
    value = unwrap(cast<i32>({Tile(wrap(value)), where}).handle());
  if (!isa<IntegerType>(getElementTypeOrSelf(value)))
    throw CompileError(fmt::format("toIndex: needs integers, found {}",
                                   name(dtypeOf(getElementTypeOrSelf(value)))),
                       where);
  if (auto tile = dyn_cast<RankedTensorType>(value.getType())) {
    if (tile.getNumElements() != 1)
      throw CompileError(
          fmt::format("toIndex: needs one element, found a tile of shape {}", text(shapeOf(value))),
          where);
    SmallVector<Value> zeros(tile.getRank(), trace.constant(0, where));
    value = trace.create<tensor::ExtractOp>(where, value, zeros);
  }
  return trace.index(
      trace.create<arith::IndexCastOp>(where, trace.builder().getIndexType(), value));
}

Tile toTile(IndexOperand x) {
  Trace &trace = Trace::current(x.where);
  Type i32 = trace.builder().getI32Type();
  return Tile(wrap(trace.create<arith::IndexCastOp>(x.where, i32, trace.value(x.value, x.where))));
}

//===-- Combining -----------------------------------------------------------------------------===//

Tile dot(Operand a, Operand b, Precision precision) {
  Location where = a.where();
  Trace &trace = Trace::current(where);
  Value lhs = unwrap(a.read().handle()), rhs = unwrap(b.read().handle());
  Shape x = shapeOf(lhs), y = shapeOf(rhs);
  if (x.size() < 2 || y.size() != x.size() || x.back() != y.end()[-2] ||
      !std::equal(x.begin(), x.end() - 2, y.begin()))
    throw CompileError(
        fmt::format("dot: {} by {}: needs [..., m, k] by [..., k, n]", text(x), text(y)), where);
  Shape shape = x;
  shape.back() = y.back();
  DType type = dtypeOf(getElementTypeOrSelf(lhs));
  if (getElementTypeOrSelf(rhs) != getElementTypeOrSelf(lhs) ||
      (!isFloat(type) && type != DType::i8))
    throw CompileError(fmt::format("dot: operands are of {} and {}: needs one type, floats or i8",
                                   name(type), name(dtypeOf(getElementTypeOrSelf(rhs)))),
                       where);
  Tile zero = splat(isFloat(type) ? DType::f32 : DType::i32, shape, 0, where);
  return Tile(wrap(trace.create<core::DotOp>(where, unwrap(zero.handle()).getType(), lhs, rhs,
                                             unwrap(zero.handle()),
                                             static_cast<core::Precision>(precision))));
}

/// What is combined along an axis: numbers.
static Value combined(const char *op, Operand x) {
  Value value = unwrap(x.read().handle());
  if (getElementTypeOrSelf(value).isInteger(1))
    throw CompileError(fmt::format("{}: is not defined for i1: use any or all, or cast the truth "
                                   "values to a type of numbers",
                                   op),
                       x.where());
  return value;
}

/// The source of a reduction and the type of its result.
static std::pair<Value, RankedTensorType> reduced(const char *op, Operand x, int axis) {
  Value value = combined(op, x);
  Shape shape = shapeOf(value);
  checkedAxis(op, axis, shape.size(), x.where());
  shape[axis] = 1;
  return {value, RankedTensorType::get(shape, getElementTypeOrSelf(value))};
}

static Tile reduce(const char *op, core::ReduceKind kind, Operand x, int axis) {
  auto [value, type] = reduced(op, x, axis);
  return Tile(
      wrap(Trace::current(x.where()).create<core::ReduceOp>(x.where(), type, kind, value, axis)));
}

Tile sum(Operand x, int axis) { return reduce("sum", core::ReduceKind::sum, x, axis); }
Tile prod(Operand x, int axis) { return reduce("prod", core::ReduceKind::prod, x, axis); }
Tile max(Operand x, int axis) { return reduce("max", core::ReduceKind::max, x, axis); }
Tile min(Operand x, int axis) { return reduce("min", core::ReduceKind::min, x, axis); }

/// The type in which elements of a type are averaged.
static DType averagedIn(DType type) {
  if (isFloat(type))
    return byteSize(type) < byteSize(DType::f32) ? DType::f32 : type;
  return DType::i64;
}

Tile mean(Operand x, int axis) {
  Tile tile(wrap(combined("mean", x)));
  DType wide = averagedIn(tile.dtype());
  auto as = [&](DType type, const Tile &of) {
    return of.dtype() == type ? of : cast(type, Operand(of, x.where()));
  };
  Tile total = sum({as(wide, tile), x.where()}, axis);
  return as(tile.dtype(), div({total, x.where()}, {tile.shape()[axis], x.where()}));
}

/// Truth values combined by the largest or least of them, as numbers.
static Tile ofTruth(const char *op, core::ReduceKind kind, Operand truth, int axis) {
  Location where = truth.where();
  Tile tile = truth.read();
  if (tile.dtype() != DType::i1)
    throw CompileError(
        fmt::format("{}: the tile is of {}, expected truth values, as comparisons give", op,
                    name(tile.dtype())),
        where);
  return notEqual({reduce(op, kind, {cast<i32>({tile, where}), where}, axis), where}, {0, where});
}

Tile any(Operand truth, int axis) { return ofTruth("any", core::ReduceKind::max, truth, axis); }
Tile all(Operand truth, int axis) { return ofTruth("all", core::ReduceKind::min, truth, axis); }

static Tile extremum(const char *op, core::Extremum kind, Operand x, int axis) {
  auto [value, type] = reduced(op, x, axis);
  Trace &trace = Trace::current(x.where());
  return Tile(wrap(trace.create<core::ReduceIndexOp>(
      x.where(), type.clone(trace.builder().getI32Type()), kind, value, axis)));
}

Tile argmax(Operand x, int axis) { return extremum("argmax", core::Extremum::max, x, axis); }
Tile argmin(Operand x, int axis) { return extremum("argmin", core::Extremum::min, x, axis); }

static Tile scan(const char *op, core::ReduceKind kind, Operand x, int axis) {
  Value value = combined(op, x);
  checkedAxis(op, axis, shapeOf(value).size(), x.where());
  return Tile(wrap(Trace::current(x.where()).create<core::ScanOp>(x.where(), value.getType(), kind,
                                                                  value, axis)));
}

Tile cumsum(Operand x, int axis) { return scan("cumsum", core::ReduceKind::sum, x, axis); }
Tile cumprod(Operand x, int axis) { return scan("cumprod", core::ReduceKind::prod, x, axis); }
Tile cummax(Operand x, int axis) { return scan("cummax", core::ReduceKind::max, x, axis); }
Tile cummin(Operand x, int axis) { return scan("cummin", core::ReduceKind::min, x, axis); }

} // namespace ditron
