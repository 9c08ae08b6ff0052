// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packed matrices as numbers in bf16, which the tensor cores of a GPU take, and which stream there: a step reads twice to four
// times the bytes, and takes a fourth of the time or less.
#pragma once
#include "model/Weights.h"

namespace generate {

/// Whether there is memory for the numbers of all packed matrices, and as much again as a tenth of them.
bool canUnpack(const ditron::Context &ctx, const Weights &weights);

/// Puts each packed matrix into numbers, in memory of its own; the others stay. Unless it `copies`, what is in them is
/// undefined.
void unpack(const ditron::Context &ctx, Weights &weights, bool copies = true);

} // namespace generate
