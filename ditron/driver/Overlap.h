// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether two tensors have an element's memory in common. The columns of a matrix that others take
// in between do not overlap them, though the ranges of their addresses do.
#pragma once
#include "ditron/runtime/Tensor.h"

namespace ditron {

/// Whether some byte belongs to an element of both. Exact for tensors of one allocation whose
/// strides are alike, as slices of one tensor are; where the search for a common byte grows beyond
/// a bound, true.
bool overlap(const runtime::Tensor &a, const runtime::Tensor &b);

/// Whether both are the same elements in the same order.
bool coincide(const runtime::Tensor &a, const runtime::Tensor &b);

} // namespace ditron
