// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles and what one core computes with them. Tiles are immutable values of 0 to 4 dimensions; one
// of 0 dimensions is a scalar. Operands broadcast as in NumPy: missing leading dimensions are added
// and extents of 1 repeat; a native number takes the type of the other operand, and must be
// a value of it: floats round, integers take integers in their range.
#pragma once
#include "ditron/lang/Value.h"
#include "ditron/support/Number.h"
#include <array>
#include <concepts>
#include <optional>
#include <vector>

namespace ditron {

/// A tile of the traced program.
class Tile {
public:
  explicit Tile(detail::Handle value) : value_(value) {}
  Tile(const Tile &) = default;
  Tile &operator=(const Tile &) = delete; // values do not change: declare a Var

  DType dtype() const;
  /// Extents, outermost first; empty for a scalar.
  std::vector<int64_t> shape() const;
  detail::Handle handle() const { return value_; }

private:
  detail::Handle value_;
};

/// A run-time scalar argument of a kernel: Scalar<f32> eps.
template <class T> class Scalar : public Tile {
public:
  using Tile::Tile;
};

namespace detail {

/// A tile of a view, not read yet.
struct TileRefData {
  Handle view;
  Handle peer; ///< whose memory it is; null: this rank's
  std::array<Handle, 4> coords;
  int numCoords = 0;
  std::array<int64_t, 4> shape{};
  int rank = 0;
  Number padding = 0;
  Location where;
};

/// What an operation takes: a tile, a variable, a tile of a view or a native number. It is read
/// inside of the operation, operands from left to right.
class Operand {
public:
  Operand(const Tile &tile, Location where = Location::current())
      : kind_(Kind::tile), value_(tile.handle()), where_(where) {}
  Operand(const Var<Tile> &var, Location where = Location::current());
  Operand(const TileRefData &ref, Location where = Location::current())
      : kind_(Kind::ref), ref_(ref), where_(where) {}
  template <class N>
    requires std::integral<N> || std::floating_point<N>
  Operand(N number, Location where = Location::current())
      : kind_(Kind::number), number_(number), where_(where) {}

