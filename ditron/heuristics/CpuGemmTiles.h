// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/heuristics/GemmTiles.h"

namespace ditron::heuristics {

/// The tile of C that keeps all cores of a CPU busy with the least packing, its operands and
/// accumulator in a second-level cache of 2 MB.
PairedTile cpuGemmTile(const GemmShape &shape);

} // namespace ditron::heuristics
