// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tiles that products take where nobody says otherwise.
//
// On a CPU a tile keeps all cores busy with the least packing of operands. On a GPU it is as large
// as the registers of its accumulator allow, of such a width that all SMs have as much to do; where
// groups of warps multiply, widths are free in steps of 8 columns.
#pragma once
#include "ditron/heuristics/GemmTile.h"
#include "ditron/support/DType.h"
#include "ditron/support/DeviceTraits.h"
#include <cstdint>

namespace ditron::heuristics {

/// C[M,N] = A[M,K] * B, on `cores` cores of a rank.
struct GemmShape {
  int64_t M, N, K;
  DType type;
  int64_t cores = 1;
  int64_t count = 1; ///< of such products, side by side: the parts of a matrix that ranks have
  /// Both operands are K-major (B is transposed): what all but 16-bit floats need on warpgroups.
  bool isKMajor = false;
};

/// What is done to a product before it is stored.
struct Epilogue {
  bool scale = false, bias = false, residual = false;
  bool activation = false;
  bool isErf = false; ///< the activation is one of erf, which keeps many values in registers
};

/// What a tile of a product on a GPU is chosen for.
struct GemmNeeds {
  /// f32 counts as tf32, and 8-bit floats are added with fast accumulation, as tensor cores do.
  bool isFast = false;
  Epilogue epilogue = {};
  /// Results are scaled row by row and column by column, which takes registers.
  bool scalesRows = false;
  /// Tiles of the result are stored by threads, which exchange results for wide accesses.
  bool isStoredByThreads = false;
  /// Tiles of other ranks are added to those of the result, which takes registers.
  bool isSummed = false;
};

/// The tile of a product.
PairedTile gemmTile(const GemmShape &shape, const DeviceTraits &target,
                    const GemmNeeds &needs = {});

/// The tile of products of groups of rows, `shape.M` rows in all.
GemmTile groupedGemmTile(const GemmShape &shape, int64_t groups, const DeviceTraits &target);

} // namespace ditron::heuristics