  bool isNumber() const { return kind_ == Kind::number; }
  const Number &number() const { return number_; }
  Location where() const { return where_; }
  /// The value, read now. Not for numbers.
  Tile read() const;

private:
  enum class Kind { tile, var, ref, number };
  Kind kind_;
  Handle value_;
  TileRefData ref_;
  Number number_ = 0;
  Location where_;
};

/// An operand that is no native number.
struct TileOperand : Operand {
  TileOperand(const Tile &tile, Location where = Location::current()) : Operand(tile, where) {}
  TileOperand(const Var<Tile> &var, Location where = Location::current()) : Operand(var, where) {}
  TileOperand(const TileRefData &ref, Location where = Location::current()) : Operand(ref, where) {}
};

/// An Index beside a tile: an i32 scalar.
struct IndexBesideTile {
  IndexBesideTile(Index value, Location where = Location::current());
  operator Operand() const { return operand; }
  Operand operand;
};

} // namespace detail

//===-- Elementwise: one function a line of core/Elementwise.def ------------------------------===//

#define UNARY(name, ...) Tile name(detail::Operand x);
#define UNARY_ANY(name, ...) Tile name(detail::Operand x);
#define BINARY(name, ...) Tile name(detail::Operand x, detail::Operand y);
#define BINARY_INT(name, ...) Tile name(detail::Operand x, detail::Operand y);
#define TERNARY(name, ...) Tile name(detail::Operand x, detail::Operand y, detail::Operand z);
#define COMPARE(name, ...) Tile name(detail::Operand x, detail::Operand y);
#include "ditron/core/Elementwise.def"

/// The operators, also between a tile and an Index.
#define DITRON_OPERATOR(symbol, function)                                                          \
  inline Tile operator symbol(detail::Operand x, detail::Operand y) { return function(x, y); }     \
  inline Tile operator symbol(detail::TileOperand x, detail::IndexBesideTile y) {                  \
    return function(x, y);                                                                         \
  }                                                                                                \
  inline Tile operator symbol(detail::IndexBesideTile x, detail::TileOperand y) {                  \
    return function(x, y);                                                                         \
  }
DITRON_OPERATOR(+, add)
DITRON_OPERATOR(-, sub)
DITRON_OPERATOR(*, mul)
DITRON_OPERATOR(/, div)
DITRON_OPERATOR(%, rem)
DITRON_OPERATOR(&, bitAnd)
DITRON_OPERATOR(|, bitOr)
DITRON_OPERATOR(^, bitXor)
DITRON_OPERATOR(<<, shiftLeft)
DITRON_OPERATOR(>>, shiftRight)
DITRON_OPERATOR(==, equal)
DITRON_OPERATOR(!=, notEqual)
DITRON_OPERATOR(<, less)
DITRON_OPERATOR(<=, lessEqual)
DITRON_OPERATOR(>, greater)
DITRON_OPERATOR(>=, greaterEqual)
#undef DITRON_OPERATOR

/// -x; integers too.
Tile operator-(detail::Operand x);
/// What a comparison gives, turned round: tiles of truth values are combined by &, |, ^ and !.
Tile operator!(detail::TileOperand truth);
Tile operator&&(const Tile &x, const Tile &y) = delete; // that is x & y
Tile operator||(const Tile &x, const Tile &y) = delete; // that is x | y
/// exp2(x), where results below the smallest normal number may be 0: fewer instructions on GPUs.
Tile exp2Flushed(detail::Operand x);
/// log2(x) of positive normal numbers, on GPUs within 2^-21 of the result or of 1, whichever is larger: fewer
/// instructions there.
Tile log2Approximate(detail::Operand x);
/// 1 / (1 + exp(-x)), rounded once to the type of x.
Tile sigmoid(detail::Operand x);
/// `condition` (a tile of i1) elementwise between x and y.
Tile select(detail::Operand condition, detail::Operand x, detail::Operand y);

//===-- Making and shaping --------------------------------------------------------------------===//

namespace detail {
Tile splat(DType type, std::vector<int64_t> shape, Number value, Location where);
Tile castTo(DType type, Operand x, int rounding, bool saturate);
} // namespace detail

/// A tile of one value.
template <class T>
Tile full(std::vector<int64_t> shape, Number value, Location where = Location::current()) {
  return detail::splat(kDType<T>, std::move(shape), value, where);
}
/// A tile of zeros: zeros<f32>(128, 256).
template <class T> Tile zeros(int columns, Location where = Location::current()) {
  return detail::splat(kDType<T>, {columns}, 0, where);
}
template <class T> Tile zeros(int rows, int columns, Location where = Location::current()) {
  return detail::splat(kDType<T>, {rows, columns}, 0, where);
}
template <class T>
Tile zeros(int batch, int rows, int columns, Location where = Location::current()) {
  return detail::splat(kDType<T>, {batch, rows, columns}, 0, where);
}

/// How a cast rounds a value between two of the result type's; down and up are for integers as results.
enum class Rounding { nearestEven, towardZero, down, up };
/// What a cast does with values beyond the result type's finite range. wrap: floats become infinity, or NaN where the
/// type has none, as f8e4m3; integers wrap. saturate: they are clamped. Float to integer always clamps, NaN giving 0.
enum class Overflow { wrap, saturate };

/// x converted to T.
template <class T>
Tile cast(detail::Operand x, Rounding rounding = Rounding::nearestEven,
          Overflow overflow = Overflow::wrap) {
  return detail::castTo(kDType<T>, x, static_cast<int>(rounding), overflow == Overflow::saturate);
}
/// x converted to an element type known while tracing.
inline Tile cast(DType type, detail::Operand x, Rounding rounding = Rounding::nearestEven,
                 Overflow overflow = Overflow::wrap) {
  return detail::castTo(type, x, static_cast<int>(rounding), overflow == Overflow::saturate);
}

/// i32 0, 1, ..., n-1 in one dimension.
Tile iota(int n, Location where = Location::current());
/// i32 counting along `axis` of a tile of this shape.
Tile iota(std::vector<int64_t> shape, int axis, Location where = Location::current());
Tile broadcast(detail::Operand x, std::vector<int64_t> shape);
Tile reshape(detail::Operand x, std::vector<int64_t> shape);
/// A new dimension of extent 1 before `axis`.
Tile expand(detail::Operand x, int axis);
/// Swaps the last two dimensions.
Tile transpose(detail::Operand x);
/// Dimension d of the result is dimension permutation[d] of x.
Tile transpose(detail::Operand x, std::vector<int64_t> permutation);
/// The Index of a scalar, or of a tile of one element, of integers. On GPUs of a scalar: such a tile is
/// stored there, and read() again.
Index toIndex(detail::Operand x);
/// An Index as a scalar of i32: what mixes with tiles.
Tile toTile(detail::IndexOperand x);

//===-- Combining -----------------------------------------------------------------------------===//

/// What dot may lose. ieee: nothing but roundings of f32. tf32, of f32 inputs: all but 10 bits of
/// their mantissa. fastAccum, of inputs in 8-bit floats, is fast accumulation, as cuBLASLt and
/// PyTorch call it: runs of up to 128 terms may be added up with 13 bits behind the binary point of
/// the largest, or of the sum; each run is promoted to fp32.
enum class Precision { ieee, tf32, fastAccum };

/// Matrix product of the last two dimensions, in f32 for floats and i32 for i8.
Tile dot(detail::Operand a, detail::Operand b, Precision precision = Precision::ieee);

/// Reductions along one axis, which stays with extent 1: max(x, 0) is that of each column, maximum(x, 0) that of each
/// element and 0. The result has the type of x. Narrow floats combine in f32; integers wrap.
Tile sum(detail::Operand x, int axis);
Tile prod(detail::Operand x, int axis);
Tile max(detail::Operand x, int axis);
Tile min(detail::Operand x, int axis);
template <std::floating_point F> Tile max(detail::Operand x, F y) = delete; // that is maximum(x, y)
template <std::floating_point F> Tile min(detail::Operand x, F y) = delete; // that is minimum(x, y)
/// The sum, in f32 or i64 where the type is narrower, divided by the extent of the tile along the axis: where a tile
/// goes beyond the edge of its view, of the padding too. The mean of what there is is the sum divided by its number.
Tile mean(detail::Operand x, int axis);
/// Whether one of the truth values along one axis holds, or each of them; the axis stays with extent 1.
Tile any(detail::Operand truth, int axis);
Tile all(detail::Operand truth, int axis);
/// i32 position of the first largest (smallest) element along one axis, which stays with extent 1.
Tile argmax(detail::Operand x, int axis);
Tile argmin(detail::Operand x, int axis);
/// Running sums, products, maxima and minima along one axis, the element itself included.
Tile cumsum(detail::Operand x, int axis);
Tile cumprod(detail::Operand x, int axis);
Tile cummax(detail::Operand x, int axis);
Tile cummin(detail::Operand x, int axis);

} // namespace ditron
