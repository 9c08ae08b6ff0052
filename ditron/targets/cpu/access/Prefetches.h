// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prefetches of the tiles that the next iteration of a loop reads. The walk that reads a tile
// leaves them to the next walk that computes: while a core computes, its memory channel idles.
#pragma once
#include "ditron/core/TileOps.h"
#include "ditron/targets/cpu/access/Access.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/ScopeExit.h"

namespace ditron::cpu {

class Prefetches {
public:
  explicit Prefetches(VectorBuilder &v) : v_(v) {}

  /// Finds where the tile of a load starts in the next iteration of the loop that steps over tiles.
  void findNext(core::LoadOp load, Access &access);

  /// Leaves it to a later walk to bring the successors of these tiles nearer, each of them once.
  void leave(llvm::ArrayRef<const Access *> reads);
  /// The tiles of this shape whose successors the walk that begins here brings nearer.
  Accesses take(llvm::ArrayRef<int64_t> shape);
  /// Brings an element of each tile's successor nearer.
  void emit(llvm::ArrayRef<const Access *> tiles, const At &at);

  /// Sets aside, for a scope, the tiles that are left: they belong to the block that reads them.
  auto setAside() {
    return llvm::make_scope_exit(
        [this, outer = std::exchange(left_, {})]() mutable { left_ = std::move(outer); });
  }
  /// What is left, and the same again for code on another way.
  const Accesses &left() const { return left_; }
  void restore(Accesses left) { left_ = std::move(left); }

private:
  At placeOf(const Access &access, const At &at);

  VectorBuilder &v_;
  Accesses left_;
  llvm::DenseSet<const Access *> seen_; ///< ever left to a walk
};

} // namespace ditron::cpu
