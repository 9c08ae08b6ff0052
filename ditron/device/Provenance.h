// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where views and signals come from.
#pragma once
#include "ditron/device/DistOps.h"

namespace ditron::device {

/// What a view or signals are a part of: looks through tile.chunk, dist.on and the view ops of MLIR
/// to a symmetric buffer, signals, an argument, or the op that it does not know.
mlir::Value originOf(mlir::Value viewOrSignals);

/// The dist.on that names the peer whose memory or signals these are; null if none does.
OnOp peerOf(mlir::Value viewOrSignals);

/// "argument 'A'" if it has a name in the signature, else "argument 0".
std::string describe(mlir::BlockArgument argument);

} // namespace ditron::device
