// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/driver/Context.h"

namespace generate {

/// Bytes a second at which this rank's device reads a matrix, the best of several passes, while the
/// other ranks do the same; collective.
double readBandwidth(const ditron::Context &ctx, const ditron::Tensor &matrix);

} // namespace generate
