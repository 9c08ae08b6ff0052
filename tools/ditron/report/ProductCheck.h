// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Freivalds' check of a product C = A * B over all of its elements in a few times the work of
// reading A, B and C: for random x of +1 and -1, every row i of C must fulfil
//
//   |C_i x - A_i (B x)| <= 8 sqrt( sum over j of allowed_ij^2 )
//
// computed in double. allowed_ij is what the criterion allows of element (i, j), with the part that
// needs |A||B| bounded by the norms of a row of A and a column of B, and the error of a plain
// computation taken as large as the criterion's own term:
//
//   allowed_ij = 2 sqrt(K) eps32 |A_i| |B_j| + half a unit in the last place of C_ij
//
// Errors within allowed_ij exceed the bound with a probability below 2 exp(-32) a row (Hoeffding's
// inequality). A single element that is off by more than twice the bound is always found; whatever
// else a row's errors are, they do not cancel for both vectors with a probability of 3/4 at least.
// Integers are exact, and so is their check.
#pragma once
#include "tools/ditron/launch/Operands.h"
#include <optional>

namespace ditron::tools {

/// Whether the kernel computes a product, or sums of products over ranks, and nothing more.
bool isProjectable(const Task &task);

/// Checks all rows of the output of `rank`. The message of the worst row, or nothing.
std::optional<std::string> checkProjection(const Task &task, const kernels::Inputs &inputs,
                                           int64_t rank, const runtime::Tensor &output);

} // namespace ditron::tools
