// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops between passes of this backend. No program has these ops; they live between
// nvidia-specialize-warps and simt-tiles-to-threads.
#ifndef DITRON_NVIDIA_NVIDIAOPS
#define DITRON_NVIDIA_NVIDIAOPS

include "ditron/targets/nvidia/ops/ClusterOps.td"
include "ditron/targets/nvidia/ops/LaunchOps.td"
include "ditron/targets/nvidia/ops/ProductOps.td"
include "ditron/targets/nvidia/ops/RoleOps.td"

#endif
