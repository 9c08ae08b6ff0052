// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What passes of the lowering to GPUs say to one another. No program has these ops; they live between
// simt-dist-to-device and simt-tiles-to-threads.
#ifndef DITRON_GPU_SIMTOPS
#define DITRON_GPU_SIMTOPS

include "ditron/targets/gpu/ops/MemoryOps.td"
include "ditron/targets/gpu/ops/RankOps.td"

#endif
