// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/driver/Context.h"
#include "model/Matrix.h"

namespace generate {

/// Bytes a second at which this rank's device reads a matrix that is not packed, while the other ranks do the
/// same: the best of several passes that add its rows up or multiply a row by them. Collective.
double readBandwidth(const ditron::Context &ctx, const Matrix &matrix);

} // namespace generate
