// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/targets/cpu/access/Access.h"
#include "ditron/targets/cpu/emission/TileBuffers.h"
#include <unordered_map>

namespace ditron::cpu {

/// The tiles of views that loads and gathers read.
class ViewReads {
public:
  void add(mlir::Operation *op, Access access) { accesses_[op] = std::move(access); }
  /// The tile of a load that was added; null where it was not.
  const Access *find(mlir::Operation *op) const;
  const Access &at(mlir::Operation *op) const { return accesses_.at(op); }
  Access &at(mlir::Operation *op) { return accesses_.at(op); }

  /// The tiles of views that are read, element by element, where `tile` is computed.
  Accesses of(mlir::Value tile, const TileBuffers &buffers) const;

private:
  std::unordered_map<mlir::Operation *, Access> accesses_; // which do not move
};

} // namespace ditron::cpu
