// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A store that trails a reduction by a row, as in softmax:
//
//   e = exp(x - max)      for row:  row of e, its sum       for row:  row of e, its sum,
//   s = sum(e)            for row:  1 / sum            ->               beside it the row before of
//   y = e * (1 / s)       for row:  row of y                            e * (1 / s), stored
//
// Stores past the caches are limited by memory, rows of e by the core: side by side they take the
// time of one of them. A row of y is written before the next rows of x are read, so this is only
// done where a run-time check finds x and y apart.
//
// In a loop the last row of a tile waits for the first one of the next (DeferredRow). It is stored
// before anything else in the loop writes memory or takes another way, and after the loop.
#pragma once
#include "ditron/targets/cpu/emission/Materialiser.h"
#include "ditron/targets/cpu/emission/Stores.h"
#include "ditron/targets/cpu/fusion/DeferredRow.h"

namespace ditron::cpu {

class RowFusion {
public:
  RowFusion(VectorBuilder &v, mlir::func::FuncOp function, TileBuffers &buffers,
            const ViewReads &reads, Prefetches &prefetches, TileEmitter &emitter,
            Materialiser &materialiser, Stores &stores, const Inlining &inlining)
      : v_(v), function_(function), buffers_(buffers), reads_(reads), prefetches_(prefetches),
        emitter_(emitter), materialiser_(materialiser), stores_(stores), inlining_(inlining) {}

  /// Lowers a reduction, whose source is kept, and a store that trails it: in one walk where that
  /// may be, else one after the other. False, and nothing is lowered, where it never may be.
  bool lower(core::ReduceOp reduce, mlir::Value keep, mlir::Value reduced);
  /// Whether a store has been lowered so.
  bool hasLowered(core::StoreOp store) const { return lowered_.contains(store); }

private:
  BufferMap allocate(const TrailingStore &trailing, mlir::Value keep, mlir::Value reduced);
  mlir::Value canTrail(const TrailingStore &trailing, const BufferMap &rowBuffers,
                       const Access &access, const Accesses &loads);
  void lowerTogether(const TrailingStore &trailing, const Access &access, DeferredRow *deferred);
  void computeRow(const TrailingStore &trailing, mlir::Value row, const Accesses &prefetches,
                  const Beside &beside);
  void lowerApart(const TrailingStore &trailing, const BufferMap &rowBuffers);

  VectorBuilder &v_;
  mlir::func::FuncOp function_;
  TileBuffers &buffers_;
  const ViewReads &reads_;
  Prefetches &prefetches_;
  TileEmitter &emitter_;
  Materialiser &materialiser_;
  Stores &stores_;
  const Inlining &inlining_;
  llvm::DenseSet<mlir::Operation *> lowered_;
};

} // namespace ditron::cpu
