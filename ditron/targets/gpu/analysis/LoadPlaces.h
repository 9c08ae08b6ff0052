// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the accesses of a load stand: see DeferLoads.cpp.
#pragma once
#include "ditron/core/TileOps.h"
#include "ditron/targets/gpu/Instructions.h"

namespace ditron::gpu {

/// Who decides where a load with a layout stands.
Instructions::Place placeOf(core::LoadOp load);

} // namespace ditron::gpu
