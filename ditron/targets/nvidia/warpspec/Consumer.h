// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The consumer warpgroups of a warp-specialised kernel: see SpecializeWarps.cpp.
#pragma once
#include "ditron/targets/nvidia/analysis/Roles.h"
#include "ditron/targets/nvidia/ops/NvidiaOps.h"

namespace ditron::nvidia {

/// The rows of a load of tiles of `height` rows that lie in its view; any number, below 0 too.
mlir::Value rowsLeft(mlir::OpBuilder &b, mlir::Location loc, mlir::Value view,
                     mlir::ValueRange coords, int64_t height);

/// Replaces the loads of a pipe by what comes through it, and its products by asynchronous ones,
/// which waitForProducts is to wait for.
void receiveAndMultiply(const PipeLoads &loads, mlir::Value pipe, int64_t warps);

/// Begins the last product of each iteration of a loop in the next one, beside that one's first,
/// where it takes what the iteration computes from the first. Several warpgroups of `warps`
/// alternate (ping-pong scheduling): one begins products while the others compute.
void overlapProducts(mlir::scf::ForOp loop, int64_t warps);

/// Places the wgmma waits of a region: each product is done before its result is read. Releases
/// slots behind the products that read them.
void waitForProducts(mlir::Region &region);

/// Computes products of fp8 part by part and promotes each part to fp32, where `share` has no
/// registers for the whole of them.
void promoteInParts(mlir::Region &region, const Chip &share, int64_t warps);

} // namespace ditron::nvidia
