// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which tiles stay expressions, and which are materialised. An expression is emitted where it is
// consumed; so it may be neither costly to emit again nor changed by what stands in between.
#pragma once
#include "ditron/core/TileOps.h"
#include "ditron/targets/cpu/emission/TileBuffers.h"

namespace ditron::cpu {

/// Ops whose result is computed as a whole, not element by element.
bool isWhole(mlir::Operation *op);
/// A reshape that does more than add and remove dimensions of extent 1, or join rows of whole
/// vectors.
bool movesElements(mlir::Operation *op);

class Inlining {
public:
  Inlining(const VectorBuilder &v, const TileBuffers &buffers) : v_(v), buffers_(buffers) {}

  /// Whether the tile that an op computes is emitted where it is consumed.
  bool staysInline(mlir::Operation *op) const;

  /// Whether `tile` can be computed over the buffer of `carried`: each element of `carried` is read
  /// for the same element of `tile`, and nowhere else.
  bool updatesInPlace(mlir::Value tile, mlir::Value carried) const;

  /// The first reduction along the rows of a tile that is computed element by element: it can be
  /// done while the tile is, which saves a walk.
  core::ReduceOp reductionOnTheWay(mlir::Value tile) const;

private:
  bool canRepeat(mlir::Operation *op) const;
  bool isReadEarly(mlir::Operation *load) const;
  bool canReadAgain(mlir::Operation *op) const;
  mlir::Operation *lastReader(mlir::Operation *op) const;

  const VectorBuilder &v_;
  const TileBuffers &buffers_;
};

} // namespace ditron::cpu
