// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/targets/cpu/access/Prefetches.h"
#include "ditron/targets/cpu/emission/TileEmitter.h"

namespace ditron::cpu {

/// Writes tiles to views.
class Stores {
public:
  Stores(VectorBuilder &v, TileBuffers &buffers, const ViewReads &reads, Prefetches &prefetches,
         TileEmitter &emitter)
      : v_(v), buffers_(buffers), reads_(reads), prefetches_(prefetches), emitter_(emitter) {}

  void lower(core::StoreOp op);
  void lower(core::ScatterOp op);
  /// What was there before is kept in a buffer.
  void lower(core::AtomicAddOp op);

private:
  VectorBuilder &v_;
  TileBuffers &buffers_;
  const ViewReads &reads_;
  Prefetches &prefetches_;
  TileEmitter &emitter_;
};

} // namespace ditron::cpu
