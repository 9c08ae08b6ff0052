// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layouts: where each element of a tile lives.
//
// A tile is an array of indices; a machine is a tree of nodes, ranks, cores, warps, lanes and
// registers, with memories beside it. Compilers tend to have one notion for each border: strides
// for memory, fragments for tensor cores, shardings for ranks, and a conversion written by hand for
// each pair. Here there is one. A layout maps the coordinates of a tile to coordinates on named
// axes,
//
//     node  local  core  warp  lane  reg       and       m
//
// from the network down to the register of a lane, and m, a position in memory counted in elements.
// Sharding rows over ranks, dealing them to lanes and putting them a stride apart in memory differ
// in the name of the axis only; what is proved of one holds for all.
//
// The map. An Iter (extent, stride, axis), written `extent : stride@axis`, is a loop: its digit
// runs from 0 to extent - 1 and adds digit * stride to the coordinate on the axis. The element with
// the row-major index x in the tile has as its digits those of x in the mixed radix of the extents,
// the last iter being the fastest. Extents are any numbers, not only powers of two. On top come
//
//     replication   iters that run freely: the element is at all of these places
//     offset        a constant place
//     swizzle       bits of a coordinate exclusive-or-ed with higher bits of it, applied last
//
//     L(x) = { swizzle(offset + digits(x) . strides + r)  :  r a sum of replication digits }
//
// A layout does not store the tile's shape, only its size: (4, 6) row-major and 24 row-major are
// the same layout, so reshapes cost nothing. Operations that need the dimensions take the shape.
//
// Examples.
//
//   A 64x32 tile in memory, row-major; column-major; row-major with rows 40 apart:
//     (2048 : 1@m)      (64 : 1@m, 32 : 64@m)      (64 : 40@m, 32 : 1@m)
//
//   The 16x8 accumulator of a tensor core's product, 4 registers in each of 32 lanes: rows are 2
//   halves (registers 2 apart) of 8 rows (lanes 4 apart), columns 4 pairs (lanes) of 2 (registers):
//     (2 : 2@reg, 8 : 4@lane, 4 : 1@lane, 2 : 1@reg)
//       \______ 16 ________/  \_______ 8 ________/
//
//   A tensor of 8192 x 4096 sharded by rows over 4 ranks, each part row-major in its own memory;
//   the same gathered, so that each rank has all of it:
//     (4 : 1@local, 8388608 : 1@m)          (33554432 : 1@m | replicate 4 : 1@local)
//
//   A 48x80 tile over 6 warps: `tile` puts a 3x2 grid of warps around a 1x5 grid of registers
//   around a 16x8 accumulator, and the sizes of the parts scale the strides by themselves:
//     rows     3 : 2@warp, 2 : 2@reg, 8 : 4@lane
//     columns  2 : 1@warp, 5 : 4@reg, 4 : 1@lane, 2 : 1@reg
//
//   A 64x64 tile of 2-byte elements with the 128-byte swizzle: the 8 chunks of 8 elements of a row
//   are permuted by the row's number modulo 8, so that columns of chunks meet all banks:
//     (4096 : 1@m | swizzle<3,3,3>@m)
//
// What makes it an algebra. Merge neighbours wherever one iter continues the next (stride ==
// next.stride * next.extent, same axis) and drop extents of 1. What is left is unique: the last
// iter's extent is the first x at which the map stops being linear, the rest follows by induction.
// So two layouts without swizzle map alike if and only if their canonical iters are equal, and any
// function of an index is a layout if and only if `recognise` finds its iters. For that reason
// slices, compositions and inverses of layouts without swizzle are exact: a result, or the
// certainty that no layout says it. A swizzle is carried along where it stays one swizzle.
//
// The named axes and replication follow the Axe layout, the view of a layout as a function and of a
// conversion as a quotient of two Triton's linear layouts, strides in mixed radix and XOR swizzles
// CuTe. Against them: extents beyond powers of two (linear layouts), a canonical form that decides
// equality, swizzles kept through tiling, slicing, composition and inversion, and conversions
// between any two places of the machine derived from the maps (LayoutConversion.h).
//
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ditron::core {

/// The axes of the machine, outermost first, and memory.
enum class Axis : uint8_t { node, local, core, warp, lane, reg, m };
inline constexpr int kAxisCount = 7;
inline constexpr std::array<Axis, kAxisCount> kAxes = {
    Axis::node, Axis::local, Axis::core, Axis::warp, Axis::lane, Axis::reg, Axis::m};

/// "node", ..., "reg", "m".
std::string_view name(Axis axis);
/// The axis of a name, if there is one.
std::optional<Axis> parseAxis(std::string_view name);

/// A place: one coordinate on each axis, 0 where an axis does not matter.
struct Coordinates {
  std::array<int64_t, kAxisCount> at{};
  int64_t &operator[](Axis axis) { return at[static_cast<int>(axis)]; }
  int64_t operator[](Axis axis) const { return at[static_cast<int>(axis)]; }
  bool operator==(const Coordinates &) const = default;
};
Coordinates operator+(Coordinates a, const Coordinates &b);

/// A digit below `extent` (at least 1) that adds digit * `stride` (at least 0) on `axis`.
struct Iter {
  int64_t extent, stride;
  Axis axis;
  bool operator==(const Iter &) const = default;
};

/// Bits [base, base + bits) of a coordinate, exclusive-or-ed with those `shift` (at least `bits`)
/// above them. Its own inverse. On m, base and shift count elements, not bytes.
struct Swizzle {
  int bits, base, shift;
  Axis axis;
  int64_t operator()(int64_t coordinate) const {
    return coordinate ^ (coordinate >> shift & ((int64_t(1) << bits) - 1) << base);
  }
  /// The swizzle repeats when coordinates advance by this.
  int64_t period() const { return int64_t(1) << (base + shift + bits); }
  /// Coordinates below a multiple of this stay below it.
  int64_t block() const { return int64_t(1) << (base + bits); }
  bool operator==(const Swizzle &) const = default;
};

using Shape = std::vector<int64_t>;
using Iters = std::vector<Iter>;

class Layout {
public:
  /// One element, at place 0.
  Layout() = default;
  /// InternalError if `check` finds fault with the parts.
  explicit Layout(Iters iters, Iters replication = {}, Coordinates offset = {},
                  std::vector<Swizzle> swizzles = {});

  /// What is wrong with the parts of a layout, naming the part, what was found and what was
  /// expected; empty if nothing. Replicas must lie apart by themselves, an axis has one swizzle at
  /// most, and sizes and coordinates stay below 2^62.
  static std::string check(const Iters &iters, const Iters &replication, const Coordinates &offset,
                           const std::vector<Swizzle> &swizzles);

  /// The tile in row-major order along one axis.
  static Layout rowMajor(const Shape &shape, Axis axis = Axis::m);
  /// Dimension d has strides[d] along one axis.
  static Layout strided(const Shape &shape, const Shape &strides, Axis axis = Axis::m);
  /// The text that `print` writes. Without a value, `error` says what was found and expected where.
  static std::optional<Layout> parse(std::string_view text, std::string &error);
  /// `(8 : 4@lane, 2 : 1@reg | replicate 2 : 16@warp | offset 3@m | swizzle<3,3,3>@m)`.
  std::string print() const;

  /// The same layout with one more part.
  Layout replicated(Iter iter) const;
  Layout shifted(const Coordinates &by) const;
  Layout swizzled(Swizzle swizzle) const;

  const Iters &iters() const { return iters_; }
  const Iters &replication() const { return replication_; }
  const Coordinates &offset() const { return offset_; }
  /// At most one for each axis, sorted by axis.
  const std::vector<Swizzle> &swizzles() const { return swizzles_; }
  std::optional<Swizzle> swizzle(Axis axis) const;

  /// Elements of the tile.
  int64_t size() const;
  /// Places of one element.
  int64_t replicas() const;
  /// The places between the least and the largest of an axis, both included, before swizzling.
  int64_t span(Axis axis) const;
  /// A bound on the coordinates of an axis: all are below. Exact but for swizzles, where it is
  /// rounded up to the swizzle's block.
  int64_t limit(Axis axis) const;
  /// Whether any part of the layout names the axis to some effect.
  bool uses(Axis axis) const;

  /// Where replica `replica` < replicas() of element `index` < size() lives.
  Coordinates place(int64_t index, int64_t replica = 0) const;
  /// The element that lives at a place, if one does (one of them, if several do).
  std::optional<int64_t> elementAt(const Coordinates &place) const;

  /// No place holds two elements.
  bool isInjective() const;
  /// Every place of the box that begins at the offset and has the spans as its extents holds an
  /// element, and no place outside of it does.
  bool isSurjective() const;
  /// Elements and the places of the box match one to one; hence nothing is replicated.
  bool isBijective() const;

  /// The same map with the fewest iters. Equal for all layouts without swizzle that map alike, but
  /// for replication iters that describe one set in several ways.
  Layout canonical() const;
  /// Every element has the same set of places in both.
  bool isEquivalent(const Layout &other) const;

  /// Equality of the description, not of the map.
  bool operator==(const Layout &) const = default;

private:
  Iters iters_, replication_;
  Coordinates offset_;
  std::vector<Swizzle> swizzles_;
};

//===-- The algebra ---------------------------------------------------------------------------===//
// Some questions have no layout as their answer; such an operation has no value then. `recognise`
// and what rests on it (slice, compose) look at every element that they are asked about.

/// The iters of a function of an index below `size`, if it is `f(0)` plus the map of some iters.
std::optional<Iters> recognise(int64_t size, const std::function<Coordinates(int64_t)> &f);

/// The canonical iters, split and dealt to the dimensions of `shape`, if each of them ends at one.
/// InternalError if the sizes differ.
std::optional<std::vector<Iters>> group(const Layout &layout, const Shape &shape);

/// An outer layout of tiles, each laid out as `inner`: the tile of the elementwise product of the
/// shapes. A coordinate is outer * (inner's span) + inner on each axis. Without a value where the
/// shapes do not group, or where a swizzle would meet other bits in different tiles.
std::optional<Layout> tile(const Layout &outer, const Shape &outerShape, const Layout &inner,
                           const Shape &innerShape);

/// The box of extents `sizes` at `offsets` of a tile of `shape`. InternalError if it lies outside.
std::optional<Layout> slice(const Layout &layout, const Shape &shape, const Shape &offsets,
                            const Shape &sizes);

/// Dimension d of the result is dimension permutation[d] of the tile.
std::optional<Layout> transpose(const Layout &layout, const Shape &shape,
                                std::span<const int> permutation);

/// x -> outer(inner(x)): `inner`, not replicated and on m alone, says which element of `outer` each
/// of its elements is. InternalError if it names elements that `outer` does not have.
std::optional<Layout> compose(const Layout &outer, const Layout &inner);

/// Which element is where: from places to elements, as a layout of the box of places (extents the
/// spans of `axes`, row-major in their order, each counted from the offset) on m. Places of
/// replicas all lead to their element, so it is a left inverse on every place and a right inverse
/// up to the choice of a replica. Without a value if a place of the box holds none or several
/// elements, if `axes` misses an axis of more than one place, or where a swizzle is no swizzle of
/// the index.
std::optional<Layout> inverse(const Layout &layout, std::span<const Axis> axes);

} // namespace ditron::core
