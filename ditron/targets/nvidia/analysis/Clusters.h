// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which numbers of a kernel are the same for all CTAs of a cluster.
//
// CTAs of a cluster have consecutive numbers, the first of which is a multiple of their count. So
// the number of a CTA, and all that lies a multiple of the count away from it, is the same in each
// once it is divided by the count, or compared with a multiple of it.
#pragma once
#include "ditron/core/TileOps.h"
#include "ditron/targets/nvidia/ops/NvidiaOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace ditron::nvidia {

/// What one CTA of a cluster gives to another one that adds tiles: the registers of all its threads.
struct ClusterGift {
  int64_t registers, threads;

  ClusterGift(ClusterSumOp op, int64_t warps);
  /// Registers of one store.
  int64_t run() const;
  int64_t bytes() const;
  /// What the owner has for those of `ctas` CTAs, and two mbarriers.
  int64_t boxBytes(int64_t ctas) const;
};

/// Bytes of shared memory of the boxes of a kernel whose `warps` warps compute.
int64_t clusterBoxBytes(mlir::func::FuncOp function, int64_t warps);

class ClusterValues {
public:
  /// Of clusters of `ctas` CTAs.
  explicit ClusterValues(int64_t ctas) : ctas_(ctas) {}

  /// Whether a value that the producer computes is the same for all CTAs of a cluster.
  bool isSame(mlir::Value value) { return kindOf(value) == Kind::same; }
  /// Whether all CTAs of a cluster come to an op, equally often.
  bool isSameWay(mlir::Operation *op);
  /// Whether an op, and how often it is reached, is the same for all CTAs of a cluster.
  bool isSameOp(mlir::Operation *op);
  /// Whether each CTA of a cluster may load a part of a tile for all of them: it is the same, and so
  /// is what comes before it that makes the tile, if others write it.
  bool canShare(core::LoadOp load);

private:
  /// The same as far as one argument goes of which the load's view is part; null: it is not known.
  bool canShare(core::LoadOp load, mlir::BlockArgument root);
  /// Ranked: a multiple of the count, the same for all, and the CTA's rank in the cluster.
  enum class Kind { same, ranked, differs };

  Kind kindOf(mlir::Value value);
  Kind kindAnew(mlir::Value value);
  Kind kindOfResult(mlir::Operation *op);
  bool isMultiple(mlir::Value value);
  /// Whether `x` is ranked, and `y` the same multiple of the count for all.
  bool areRankedAndMultiple(mlir::Value x, mlir::Value y) {
    return kindOf(x) == Kind::ranked && isSame(y) && isMultiple(y);
  }

  int64_t ctas_;
  llvm::DenseMap<mlir::Value, Kind> kinds_;
};

} // namespace ditron::nvidia
