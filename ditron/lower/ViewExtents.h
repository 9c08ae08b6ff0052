// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known of extents of views, and of indices along them, by how they were made.
#pragma once
#include "mlir/IR/OpDefinition.h"

namespace ditron::lower {

/// The extent of a dimension of a view, as it was made.
struct Extent {
  mlir::OpFoldResult number; ///< null: what the view says
  mlir::Value view;          ///< null where there is a number
  int64_t dim = 0;

  /// Looks through slices and splits, to what symmetric memory was made with. Arguments whose extents have one
  /// name in the kernel's signature have one extent, that of the first one.
  static Extent of(mlir::Value view, int64_t dim);
  /// Of a number that may be an extent, or as many tiles of one element.
  static Extent of(mlir::OpFoldResult number);
};

/// Whether both are one extent, value or constant, the number of ranks, or as many tiles of one height of it.
bool areSame(const Extent &x, const Extent &y);

/// Whether an index is that of a loop from 0 or more up to an extent, counts as many tiles, is a part of it,
/// or is one of the compiler's own.
bool goesUpTo(mlir::Value index, const Extent &extent);

/// Whether an index is 0 or more by construction.
bool isNatural(mlir::Value value);

/// Whether `count` elements from `first` on are all of an extent, one that goesUpTo it, or of equal shares of it the one
/// with a number below theirs.
bool isWithin(mlir::OpFoldResult first, mlir::OpFoldResult count, const Extent &extent);

/// Whether a number is this rank's place along an axis, or what is left of another one divided by the
/// number of ranks along it.
bool isPlaceAlong(mlir::Value place, llvm::StringRef axis);

} // namespace ditron::lower
