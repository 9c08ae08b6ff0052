// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles dealt to the threads of a CTA, and tiles in its shared memory: the layouts that the
// backend chooses, and what it reads off them.
//
// A layout of registers here is *full*: its strides on each axis are those of a mixed radix, and
// what the elements do not use of the lanes and of the warps is replication. So every thread
// holds elements at all times, no branch asks who works, and the element in a register is a digit
// sum: of the thread, known when it runs, and of the register, known when it is compiled.
//
//   element coordinate along d  =  sum over its iters of digit * weight
//   digit                       =  coordinate of the axis / stride % extent
//
#pragma once
#include "ditron/core/Layout.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace ditron::gpu {

using core::Axis;
using core::Iters;
using core::Layout;
using core::Shape;

/// The threads that compute the tiles of a CTA.
struct Threads {
  int64_t warps, lanes;
  int64_t count() const { return warps * lanes; }
};

//===-- Layouts -------------------------------------------------------------------------------===//

/// The tile dealt to threads for reading and writing memory whose last dimension is dense: each
/// holds runs of `vector` neighbours (or as many as divide the row), neighbouring lanes hold
/// neighbouring runs, and warps take rows before they share one; or they share rows before they take
/// others.
enum class WarpsTake { rows, columns };
Layout blocked(const Shape &shape, int64_t vector, Threads threads,
               WarpsTake first = WarpsTake::rows);

/// Rows and columns of warps that share a matrix: as many of `warps` as split it evenly into whole units, their parts
/// as square as they get.
std::pair<int64_t, int64_t> warpGrid(const Shape &shape, const Shape &unit, int64_t warps);

/// The tile with dimension `axis` shrunk to 1: whoever held any of its elements holds the one that
/// is left. It is what a reduction along the axis gives, and what a broadcast along it reads.
/// Without a value where the layout does not split at the dimensions.
std::optional<Layout> collapsed(const Layout &layout, const Shape &shape, int64_t axis);

/// The layout with as many neighbours along the last dimension in one thread as make `run`, a power
/// of two, the lanes of a quad having exchanged registers for them. Without a value where lanes
/// hold none of these neighbours, or no registers are there to exchange.
std::optional<Layout> gathered(const Layout &layout, const Shape &shape, int64_t run);

/// The tile in shared memory, row-major, 16-byte chunks of a row swizzled such that eight rows
/// of one chunk meet all banks.
Layout sharedRows(const Shape &shape, int64_t elementBytes);

//===-- Reading them --------------------------------------------------------------------------===//

/// Part of a coordinate: (coordinate on the axis / stride % extent) * weight.
struct Digit {
  Axis axis;
  int64_t stride, extent, weight;
};

/// A layout of registers, by dimension of the tile.
class Distribution {
public:
  /// Without a value where the layout does not split at the dimensions.
  static std::optional<Distribution> of(const Layout &layout, const Shape &shape);

  const Shape &shape() const { return shape_; }
  /// Elements of the tile.
  int64_t size() const;
  /// Registers of a thread.
  int64_t registers() const { return registers_; }
  /// What the thread adds to the coordinate along a dimension.
  const std::vector<Digit> &thread(size_t dim) const { return thread_[dim]; }
  /// What a register adds.
  const Shape &element(int64_t reg) const { return elements_[static_cast<size_t>(reg)]; }
  /// The register that adds these coordinates; -1 if none does.
  int64_t registerOf(const Shape &element) const;
  /// How many consecutive registers, aligned, hold neighbours along the last dimension, at most
  /// `most`; a power of two. What the thread adds is a multiple of it.
  int64_t run(int64_t most) const;
  /// The coordinates of a register of a thread, and its place among all elements, row by row.
  Shape at(int64_t warp, int64_t lane, int64_t reg) const;
  int64_t number(int64_t warp, int64_t lane, int64_t reg) const;

private:
  Shape shape_;
  int64_t registers_ = 1;
  std::vector<std::vector<Digit>> thread_;
  std::vector<Shape> elements_;
};

/// Warps that hold different elements along an axis.
int64_t warpsAlong(const Distribution &tile, size_t axis);

/// Lanes whose numbers differ in one bit trade elements: what the bit adds to the coordinates is
/// `before`, and afterwards what some registers added, `after`.
struct Exchange {
  int64_t laneBit;
  Shape before, after;
};

/// The exchanges that turn one distribution into another, up to the order of registers. Without a
/// value where it takes more than that.
std::optional<std::vector<Exchange>> exchanges(const Distribution &from, const Distribution &to);

/// What registers, whose elements add these coordinates to the thread's, do in an exchange: pairs
/// of numbers of registers, in the first of which lanes with the bit set get what the others have
/// in the second, and the other way round. The elements afterwards are written back. Without a
/// value where some register has no partner.
std::optional<std::vector<std::pair<size_t, size_t>>> partners(std::vector<Shape> &elements,
                                                               const Exchange &exchange);

/// Rows of two dimensions in shared memory, each in one piece, as copies of rows leave them: as far apart as
/// warps of `lanes` lanes want them that read `run` neighbours at a time.
Layout sharedRowsApart(const Distribution &tile, int64_t run, int64_t elementBytes, int64_t lanes);

/// Passes through the banks of shared memory when lanes access some bytes each, from byteOf(lane) on.
int64_t bankPasses(int64_t lanes, int64_t bytes, llvm::function_ref<int64_t(int64_t lane)> byteOf);

/// Shared memory of a tile on its way between two distributions, read and written `runs` neighbours
/// at a time by warps of `lanes` lanes: row-major, with the swizzle that costs the two together the
/// fewest passes through the banks.
Layout sharedBetween(const Distribution &a, int64_t runA, const Distribution &b, int64_t runB,
                     int64_t elementBytes, int64_t lanes);

} // namespace ditron::gpu
