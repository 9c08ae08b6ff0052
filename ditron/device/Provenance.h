// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where views and signals come from.
#pragma once
#include "ditron/device/DistOps.h"

namespace ditron::device {

/// What a view is a part of: looks through tile.chunk and the view ops of MLIR to a symmetric
/// buffer, an argument, or the op that it does not know. Signals are what they are.
mlir::Value originOf(mlir::Value viewOrSignals);

/// "argument 'A'" if it has a name in the signature, else "argument 0".
std::string describe(mlir::BlockArgument argument);

} // namespace ditron::device
