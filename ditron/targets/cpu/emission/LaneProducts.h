// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one instruction multiplies and adds to a vector of sums: a factor for each lane, or a pair of
// bf16, as AVX512-BF16 has it:
//
//   sum[n] += x[n] * y[n]             sum[n] += x[2n] * y[2n] + x[2n + 1] * y[2n + 1]
//
// Pairs are multiplied as they are stored. Such an instruction takes numbers below 2^-126 as zero.
#pragma once
#include "ditron/targets/cpu/VectorBuilder.h"

namespace ditron::cpu {

class LaneProducts {
public:
  /// `element`: of the sums.
  LaneProducts(VectorBuilder &v, mlir::Type element, bool inPairs)
      : v_(v), element_(element), inPairs_(inPairs) {}

  bool areInPairs() const { return inPairs_; }
  /// Factors of each side that a lane of the sums takes at a time.
  int64_t factors() const { return inPairs_ ? 2 : 1; }
  mlir::VectorType sumsOf(int64_t lanes) const { return mlir::VectorType::get({lanes}, element_); }

  mlir::Value add(mlir::Value x, mlir::Value y);
  /// sums + x * y.
  mlir::Value multiplyAdd(mlir::Value x, mlir::Value y, mlir::Value sums);

  /// Factors from a buffer, one a lane.
  mlir::Value load(mlir::Value buffer, mlir::ValueRange at, int64_t lanes);
  /// The factors of one lane, for each lane.
  mlir::Value repeat(mlir::Value buffer, mlir::ValueRange at, int64_t lanes);
  /// Pairs of what two vectors have in the same lane, of `lanes` lanes from `first` on.
  mlir::Value pairsOf(mlir::Value x, mlir::Value y, int64_t first, int64_t lanes);

private:
  VectorBuilder &v_;
  mlir::Type element_;
  bool inPairs_;
};

} // namespace ditron::cpu
