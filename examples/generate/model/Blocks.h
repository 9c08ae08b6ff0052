// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrices in blocks of 8 rows by 32 terms, which stream faster than rows, and which tensor cores take as they are.
#pragma once
#include "model/Weights.h"
#include <map>

namespace generate {

/// Whether a matrix of numbers in bf16, or in Q8_0, is one of whole blocks; a gated one, two halves of these.
bool canBeBlocked(const Matrix &W, bool isGated);
/// Whether all matrices can be blocked, and some are in Q8_0.
bool canStreamPacked(const Weights &weights);

/// Puts matrices into blocks, [N/8,K/32,8,32], and their scales, [N/8,K/4], in memory of their own.
class Blocker {
public:
  /// Unless it `copies`, what is in the blocks is undefined.
  explicit Blocker(const ditron::Context &ctx, bool copies = true) : ctx_(ctx), copies_(copies) {}
  Matrix operator()(const Matrix &W);

private:
  /// Blocks of a matrix of `width` columns to a block, by a program that is made for the first one.
  Tensor inBlocks(const Tensor &matrix, int64_t width);

  const ditron::Context &ctx_;
  bool copies_;
  std::map<ditron::DType, ditron::Program> programs_;
};

/// Puts the matrices that can be into blocks, one after the other.
void toBlocks(const ditron::Context &ctx, Weights &weights, bool copies = true);

} // namespace generate
