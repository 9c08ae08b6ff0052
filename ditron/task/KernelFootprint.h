// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which elements of its arguments each tile of a kernel reads and writes: what edges of graphs are
// made of. It is what device/TileAccess finds, as numbers that a launch can evaluate.
//
// A kernel is *dealt* if all of its work is one loop over tiles. Its tasks are runs of tiles, and an
// access is a box in each argument: from `first` on, `size` elements a dimension, both functions of
// the tile's coordinates (variables v0, v1, ... of abi/Extent.h). Where the analysis knows no box
// (rows chosen by a tile of indices, a position read from memory), the access takes the whole
// dimension. Tiles of inboxes, which go from rank to rank, are no accesses. Any other kernel is taken as a whole: every
// core runs it, and each reads and writes all.
#pragma once
#include "ditron/abi/Extent.h"
#include "ditron/device/Order.h"
#include "ditron/lang/Kernel.h"
#include <optional>
#include <string>
#include <vector>

namespace ditron::task {

/// Elements of one dimension; both empty: all of it.
struct Span {
  std::optional<abi::Extent> first, size;
};

struct TileBox {
  size_t argument = 0;
  bool reads = false, writes = false;
  std::vector<Span> dims = {};
  bool isPlain = false; ///< a load of a tile or of an element, or a store of a tile
  bool isExact =
      false; ///< likewise, which each tile of the loop makes, once and of exactly this box
};

/// The elements [first, end) of each dimension.
struct Box {
  std::vector<int64_t> first, end;

  bool isEmpty() const;
  int64_t elements() const;
  bool overlaps(const Box &other) const;
  bool contains(const Box &other) const;
  /// Grows to have `other` in it too where the two make one box.
  bool join(const Box &other);
};

/// Elements as boxes: of tiles in a row, as few as make them up.
class Boxes {
public:
  void add(Box box);
  bool overlaps(const Boxes &other) const;
  const std::vector<Box> &all() const { return boxes_; }

private:
  std::vector<Box> boxes_;
};

class Footprint {
public:
  explicit Footprint(const Kernel &kernel);

  bool isDealt() const { return isDealt_; }
  const std::vector<TileBox> &accesses() const { return accesses_; }
  const std::vector<abi::Argument> &arguments() const { return arguments_; }

  /// A kernel's tiles at a launch.
  class Tiles;

private:
  void addDealt(const Kernel &kernel);

  bool isDealt_ = false;
  std::vector<abi::Argument> arguments_;
  std::vector<TileBox> accesses_;
  std::vector<abi::Extent> grid_;
  std::optional<abi::Extent> elements_;
  int64_t height_ = 1, parameter_ = 1;
  std::string order_;
  device::Sharded sharded_ = device::Sharded::rows;
  int64_t rounds_ = 1;
};

class Footprint::Tiles {
public:
  /// `words`: of the launch. `shapes`: of its arguments, empty for numbers.
  Tiles(const Footprint &footprint, std::vector<int64_t> words,
        std::vector<std::vector<int64_t>> shapes, int64_t rank, int64_t ranks);

  /// How many there are, at most 2^63 - 1; 1 of a kernel that is not dealt.
  int64_t count() const;
  /// What tiles [first, end) of the order touch by access number `access`, and what is read in front of them.
  Boxes boxes(size_t access, int64_t first, int64_t end) const;

private:
  std::vector<int64_t> coordinates(int64_t number) const;
  Box tileBox(const TileBox &access, std::span<const int64_t> coordinates) const;

  const Footprint &footprint_;
  std::vector<int64_t> words_;
  std::vector<std::vector<int64_t>> shapes_;
  device::Place<int64_t> place_;
  std::vector<int64_t> extents_;
  device::Grid<int64_t> grid_ = {};
};

} // namespace ditron::task
