// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the warpgroups of a kernel with roles do: see SpecializeWarps.cpp.
#pragma once
#include "ditron/targets/nvidia/analysis/Roles.h"
#include "ditron/targets/nvidia/ops/NvidiaOps.h"

namespace ditron::nvidia {

/// Replaces the loads of a feed by what comes through its pipe, and its products by products that
/// are under way. They are to be settled afterwards.
void receiveAndMultiply(const Feed &feed, mlir::Value pipe, int64_t warps);

/// Begins the last product of each iteration of a loop in the next one, beside that one's first,
/// where it takes what the iteration computes from the first. With several warpgroups of `warps`,
/// one begins products while the others compute.
void overlapProducts(mlir::scf::ForOp loop, int64_t warps);

/// Lets each product of a region be done before its result is read, and releases slots behind
/// the products that read them.
void settleProducts(mlir::Region &region);

/// Has settled products of short sums, which f32 takes over, computed and added in parts, where
/// `share` has no registers for the whole of them.
void addInParts(mlir::Region &region, const Chip &share, int64_t warps);

} // namespace ditron::nvidia
