// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/targets/cpu/emission/Reductions.h"

namespace ditron::cpu {

/// Computes tiles into buffers: element by element, or as their op asks.
class Materialiser {
public:
  Materialiser(VectorBuilder &v, TileBuffers &buffers, const ViewReads &reads,
               Prefetches &prefetches, TileEmitter &emitter)
      : v_(v), buffers_(buffers), reads_(reads), prefetches_(prefetches), emitter_(emitter),
        reductions_(v, buffers, reads, prefetches, emitter) {}

  /// Computes a tile, as its op asks.
  void compute(mlir::Value tile, mlir::Value buffer);
  /// Evaluates a tile element by element.
  void fill(mlir::Value tile, mlir::Value buffer);
  Reductions &reductions() { return reductions_; }

private:
  void multiply(core::DotOp op, mlir::Value buffer);

  VectorBuilder &v_;
  TileBuffers &buffers_;
  const ViewReads &reads_;
  Prefetches &prefetches_;
  TileEmitter &emitter_;
  Reductions reductions_;
};

} // namespace ditron::cpu
