// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrices as numbers in bf16, which the tensor cores of a GPU take, and which stream there. Those that are packed are read
// with twice to four times the bytes then, and a step takes less than half of the time.
#pragma once
#include "model/Weights.h"

namespace generate {

/// Whether every rank's device has memory for its matrices that are packed or in f16 as numbers in bf16, and a tenth more;
/// collective.
bool canBecomeBf16(const ditron::Context &ctx, const Weights &weights);

/// Whether half of every rank's free memory has room for all matrices in bf16 beside them; collective.
bool canKeepBf16(const ditron::Context &ctx, const Weights &weights);

/// Puts each matrix that is packed or in f16 into bf16, in memory of its own; the others stay. Unless it `copies`, what is in
/// them is undefined.
void toBf16(const ditron::Context &ctx, Weights &weights, bool copies = true);

} // namespace generate
