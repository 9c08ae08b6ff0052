// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrices in blocks of 8 rows by 32 terms, which stream faster than rows, and which tensor cores take as they are.
#pragma once
#include "model/Weights.h"

namespace generate {

/// Whether blocked-gemv can multiply with what is in f16 or bf16 in this matrix: rows and terms are whole blocks. A
/// gated matrix has two halves of whole blocks.
bool canBeBlocked(const Matrix &W, bool isGated);

/// The matrix in blocks, [N/8,K/32,8,32], in memory of its own. Unless it `copies`, what is in them is undefined.
Matrix blocked(const ditron::Context &ctx, const Matrix &W, bool copies = true);

/// Puts the matrices that can be into blocks, one after the other.
void toBlocks(const ditron::Context &ctx, Weights &weights, bool copies = true);

} // namespace generate
