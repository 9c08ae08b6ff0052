// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device functions of what is done to a sum before it is stored.
#pragma once
#include "ditron/kernels/kernels.h"

namespace ditron::kernels {

/// activation(x), x in f32.
Tile activate(Activation activation, const Tile &x);

} // namespace ditron::kernels
