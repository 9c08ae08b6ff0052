// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Views as parts of a kernel's arguments, through slices and permutations of dimensions.
#pragma once
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/Value.h"
#include <optional>

namespace ditron::gpu {

/// How many elements a view has along a dimension: as many as an argument has along one of its own,
/// or as a number says. Equal extents are equal numbers.
struct Extent {
  mlir::Value of;        ///< the argument, or the number; null: a constant
  int64_t dimension = 0; ///< of the argument; -1 of a number; the constant itself
  bool operator==(const Extent &) const = default;
};
Extent extentOf(mlir::Value view, unsigned dimension);
/// The extent of an argument, or of a view of a table, where its core::kKnownExtentsAttr says it.
std::optional<int64_t> knownExtent(mlir::Value view, unsigned dimension);

/// Where a view lies in an argument of the kernel.
struct ArgumentView {
  struct Dimension {
    int64_t ofView = -1; ///< the view's dimension; -1: the view has one place along this one
    llvm::SmallVector<mlir::OpFoldResult> starts; ///< the sum of them is where the view starts
    /// And of these products.
    llvm::SmallVector<std::pair<mlir::OpFoldResult, mlir::OpFoldResult>, 1> products;
    bool isWhole = true; ///< the view has all of it
  };
  mlir::BlockArgument argument;
  llvm::SmallVector<Dimension, 2> dimensions; ///< the argument's
  mlir::Value page = nullptr; ///< of symmetric memory: which of its pages the view is part of

  /// The argument's dimension that is the view's one.
  unsigned dimensionOf(unsigned ofView) const;

  /// Without a value where the view is not such a part, or rootOf() takes another argument for its one.
  static std::optional<ArgumentView> of(mlir::Value view);
};

/// The two views of one that is chosen by a condition; else the view alone.
llvm::SmallVector<mlir::Value, 2> choicesOf(mlir::Value view);

/// What a view is part of, whatever part: an argument, or what is no plain part of anything.
mlir::Value wholeOf(mlir::Value view);
/// The function's argument that a view is part of; null where that is not plain. Of arguments that may be the very
/// same elements (core::kInPlaceAttr) it is one, which the kernel writes.
mlir::BlockArgument rootOf(mlir::Value view);

/// Whether a view is of a peer's symmetric memory.
bool isOnPeer(mlir::Value view);

/// Whether a view is part of an argument, or of a view of a table, that nobody writes during a launch, not as the
/// elements of another one either.
bool isReadOnly(mlir::Value view);
/// Whether it is part of a tensor that was there before the launch, of which tasks write parts.
bool isLasting(mlir::Value view);
/// Whether, besides, what a tile reads of it was there then, or is what the tile itself wrote.
bool isPrior(mlir::Value view);
/// Whether it is part of memory whose elements say that they are there.
bool isSelfSignaling(mlir::Value view);
/// Whether it is part of a constant of the graph that the launch is of.
bool isConstant(mlir::Value view);

/// The core::kAlignmentAttr of the argument, or of the view of a table, that a view is part of; 0
/// where it has none.
int64_t knownAlignment(mlir::Value view);

/// Bytes of the widest access of a thread to memory.
inline constexpr int64_t kAccessBytes = 16;
/// The same to a view: no more than its alignment, core::kAlignmentAttr. Where that is one element,
/// neighbouring threads access neighbours.
int64_t accessBytes(mlir::Value view);

} // namespace ditron::gpu
